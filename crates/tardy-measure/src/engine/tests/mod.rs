//! The engine with a fake source and fake observers.

mod fakes;

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use fakes::{FakeListener, FakeLoads, FakeSignals, FakeSources, FakeTime, Log, Script};
use tardy_host::facts::{self, SystemAnswers};
use tardy_record::event::EventKind;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan, Span, Tracer, TracerPlan};
use tardy_record::run::{Origin, State};
use tardy_record::stop_rule::{Decision, RuledEnd, StopAt, StopRule};
use tardy_sys::kernel_files::KernelFiles;
use tempfile::TempDir;

use crate::probe_program::ProbeProgram;
use crate::programs::Programs;

use super::{Outcome, Outside, Request, RunError, map_of_phase, run};

const SECOND_NS: u64 = 1_000_000_000;

/// A run of a phase of some seconds, with its log and messages.
struct Bench {
    directory: TempDir,
    log: Log,
    request: Request,
    listener: FakeListener,
}

impl Bench {
    fn new(seconds: u64) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(directory.path());
        let plan = Plan { scale: 1.0, phases: vec![phase(seconds)], ..Plan::default() };
        let facts = facts::collect(&files, &SystemAnswers::none());
        let origin = Origin { id: format!("engine-{}-{number}", std::process::id()), ..Origin::default() };
        let output = directory.path().join("runs/a.run.json");
        let programs = Programs {
            own: PathBuf::from("/nowhere"),
            probe: ProbeProgram::new(&[], PathBuf::from("/nowhere")),
            read_output: |_, _, _| Err("nothing is read".to_owned()),
        };
        let request = Request {
            kernel_root: directory.path().to_owned(),
            fake: Some(0),
            ..Request::new(plan, facts, origin, output, programs)
        };
        fs::create_dir(directory.path().join("runs")).unwrap();
        Self { directory, log: Log::default(), request, listener: FakeListener::default() }
    }

    fn run(&mut self, script: Script, signals_ns: &[u64]) -> Result<Outcome, RunError> {
        self.run_in(FakeTime::with_signals(signals_ns), script)
    }

    fn run_in(&mut self, clock: Rc<FakeTime>, script: Script) -> Result<Outcome, RunError> {
        let outside = Outside {
            clock: Rc::<FakeTime>::clone(&clock),
            signals: Box::new(FakeSignals(clock)),
            loads: Box::new(FakeLoads { script: script.clone(), log: self.log.clone() }),
        };
        let sources = FakeSources { script, log: self.log.clone() };
        run(&self.request, &sources, outside, &mut self.listener)
    }

    fn map(&self) -> PathBuf {
        map_of_phase(&self.request.origin.id, 0).unwrap()
    }
}

fn phase(seconds: u64) -> PhasePlan {
    PhasePlan {
        label: "fake".to_owned(),
        round: 1,
        loads: vec!["cpu".parse().unwrap()],
        warmup_ns: SECOND_NS / 2,
        span: Span::DurationNs(seconds * SECOND_NS),
        probe: ProbePlan::Tracer(TracerPlan {
            tracer: Tracer::Timerlat,
            cpus: vec![0],
            period_ns: 1000,
            runtime_ns: None,
            priority: None,
            threshold_ns: None,
        }),
    }
}

#[test]
fn a_wait_in_which_the_supervisor_slept_twice_is_reported_to_the_source_once() {
    let mut bench = Bench::new(2);
    let clock = FakeTime::with_signals(&[]);
    clock.broken_wait.set(2);
    bench.run_in(clock, Script::default()).unwrap();
    let stopped = bench.log.all().into_iter().filter(|one| one.starts_with("stopped"));
    assert_eq!(stopped.collect::<Vec<_>>(), ["stopped from 500 to 1000 ms"]);
}

