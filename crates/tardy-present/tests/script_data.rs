//! The values that a page gives its script are those of the run, and the page is wired correctly without the script.

use std::collections::BTreeSet;

use crate::recorded::run;
use crate::synthetic::many_cpus::many_cpus;
use serde_json::Value;
use tardy_analyse::findings::Options;
use tardy_plot::curve;
use tardy_present::report;
use tardy_record::Run;

fn page(runs: &[&Run]) -> String {
    report::html(runs, &Options::default())
}

/// The values of the run or the comparison with this id.
fn data(page: &str, id: &str) -> Value {
    let (_, rest) = page.split_once(&format!("<script type=\"application/json\" id=\"{id}-data\">")).unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn base36(text: &str) -> i128 {
    i128::from_str_radix(text, 36).unwrap()
}

fn numbers(text: &Value) -> Vec<Option<i128>> {
    let parts = text.as_str().unwrap().split(' ').filter(|part| !part.is_empty());
    parts.map(|part| (part != "-").then(|| base36(part))).collect()
}

/// Lower edge, upper edge (`None` if there is none) and count of each bin.
fn bins(text: &Value) -> Vec<(i128, Option<i128>, i128)> {
    let (mut end, mut width) = (0, Some(0));
    let mut bins = Vec::new();
    for part in text.as_str().unwrap().split(' ').filter(|part| !part.is_empty()) {
        let parts: Vec<&str> = part.split(',').collect();
        let lower = match parts[..] {
            [gap, of_bin, _] => {
                width = (!of_bin.is_empty()).then(|| base36(of_bin));
                end + base36(gap)
            }
            _ => end,
        };
        bins.push((lower, width.map(|width| lower + width), base36(parts[parts.len() - 1])));
        end = lower + width.unwrap_or(0);
    }
    bins
}

fn all() -> Vec<(&'static str, Run)> {
    let names = ["standard", "rt", "wakes", "cut-short", "lab-levels", "slots"];
    let mut all: Vec<(&str, Run)> = names.iter().map(|name| (*name, run(name))).collect();
    all.push(("many", many_cpus(16, 1)));
    all
}

#[test]
fn curves_have_every_bin_of_their_histograms() {
    for (name, run) in all() {
        let data = data(&page(&[&run]), "run1");
        let curves = curve::curves(&[&run]);
        assert_eq!(data["curves"].as_array().unwrap().len(), curves.len(), "{name}");
        for (of_page, curve) in data["curves"].as_array().unwrap().iter().zip(&curves) {
            assert_eq!(of_page["label"], curve.label);
            assert_eq!(of_page["max"].as_i64(), curve.max_ns);
            let expected = curve.histogram.bins().iter().map(|bin| {
                let upper = (!bin.is_open()).then_some(bin.upper_ns.into());
                (bin.lower_ns.into(), upper, bin.count.into())
            });
            assert_eq!(bins(&of_page["bins"]), expected.collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn spans_add_up_to_the_slices_of_the_run() {
    let mut spans = 0;
    for (name, run) in all() {
        let data = data(&page(&[&run]), "run1");
        let of_page = data["curves"].as_array().unwrap();
        // Of many CPUs, the first curve is that of all.
        let all = run.own_series().flat_map(|series| &series.slices);
        let recorded: u64 = all.map(|slice| slice.histogram.total()).sum();
        let curves = if name == "many" { &of_page[..1] } else { &of_page[..] };
        let of_spans = curves.iter().flat_map(|curve| curve["spans"].as_array().unwrap()).flat_map(bins);
        assert_eq!(of_spans.map(|(_, _, count)| count).sum::<i128>(), i128::from(recorded), "{name}");
        for curve in of_page.iter().filter(|curve| !curve["spans"].as_array().unwrap().is_empty()) {
            assert_eq!(curve["spans"].as_array().unwrap().len(), data["spans"].as_array().unwrap().len());
            let highest = numbers(&curve["worst"]).into_iter().flatten().max();
            assert_eq!(highest, curve["max"].as_i64().map(i128::from), "{name}");
            spans += 1;
        }
    }
    assert!(spans > 10, "{spans} curves have spans");
}

#[test]
fn the_timeline_has_the_maxima_of_the_run() {
    for (name, run) in all() {
        let data = data(&page(&[&run]), "run1");
        let unit = data["maxima"]["unit"].as_i64().unwrap();
        let lines = data["maxima"]["lines"].as_array().unwrap();
        let maxima = |line: &Value| {
            let phases = line["phases"].as_array().unwrap().iter();
            phases.flat_map(|phase| numbers(&phase["max"])).flatten().collect::<Vec<_>>()
        };
        let highest = lines.iter().flat_map(maxima).max().map(|max| max * i128::from(unit));
        let blocks = run.own_series().flat_map(|series| &series.block_maxima.maxima_ns).flatten();
        let expected = blocks.copied().max().map(i128::from);
        let difference = highest.zip(expected).map(|(page, run)| (page - run).abs());
        assert!(difference.is_some_and(|difference| difference * 2 <= i128::from(unit)), "{name}");
        // Three digits: the unit is at most a hundredth of the least.
        let least = lines.iter().flat_map(maxima).min().unwrap();
        assert!(unit == 1 || least >= 100, "{name}: {least} of {unit} ns");
    }
}

#[test]
fn a_comparison_has_a_curve_for_each_run_and_no_spans() {
    let (standard, rt) = (run("standard"), run("rt"));
    let page = page(&[&standard, &rt]);
    let compared = data(&page, "compare");
    assert_eq!(compared["curves"].as_array().unwrap().len(), 2);
    assert_eq!(compared["spans"], serde_json::json!([]));
    assert!(data(&page, "run1")["curves"] != data(&page, "run2")["curves"]);
}

#[test]
fn a_name_cannot_end_the_script_that_holds_it() {
    let mut run = run("standard");
    run.series[0].label = "</script><script>alert(1)</script>".to_owned();
    let page = page(&[&run]);
    assert_eq!(page.matches("<script").count(), 2, "the values and the page's own script");
    assert!(data(&page, "run1")["curves"][0]["label"].as_str().unwrap().starts_with("</script>"));
}

#[test]
fn ids_are_unique_and_every_reference_has_one() {
    let (standard, rt) = (run("standard"), run("rt"));
    let page = page(&[&standard, &rt]);
    let values = |name: &str| -> Vec<String> {
        let start = format!(" {name}=\"");
        let parts = page.split(&start).skip(1);
        parts.map(|part| part.split('"').next().unwrap_or_default().to_owned()).collect()
    };
    let ids = values("id");
    let known: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), known.len());
    let references = values("aria-labelledby");
    assert!(references.len() > 10);
    for one in references.iter().flat_map(|ids| ids.split(' ')) {
        assert!(known.contains(&one.to_owned()), "nothing has the id {one}");
    }
}

#[test]
fn nothing_in_the_page_needs_more_than_its_policy_allows() {
    let page = page(&[&run("standard"), &many_cpus(16, 1)]);
    let (body, _) = page.split_once("<script>").unwrap();
    let tags = body.split('<').skip(1).filter_map(|part| part.split_once('>').map(|(tag, _)| tag));
    for tag in tags {
        let bad = [" on", " style=", " href=\"javascript"].iter().find(|bad| tag.contains(**bad));
        assert!(bad.is_none_or(|bad| *bad == " on" && !has_handler(tag)), "{tag}");
    }
    for bad in ["eval(", "Function(", "innerHTML", "setAttribute(\"style\"", ".style.", "setTimeout"] {
        assert!(!report::SCRIPT.contains(bad), "{bad}");
        assert!(!report::EXPLANATION.script.contains(bad), "{bad}");
    }
    assert!(report::SCRIPT.lines().count() < 640, "{} lines", report::SCRIPT.lines().count());
}

/// Whether a tag has an attribute such as `onclick`.
fn has_handler(tag: &str) -> bool {
    tag.split(" on").skip(1).any(|rest| {
        let name: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        rest[name.len()..].starts_with("=\"")
    })
}
