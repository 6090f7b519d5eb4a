//! What a sceptical reader stumbled over, so that nobody does again.

mod recorded;

use recorded::run;
use tardy_analyse::findings;
use tardy_present::{report, summary};
use tardy_record::{Knowable, Run};

fn shown(run: &Run) -> String {
    summary::text(run, &findings::of(run, &findings::Options::default()), 400, false)
}

fn page(runs: &[&Run]) -> String {
    report::html(runs, &findings::Options::default())
}

#[test]
fn where_there_is_no_schedule_nothing_counts_as_missed() {
    let mut run = run("rt");
    run.series[0].tally.missed = Knowable::Known(0);
    run.series[0].corrected = None;
    let text = shown(&run);
    let line = |label: &str| text.lines().find(|line| line.starts_with(label)).unwrap().to_owned();
    let missed = |label: &str| line(label).split_whitespace().rev().nth(7).unwrap().to_owned();
    assert_eq!([missed("cpu 0"), missed("cpu 1"), missed("all")], ["-", "0", "-"], "{text}");
    let page = page(&[&run]);
    assert_eq!(page.matches("<td data-name=\"missed\">–</td>").count(), 2);
}