#[test]
fn a_phase_is_set_up_watched_and_cleaned_up_in_order() {
    let mut bench = Bench::new(2);
    let outcome = bench.run(Script::default(), &[]).unwrap();
    assert!(outcome.trouble.is_none());
    let expected = [
        "loads start",
        "make",
        "first prepare",
        "second prepare",
        "set up",
        "first attach",
        "second attach",
        "first begin",
        "second begin",
        "start",
        "loads count from 500 ms",
        "read",
        "read",
        "finish",
        "loads end",
        "last read",
        "first finish",
        "second finish",
        "source dropped",
        "first dropped",
        "second dropped",
        "loads dropped",
    ];
    let mut calls = bench.log.all();
    calls.retain(|call| !call.starts_with("late during"));
    assert_eq!(calls, expected);
    let run = outcome.run;
    assert_eq!((run.progress.state, run.phases[0].remarks.len()), (State::Complete, 1));
    assert_eq!((run.phases[0].start_ns, run.phases[0].end_ns), (SECOND_NS / 2, Some(5 * SECOND_NS / 2)));
    assert_eq!(run.series[0].label, "fake, first, second");
    assert_eq!(bench.listener.messages, ["a remark"]);
    assert!(!bench.map().exists());
}

#[test]
fn one_interrupt_asks_the_source_to_end() {
    let mut bench = Bench::new(60);
    let outcome = bench.run(Script::default(), &[3 * SECOND_NS]).unwrap();
    assert_eq!(outcome.run.progress.state, State::Interrupted);
    assert_eq!(bench.log.only(&["stop", "kill: InterruptedTwice", "finish"]), ["stop", "finish"]);
    assert_eq!(bench.listener.interruptions, 1);
    assert!(outcome.run.events.iter().any(|event| event.kind == EventKind::Interrupted));
    assert!(outcome.run.phases[0].end_ns.is_some_and(|end_ns| end_ns <= 3 * SECOND_NS));
}

#[test]
fn a_second_interrupt_kills_the_source() {
    let mut bench = Bench::new(60);
    let script = Script { ignores_stop: true, ..Script::default() };
    let outcome = bench.run(script, &[3 * SECOND_NS, 4 * SECOND_NS]).unwrap();
    assert_eq!(outcome.run.progress.state, State::Interrupted);
    let seen = bench.log.only(&["stop", "kill: InterruptedTwice", "kill: Unresponsive", "finish"]);
    assert_eq!(seen, ["stop", "kill: InterruptedTwice", "finish"]);
    assert_eq!(bench.listener.interruptions, 1, "the message is printed once");
    assert!(outcome.run.phases[0].spoilt_by.is_empty());
}

#[test]
fn a_source_that_does_not_stop_when_asked_is_killed() {
    let mut bench = Bench::new(60);
    let script = Script { ignores_stop: true, ..Script::default() };
    let outcome = bench.run(script, &[3 * SECOND_NS]).unwrap();
    let seen = bench.log.only(&["stop", "kill: Unresponsive", "finish"]);
    assert_eq!(seen, ["stop", "kill: Unresponsive", "finish"]);
    assert_eq!(outcome.run.phases[0].spoilt_by, ["it did not stop"]);
    assert!(outcome.run.phases[0].end_ns.is_some_and(|end_ns| end_ns < 7 * SECOND_NS));
}

#[test]
fn a_listener_can_end_any_phase() {
    let mut bench = Bench::new(60);
    bench.listener.wants_end_after = Some(4);
    let outcome = bench.run(Script::default(), &[]).unwrap();
    assert_eq!(outcome.run.progress.state, State::Interrupted);
    assert!(bench.log.has("stop"));
    assert_eq!((bench.listener.reports, bench.listener.interruptions), (4, 0));
}

#[test]
fn a_source_that_dies_invalidates_the_phase_and_ends_the_run() {
    let mut bench = Bench::new(60);
    bench.request.plan.phases.push(phase(1));
    let script = Script { dies_at_ns: Some(3 * SECOND_NS), ..Script::default() };
    let outcome = bench.run(script, &[]).unwrap();
    assert_eq!(outcome.run.progress.state, State::Interrupted);
    assert_eq!((outcome.run.phases.len(), outcome.run.series.len()), (1, 1));
    assert_eq!(outcome.run.phases[0].spoilt_by, ["it died"]);
    assert!(bench.listener.messages.contains(&"it died".to_owned()));
}

