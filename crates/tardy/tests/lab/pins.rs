//! Reactions on pins in the lab, compared with the log of the chip that generates the edges, which corresponds to an
//! oscilloscope.

use tardy_record::pins::{AnswerBy, Point};
use tardy_record::series::Level;
use tardy_record::{Run, Series};

use crate::own_modules;
use crate::scripted::Scene;
use crate::switch;

/// Below the disturbing module's hog, which has the kernel's default of 50.
const PRIORITY: u32 = 40;
const HOLD_US: u32 = 400;

/// The module generates an edge every ms, with dither.
pub(crate) const BY_ITSELF: &str = "period_us=1000 dither_us=200";
/// The module generates no edges; another line or a PWM output does.
const BY_OTHERS: &str = "period_us=0";
const RECIPE: &str = "pins.toml";

/// The scene without a disturbance.
pub(crate) const REACTION: &str = "reaction";
/// The scene in which tardy drives the stimulus.
const STIMULUS: &str = "stimulus";
/// Ways to take the CPU from the thread that answers, and the scenes' names.
const DISTURBED: [(&str, &str); 3] =
    [("hog", "reaction-hog"), ("irqsoff", "reaction-irqsoff"), ("spinlock", "reaction-spinlock")];

/// A thread of [`PRIORITY`] answers edges for 2 s. `pins` are the chip's parameters, `others` more modules with theirs, and
/// `more` belongs to `[gpio]`.
fn scene(name: &'static str, pins: &str, others: &str, more: &str) -> Scene {
    let recipe = format!(
        "about = \"edges answered\"\n[run]\nprobe = \"gpio-reaction\"\nduration = \"2s\"\nwarmup = \"100ms\"\n\
         [timer]\npriority = {PRIORITY}\n[gpio]\nin = \"tardy-pins:0\"\nout = \"answer\"\n{more}\n"
    );
    Scene {
        name,
        script: format!(
            "with_modules 'tardy_pins.ko {pins}' {others} -- \
             tardy run \"$FILES/{RECIPE}\" -o '/lab/results/{name}.run.json'\n"
        ),
        own_modules: true,
        files: vec![(RECIPE.to_owned(), recipe)],
        ..Scene::default()
    }
}

/// The scene without a disturbance, for both kernels.
pub(crate) fn reaction() -> Scene {
    scene(REACTION, BY_ITSELF, "", "")
}

/// The other scenes for both kernels.
pub(crate) fn scenes() -> impl Iterator<Item = Scene> {
    let disturbed = DISTURBED.into_iter().map(|(way, name)| {
        let disturb = format!("'tardy_disturb.ko how={way} hold_us={HOLD_US} every_us=9700'");
        scene(name, BY_ITSELF, &disturb, "")
    });
    let more = "stimulus = \"drive\"\nstimulus_cpu = 0\necho = \"echo\"\nanswer_by = [\"events\", \"sysfs\"]";
    disturbed.chain([scene(STIMULUS, BY_OTHERS, "", more)])
}

/// The scene in which tardy is killed while it drives pins.
pub(crate) fn crash_scene() -> Scene {
    Scene {
        name: "pins-crash",
        script: format!(
            "crash() {{\n{}\n}}\nwith_modules 'tardy_pins.ko {BY_OTHERS}' -- crash\n",
            include_str!("pins.sh")
        ),
        own_modules: true,
        ..Scene::default()
    }
}

/// Runs on both kernels: the standard kernel's first.
fn runs(scene: &str) -> Option<[Run; 2]> {
    let both = own_modules::on_both_kernels(scene)?;
    both.iter().for_each(|printed| println!("{}", printed.text()));
    Some(both.map(|printed| printed.run(&format!("{scene}.run.json"))))
}

