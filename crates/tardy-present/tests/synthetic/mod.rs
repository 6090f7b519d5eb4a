//! Generates reproducible synthetic runs, with two machines, stalls, loads, an environment and hostile names.

pub(crate) mod environment;
pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod many_cpus;
pub(crate) mod readings;
pub(crate) mod slots;

use machine::{facts, origin};
use readings::{Behaviour, Stall, timer_series};
use tardy_record::event::{Event, EventKind};
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{ClockId, PhasePlan, Plan, Policy, ProbePlan, Span, ThreadPlan, TimerPlan, Wake};
use tardy_record::run::{Phase, Progress, SCHEMA_VERSION, State, Validity};
use tardy_record::self_cost::ThreadCost;
use tardy_record::validity;
use tardy_record::{Run, Series};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const INTERVAL: u64 = 1_000_000;

/// A reproducible generator of random numbers (xorshift64*).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Between 0 and 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Roughly normal, mean 0, deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// Every synthetic run, by the name of its file.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("standard", standard()),
        ("rt", rt()),
        ("wakes", wakes()),
        ("cut-short", cut_short()),
        ("nothing-yet", nothing_yet()),
        ("lab-standard", lab::standard()),
        ("lab-rt", lab::rt()),
        ("lab-levels", lab::levels()),
        ("lab-realtime", lab::realtime()),
        ("slots", slots::slots()),
        ("steady", steady()),
    ]
}

/// A standard kernel under doload, with stalls that skip periods and exceed the limit.
pub(crate) fn standard() -> Run {
    let mut run =
        bare("standard", facts(false), &[(Wake::ClockNanosleep, 1, 60 * SECOND, vec!["doload".into()])]);
    let stalls = [Stall { at_ns: 21 * SECOND, ns: 3_412_345 }, Stall { at_ns: 47 * SECOND, ns: 1_871_002 }];
    let behaviour =
        Behaviour { base_ns: 4_300.0, spread: 0.22, spike_share: 0.012, spike_ns: 21_000.0, stalls: &stalls };
    for cpu in 0..2 {
        let stalls = if cpu == 1 { &stalls[..] } else { &[] };
        run.series.push(timer_series(&run, 0, cpu, &Behaviour { stalls, ..behaviour }));
    }
    run.loads = environment::doload(60, 0, None);
    run.environment = environment::environment(60);
    finish(run, State::Complete)
}

/// A PREEMPT_RT kernel whose latencies have an exponential tail throughout: the level of a longer time is supported.
pub(crate) fn steady() -> Run {
    let mut run =
        bare("steady", facts(true), &[(Wake::ClockNanosleep, 1, 400 * SECOND, vec!["doload".into()])]);
    run.plan.limit_ns = Some(60_000);
    run.plan.thresholds_ns = vec![60_000];
    for cpu in 0..2 {
        run.series.push(readings::steady_series(&run, cpu));
    }
    finish(run, State::Complete)
}

/// A PREEMPT_RT kernel under the same load; the limit is kept.
pub(crate) fn rt() -> Run {
    let mut run = bare("rt", facts(true), &[(Wake::ClockNanosleep, 1, 60 * SECOND, vec!["doload".into()])]);
    for cpu in 0..2 {
        let behaviour =
            Behaviour { base_ns: 5_900.0, spread: 0.16, spike_share: 0.01, spike_ns: 6_000.0, stalls: &[] };
        run.series.push(timer_series(&run, 0, cpu, &behaviour));
    }
    run.loads = environment::doload(60, 0, None);
    run.environment = environment::environment(60);
    finish(run, State::Complete)
}

/// Three wake methods in two rounds each.
pub(crate) fn wakes() -> Run {
    let mut phases = Vec::new();
    for round in 1..=2 {
        for wake in [Wake::ClockNanosleep, Wake::Nanosleep, Wake::TimerSettime] {
            phases.push((wake, round, 6 * SECOND, Vec::new()));
        }
    }
    let mut run = bare("wakes", facts(true), &phases);
    run.plan.limit_ns = None;
    for phase in 0..phases.len() {
        let base_ns = [3_000.0, 58_000.0, 7_000.0][phase % 3];
        for cpu in 0..2 {
            let behaviour =
                Behaviour { base_ns, spread: 0.15, spike_share: 0.004, spike_ns: 5_000.0, stalls: &[] };
            run.series.push(timer_series(&run, phase, cpu, &behaviour));
        }
    }
    finish(run, State::Complete)
}

