//! A source, observers, loads, a clock and signals that log the engine's calls.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::rc::Rc;

use tardy_record::Series;
use tardy_record::load::LoadResult;
use tardy_record::plan::PhasePlan;
use tardy_record::reason::Reason;
use tardy_record::series::{Level, Outlier, Quantity, SeriesKind, TraceSeries, TraceSource};
use tardy_record::series_builder::{Reading as Value, SeriesBuilder};

use crate::engine::loads::{LoadStarter, RunningLoads};
use crate::engine::phase_map::MapLayout;
use crate::engine::supervisor::Signals;
use crate::engine::{
    BrokenWait, Clock, Counted, Finished, KillReason, Listener, Observer, Parts, PhaseContext, Reading,
    Ready, Request, RunProgress, Source, SourceProgress, Sources, Supervisor,
};

/// The calls, in order.
#[derive(Clone, Default)]
pub(super) struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    pub(super) fn add(&self, what: impl Into<String>) {
        self.0.borrow_mut().push(what.into());
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    pub(super) fn has(&self, what: &str) -> bool {
        self.0.borrow().iter().any(|one| one == what)
    }

    /// Those of the calls that are `of_interest`, in order.
    pub(super) fn only(&self, of_interest: &[&str]) -> Vec<String> {
        self.all().into_iter().filter(|one| of_interest.contains(&one.as_str())).collect()
    }
}

/// A clock that advances only during waits, and signals at given times.
#[derive(Default)]
pub(super) struct FakeTime {
    now_ns: Cell<u64>,
    signals_ns: RefCell<VecDeque<u64>>,
    waits: Cell<u32>,
    /// The wait in which the supervisor is stopped and sleeps twice, from 1.
    pub(super) broken_wait: Cell<u32>,
}

impl FakeTime {
    pub(super) fn with_signals(signals_ns: &[u64]) -> Rc<Self> {
        Rc::new(Self { signals_ns: RefCell::new(signals_ns.iter().copied().collect()), ..Self::default() })
    }
}

impl Clock for FakeTime {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn start_ns(&self) -> u64 {
        0
    }

    fn advance_to(&self, _then_ns: u64) {}

    fn sleeps(&self) -> u64 {
        let (waits, broken) = (self.waits.get(), self.broken_wait.get());
        u64::from(waits) + u64::from(broken > 0 && waits >= broken)
    }

    fn wait(&self, descriptors: &[RawFd], at_most_ns: u64) -> io::Result<Vec<bool>> {
        self.waits.set(self.waits.get() + 1);
        assert!(self.waits.get() < 10_000, "the engine waits for ever");
        let until_ns = self.now_ns.get() + at_most_ns;
        let signal_ns = self.signals_ns.borrow().front().copied().filter(|at_ns| *at_ns <= until_ns);
        self.now_ns.set(signal_ns.unwrap_or(until_ns).max(self.now_ns.get()));
        let mut readable = vec![false; descriptors.len()];
        readable[0] = signal_ns.is_some();
        Ok(readable)
    }
}

pub(super) struct FakeSignals(pub(super) Rc<FakeTime>);

impl Signals for FakeSignals {
    fn descriptor(&self) -> RawFd {
        -1
    }

    fn take(&self) -> bool {
        self.0.signals_ns.borrow_mut().pop_front().is_some()
    }
}

/// The course of a fake run.
#[derive(Clone, Default)]
pub(super) struct Script {
    /// The step of setting up that fails.
    pub(super) fails_at: Option<&'static str>,
    /// When the source dies by itself.
    pub(super) dies_at_ns: Option<u64>,
    /// Whether the source ignores requests to end.
    pub(super) ignores_stop: bool,
    /// Whether it has no series.
    pub(super) has_no_series: bool,
    /// Called whenever the source is read.
    pub(super) on_read: Option<Rc<dyn Fn(u64)>>,
}

impl Script {
    fn step(&self, log: &Log, step: &str) -> Result<(), String> {
        log.add(step);
        if self.fails_at == Some(step) { Err(format!("{step} failed")) } else { Ok(()) }
    }
}