/// The runs of both kernels while the module takes the CPU in this way.
fn disturbed(way: &str) -> Option<[Run; 2]> {
    let (_, scene) = DISTURBED.into_iter().find(|(known, _)| *known == way).unwrap();
    runs(scene)
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

fn mean_ns(series: &Series) -> f64 {
    series.mean_ns().expect("the series has readings")
}

#[test]
fn the_thread_and_the_log_of_the_wire_agree() {
    let Some(runs) = runs(REACTION) else { return };
    for run in &runs {
        assert!(run.validity.valid, "{:?}", run.validity);
        let (inside, wire) =
            (span(run, Point::Edge, Point::Answered), span(run, Point::Raised, Point::Answered));
        assert_eq!((inside.level, wire.level), (Level::UserThread, Level::Wire));
        assert_eq!(inside.reaction().unwrap().answer_by, AnswerBy::Events);
        // Edges come every ms, apart from the dither.
        assert!((1900..=2100).contains(&inside.tally.recorded), "{:?}", inside.tally);
        assert_eq!((inside.tally.missed.get(), inside.tally.dropped.get()), (Some(0), Some(0)));
        // They differ by one if counting begins or ends between the rise and the edge's time stamp.
        assert!(
            inside.tally.recorded.abs_diff(wire.tally.recorded) <= 2,
            "{:?} {:?}",
            inside.tally,
            wire.tally
        );
        let agreement = wire.reaction().unwrap().agreement.expect("they were compared");
        println!("{}: {agreement:?}", run.facts.kernel.release.get().map_or("?", String::as_str));
        assert!(agreement.compared + 2 >= inside.tally.recorded && agreement.unmatched <= 1, "{agreement:?}");
        // An interrupt between the answer and the next clock reading is in only one of the two.
        assert!(agreement.agreeing * 100 >= agreement.compared * 98, "{agreement:?}");
        let parts = [span(run, Point::Edge, Point::Running), span(run, Point::Running, Point::Answered)];
        let sum: i64 = parts.iter().map(|part| part.sum_ns.get().unwrap()).sum();
        assert_eq!(Some(sum), inside.sum_ns.get(), "the span is the sum of its parts");
    }
}

/// The journal's entries while sysfs and a PWM output are in use.
const OLD_INTERFACES: [&str; 3] = ["exported_pin", "exported_pin", "pwm"];

/// Three quarters of the hold, which is far more than anything else here takes. The CPU is taken 200 times, so some edges
/// come right at the beginning of a hold.
const SHOWS_NS: i64 = HOLD_US as i64 * 1000 * 3 / 4;

#[test]
fn a_hog_of_higher_priority_delays_the_thread_and_the_wire() {
    let Some(runs) = disturbed("hog") else { return };
    for run in &runs {
        for (from, to) in [(Point::Edge, Point::Answered), (Point::Due, Point::Answered)] {
            let worst_ns = span(run, from, to).max_ns.unwrap();
            assert!(worst_ns > SHOWS_NS, "{from:?} to {to:?}: {worst_ns} ns");
        }
    }
}

/// The thread's own time includes the delay only if the edge's time stamp was taken before interrupts were disabled.
#[test]
fn interrupts_held_off_delay_the_wire() {
    let Some(runs) = disturbed("irqsoff") else { return };
    for run in &runs {
        let worst_ns = span(run, Point::Due, Point::Answered).max_ns.unwrap();
        assert!(worst_ns > SHOWS_NS, "{worst_ns} ns");
    }
}

/// A thread without a real-time priority holds a spinlock. On the standard kernel no other thread gets the CPU until it is
/// released; on PREEMPT_RT the lock is a mutex, and a real-time thread preempts its holder.
#[test]
fn a_held_spinlock_delays_the_standard_kernel_only() {
    let Some([standard, rt]) = disturbed("spinlock") else { return };
    let worst_ns = |run: &Run, from| span(run, from, Point::Answered).max_ns.unwrap();
    for from in [Point::Due, Point::Edge] {
        assert!(worst_ns(&standard, from) > SHOWS_NS, "{from:?}: {} ns", worst_ns(&standard, from));
        assert!(worst_ns(&rt, from) < SHOWS_NS / 2, "{from:?}: {} ns", worst_ns(&rt, from));
    }
}

/// Both ways of answering are timed from the writing of the stimulus; the chip's log has the part from the rise on.
#[test]
fn tardys_own_stimulus_is_timed_from_its_writing() {
    let Some(runs) = runs(STIMULUS) else { return };
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
            // The writing comes before the log's span, and the echo's interrupt after it.
            assert!(
                whole.min_ns > log.min_ns && echoed.min_ns > log.min_ns,
                "{:?} {:?}",
                whole.min_ns,
                log.min_ns
            );
            // Means, since a delay of the writing thread between its clock reading and the edge changes the maximum.
            assert!(mean_ns(whole) < mean_ns(log) + 30_000.0, "{} {}", mean_ns(whole), mean_ns(log));
        }
        let interrupt = span(run, Point::Driven, Point::Edge);
        assert!(interrupt.min_ns > Some(0) && mean_ns(interrupt) < 30_000.0, "{}", mean_ns(interrupt));
    }
}