/// A run that was killed early, with a dead load and hostile names.
pub(crate) fn cut_short() -> Run {
    let hostile = "<script>alert(1)</script>\u{1b}[31m";
    let load = format!("cmd:{hostile} && echo \"it's\" {{{{ 7*7 }}}}");
    let mut run = bare("cut-short", facts(false), &[(Wake::Timerfd, 1, 60 * SECOND, vec![load.clone()])]);
    run.plan.recipe = hostile.to_owned();
    run.origin.host = format!("{hostile}\"'>");
    run.facts.machine.board = tardy_record::facts::Fact::known(format!("{hostile} & Söhne"), "made up");
    run.phases[0].end_ns = None;
    let behaviour =
        Behaviour { base_ns: 250.0, spread: 1.6, spike_share: 0.001, spike_ns: 90_000.0, stalls: &[] };
    let planned = run.plan.phases[0].span;
    run.plan.phases[0].span = Span::DurationNs(8 * SECOND);
    run.series.push(timer_series(&run, 0, 0, &behaviour));
    run.plan.phases[0].span = planned;
    run.series[0].label = format!("cpu 0 {hostile}");
    run.loads = environment::doload(8, 0, Some((load, hostile)));
    run.environment = environment::environment(8);
    for series in &mut run.environment.series {
        series.of = format!("{}{hostile}", series.of);
    }
    run.environment.kernel_threads[0].name = hostile.to_owned();
    run.environment.interrupts[0].description = hostile.to_owned();
    finish(run, State::CutShort)
}

/// The first checkpoint of a run, before any reading.
pub(crate) fn nothing_yet() -> Run {
    let mut run =
        bare("nothing-yet", Default::default(), &[(Wake::ClockNanosleep, 1, 60 * SECOND, Vec::new())]);
    run.phases[0].end_ns = None;
    run.series.push(readings::empty_series(&run, 0, 0));
    finish(run, State::Running)
}

pub(crate) fn bare(
    id: &str,
    facts: tardy_record::facts::Facts,
    phases: &[(Wake, u32, u64, Vec<String>)],
) -> Run {
    let mut start_ns = SECOND;
    let mut happened = Vec::new();
    for (wake, round, length, _) in phases {
        let label = format!("{}, round {round}", wake.name());
        let end_ns = Some(start_ns + length);
        happened.push(Phase { label, start_ns, end_ns, ..Phase::default() });
        start_ns += length + SECOND;
    }
    Run {
        schema_version: SCHEMA_VERSION,
        origin: origin(id),
        start_monotonic_ns: None,
        progress: Progress::default(),
        validity: Validity::default(),
        plan: Plan {
            recipe: "none".into(),
            scale: 1.0,
            seed: 1,
            limit_ns: Some(1_000_000),
            thresholds_ns: vec![1_000_000],
            ambient_c: Some(21.5),
            phases: phases
                .iter()
                .map(|(wake, round, length, loads)| phase_plan(*wake, *round, *length, loads))
                .collect(),
            ..Plan::default()
        },
        facts,
        lab: None,
        switch: None,
        phases: happened,
        series: Vec::<Series>::new(),
        samples: None,
        loads: Vec::new(),
        environment: Default::default(),
        self_cost: Vec::new(),
        events: Vec::new(),
        redacted: Vec::new(),
    }
}

fn phase_plan(wake: Wake, round: u32, length: u64, loads: &[String]) -> PhasePlan {
    let thread = |cpu: u32| ThreadPlan {
        cpu,
        pinned: true,
        priority: 80,
        interval_ns: INTERVAL,
        offset_ns: u64::from(cpu) * 500_000,
    };
    PhasePlan {
        label: format!("{}, round {round}", wake.name()),
        round,
        loads: loads.iter().cloned().map(LoadSpec::of_run_file).collect(),
        warmup_ns: SECOND,
        span: Span::DurationNs(length),
        probe: ProbePlan::Timer(TimerPlan {
            wake,
            clock: ClockId::Monotonic,
            dither_ns: 0,
            policy: Policy::Fifo,
            memory_locked: true,
            dma_latency_us: Some(0),
            causes: None,
            threads: vec![thread(0), thread(1)],
        }),
    }
}

pub(crate) fn finish(mut run: Run, state: State) -> Run {
    run.progress.state = state;
    run.progress.planned_ns = run
        .plan
        .phases
        .iter()
        .map(|phase| match phase.span {
            Span::DurationNs(ns) => ns,
            Span::Loops(_) | Span::Unknown => 0,
        })
        .sum();
    run.refresh_progress();
    run.self_cost = run
        .series
        .iter()
        .map(|series| ThreadCost {
            thread: format!("timer, {}", series.label),
            phase: Some(series.phase),
            cycles: series.tally.attempted.get(),
            cpu_ns: series.tally.recorded * 1_870,
            voluntary_switches: series.tally.recorded,
            involuntary_switches: 3,
            migrations: Some(0),
            ..ThreadCost::default()
        })
        .collect();
    if !run.series.is_empty() {
        run.self_cost.push(ThreadCost {
            thread: "housekeeping".into(),
            cpu_ns: run.progress.measured_ns / 240,
            minor_faults: 412,
            voluntary_switches: 130,
            ..ThreadCost::default()
        });
    }
    for second in [5u64, 10, 20, 40] {
        let event = |kind, text: &str| Event {
            at_ns: second * SECOND,
            kind,
            text: text.into(),
            took_ns: 4_200_000,
            count: 1,
        };
        run.events.push(event(EventKind::Checkpoint, "run file written"));
    }
    run.validity = validity::judge(&run);
    run
}