/// Makes a [`FakeSource`] and two [`FakeObserver`]s for each phase.
pub(super) struct FakeSources {
    pub(super) script: Script,
    pub(super) log: Log,
}

impl<'r> Sources<'r> for FakeSources {
    fn map_layout(&self, _request: &Request, _plan: &PhasePlan) -> MapLayout {
        MapLayout::EMPTY
    }

    fn make(&self, context: PhaseContext<'r>) -> Result<Parts<'r>, String> {
        self.script.step(&self.log, "make")?;
        let observer = |name| -> Box<dyn Observer + 'r> {
            Box::new(FakeObserver { name, script: self.script.clone(), log: self.log.clone() })
        };
        let source = FakeSource {
            context,
            script: self.script.clone(),
            log: self.log.clone(),
            counted: None,
            has_ended: false,
            readings: 0,
        };
        Ok(Parts { source: Box::new(source), observers: vec![observer("first"), observer("second")] })
    }
}

pub(super) struct FakeSource<'r> {
    context: PhaseContext<'r>,
    script: Script,
    log: Log,
    counted: Option<Counted>,
    has_ended: bool,
    readings: u64,
}

impl FakeSource<'_> {
    fn now_ns(&self) -> u64 {
        self.context.clock.now_ns()
    }

    fn to_ns(&self) -> u64 {
        self.counted.map_or(u64::MAX, |counted| counted.to_ns)
    }
}

impl Source for FakeSource<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        self.script.step(&self.log, "set up")?;
        Ok(Ready { remarks: vec!["a remark".to_owned()], ..Ready::default() })
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        self.script.step(&self.log, "start")?;
        self.counted = Some(counted);
        Ok(())
    }

    fn wait_ns(&self) -> u64 {
        let next_ns = self.script.dies_at_ns.unwrap_or(u64::MAX).min(self.to_ns());
        next_ns.saturating_sub(self.now_ns()).max(1_000_000)
    }

    fn on_wake(&mut self, _readable: &[bool]) -> Vec<Reason> {
        match self.script.dies_at_ns.filter(|at_ns| !self.has_ended && self.now_ns() >= *at_ns) {
            Some(_) => {
                self.has_ended = true;
                vec![Reason::from("it died".to_owned())]
            }
            None => Vec::new(),
        }
    }

    fn read(&mut self, reading: &Reading<'_>) -> Vec<Reason> {
        self.readings += 1;
        self.log.add(if reading.is_last { "last read" } else { "read" });
        let in_ms = |wait: &BrokenWait| {
            format!("stopped from {} to {} ms", wait.from_ns / 1_000_000, wait.to_ns / 1_000_000)
        };
        reading.broken_waits.iter().for_each(|wait| self.log.add(in_ms(wait)));
        if let Some(own) = reading.overlaps.during(0, &late_by_a_second(reading.now_ns)) {
            self.log.add(format!("late during {own}"));
        }
        if let Some(on_read) = &self.script.on_read {
            on_read(reading.now_ns);
        }
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.has_ended || (!self.script.ignores_stop && self.now_ns() >= self.to_ns())
    }

    fn stop(&mut self) {
        self.log.add("stop");
        self.has_ended |= !self.script.ignores_stop;
    }

    fn stop_patience_ns(&self) -> u64 {
        2_000_000_000
    }

    fn kill(&mut self, reason: KillReason) -> Vec<Reason> {
        self.log.add(format!("kill: {reason:?}"));
        match reason {
            KillReason::InterruptedTwice => Vec::new(),
            KillReason::Unresponsive => vec![Reason::from("it did not stop".to_owned())],
        }
    }

    fn finish(&mut self) -> Finished {
        self.log.add("finish");
        Finished::default()
    }

    fn progress(&self) -> SourceProgress {
        let Some(counted) = self.counted else { return SourceProgress::default() };
        let counted_to_ns = self.now_ns().min(counted.to_ns).max(counted.from_ns);
        SourceProgress {
            counted_from_ns: Some(counted.from_ns),
            counted_to_ns: Some(counted_to_ns),
            counted_ns: counted_to_ns - counted.from_ns,
            ..SourceProgress::default()
        }
    }

    fn series(&self) -> Vec<Series> {
        if self.script.has_no_series {
            return Vec::new();
        }
        let mut builder = SeriesBuilder::new(0, Some(1000), 1_000_000_000, &[]);
        for cycle in 0..self.readings {
            builder.record(Value { value_ns: 5, at_ns: 1_000_000 * (1 + cycle), cycle, missed: 0 });
        }
        let kind = TraceSeries {
            cpu: 0,
            source: TraceSource::Timerlat,
            interval_ns: 1000,
            beside: false,
            lost_events: 0,
        };
        let (quantity, level) = (Quantity::Latency, Level::UserThread);
        vec![builder.series("fake".to_owned(), self.context.index, quantity, level, SeriesKind::Trace(kind))]
    }
}

