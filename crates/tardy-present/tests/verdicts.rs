//! Verdicts that must not be mistaken: of isolated CPUs and of others, of a run whose load weakened, of an invalid run.

use tardy_analyse::findings;
use tardy_analyse::judgement::{self, Judgement};
use tardy_present::sections::program::causes_text;
use tardy_present::{report, summary};
use tardy_record::facts::Fact;
use tardy_record::load::Death;
use tardy_record::program::{CycleCause, Why};
use tardy_record::series::SeriesKind;
use tardy_record::{Run, validity};

use crate::recorded::run;
use crate::shown::Shown;

const LIMIT_NS: u64 = 1_000_000;

fn options() -> findings::Options<'static> {
    findings::Options { limit_ns: Some(LIMIT_NS), ..findings::Options::default() }
}

fn text(run: &Run) -> String {
    summary::text(run, &findings::of(run, &options()), 400, false)
}

/// The run `rt` of CPUs 0 and 1, of which CPU 1 is isolated and its worst wake-up took `worst_ns`.
fn half_isolated(worst_ns: i64) -> Run {
    let mut run = run("rt");
    run.facts.cpu.isolated = Fact::known("1".to_owned(), "/sys/devices/system/cpu/isolated");
    for series in run.series.iter_mut().filter(|series| series.cpu() == 0) {
        series.max_ns = Some(worst_ns);
        for histogram in std::iter::once(&mut series.measured).chain(&mut series.corrected) {
            *histogram = histogram.open_from(histogram.bins().last().unwrap().lower_ns);
        }
    }
    run
}

#[test]
fn isolated_cpus_and_others_have_a_verdict_each() {
    let mut run = half_isolated(3_000_000);
    let text = text(&run);
    assert!(text.contains("The limit of 1ms was kept on the isolated CPU 1: the worst of "), "{text}");
    assert!(text.contains("on the other CPU 0"), "{text}");
    assert!(text.contains("on any of these isolated CPUs is later than 1ms"), "{text}");
    assert!(!text.contains("on any CPU"), "never pooled: {text}");
    assert_eq!(text.matches("This is not a guarantee").count(), 1, "{text}");
    let page = report::html(&[&run], &options());
    let page = Shown::of(&page);
    assert!(page.text().contains("was kept on the isolated CPU 1"), "{}", page.text());
    // All of one kind, or unknown: one verdict.
    for isolated in [
        Fact::known("none".to_owned(), ""),
        Fact::known("0-3".to_owned(), ""),
        Fact::unknown("there is no /sys"),
    ] {
        run.facts.cpu.isolated = isolated;
        assert!(findings::of(&run, &options()).verdicts_by_isolation.is_empty());
    }
}

/// The run `rt`, of which a load died; its worst wake-up took `worst_ns`.
fn weakened() -> Run {
    let mut run = run("rt");
    let at_ns = run.phases[0].start_ns + 1_000_000_000;
    run.loads[0].parts[0].deaths.push(Death { at_ns, how: "exit status: 1".to_owned() });
    run.plan.limit_ns = Some(LIMIT_NS);
    run.validity = validity::judge(&run);
    assert!(!run.validity.valid);
    run
}

#[test]
fn a_load_that_weakened_does_not_excuse_a_limit() {
    let mut run = weakened();
    assert_eq!(judgement::of(&run), Judgement::Invalid, "the limit was not exceeded");
    let kept = text(&run);
    assert!(kept.contains("No verdict on the limit of 1ms: the run is invalid."), "{kept}");
    run.plan.limit_ns = Some(10_000);
    let exceeded = summary::text(&run, &findings::of(&run, &findings::Options::default()), 400, false);
    assert!(exceeded.contains("The limit of 10us was exceeded: "), "{exceeded}");
    assert!(
        exceeded.contains("it does not excuse the limit") && !exceeded.contains("No verdict"),
        "{exceeded}"
    );
    assert!(!exceeded.contains("With 95 % confidence"), "no bound of an invalid run: {exceeded}");
    assert_eq!(judgement::of(&run), Judgement::Exceeded);
    // Another reason excuses everything.
    run.validity.spoilt_by.push("the machine was suspended".to_owned().into());
    assert_eq!(judgement::of(&run), Judgement::Invalid);
}

#[test]
fn invalid_is_the_first_and_the_last_word_of_a_summary() {
    let run = weakened();
    let text = text(&run);
    let last = text.trim_end().lines().last().unwrap();
    assert!(last.starts_with("INVALID: load doload") && last.contains("died"), "{text}");
    assert_eq!(text.matches("INVALID: ").count(), 2, "{text}");
    assert!(!self::text(&super::recorded::run("rt")).contains("INVALID"));
}

#[test]
fn the_interval_next_to_a_value_with_a_unit_has_the_unit() {
    let page = report::html(&[&run("program")], &findings::Options::default());
    let page = Shown::of(&page);
    let text = page.text();
    assert!(text.contains("1 in 100 later (95 %: 8.72 to 15.7 ms)"), "{text:.2000}");
}

#[test]
fn several_tasks_have_lower_priority() {
    let mut run = run("program");
    let Some(thread) = run.series.iter_mut().find_map(|series| match &mut series.kind {
        SeriesKind::Program(program) => program.thread.as_mut(),
        _ => None,
    }) else {
        unreachable!("a program has a thread")
    };
    let mut clause = |what: &str| {
        thread.late[0].causes =
            vec![CycleCause { why: Why::Throttled, what: what.to_owned(), took_ns: 9, excess_ns: 9 }];
        causes_text(&thread.late[0])
    };
    assert!(clause("'a' (task 7)").contains("'a' (task 7), which has lower priority, had the CPU"));
    assert!(clause("'salt and pepper' (task 7)").contains("which has lower priority"));
    for what in ["'a' (task 7) and 'b' (task 8)", "'a' (task 7), 'b' (task 8) and 5 more"] {
        assert!(clause(what).contains(&format!("{what}, which have lower priority, had the CPU")), "{what}");
    }
}
