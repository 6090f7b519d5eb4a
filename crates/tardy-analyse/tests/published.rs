//! Published results compared with a synthetic run: circumstances that are the same, that differ, and that are unknown.

use tardy_analyse::published::{self, Match, PublishedResult, Sameness, Value};
use tardy_record::Run;
use tardy_record::facts::{Fact, Preemption};
use tardy_record::lab::{Lab, LabClock};
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{ProbePlan, Wake};

use Sameness::{Different, Same, Unknown};

/// A run of 1 min with clock_nanosleep every 1 ms on two CPUs of a Raspberry Pi 3 with PREEMPT_RT, under doload.
fn run() -> Run {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-present/tests/runs/rt.run.json");
    tardy_record::file::from_text(&std::fs::read(path).unwrap()).unwrap()
}

fn emulated(mut run: Run, clock: LabClock) -> Run {
    run.lab = Some(Lab {
        identity: String::new(),
        clock,
        machine: "raspi3b".to_owned(),
        emulator: "7.2.22".to_owned(),
        arguments: Vec::new(),
        kernel: Default::default(),
        command_line: String::new(),
        initramfs_sha256: String::new(),
        tardy_sha256: String::new(),
        device_tree_sha256: None,
        settled: Default::default(),
    });
    run
}

fn published(set: impl FnOnce(&mut PublishedResult)) -> PublishedResult {
    let mut result = PublishedResult { id: "x".into(), source: "an article".into(), ..Default::default() };
    set(&mut result);
    result
}

fn sameness(found: &Match, name: &str) -> Sameness {
    found.circumstances.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name}")).sameness
}

/// The sameness of the circumstance for `run` next to a result that states nothing else.
fn of(run: &Run, name: &str, set: impl FnOnce(&mut PublishedResult)) -> Sameness {
    sameness(&published::match_of(run, &published(set)), name)
}

#[test]
fn a_circumstance_that_is_not_stated_is_unknown() {
    let found = published::match_of(&run(), &published(|_| {}));
    for row in &found.circumstances {
        assert_eq!((row.sameness, row.published.len()), (Unknown, 0), "{}", row.name);
    }
    let mut bare = run();
    bare.facts = Default::default();
    for name in ["CPU and board", "CPUs", "kernel", "preemption"] {
        let given = |one: &mut PublishedResult| {
            (one.board, one.cpus) = (Some("Raspberry Pi 3 Model B".into()), Some(2));
            (one.kernel, one.preempt_rt) = (Some("4.9".into()), Some(true));
        };
        assert_eq!(of(&bare, name, given), Unknown, "{name}");
    }
}

#[test]
fn boards_are_compared_by_name() {
    let is = |name: &str, published: &str| {
        let mut run = run();
        run.facts.machine.board = Fact::known(name.into(), "test");
        of(&run, "CPU and board", |one| one.board = Some(published.into()))
    };
    assert_eq!(is("Raspberry Pi 3 Model B Rev 1.2", "Raspberry Pi 3 Model B"), Same);
    assert_eq!(is("Raspberry Pi Model B Rev 2", "Raspberry Pi Model B, 700 MHz"), Same);
    assert_eq!(is("Atmel AT91SAM9M10G45-EK", "AT91SAM9M10-G45-EK"), Same);
    assert_eq!(is("Raspberry Pi 3 Model B Plus Rev 1.3", "Raspberry Pi 3 Model B"), Different);
    assert_eq!(is("Raspberry Pi 3 Model B", "Raspberry Pi, armv6"), Different);
    let emulated = emulated(run(), LabClock::Instructions { shift: 1 });
    let board = |one: &mut PublishedResult| one.board = Some("Raspberry Pi 3 Model B".into());
    assert_eq!(of(&emulated, "CPU and board", board), Different, "an emulated board is not the board");
}

