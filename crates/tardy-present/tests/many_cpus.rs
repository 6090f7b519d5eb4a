//! Runs of many CPUs: the worst are shown, the others are folded, and the page stays small.

use std::sync::LazyLock;

use crate::recorded::run;
use crate::shown::Shown;
use crate::synthetic::many_cpus::many_cpus;
use tardy_analyse::findings::{self, Options};
use tardy_present::{report, summary};
use tardy_record::Run;

/// The largest report of 128 CPUs over a day, in bytes.
const PAGE_MAX: usize = 1_000_000;

static DAY: LazyLock<Run> = LazyLock::new(|| {
    let run = many_cpus(128, 24);
    tardy_record::file::check(&run).unwrap();
    run
});
static PAGE: LazyLock<String> = LazyLock::new(|| report::html(&[&DAY], &Options::default()));

#[test]
fn a_report_of_128_cpus_over_a_day_is_at_most_a_megabyte() {
    assert!(PAGE.len() <= PAGE_MAX, "{} bytes", PAGE.len());
}

#[test]
fn the_page_names_the_worst_cpu_and_folds_all_but_ten() {
    let page = Shown::of(&PAGE);
    assert!(page.text().contains("128 CPUs, worst cpu 62: "), "{:.600}", page.text());
    let table = page.tables().into_iter().find(|table| table[0].contains(&"p99.99".to_owned())).unwrap();
    let labels: Vec<&str> = table.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(labels.len(), 12, "heads, ten CPUs, all: {labels:?}");
    assert_eq!((labels[1], labels[11]), ("cpu 62", "all"));
    let summaries = page.all("summary");
    let rest = summaries.iter().find(|text| text.starts_with("118 more CPUs: worst "));
    assert!(rest.is_some_and(|rest| rest.contains(" µs to ")), "{summaries:?}");
    assert!(summaries.iter().any(|text| text.starts_with("127 more: worst ")), "{summaries:?}");
}

#[test]
fn folded_cpus_are_closed_and_not_printed() {
    let folds: Vec<&str> = PAGE.matches("<details class=\"folded\"").collect();
    assert!(folds.len() >= 3 && !PAGE.contains("folded\" open"), "{folds:?}");
    assert!(report::STYLE.contains("@media print{.folded>:not(summary){display:none}"));
    assert!(report::SCRIPT.contains("details:not([open]):not(.folded)"));
}

#[test]
fn plots_have_all_cpus_together_and_the_ten_worst() {
    for plot in ["latency", "exceedance", "timeline"] {
        let (_, svg) = PAGE.split_once(&format!("id=\"run1-{plot}-wide\"")).unwrap();
        let (svg, _) = svg.split_once("</svg>").unwrap();
        assert!(svg.contains(">all 128"), "{plot}");
        assert!(svg.contains(">cpu 62"), "{plot}");
    }
    let curves = tardy_plot::curve::curves(&[&DAY]);
    assert_eq!(curves.len(), 11);
    assert_eq!(curves[0].histogram.total(), 128 * 86_400_000);
    assert_eq!(curves[1].label, "cpu 62");
    assert_eq!(curves[0].max_ns, curves[1].max_ns);
}

#[test]
fn a_row_for_each_cpu_shows_when_it_was_late() {
    let plots = Shown::of(&PAGE).plots();
    assert!(plots.contains(&"run1-cpus".to_owned()), "{plots:?}");
    let few = Shown::of(&report::html(&[&run("standard")], &Options::default()));
    assert!(!few.plots().contains(&"run1-cpus".to_owned()));
}

#[test]
fn ten_cpus_are_all_shown_and_eleven_are_not() {
    let folded = |cpus| report::html(&[&many_cpus(cpus, 1)], &Options::default()).contains(" more: worst ");
    assert!(!folded(10));
    assert!(folded(11));
}

#[test]
fn the_terminal_shows_the_ten_worst_and_a_map_of_all() {
    let run = many_cpus(64, 24);
    let text = summary::text(&run, &findings::of(&run, &Options::default()), 100, false);
    insta::assert_snapshot!("summary-64-cpus", text);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_comparison_shows_the_worst_cpus_and_counts_the_others() {
    let (base, candidate) = (many_cpus(16, 1), many_cpus(16, 2));
    let page = Shown::of(&report::html(&[&base, &candidate], &Options::default()));
    let summaries = page.all("summary");
    let rest = "The worst CPUs; 6 more, none with a higher maximum";
    assert!(summaries.contains(&rest.to_owned()), "{summaries:?}");
    let comparison = tardy_compare::side_by_side::of(&[&base, &candidate]).unwrap();
    let text = tardy_present::compare::text(&comparison, 100);
    assert_eq!(text.matches("6 more CPUs, none with a higher maximum").count(), 2, "{text}");
}