#[test]
fn a_source_that_dies_without_a_series_leaves_no_run() {
    let mut bench = Bench::new(60);
    let script = Script { dies_at_ns: Some(3 * SECOND_NS), has_no_series: true, ..Script::default() };
    let error = bench.run(script, &[]).unwrap_err();
    assert_eq!(error.to_string(), "it died");
    assert!(!bench.request.output.exists() && !bench.map().exists());
    assert!(bench.log.has("loads dropped"));
}

#[test]
fn a_checkpoint_holds_the_progress_so_far() {
    let mut bench = Bench::new(8);
    let (file, log) = (bench.request.output.clone(), bench.log.clone());
    let look = move |now_ns: u64| {
        if now_ns == 7 * SECOND_NS {
            let run = tardy_record::file::from_text(&fs::read(&file).unwrap()).unwrap();
            assert_eq!(run.progress.state, State::Running);
            assert!(run.progress.measured_ns > 0 && run.progress.cycles > 0, "{:?}", run.progress);
            assert_eq!(run.phases[0].start_ns, SECOND_NS / 2);
            log.add("looked");
        }
    };
    bench.run(Script { on_read: Some(Rc::new(look)), ..Script::default() }, &[]).unwrap();
    assert!(bench.log.has("looked"));
    // At the start of the phase, and after 1 and 6 s.
    assert_eq!(bench.log.only(&["late during checkpoint"]).len(), 3, "{:?}", bench.log.all());
}

#[test]
fn a_run_in_a_guest_writes_nothing_while_it_measures() {
    let mut bench = Bench::new(8);
    bench.request.is_in_guest = true;
    let (file, log) = (bench.request.output.clone(), bench.log.clone());
    let look = move |now_ns: u64| {
        if now_ns == 7 * SECOND_NS {
            let run = tardy_record::file::from_text(&fs::read(&file).unwrap()).unwrap();
            assert_eq!(run.progress.measured_ns, 0);
            log.add("looked");
        }
    };
    let outcome = bench.run(Script { on_read: Some(Rc::new(look)), ..Script::default() }, &[]).unwrap();
    assert!(bench.log.has("looked"));
    assert_eq!(bench.log.only(&["late during checkpoint"]).len(), 1, "{:?}", bench.log.all());
    assert_eq!(outcome.run.progress.state, State::Complete);
}

#[test]
fn a_failed_checkpoint_does_not_end_the_run() {
    let mut bench = Bench::new(8);
    let file = bench.request.output.clone();
    // A file cannot replace a directory.
    let obstruct = move |now_ns: u64| match now_ns / SECOND_NS {
        4 => fs::remove_file(&file).and_then(|()| fs::create_dir(&file)).unwrap(),
        7 => fs::remove_dir(&file).unwrap(),
        _ => {}
    };
    let outcome = bench.run(Script { on_read: Some(Rc::new(obstruct)), ..Script::default() }, &[]).unwrap();
    assert!(outcome.trouble.is_none());
    assert_eq!(outcome.run.progress.state, State::Complete);
    assert!(outcome.run.events.iter().any(|event| event.kind == EventKind::CheckpointFailed));
    assert!(bench.listener.messages.iter().any(|text| text.starts_with("the checkpoint failed")));
    assert!(bench.request.output.is_file());
}