#[test]
fn cpus_and_kernels_are_compared() {
    assert_eq!(of(&run(), "CPUs", |one| one.cpus = Some(2)), Same);
    assert_eq!(of(&run(), "CPUs", |one| one.cpus = Some(4)), Different);
    let release = "6.12.48+deb13-rt-arm64";
    assert_eq!(of(&run(), "kernel", |one| one.kernel = Some(release.into())), Same);
    assert_eq!(of(&run(), "kernel", |one| one.kernel = Some("4.9.47-rt37-v7+".into())), Different);
}

#[test]
fn preemption_models_are_compared() {
    let standard = |model| {
        let mut run = run();
        run.facts.kernel.real_time = Fact::known(false, "test");
        run.facts.kernel.preemption = Fact::known(model, "test");
        run
    };
    assert_eq!(of(&run(), "preemption", |one| one.preempt_rt = Some(true)), Same);
    assert_eq!(of(&run(), "preemption", |one| one.preempt_rt = Some(false)), Different);
    let none = standard(Preemption::None);
    assert_eq!(of(&none, "preemption", |one| one.preempt_rt = Some(true)), Different);
    assert_eq!(
        of(&none, "preemption", |one| one.preempt_rt = Some(false)),
        Unknown,
        "the article does not state the model"
    );
    let without = |one: &mut PublishedResult| {
        (one.preempt_rt, one.kernel) = (Some(false), Some("3.0.10 built without preemption".into()));
    };
    assert_eq!(of(&none, "preemption", without), Same);
    assert_eq!(of(&standard(Preemption::Full), "preemption", without), Different);
    assert_eq!(of(&run(), "preemption", |one| one.xenomai = Some("2.6".into())), Different);
}

#[test]
fn loads_are_compared_by_name() {
    let under = |loads: &[&str], published: &str| {
        let mut run = run();
        run.plan.phases[0].loads =
            loads.iter().map(|load| LoadSpec::of_run_file((*load).to_owned())).collect();
        of(&run, "load", |one| one.load = Some(published.into()))
    };
    assert_eq!(under(&[], "none"), Same);
    assert_eq!(under(&["doload"], "none"), Different);
    assert_eq!(under(&[], "doload.sh 65, repeated"), Different);
    assert_eq!(under(&["doload"], "doload.sh 65, repeated"), Same);
    assert_eq!(under(&["scheduler", "copy"], "doload.sh 65, repeated"), Different);
    let ping = "cat /dev/zero > /dev/null, and ping -i 0.01 from another host";
    assert_eq!(
        under(&["cmd:cat /dev/zero > /dev/null"], ping),
        Unknown,
        "it is unknown whether the ping ran"
    );
    assert_eq!(under(&["cmd:stress-ng --cpu 4"], ping), Different);
}

#[test]
fn intervals_durations_and_samples_are_compared() {
    assert_eq!(of(&run(), "interval", |one| one.interval_us = Some(1000.0)), Same);
    assert_eq!(of(&run(), "interval", |one| one.interval_us = Some(200.0)), Different);
    let duration = |text: &str| of(&run(), "duration", |one| one.duration = Some(text.into()));
    assert_eq!([duration("1 min"), duration("2 min")], [Same, Different]);
    assert_eq!([duration("about 63 s"), duration("about 2.5 h")], [Same, Different]);
    assert_eq!([duration("more than 5 h"), duration("at least 30 s")], [Different, Unknown]);
    assert_eq!(duration("a night"), Unknown);
    let samples = |n: u64| of(&run(), "samples a thread", |one| one.samples_per_thread = Some(n));
    assert_eq!([samples(60_000), samples(100_000_000)], [Same, Different]);
    assert_eq!(
        of(&run(), "samples a thread", |one| one.samples = Some(60_000)),
        Unknown,
        "the number of threads is unknown"
    );
    let one_cpu = |one: &mut PublishedResult| (one.samples, one.cpus) = (Some(60_000), Some(1));
    assert_eq!(of(&run(), "samples a thread", one_cpu), Same);
}