impl Drop for FakeSource<'_> {
    fn drop(&mut self) {
        self.log.add("source dropped");
    }
}

pub(super) struct FakeObserver {
    name: &'static str,
    script: Script,
    log: Log,
}

impl Observer for FakeObserver {
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        self.script.step(&self.log, &format!("{} prepare", self.name))
    }

    fn attach(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        self.script.step(&self.log, &format!("{} attach", self.name))
    }

    fn begin(&mut self, _counted: Counted) -> Result<(), String> {
        self.script.step(&self.log, &format!("{} begin", self.name))
    }

    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, reading: &Reading<'_>) -> Result<(), String> {
        assert!(reading.is_last);
        self.script.step(&self.log, &format!("{} finish", self.name))
    }

    fn add_to(&self, series: &mut Vec<Series>) {
        series.iter_mut().for_each(|series| series.label += &format!(", {}", self.name));
    }
}

impl Drop for FakeObserver {
    fn drop(&mut self) {
        self.log.add(format!("{} dropped", self.name));
    }
}

pub(super) struct FakeLoads {
    pub(super) script: Script,
    pub(super) log: Log,
}

impl LoadStarter for FakeLoads {
    fn start(
        &mut self,
        _plan: &PhasePlan,
        _message: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn RunningLoads>, String> {
        self.script.step(&self.log, "loads start")?;
        Ok(Box::new(FakeRunningLoads(self.log.clone())))
    }
}

struct FakeRunningLoads(Log);

impl RunningLoads for FakeRunningLoads {
    fn begin_phase(&mut self, _phase: usize, now_ns: u64) {
        self.0.add(format!("loads count from {} ms", now_ns / 1_000_000));
    }

    fn end_phase(&mut self, _now_ns: u64) {
        self.0.add("loads end");
    }

    fn read(&mut self, _now_ns: u64) {}

    fn snapshot(&self) -> Vec<LoadResult> {
        Vec::new()
    }

    fn stop(self: Box<Self>) -> Vec<LoadResult> {
        Vec::new()
    }
}

impl Drop for FakeRunningLoads {
    fn drop(&mut self) {
        self.0.add("loads dropped");
    }
}

/// A wake-up that was due at the reading before.
fn late_by_a_second(at_ns: u64) -> Outlier {
    let latency_ns = 1_000_000_000;
    Outlier { latency_ns, at_ns, cycle: 0, around: Vec::new(), overlaps: None, moment: None }
}

/// Records messages, and requests the end after a number of reports.
#[derive(Default)]
pub(super) struct FakeListener {
    pub(super) messages: Vec<String>,
    pub(super) reports: u32,
    pub(super) interruptions: u32,
    pub(super) wants_end_after: Option<u32>,
}

impl Listener for FakeListener {
    fn progress(&mut self, _progress: &RunProgress<'_>) {
        self.reports += 1;
    }

    fn message(&mut self, text: &str) {
        self.messages.push(text.to_owned());
    }

    fn interrupted(&mut self) {
        self.interruptions += 1;
    }

    fn wants_end(&mut self) -> bool {
        self.wants_end_after.is_some_and(|reports| self.reports >= reports)
    }
}
