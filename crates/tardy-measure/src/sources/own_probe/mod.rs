//! tardy's own probe: a process with real-time threads that count in the phase's map.

mod live_series;
mod noise;
mod process;
mod reaction;
mod setup;
mod state;
mod thread_watch;
mod timer;
mod wiggle;

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::rc::Rc;

use tardy_host::watch::WakeTimes;
use tardy_probe::cells::HEADER_RUN_START;
use tardy_probe::order::{Order, Reply};
use tardy_record::Series;
use tardy_record::plan::{PhasePlan, ProbePlan};
use tardy_record::reason::Reason;
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::Outlier;

use crate::engine::{
    self, Counted, Finished, KillReason, PhaseContext, Reading, Ready, Source, SourceProgress, Supervisor,
};

pub(crate) use live_series::LiveSeries;
use process::ProbeProcess;
pub(crate) use reaction::keeps_log;
pub(crate) use setup::ProbeSetup;
pub(crate) use state::ProbeState;
use thread_watch::ThreadWatch;

/// The set-up for a phase that tardy's own probe measures; `None` if another source does.
pub(crate) fn setup_of(plan: &PhasePlan, is_synthetic: bool) -> Option<ProbeSetup<'_>> {
    match &plan.probe {
        ProbePlan::Timer(timer) => Some(timer::setup(timer)),
        ProbePlan::Kernel(kernel) => Some(timer::setup_with_levels(kernel)),
        ProbePlan::Noise(noise) => Some(noise::setup(noise)),
        ProbePlan::Reaction(reaction) => Some(reaction::setup(reaction, is_synthetic)),
        ProbePlan::Wiggle(wiggle) => wiggle::setup(wiggle),
        _ => None,
    }
}

/// From the order to start to the common start: time for every thread to reach its first wait.
const START_DELAY_NS: u64 = 50_000_000;
/// Time that a probe may take to stop when asked, in addition to two of its intervals.
const STOP_GRACE_NS: u64 = 3_000_000_000;
/// Time between two readings of a synthetic probe's rings, for which its threads wait.
const SYNTHETIC_RINGS_NS: u64 = 1_000_000;

/// The probe of one phase: one process, or one for each thread if the timer of the wake method belongs to the process.
pub(crate) struct OwnProbe<'r> {
    context: PhaseContext<'r>,
    setup: ProbeSetup<'r>,
    state: Rc<ProbeState<'r>>,
    /// The processes that have not ended.
    processes: Vec<ProbeProcess>,
}

impl<'r> OwnProbe<'r> {
    /// A probe that shares `state` with its observers.
    pub(crate) fn new(context: PhaseContext<'r>, setup: ProbeSetup<'r>, state: Rc<ProbeState<'r>>) -> Self {
        Self { context, setup, state, processes: Vec::new() }
    }

    fn is_synthetic(&self) -> bool {
        self.context.request.fake.is_some()
    }

    /// The order of each process, with the cgroup that it moves into.
    fn orders(&self) -> Vec<(Option<String>, Order)> {
        let PhaseContext { request, index, plan, map, .. } = &self.context;
        let order = |threads| Order {
            map: map.shared().path().to_owned(),
            threads,
            placement: request.plan.placement.clone(),
            supervisor_pid: std::process::id(),
            work: self.setup.work.clone(),
            pin: self.setup.pin.clone(),
            warmup_ns: plan.warmup_ns,
            span: plan.span,
            thresholds_ns: request.plan.thresholds_ns.clone(),
            stop_trace: self.state.stop_trace(),
            // The dither differs for each thread and phase, and is the same in every run.
            seed: request.plan.seed.wrapping_add((index * 65_536) as u64),
            fake: request.fake,
        };
        let shares = self.setup.processes(&request.plan.placement, self.is_synthetic());
        shares.into_iter().map(|share| (share.cgroup, order(share.threads))).collect()
    }