#[test]
fn an_error_in_any_set_up_step_cleans_up_all_started_parts() {
    let steps = [
        "loads start",
        "make",
        "first prepare",
        "second prepare",
        "set up",
        "first attach",
        "second attach",
        "first begin",
        "second begin",
        "start",
    ];
    for step in steps {
        let mut bench = Bench::new(2);
        let script = Script { fails_at: Some(step), ..Script::default() };
        let error = bench.run(script, &[]).unwrap_err();
        assert_eq!(error.to_string(), format!("{step} failed"));
        let log = bench.log.all();
        let cleaned: Vec<&str> = match step {
            "loads start" => vec![],
            "make" => vec!["loads dropped"],
            _ => vec!["source dropped", "first dropped", "second dropped", "loads dropped"],
        };
        let after = log.iter().position(|one| one == step).unwrap() + 1;
        assert_eq!(log[after..], cleaned, "{step}");
        assert!(!bench.request.output.exists() && !bench.map().exists(), "{step}");
        assert_eq!(fs::read_dir(bench.directory.path().join("runs")).unwrap().count(), 0, "{step}");
    }
}

#[test]
fn a_failing_observer_invalidates_the_phase_and_the_others_finish() {
    let mut bench = Bench::new(2);
    let outcome = bench.run(Script { fails_at: Some("first finish"), ..Script::default() }, &[]).unwrap();
    assert_eq!(outcome.run.phases[0].spoilt_by, ["first finish failed"]);
    assert_eq!(outcome.run.progress.state, State::Complete);
    assert!(bench.log.has("second finish"));
}

/// A rule whose claim is decided once the source has been read twice.
fn with_rule(bench: &mut Bench, at: StopAt) {
    bench.request.plan.until =
        Some(StopRule { at, limit_ns: 1, probability: 0.5, confidence: 0.95, cluster: 1 });
    bench.request.decide = Some(|run, phase| {
        let series = run.series.iter().find(|series| series.phase == phase);
        match series.map_or(0, |series| series.tally.recorded) {
            0 | 1 => Decision::Undecided,
            _ => Decision::Refuted,
        }
    });
}

#[test]
fn a_rule_ends_a_phase_early_and_the_run_is_complete() {
    let mut bench = Bench::new(60);
    with_rule(&mut bench, StopAt::Decided);
    let run = bench.run(Script::default(), &[]).unwrap().run;
    assert_eq!(run.progress.state, State::Complete);
    assert_eq!(run.phases[0].until, Some(RuledEnd { decision: Decision::Refuted, early: true }));
    assert!(run.validity.valid && !run.events.iter().any(|event| event.kind == EventKind::Interrupted));
    assert!(run.events.iter().any(|event| event.text == "phase 'fake' is decided"));
    assert_eq!(bench.log.only(&["read", "stop", "finish"]), ["read", "read", "stop", "finish"]);
    let counted_ns = run.phases[0].end_ns.unwrap() - run.phases[0].start_ns;
    assert!(counted_ns < 3 * SECOND_NS, "the true length is recorded: {counted_ns}");
}

#[test]
fn a_phase_that_awaits_another_decision_runs_to_its_end() {
    let mut bench = Bench::new(4);
    with_rule(&mut bench, StopAt::Supported);
    let run = bench.run(Script::default(), &[]).unwrap().run;
    assert_eq!(run.phases[0].until, Some(RuledEnd { decision: Decision::Refuted, early: false }));
    assert!(!bench.log.has("stop"));
    assert_eq!(run.phases[0].end_ns.unwrap() - run.phases[0].start_ns, 4 * SECOND_NS);
}

#[test]
fn an_interrupt_after_the_rule_has_ended_a_phase_interrupts_the_run_and_does_not_kill() {
    let mut bench = Bench::new(60);
    with_rule(&mut bench, StopAt::Decided);
    let script = Script { ignores_stop: true, ..Script::default() };
    let run = bench.run(script, &[3 * SECOND_NS]).unwrap().run;
    assert_eq!(run.progress.state, State::Interrupted);
    assert!(!bench.log.has("kill: InterruptedTwice"));
}

#[test]
fn a_rule_that_nothing_can_decide_is_refused_before_anything_is_measured() {
    let mut bench = Bench::new(4);
    with_rule(&mut bench, StopAt::Decided);
    bench.request.decide = None;
    let error = bench.run(Script::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("without --until"), "{error}");
    assert!(!bench.request.output.exists() && bench.log.all().is_empty());
}
