//! What a sceptical reader stumbled over, so that nobody does again.

mod recorded;

use recorded::run;
use tardy_analyse::findings;
use tardy_present::{plot, report, summary};
use tardy_record::plan::{Policy, Wake};
use tardy_record::series::SeriesKind;
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

/// The real-time run, as if by two threads of SCHED_DEADLINE, which cannot be pinned.
fn roaming() -> Run {
    let mut run = run("rt");
    for series in &mut run.series {
        let SeriesKind::Timer(timer) = &mut series.kind;
        (timer.pinned, timer.wake, timer.policy, timer.priority) =
            (false, Wake::Deadline, Policy::Deadline, 0);
    }
    run
}

#[test]
fn an_unpinned_thread_is_not_named_after_a_cpu() {
    let run = roaming();
    let (text, page) = (shown(&run), page(&[&run]));
    let measured = text.split("tardy itself").next().unwrap();
    for said in [measured, &page] {
        assert!(said.contains("thread 0, unpinned") && said.contains("thread 1, unpinned"), "{said}");
        assert!(said.contains("roams over the CPUs") && said.contains("infers it from the earliest"));
    }
    assert!(!measured.contains("cpu 0") && !measured.contains("cpu 1"), "{measured}");
    assert!(text.contains("on 2 unpinned threads under doload"), "{text}");
    assert!(text.contains("late on any thread"), "{text}");
    assert!(!page.contains("timer, cpu") && !page.contains("<th scope=\"row\">cpu 0"));
    let timeline = plot::timeline::draw("t", &run, &plot::Options { width: 360.0, ..Default::default() });
    assert!(timeline.contains(">thread 0, unpinned<"), "{timeline}");
    assert!(plot::latency_svg(&[&run], &plot::Options::default()).contains("thread 0, unpinned"));
    let pinned = shown(&recorded::run("rt"));
    assert!(!pinned.contains("unpinned") && !pinned.contains("infers"));
}
