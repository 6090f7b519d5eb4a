//! The report of each recorded run, without its plots, style and script: those have tests of their own.

#[path = "recorded/published.rs"]
mod published;
mod recorded;

use recorded::run;
use tardy_analyse::{compare, findings};
use tardy_present::report::{self, Chapter};
use tardy_record::Run;

fn html(runs: &[&Run]) -> String {
    let published = published::results();
    report::html(runs, &findings::Options { published: &published, ..findings::Options::default() })
}

/// A report of two experiments in the lab: two kernels compared, and one run alone.
fn chapters() -> String {
    let published = published::results();
    let options = findings::Options { published: &published, ..findings::Options::default() };
    let (standard, rt, levels) = (run("lab-standard"), run("lab-rt"), run("lab-levels"));
    let chapter = |title: &str, about: &str, runs| Chapter { title: title.into(), about: about.into(), runs };
    let chapters = [
        chapter("Two kernels", "The same <experiment> on both.", vec![&standard, &rt]),
        chapter("Levels", "Where on the way it gets late.", vec![&levels]),
        chapter("Nothing", "An experiment that could not be run.", vec![]),
    ];
    report::html_of_chapters(&chapters, &options)
}

/// The page with every plot, style and script replaced by its name.
fn bare(html: &str) -> String {
    let mut text = html.to_owned();
    for element in ["svg", "style", "script"] {
        let (open, close) = (format!("<{element}"), format!("</{element}>"));
        let mut rest = text.as_str();
        let mut kept = String::new();
        while let Some((before, after)) = rest.split_once(&open) {
            let (inside, behind) = after.split_once(&close).expect("every element ends");
            let id =
                inside.split_once("id=\"").and_then(|(_, id)| id.split_once('"')).map_or("", |(id, _)| id);
            kept += &format!("{before}[{element} {id}]");
            rest = behind;
        }
        text = kept + rest;
    }
    text
}

#[test]
fn pages() {
    for name in ["standard", "wakes", "cut-short", "nothing-yet", "slots"] {
        insta::assert_snapshot!(format!("report-{name}"), bare(&html(&[&run(name)])));
    }
    insta::assert_snapshot!("report-standard-rt", bare(&html(&[&run("standard"), &run("rt")])));
    insta::assert_snapshot!("report-lab", bare(&html(&[&run("lab-standard"), &run("lab-rt")])));
    insta::assert_snapshot!("report-lab-realtime", bare(&html(&[&run("lab-realtime")])));
    insta::assert_snapshot!("report-chapters", bare(&chapters()));
}

#[test]
fn every_anchor_of_a_report_of_chapters_is_there_once() {
    let page = chapters();
    let attributes = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        let parts = page.split(&start).skip(1);
        parts.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
    };
    let ids = attributes("id");
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
    let links: Vec<String> =
        attributes("href").into_iter().filter_map(|link| link.strip_prefix('#').map(str::to_owned)).collect();
    assert!(links.len() >= 8, "{links:?}");
    for link in &links {
        assert!(distinct.contains(link), "#{link} leads nowhere");
    }
}

#[test]
fn comparisons() {
    let text = |runs: &[&Run]| tardy_present::compare::text(&compare::of(runs).unwrap(), 100);
    let narrow = |runs: &[&Run]| tardy_present::compare::text(&compare::of(runs).unwrap(), 80);
    insta::assert_snapshot!("compare-lab", narrow(&[&run("lab-standard"), &run("lab-rt")]));
    insta::assert_snapshot!("compare-lab-realtime", narrow(&[&run("lab-standard"), &run("lab-realtime")]));
    insta::assert_snapshot!("compare-rt-lab-rt", narrow(&[&run("rt"), &run("lab-rt")]));
    insta::assert_snapshot!("compare-standard-rt", text(&[&run("standard"), &run("rt")]));
    insta::assert_snapshot!("compare-rt-wakes", text(&[&run("rt"), &run("wakes")]));
    insta::assert_snapshot!("compare-standard-cut-short", text(&[&run("standard"), &run("cut-short")]));
    assert_eq!(compare::of(&[&run("rt")]), None);
}

#[test]
fn findings_as_json() {
    let found = findings::of(&run("standard"), &findings::Options::default());
    insta::assert_snapshot!("findings-standard", serde_json::to_string_pretty(&found).unwrap());
    let comparison = compare::of(&[&run("standard"), &run("rt")]).unwrap();
    let json = serde_json::to_string(&comparison).unwrap();
    assert!(json.contains("\"strength\":\"descriptive_only\""));
}

#[test]
fn names_from_outside_stay_names() {
    for page in [html(&[&run("cut-short")]), html(&[&run("cut-short"), &run("rt")])] {
        assert_eq!(page.matches("<script").count(), 1, "the page's own script and no other");
        assert!(!page.contains("alert(1)</script>"), "a name ended an element");
        assert!(page.contains("{{ 7*7 }}"), "a name is no template");
        assert!(!page.contains('\u{1b}'));
        assert!(!page.contains(" style="), "the policy forbids style attributes");
    }
}

#[test]
fn chapters_and_published_results_are_text() {
    let page = chapters();
    assert!(!page.contains("<experiment>") && page.contains("&lt;experiment&gt;"));
    assert!(!page.contains("<us>") && page.contains("&lt;us&gt;"));
}

#[test]
fn the_page_needs_no_network() {
    let page = html(&[&run("standard"), &run("rt")]);
    let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!elsewhere.contains("http:") && !elsewhere.contains("https:") && !elsewhere.contains("url("));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    assert_eq!(html(&[&run("standard")]), html(&[&run("standard")]));
}

#[test]
fn the_first_thing_said_is_what_the_kernel_is_and_whether_the_numbers_count() {
    let page = html(&[&run("cut-short")]);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(at("<h1>") < at("Invalid. These numbers must not be used"));
    assert!(at("Invalid. These numbers must not be used") < at("the latest came"));
    assert!(!page.contains("was kept"), "spoilt numbers support nothing");
}
