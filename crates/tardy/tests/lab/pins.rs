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

/// A recipe: a thread of [`PRIORITY`] answers edges every ms, more or less, for 2 s.
fn recipe(place: &Path, modules: &Path, disturbed: Option<&str>) -> PathBuf {
    let module = |name: &str| modules.join("{release}").join(name).display().to_string();
    let mut at_rest = vec![format!("{} period_us=1000 dither_us=200", module("tardy_pins.ko"))];
    at_rest.extend(
        disturbed
            .map(|how| format!("{} how={how} hold_us={HOLD_US} every_us=9700", module("tardy_disturb.ko"))),
    );
    let text = format!(
        "about = \"edges answered\"\n[run]\nprobe = \"gpio-reaction\"\nduration = \"2s\"\nwarmup = \"100ms\"\n\
         [timer]\npriority = {PRIORITY}\n[gpio]\nin = \"tardy-pins:0\"\nout = \"answer\"\nanswer_by = [\"events\"]\n\
         [lab]\nmodules_at_rest = {at_rest:?}\n"
    );
    let path = place.join("pins.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs on both kernels: the runs, the standard kernel's first.
fn runs(disturbed: Option<&str>) -> Option<[Run; 2]> {
    let guests = guests::directory()?;
    let modules = own_modules::directory()?;
    let place = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.arg(recipe(place.path(), &modules, disturbed));
    lab.args(KERNELS.iter().flat_map(|kernel| ["--kernel", kernel]));
    lab.arg("-o").arg(place.path().join("out"));
    println!("{}", guests::said(&guests::expect(lab, 0)));
    let run = |name: &str| guests::run(&place.path().join(format!("out/{name}.run.json")));
    Some([run("debian-6.12"), run("debian-6.12-rt")])
}

fn span(run: &Run, from: Point, to: Point) -> &Series {
    let is_it = |series: &&Series| series.reaction().is_some_and(|one| (one.from, one.to) == (from, to));
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
    let Some(modules) = own_modules::directory() else { return };
    let place = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "verify");
    lab.arg(recipe(place.path(), &modules, None)).args(["--kernel", KERNELS[1], "--rounds", "2"]);
    let shown = guests::said(&guests::expect(lab, 0));
    assert!(shown.contains("the same bytes every time"), "{shown}");
}

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

#[test]
fn a_pin_is_an_input_again_after_a_crash() {
    let Some(guests) = guests::directory() else { return };
    let Some(modules) = own_modules::directory() else { return };
    let module = modules.join(own_modules::release(KERNELS[1])).join("tardy_pins.ko");
    let guest = Guest { modules: vec![module.display().to_string().leak()], ..Guest::default() };
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
}