#[test]
fn a_pin_is_an_input_again_after_a_crash() {
    let Some(printed) = switch::classified("pins-crash") else { return };
    println!("{}", printed.text());
    let guarded = printed.part("the guard lives");
    assert_eq!(guarded.all("journal").collect::<Vec<_>>(), ["pin"], "{}", guarded.text());
    assert_eq!(guarded.number("exit status"), 0, "{}", guarded.text());
    let journalled = printed.part("the guard was killed");
    assert_eq!(journalled.all("journal").collect::<Vec<_>>(), ["pin"], "{}", journalled.text());
    assert_eq!(journalled.all("left").collect::<Vec<_>>(), ["output"], "{}", journalled.text());
    assert_eq!(journalled.number("exit status"), 0, "{}", journalled.text());
    assert_eq!(journalled.all("then").collect::<Vec<_>>(), ["input"], "{}", journalled.text());
    let taken = printed.part("a line in use");
    assert_eq!(taken.number("exit status"), 2, "{}", taken.text());
    assert!(taken.text().contains("is in use by 'tardy'"), "{}", taken.text());
    let guarded = printed.part("sysfs and a PWM: the guard lives");
    assert_eq!(guarded.all("journal").collect::<Vec<_>>(), OLD_INTERFACES, "{}", guarded.text());
    assert_eq!(guarded.number("exit status"), 0, "{}", guarded.text());
    let journalled = printed.part("sysfs and a PWM: the guard was killed");
    assert_eq!(journalled.all("journal").collect::<Vec<_>>(), OLD_INTERFACES, "{}", journalled.text());
    assert_eq!(journalled.all("left").collect::<Vec<_>>(), ["waving"], "{}", journalled.text());
    assert_eq!(journalled.all("then").collect::<Vec<_>>(), ["gone"], "{}", journalled.text());
    let planned = printed.part("sysfs and a PWM: as planned");
    assert_eq!(planned.number("exit status"), 0, "{}", planned.text());
    assert_eq!(planned.all("then").collect::<Vec<_>>(), ["gone"], "{}", planned.text());
    let stimulated = printed.part("edges for another board");
    assert_eq!(stimulated.number("exit status"), 0, "{}", stimulated.text());
    assert!(stimulated.text().contains("1,000 rising edges"), "{}", stimulated.text());
    // Edges that came before the other tardy had begun were answered too late.
    let answered = stimulated.text().lines().find_map(|line| {
        let (answered, rest) = line.split_once(" answered, ")?;
        rest.contains("driven to echoed").then(|| answered.replace(',', "").parse::<u32>().ok())?
    });
    assert!(answered.is_some_and(|answered| (800..=1000).contains(&answered)), "{}", stimulated.text());
}