#[test]
fn a_vague_duration_follows_from_samples_and_interval() {
    let vague = published(|one| {
        (one.duration, one.interval_us) = (Some("more than 5 h".into()), Some(200.0));
        one.samples_per_thread = Some(100_000_000);
    });
    let found = published::match_of(&run(), &vague);
    let row = found.circumstances.iter().find(|row| row.name == "duration").unwrap();
    let expected = [Value::Text("more than 5 h".into()), Value::DerivedNs(20_000_000_000_000)];
    assert_eq!((row.published.as_slice(), row.sameness), (&expected[..], Different));
}

#[test]
fn wake_methods_and_levels_are_compared() {
    let mut run = run();
    assert_eq!(of(&run, "wake method", |one| one.wake = Some("clock_nanosleep".into())), Same);
    assert_eq!(of(&run, "level", |one| one.wake = Some("clock_nanosleep".into())), Same);
    let other = published(|one| one.wake = Some("setitimer".into()));
    assert!(published::match_of(&run, &other).ours.is_empty(), "another method is another experiment");
    let ProbePlan::Timer(timer) = &mut run.plan.phases[0].probe else { panic!("a timer's run") };
    timer.wake = Wake::Setitimer;
    assert_eq!(published::match_of(&run, &other).ours.len(), 1);
    let level = published(|one| one.level = Some("timer IRQ".into()));
    assert!(published::match_of(&run, &level).ours.is_empty(), "without a trace there are no levels");
    let pin = published(|one| (one.probe, one.wake) = (Some("gpio-wiggle".into()), Some("busy".into())));
    assert!(published::match_of(&run, &pin).ours.is_empty(), "no pin was wiggled");
}

#[test]
fn the_outcome_under_the_same_load_corresponds() {
    let mut run = run();
    // The same experiment again, idle.
    let (mut phase, mut plan) = (run.phases[0].clone(), run.plan.phases[0].clone());
    (phase.label, plan.label, plan.loads) = ("idle".into(), "idle".into(), Vec::new());
    run.phases.push(phase);
    run.plan.phases.push(plan);
    for mut series in run.series.clone() {
        (series.phase, series.max_ns) = (1, Some(7));
        run.series.push(series);
    }
    let load = |load: Option<&str>| {
        let result = published(|one| {
            (one.wake, one.load) = (Some("clock_nanosleep".into()), load.map(str::to_owned));
        });
        let found = published::match_of(&run, &result);
        found.ours.iter().map(|ours| ours.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(load(Some("none")), ["no load"]);
    assert_eq!(load(Some("doload.sh 65")), ["doload"]);
    assert_eq!(load(None), ["doload", "no load"], "the article does not state the load");
}

#[test]
fn a_run_is_compared_with_results_of_its_kind_of_kernel() {
    let result = |id: &str, rt| PublishedResult { id: id.into(), preempt_rt: rt, ..Default::default() };
    let known = [result("rt", Some(true)), result("standard", Some(false)), result("xenomai", None)];
    let mut run = run();
    assert_eq!(published::of(&run, &known), None, "its recipe repeats nothing");
    run.plan.published = ["rt", "standard", "xenomai", "lost"].map(String::from).into();
    let found = published::of(&run, &known).unwrap();
    let ids: Vec<&str> = found.matches.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["rt", "xenomai"]);
    assert_eq!(found.of_the_other_kernel, ["standard"]);
    assert_eq!(found.not_known, ["lost"]);
    run.facts.kernel.real_time = Fact::unknown("test");
    assert_eq!(published::of(&run, &known).unwrap().matches.len(), 3);
}

#[test]
fn invalid_numbers_are_not_compared() {
    let known = [PublishedResult { id: "rt".into(), ..Default::default() }];
    let mut run = run();
    run.plan.published = vec!["rt".into()];
    let realtime = emulated(run.clone(), LabClock::RealtimeEmulated);
    run.validity.valid = false;
    for run in [&run, &realtime] {
        let found = published::of(run, &known).unwrap();
        assert!(found.matches.is_empty() && found.withheld_because.is_some());
    }
    let counted = emulated(realtime, LabClock::Instructions { shift: 1 });
    assert_eq!(published::of(&counted, &known).unwrap().matches.len(), 1);
}
