//! A wiggle in the lab, whose chip wires line 1 to line 2, while an interrupt takes the CPU for a known time at a known
//! period. A busy wiggle must find exactly this time and period among its holes, and timed edges must not be later than
//! that.

use tardy_analyse::noise;
use tardy_record::{Run, Series};

use crate::repeated;
use crate::scripted::Scene;

const HOLD_NS: u64 = 50_000;
const EVERY_NS: f64 = 1_000_000.0;
/// How much longer a hole is than its cause: entering and leaving the interrupt, a toggle, and other work of the kernel on
/// the way out.
const AROUND_NS: u64 = 20_000;
/// Unrelated to the disturbance's period, so deadlines come at all its phases.
const INTERVAL_NS: i64 = 97_000;
/// How long a phase lasts: as short as the period of [`EVERY_NS`] can be found in. The emulator takes 15 s for a second of it.
const DURATION_NS: u64 = 300_000_000;
const EDGES: u64 = DURATION_NS / INTERVAL_NS as u64;

/// Another program that wiggles: a shell, through sysfs, which releases the line on SIGINT. Debian's kernels number the first
/// chip's lines from 512.
const BY: &str = "/bin/busybox sh -c 'cd /sys/class/gpio; trap \"echo 513 > /sys/class/gpio/unexport; exit\" INT; \
                  echo 513 > export; cd answer || cd gpio513; echo out > direction; \
                  while :; do echo 1 > value; echo 0 > value; done'";

/// The scene of this file.
pub(crate) fn scene() -> Scene {
    let recipe = format!(
        "about = \"a pin wiggled\"\n[run]\nprobe = \"gpio-wiggle\"\nduration = \"{}ms\"\nwarmup = \"100ms\"\n\
         [gpio]\nout = \"tardy-pins:1\"\n\
         [[phase]]\nname = \"busy\"\ntimer = {{ wake = [\"busy\"], policy = \"other\" }}\n\
         [[phase]]\nname = \"timed\"\ntimer = {{ interval = \"97us\" }}\ngpio = {{ echo = \"tardy-pins:2\" }}\n\
         [[phase]]\nname = \"shell\"\nduration = \"200ms\"\n\
         gpio = {{ echo = \"tardy-pins:2\", by = {BY:?} }}\n",
        DURATION_NS / 1_000_000
    );
    let script = "with_modules tardy_pins.ko 'tardy_disturb.ko how=hardirq hold_us=50 every_us=1000' -- \
                  tardy run $FILES/wiggle.toml -o /lab/results/wiggle.run.json\n";
    Scene {
        name: "wiggle",
        script: script.to_owned(),
        own_modules: true,
        files: vec![("wiggle.toml".to_owned(), recipe)],
        ..Scene::default()
    }
}

fn series<'r>(run: &'r Run, label: &str) -> &'r Series {
    run.series.iter().find(|series| series.label == label).unwrap_or_else(|| panic!("no series '{label}'"))
}

#[test]
fn a_wiggle_shows_what_takes_the_cpu() {
    let Some(printed) = repeated::scene("wiggle") else { return };
    let run = printed.run("wiggle.run.json");
    assert!(run.validity.valid, "{:?}", run.validity);

    let toggles = series(&run, "toggles");
    let holes = series(&run, "holes");
    assert_eq!(holes.gaps().unwrap().loops, toggles.tally.recorded);
    assert_eq!(holes.gaps().unwrap().times_lost, 0);
    let found = noise::of(&run);
    let sources = &found[0].cpus[0].sources;
    let is_it = |source: &&noise::Source| (source.period.period_ns / EVERY_NS - 1.0).abs() < 1e-3;
    let source = sources.iter().find(is_it).unwrap_or_else(|| panic!("{sources:?}"));
    assert!((HOLD_NS..HOLD_NS + AROUND_NS).contains(&source.period.length_ns), "{source:?}");
    assert!(source.period.missing * 20 <= source.period.events, "{source:?}");

    let timed = series(&run, "cpu 0");
    assert_eq!(timed.tally.attempted.get(), Some(EDGES));
    let late_ns = timed.max_ns.unwrap();
    assert!((HOLD_NS as i64 / 2..2 * INTERVAL_NS).contains(&late_ns), "{late_ns}");
    let echoes: Vec<&Series> =
        run.series.iter().filter(|series| series.label.starts_with("echo on")).collect();
    let [echo, shell] = echoes.as_slice() else { panic!("{} echoes", echoes.len()) };
    assert_eq!(echo.tally.dropped.get(), Some(0));
    // They differ by one at either end if counting begins or ends between an edge and its echo.
    assert!(echo.tally.recorded.abs_diff(timed.tally.recorded) <= 3, "{:?} {:?}", echo.tally, timed.tally);
    // After a late edge the next one comes too soon by as much.
    let (least_ns, most_ns) = (echo.min_ns.unwrap(), echo.max_ns.unwrap());
    assert!(least_ns < INTERVAL_NS && most_ns > INTERVAL_NS + HOLD_NS as i64 / 2, "{least_ns} to {most_ns}");
    assert!(shell.tally.recorded > 1000 && shell.tally.dropped.get() == Some(0), "{:?}", shell.tally);
    assert!(!shell.stands_beside() && echo.stands_beside());
    println!("toggles: min {:?}, mean {:?}, max {:?}", toggles.min_ns, toggles.mean_ns(), toggles.max_ns);
}