    /// Waits until every process is ready.
    fn wait_until_ready(&mut self) -> Result<Ready, String> {
        let mut ready = Ready::default();
        let mut all = BTreeMap::new();
        for process in &mut self.processes {
            match process.wait_until_ready(&*self.context.clock)? {
                Reply::Ready { threads, tids, refused } => {
                    let policy = self.setup.counters.first().map(|counter| counter.policy);
                    let is_refused = threads.iter().any(|granted| Some(granted.policy) != policy);
                    if is_refused && self.context.request.requires_policy {
                        return Err(format!(
                            "{}. The policy was requested; to measure without it, use --allow-degraded",
                            refused.join("; ")
                        ));
                    }
                    all.extend(process.threads().iter().copied().zip(threads.into_iter().zip(tids)));
                    ready.remarks.extend(refused);
                }
                Reply::Failed { reason } => return Err(reason),
                Reply::Done => return Err("the probe ended before it began; please report it".to_owned()),
            }
        }
        (ready.granted, ready.tids) = all.into_values().unzip();
        Ok(ready)
    }
}

impl OwnProbe<'_> {
    /// Another process's interference with the probe: a stop, another CPU, another policy.
    fn interference(&self, reading: &Reading<'_>) -> Vec<Reason> {
        let at_ns = reading.now_ns;
        let stopped = self.processes.iter().filter(|process| process.was_stopped());
        let mut reasons: Vec<Reason> =
            stopped.map(|process| Reason::ProbeStopped { pid: process.pid(), at_ns }).collect();
        let series = self.state.series();
        let mut watched = self.state.watched();
        if reasons.is_empty() {
            let worst: Vec<Vec<Outlier>> = series.iter().map(LiveSeries::worst).collect();
            let stopped_ns = watched.stopped_ns(reading.broken_waits, &worst);
            reasons.extend(stopped_ns.map(|for_ns| Reason::AllStopped { for_ns, at_ns }));
        }
        match reading.is_last {
            true => reasons.extend(watched.changes_at_end(&series, at_ns)),
            false => reasons.extend(watched.changes(at_ns)),
        }
        reasons
    }
}

