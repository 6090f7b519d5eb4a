//! A reaction on pins in the lab, against the log of the chip that makes the edges: what an oscilloscope would have shown.

use std::path::{Path, PathBuf};

use tardy_record::pins::{AnswerBy, Point};
use tardy_record::series::Level;
use tardy_record::{Run, Series};

use crate::guests;
use crate::own_modules::{self, KERNELS};
use crate::switch::machine::Guest;

/// Below the disturbing module's hog, whose priority is the kernel's choice, 50.
const PRIORITY: u32 = 40;
const HOLD_US: u32 = 400;

/// The module makes the edges, every ms, more or less.
pub(crate) const BY_ITSELF: &str = "period_us=1000 dither_us=200";
/// They come from elsewhere.
const BY_OTHERS: &str = "period_us=0";

/// A recipe: a thread of [`PRIORITY`] answers edges for 2 s. `pins` is what their module is told, and `more` of `[gpio]`.
fn recipe(place: &Path, pins: &str, disturbed: Option<&str>, more: &str) -> PathBuf {
    let mut at_rest = vec![format!("tardy_pins {pins}")];
    at_rest.extend(disturbed.map(|how| format!("tardy_disturb how={how} hold_us={HOLD_US} every_us=9700")));
    let text = format!(
        "about = \"edges answered\"\n[run]\nprobe = \"gpio-reaction\"\nduration = \"2s\"\nwarmup = \"100ms\"\n\
         [timer]\npriority = {PRIORITY}\n[gpio]\nin = \"tardy-pins:0\"\nout = \"answer\"\n{more}\n\
         [lab]\nmodules_at_rest = {at_rest:?}\n"
    );
    let path = place.join("pins.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs on both kernels: the runs, the standard kernel's first.
fn runs(disturbed: Option<&str>) -> Option<[Run; 2]> {
    runs_of(BY_ITSELF, disturbed, "")
}

fn runs_of(pins: &str, disturbed: Option<&str>, more: &str) -> Option<[Run; 2]> {
    let guests = guests::directory()?;
    own_modules::are_there().then_some(())?;
    let place = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.arg(recipe(place.path(), pins, disturbed, more));
    lab.args(KERNELS.iter().flat_map(|kernel| ["--kernel", kernel]));
    lab.arg("-o").arg(place.path().join("out"));
    println!("{}", guests::said(&guests::expect(lab, 0)));
    let run = |name: &str| guests::run(&place.path().join(format!("out/{name}.run.json")));
    Some([run("debian-6.12"), run("debian-6.12-rt")])
}

pub(crate) fn span(run: &Run, from: Point, to: Point) -> &Series {
    span_in(run, 0, from, to)
}

fn span_in(run: &Run, phase: usize, from: Point, to: Point) -> &Series {
    let is_it = |series: &&Series| {
        series.phase == phase && series.reaction().is_some_and(|one| (one.from, one.to) == (from, to))
    };
    run.series.iter().find(is_it).unwrap_or_else(|| panic!("no series from {from:?} to {to:?}"))
}

#[test]
fn the_thread_and_the_log_of_the_wire_agree() {
    let Some(runs) = runs(None) else { return };
    for run in &runs {
        assert!(run.validity.valid, "{:?}", run.validity);
        let (inside, wire) =
            (span(run, Point::Edge, Point::Answered), span(run, Point::Raised, Point::Answered));
        assert_eq!((inside.level, wire.level), (Level::UserThread, Level::Wire));
        assert_eq!(inside.reaction().unwrap().answer_by, AnswerBy::Events);
        // Edges come every ms, in step but for the dither.
        assert!((1900..=2100).contains(&inside.tally.recorded), "{:?}", inside.tally);
        assert_eq!((inside.tally.missed.get(), inside.tally.dropped.get()), (Some(0), Some(0)));
        // Where counting begins or ends between the wire's moment and the edge's time stamp, they differ by one.
        assert!(
            inside.tally.recorded.abs_diff(wire.tally.recorded) <= 2,
            "{:?} {:?}",
            inside.tally,
            wire.tally
        );
        let agreement = wire.reaction().unwrap().agreement.expect("they were compared");
        println!("{}: {agreement:?}", run.facts.kernel.release.get().map_or("?", String::as_str));
        assert!(agreement.compared + 2 >= inside.tally.recorded && agreement.unmatched <= 1, "{agreement:?}");
        // An interrupt between the answer and the clock's next reading is in one of the two only.
        assert!(agreement.agreeing * 100 >= agreement.compared * 98, "{agreement:?}");
        let parts = [span(run, Point::Edge, Point::Running), span(run, Point::Running, Point::Answered)];
        let sum: i64 = parts.iter().map(|part| part.sum_ns.get().unwrap()).sum();
        assert_eq!(Some(sum), inside.sum_ns.get(), "the whole is its parts");
    }
}

#[test]
fn reactions_are_the_same_to_the_byte() {
    let Some(guests) = guests::directory() else { return };
    if !own_modules::are_there() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "verify");
    lab.arg(recipe(place.path(), BY_ITSELF, None, "")).args(["--kernel", KERNELS[1], "--rounds", "2"]);
    let shown = guests::said(&guests::expect(lab, 0));
    assert!(shown.contains("the same bytes every time"), "{shown}");
}

/// What the journal holds while sysfs and a PWM are in use.
const OLD_INTERFACES: [&str; 3] = ["exported_pin", "exported_pin", "pwm"];

/// It takes the CPU 200 times, so that some edges come right at the beginning of it. Three quarters of it is far more
/// than anything else here takes.
const SHOWS_NS: i64 = HOLD_US as i64 * 1000 * 3 / 4;

#[test]
fn a_hog_above_the_responder_shows_inside_and_on_the_wire() {
    let Some(runs) = runs(Some("hog")) else { return };
    for run in &runs {
        for (from, to) in [(Point::Edge, Point::Answered), (Point::Due, Point::Answered)] {
            let worst_ns = span(run, from, to).max_ns.unwrap();
            assert!(worst_ns > SHOWS_NS, "{from:?} to {to:?}: {worst_ns} ns");
        }
    }
}

/// Whether it is in the thread's own time as well depends on whether the edge's time stamp was taken before.
#[test]
fn interrupts_held_off_show_on_the_wire() {
    let Some(runs) = runs(Some("irqsoff")) else { return };
    for run in &runs {
        let worst_ns = span(run, Point::Due, Point::Answered).max_ns.unwrap();
        assert!(worst_ns > SHOWS_NS, "{worst_ns} ns");
    }
}

/// A spinlock that a thread without a real-time priority holds: the standard kernel keeps the CPU from everybody meanwhile,
/// and on PREEMPT_RT the lock is a mutex, whose holder a real-time thread displaces.
#[test]
fn a_held_spinlock_shows_on_the_standard_kernel_alone() {
    let Some([standard, rt]) = runs(Some("spinlock")) else { return };
    let worst_ns = |run: &Run, from| span(run, from, Point::Answered).max_ns.unwrap();
    for from in [Point::Due, Point::Edge] {
        assert!(worst_ns(&standard, from) > SHOWS_NS, "{from:?}: {} ns", worst_ns(&standard, from));
        assert!(worst_ns(&rt, from) < SHOWS_NS / 2, "{from:?}: {} ns", worst_ns(&rt, from));
    }
}

/// Both ways are timed from the writing of the stimulus, and what lies within that the chip's own log has seen too.
#[test]
fn a_stimulus_of_tardys_own_is_timed_from_its_writing() {
    let more = "stimulus = \"drive\"\nstimulus_cpu = 0\necho = \"echo\"\nanswer_by = [\"events\", \"sysfs\"]";
    let Some(runs) = runs_of(BY_OTHERS, None, more) else { return };
    for run in &runs {
        assert!(run.validity.valid, "{:?}", run.validity);
        for phase in 0..2 {
            let [whole, echoed, log] = [
                (Point::Driven, Point::Answered),
                (Point::Driven, Point::Echoed),
                (Point::Raised, Point::Answered),
            ]
            .map(|(from, to)| span_in(run, phase, from, to));
            for series in [whole, echoed, log] {
                assert!(
                    (1900..=2100).contains(&series.tally.recorded),
                    "{} {:?}",
                    series.label,
                    series.tally
                );
                assert_eq!(series.tally.missed.get(), Some(0), "{} {:?}", series.label, series.tally);
            }
            // Before the log's there is the writing, and behind it the interrupt of the echo.
            assert!(
                whole.min_ns > log.min_ns && echoed.min_ns > log.min_ns,
                "{:?} {:?}",
                whole.min_ns,
                log.min_ns
            );
            assert!(
                whole.max_ns.unwrap() < log.max_ns.unwrap() + 30_000,
                "{:?} {:?}",
                whole.max_ns,
                log.max_ns
            );
        }
        let interrupt = span(run, Point::Driven, Point::Edge);
        assert!(interrupt.min_ns > Some(0) && interrupt.max_ns < Some(30_000), "{:?}", interrupt.max_ns);
    }
}

#[test]
fn a_pin_is_an_input_again_after_a_crash() {
    let Some(guests) = guests::directory() else { return };
    if !own_modules::are_there() {
        return;
    }
    let module = format!("tardy_pins {BY_OTHERS}");
    let guest = Guest { modules: vec![module.leak()], ..Guest::default() };
    let said = guest.run(&guests, include_str!("pins.sh"));
    println!("{}", said.text());
    let guarded = said.part("the guard lives");
    assert_eq!(guarded.all("journal").collect::<Vec<_>>(), ["pin"], "{}", guarded.text());
    assert_eq!(guarded.number("exit status"), 0, "{}", guarded.text());
    let journalled = said.part("the guard was killed");
    assert_eq!(journalled.all("journal").collect::<Vec<_>>(), ["pin"], "{}", journalled.text());
    assert_eq!(journalled.all("left").collect::<Vec<_>>(), ["output"], "{}", journalled.text());
    assert_eq!(journalled.number("exit status"), 0, "{}", journalled.text());
    assert_eq!(journalled.all("then").collect::<Vec<_>>(), ["input"], "{}", journalled.text());
    let taken = said.part("a line that is taken");
    assert_eq!(taken.number("exit status"), 2, "{}", taken.text());
    assert!(taken.text().contains("is taken, by 'tardy'"), "{}", taken.text());
    let guarded = said.part("sysfs and a PWM: the guard lives");
    assert_eq!(guarded.all("journal").collect::<Vec<_>>(), OLD_INTERFACES, "{}", guarded.text());
    assert_eq!(guarded.number("exit status"), 0, "{}", guarded.text());
    let journalled = said.part("sysfs and a PWM: the guard was killed");
    assert_eq!(journalled.all("journal").collect::<Vec<_>>(), OLD_INTERFACES, "{}", journalled.text());
    assert_eq!(journalled.all("left").collect::<Vec<_>>(), ["waving"], "{}", journalled.text());
    assert_eq!(journalled.all("then").collect::<Vec<_>>(), ["gone"], "{}", journalled.text());
    let planned = said.part("sysfs and a PWM: as planned");
    assert_eq!(planned.number("exit status"), 0, "{}", planned.text());
    assert_eq!(planned.all("then").collect::<Vec<_>>(), ["gone"], "{}", planned.text());
    let stimulated = said.part("edges for another board");
    assert_eq!(stimulated.number("exit status"), 0, "{}", stimulated.text());
    assert!(stimulated.text().contains("1,000 rising edges"), "{}", stimulated.text());
    // What came before the other one had begun waited for it, and was answered too late.
    let answered = stimulated.text().lines().find_map(|line| {
        let (answered, rest) = line.split_once(" answered, ")?;
        rest.contains("driven to echoed").then(|| answered.replace(',', "").parse::<u32>().ok())?
    });
    assert!(answered.is_some_and(|answered| (800..=1000).contains(&answered)), "{}", stimulated.text());
}
