//! Links that were cut, changed or made by hand.

use proptest::prelude::*;
use tardy_record::facts::Facts;
use tardy_record::plan::Plan;
use tardy_record::run::Origin;

use super::*;

fn run() -> Run {
    let origin = Origin { id: "20261124-1".to_owned(), host: "board".to_owned(), ..Origin::default() };
    let mut run = Run::begun(origin, Plan::default(), Facts::default());
    run.validity.limits = vec!["a remark".to_owned()];
    run
}

fn link() -> String {
    of_runs(&[&run()], "https://example.org/tardy.html#before").unwrap()
}

#[test]
fn a_link_opens_as_the_run_that_it_was_made_from() {
    let link = link();
    assert!(link.starts_with("https://example.org/tardy.html#r1.") && is_of_runs(&link), "{link}");
    assert_eq!(runs(&link).unwrap(), [run()]);
    assert_eq!(runs(&format!("<{link}>.")).unwrap(), [run()], "with the marks that a text puts around it");
    let two = of_runs(&[&run(), &run()], BASE).unwrap();
    assert_eq!(runs(&two).unwrap().len(), 2);
}

#[test]
fn a_switch_file_goes_through_a_link() {
    let link = of_switch("about = \"µs\"\n", BASE);
    assert!(is_of_switch(&link) && !is_of_runs(&link), "{link}");
    assert_eq!(switch(&link).unwrap(), "about = \"µs\"\n");
    assert!(runs(&link).unwrap_err().to_string().contains("holds no run"));
}

#[test]
fn every_mistake_has_its_message() {
    let newer = link().replace("#r1.", "#r7.");
    let message = |text: &str| runs(text).unwrap_err().to_string();
    assert_eq!(message(&newer), "the link is of version 7, and this tardy reads up to 1; use a newer tardy");
    assert!(message("run.json").starts_with("the link holds no run: behind its # must be r1."));
    assert!(message(&link()[..link().len() - 1]).starts_with("the link was cut short: "), "one character");
    let end = link().len() - 10;
    let other = if link().as_bytes()[end] == b'A' { "B" } else { "A" };
    let changed = format!("{}{other}{}", &link()[..end], &link()[end + 1..]);
    assert!(message(&changed).starts_with("the link was changed on its way"));
    assert!(message(&(link() + "AAAA")).starts_with("the link was changed on its way"));
    assert!(message(&self::super::link(Kind::Runs, b"[1]", BASE)).starts_with("the run in the link: "));
    assert!(message(&self::super::link(Kind::Runs, b"{}", BASE)).contains("not a list of runs"));
    assert!(message(&self::super::link(Kind::Runs, b"[]", BASE)).contains("one run to 4, not 0"));
    assert!(matches!(of_runs(&[&run(); 5], BASE), Err(LinkError::Count(5))));
}

#[test]
fn a_link_that_expands_without_end_is_refused() {
    let endless = self::super::link(Kind::Runs, &vec![b' '; 64 << 20], BASE);
    assert!(endless.len() < 200_000, "{}", endless.len());
    let message = runs(&endless).unwrap_err().to_string();
    assert_eq!(message, "the link holds more than 2 MiB, more than any that tardy makes; use the run file");
}

proptest! {
    #[test]
    fn a_link_that_was_cut_short_anywhere_is_recognised(share in 0.0..1.0f64) {
        let link = link();
        let mark = link.find("#r1.").unwrap() + 4;
        let cut = mark + ((link.len() - mark) as f64 * share) as usize;
        let error = runs(&link[..cut]).unwrap_err();
        prop_assert!(matches!(error, LinkError::CutShort { .. }), "{}", error);
    }

    #[test]
    fn any_text_behind_the_mark_is_an_error(text in "[A-Za-z0-9_-]{0,200}") {
        let link = format!("#r1.{text}");
        prop_assert!(runs(&link).is_err());
    }

    #[test]
    fn any_deflated_text_is_a_run_or_an_error(text in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(runs(&self::super::link(Kind::Runs, &text, BASE)).is_err());
    }
}