impl Source for OwnProbe<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        let run_start_ns = self.context.clock.start_ns();
        self.context.map.shared().header(HEADER_RUN_START).set(run_start_ns);
        for (cgroup, order) in self.orders() {
            let program = &self.context.request.programs.probe;
            self.processes.push(ProbeProcess::start(program, cgroup.as_deref(), &order)?);
        }
        let mut ready = self.wait_until_ready()?;
        ready.remarks.extend(self.setup.remarks.iter().cloned());
        ready.remarks.sort();
        ready.remarks.dedup();
        // Without that fact, several are assumed.
        let cpus = self.context.request.facts.cpu.online.get().map_or(usize::MAX, Vec::len);
        let watched = ThreadWatch::new(cpus);
        self.state.set_threads(&ready.tids, &ready.granted, &self.setup, watched, self.is_synthetic());
        ready.granted = self.state.granted();
        Ok(ready)
    }

    fn start_delay_ns(&self) -> u64 {
        START_DELAY_NS
    }

    fn wakes_on(&self, cpu: u32, start_ns: u64) -> Option<WakeTimes> {
        self.context.plan.probe.timer().and_then(|plan| timer::wakes_on(plan, cpu, start_ns))
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        self.processes.iter_mut().try_for_each(|process| process.start_measuring(counted.start_ns))
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.processes.iter().map(ProbeProcess::descriptor).collect()
    }

    fn wait_ns(&self) -> u64 {
        let waits_for_rings = self.is_synthetic() && self.state.series().iter().any(LiveSeries::has_gaps);
        if waits_for_rings { SYNTHETIC_RINGS_NS } else { u64::MAX }
    }

    fn on_wake(&mut self, readable: &[bool]) -> Vec<Reason> {
        let mut readable = readable.iter();
        let mut reasons = Vec::new();
        let clock = &self.context.clock;
        self.processes.retain_mut(|process| {
            if !readable.next().copied().unwrap_or(false) {
                return true;
            }
            match process.reply() {
                Ok(Reply::Done) => {
                    if process.was_stopped() {
                        let (pid, at_ns) = (process.pid(), clock.now_ns());
                        reasons.push(Reason::ProbeStopped { pid, at_ns });
                    }
                    process.wait_for_exit();
                }
                Ok(Reply::Failed { reason }) | Err(reason) => reasons.push(Reason::from(reason)),
                Ok(Reply::Ready { .. }) => reasons.push(Reason::ProbeReadyTwice),
            }
            false
        });
        if self.is_synthetic() {
            self.state.series_mut().iter_mut().for_each(LiveSeries::take_gaps);
        }
        reasons
    }

    fn read(&mut self, reading: &Reading<'_>) -> Vec<Reason> {
        for series in self.state.series_mut().iter_mut() {
            if !reading.is_last {
                series.take_gaps();
                series.read();
            }
            series.cut_slice(reading.is_last);
            series.annotate_worst(reading);
        }
        if self.is_synthetic() { Vec::new() } else { self.interference(reading) }
    }

    fn has_ended(&self) -> bool {
        self.processes.is_empty()
    }

    fn stop(&mut self) {
        let map = self.context.map.shared();
        (0..map.block_count()).for_each(|block| map.block(block).ask_to_end());
        self.processes.iter_mut().for_each(ProbeProcess::ask_to_end);
    }

    fn stop_patience_ns(&self) -> u64 {
        STOP_GRACE_NS + 2 * self.context.plan.probe.longest_interval_ns()
    }

    /// Kills the probe.
    fn kill(&mut self, reason: KillReason) -> Vec<Reason> {
        let killed = self.processes.drain(..).map(|process| process.pid());
        let killed: Vec<u32> = killed.collect();
        match reason {
            KillReason::InterruptedTwice => Vec::new(),
            KillReason::Unresponsive => {
                killed.into_iter().map(|pid| Reason::ProbeUnresponsive { pid }).collect()
            }
        }
    }

    fn finish(&mut self) -> Finished {
        self.processes.clear();
        let clock = &self.context.clock;
        for series in self.state.series_mut().iter_mut() {
            series.take_gaps();
            series.read_remains();
            let counted_to_ns = series.cells().map_or(0, |cells| cells.counted_to_ns());
            clock.advance_to(counted_to_ns.saturating_sub(clock.start_ns()));
        }
        Finished::default()
    }

    fn progress(&self) -> SourceProgress {
        let series = self.state.series();
        let cells = || series.iter().filter_map(|series| Some((series.cells()?, series.cpu())));
        let since_start = |ns: u64| ns.saturating_sub(self.context.clock.start_ns());
        let counted = |(cells, _): (tardy_probe::timer::reading::Cells<'_>, u32)| {
            cells.counted_to_ns() - cells.counted_from_ns()
        };
        SourceProgress {
            counted_from_ns: cells().map(|(cells, _)| cells.counted_from_ns()).min().map(since_start),
            counted_to_ns: cells().map(|(cells, _)| cells.counted_to_ns()).max().map(since_start),
            counted_ns: cells().map(counted).max().unwrap_or(0),
            worst: cells().filter_map(|(cells, cpu)| Some((cells.max_ns()?, cpu))).max(),
            missed: cells().map(|(cells, _)| cells.missed()).sum(),
        }
    }

    fn series(&self) -> Vec<Series> {
        self.state.series().iter().filter_map(LiveSeries::series).collect()
    }

    fn live(&self) -> Vec<engine::LiveSeries> {
        self.state.series().iter().filter_map(LiveSeries::live).collect()
    }

    fn costs(&self) -> Vec<ThreadCost> {
        self.state.series().iter().filter_map(LiveSeries::cost).collect()
    }
}
