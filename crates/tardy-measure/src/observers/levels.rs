//! The kernel's events of a timer probe's wake-ups: read once per second, and turned into a series for each level and
//! thread.

use std::rc::Rc;

use tardy_host::trace::cycles::{Cycle, Matcher};
use tardy_host::trace::events::{EventLayouts, TraceEvent, What};
use tardy_host::trace::instance::Instance;
use tardy_host::trace::levels::{Grid, ThreadLevels};
use tardy_host::trace::page::Piece;
use tardy_host::trace::reader::TraceReader;
use tardy_host::trace::tracefs::Tracefs;
use tardy_record::Series;
use tardy_record::plan::{KernelPlan, PhasePlan, ThreadPlan};
use tardy_record::series::Change;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;

use super::synthetic_trace::SyntheticTrace;
use crate::engine::{Counted, Observer, PhaseContext, Reading, Supervisor};
use crate::sources::own_probe::{LiveSeries, ProbeState};

/// How long cycles of a thread are kept that does not count yet: the supervisor learns later when counting began.
const UNDECIDED_NS: i64 = 5_000_000_000;

/// Observes the levels of one phase.
pub(crate) struct Levels<'r> {
    context: PhaseContext<'r>,
    state: Rc<ProbeState<'r>>,
    plan: &'r KernelPlan,
    /// Set once the threads wait for the common start.
    watch: Option<Watch>,
}

/// The trace of a phase's threads.
struct Watch {
    phase: usize,
    trace: Trace,
    /// Events later than the time up to which all pipes have been read.
    waiting: Vec<TraceEvent>,
    matcher: Matcher,
    threads: Vec<Thread>,
    planned_ns: u64,
    thresholds_ns: Vec<u64>,
    annotated_to_ns: u64,
    lost_events: u64,
}

/// The source of the events.
enum Trace {
    Kernel(Box<KernelTrace>),
    Synthetic(SyntheticTrace),
}

/// The kernel's trace.
struct KernelTrace {
    /// Dropped before the instance, which cannot be removed while its pipes are open.
    reader: TraceReader,
    instance: Instance,
    layouts: EventLayouts,
}

struct Thread {
    grid: Grid,
    /// Set once it is known when the thread began to count.
    levels: Option<ThreadLevels>,
    undecided: Vec<Cycle>,
}

impl<'r> Levels<'r> {
    /// The levels of the threads of `plan`.
    pub(crate) fn new(context: PhaseContext<'r>, state: Rc<ProbeState<'r>>, plan: &'r KernelPlan) -> Self {
        Self { context, state, plan, watch: None }
    }
}

impl Observer for Levels<'_> {
    /// Starts tracing the threads, which wait for the common start.
    fn attach(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        self.watch = Some(Watch::start(&self.context, self.plan, &self.state.tids())?);
        Ok(())
    }

    fn begin(&mut self, counted: Counted) -> Result<(), String> {
        self.watch.iter_mut().for_each(|watch| watch.set_start(counted.start_ns));
        Ok(())
    }

    fn collect(&mut self) -> Result<(), String> {
        self.watch.as_mut().map_or(Ok(()), Watch::collect)
    }

    fn read(&mut self, _supervisor: &mut Supervisor<'_>, reading: &Reading<'_>) -> Result<(), String> {
        if let Some(watch) = &mut self.watch {
            watch.count(&self.state.series());
            watch.annotate_worst(reading.now_ns, reading.changes);
        }
        Ok(())
    }

    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, reading: &Reading<'_>) -> Result<(), String> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        let outcome = watch.finish(&self.state.series());
        watch.annotate_worst(reading.now_ns, reading.changes);
        outcome
    }

    fn add_to(&self, series: &mut Vec<Series>) {
        series.extend(self.watch.iter().flat_map(Watch::series));
    }
}

impl Watch {
    fn start(context: &PhaseContext<'_>, plan: &KernelPlan, tids: &[u32]) -> Result<Self, String> {
        let PhaseContext { request, index, plan: phase, clock, .. } = context;
        let phase_seed = request.plan.seed.wrapping_add(*index as u64 * 65_536);
        let trace = match request.fake {
            Some(seed) => Trace::Synthetic(SyntheticTrace::new(seed, phase_seed, &plan.timer)),
            None => Trace::Kernel(Box::new(KernelTrace::start(context, plan, tids)?)),
        };
        let thread = |thread: &ThreadPlan| Thread {
            grid: Grid {
                cpu: thread.cpu,
                first_ns: thread.offset_ns,
                interval_ns: thread.interval_ns,
                cycles: PhasePlan::cycles_of(phase.span, thread.interval_ns),
                run_start_ns: clock.start_ns(),
            },
            levels: None,
            undecided: Vec::new(),
        };
        Ok(Self {
            phase: *index,
            trace,
            waiting: Vec::new(),
            matcher: Matcher::new(tids),
            threads: plan.timer.threads.iter().map(thread).collect(),
            planned_ns: phase.planned_ns(),
            thresholds_ns: request.plan.thresholds_ns.clone(),
            annotated_to_ns: 0,
            lost_events: 0,
        })
    }

    /// Sets the threads' common start, on the monotonic clock.
    fn set_start(&mut self, start_ns: u64) {
        self.threads.iter_mut().for_each(|thread| thread.grid.first_ns += start_ns);
        if let Trace::Synthetic(trace) = &mut self.trace {
            trace.set_start(start_ns);
        }
    }

    /// Reads the new events, and matches those that no earlier event can still follow. Called before the cells are
    /// read: a thread that does not count according to the cells did not count when these events occurred.
    fn collect(&mut self) -> Result<(), String> {
        let Trace::Kernel(trace) = &mut self.trace else { return Ok(()) };
        let complete_to_ns = monotonic_ns();
        trace.read(complete_to_ns, &mut self.waiting)?;
        self.match_up_to(complete_to_ns);
        Ok(())
    }

    /// Counts the cycles of threads whose cells show that they count.
    fn count(&mut self, live: &[LiveSeries<'_>]) {
        for (thread, series) in self.threads.iter_mut().zip(live) {
            if thread.levels.is_none()
                && let Some(cells) = series.cells()
            {
                let from_ns = cells.counted_from_ns();
                let levels = ThreadLevels::new(thread.grid, from_ns, self.planned_ns, &self.thresholds_ns);
                thread.levels = Some(levels);
            }
            thread.decide();
        }
    }

    /// Attaches the watchers' changes to the worst samples that are new.
    fn annotate_worst(&mut self, now_ns: u64, changes: &[Change]) {
        let levels = self.threads.iter_mut().filter_map(|thread| thread.levels.as_mut());
        levels.for_each(|levels| levels.annotate_worst(self.annotated_to_ns, changes));
        self.annotated_to_ns = now_ns;
    }

    /// Stops tracing, reads the last events and completes the counts. The threads have ended, and `live` has their
    /// final numbers.
    fn finish(&mut self, live: &[LiveSeries<'_>]) -> Result<(), String> {
        let outcome = match &mut self.trace {
            Trace::Kernel(trace) => {
                // Later events do not belong to a measured thread.
                let _ = trace.instance.write("tracing_on", "0");
                let outcome = trace.read(u64::MAX, &mut self.waiting);
                self.lost_events = trace.instance.lost_events();
                outcome
            }
            Trace::Synthetic(trace) => {
                let ends = live.iter().map(|series| series.cells().map_or(0, |cells| cells.counted_to_ns()));
                trace.events(&ends.collect::<Vec<_>>(), &mut self.waiting);
                Ok(())
            }
        };
        self.match_up_to(u64::MAX);
        for thread in 0..self.threads.len() {
            let last = self.matcher.finish(thread);
            self.threads[thread].undecided.extend(last);
        }
        self.count(live);
        for (index, (thread, series)) in self.threads.iter_mut().zip(live).enumerate() {
            let lost = self.matcher.has_lost(index);
            if let (Some(levels), Some(cells)) = (&mut thread.levels, series.cells()) {
                levels.finish(cells.attempted(), lost);
            }
        }
        outcome
    }

    /// The series so far.
    fn series(&self) -> impl Iterator<Item = Series> {
        let levels = self.threads.iter().filter_map(|thread| thread.levels.as_ref());
        levels.flat_map(|levels| levels.series(self.phase, self.lost_events))
    }

    fn match_up_to(&mut self, complete_to_ns: u64) {
        // The sort is stable: events of one CPU stay in order.
        self.waiting.sort_by_key(|event| event.at_ns);
        let complete = self.waiting.partition_point(|event| event.at_ns < complete_to_ns);
        for event in self.waiting.drain(..complete) {
            if let Some(cycle) = self.matcher.take(event) {
                self.threads[cycle.thread].undecided.push(cycle);
            }
        }
    }
}

impl Thread {
    fn decide(&mut self) {
        match &mut self.levels {
            Some(levels) => self.undecided.drain(..).for_each(|cycle| levels.add(cycle)),
            None => {
                let last_ns = self.undecided.last().map_or(0, |cycle| cycle.expires_ns);
                self.undecided.retain(|cycle| cycle.expires_ns.saturating_add(UNDECIDED_NS) > last_ns);
            }
        }
    }
}

impl KernelTrace {
    fn start(context: &PhaseContext<'_>, plan: &KernelPlan, tids: &[u32]) -> Result<Self, String> {
        let PhaseContext { request, plan: phase, .. } = context;
        let tracefs = Tracefs::find(&KernelFiles::under(&request.kernel_root))?;
        let (page, layouts) = tracefs.layouts()?;
        let instance = Instance::make(&tracefs, &request.origin.id)?;
        instance.trace_wake_ups(tids, &phase.probe.cpus(), plan.buffer_kib)?;
        let reader = instance.reader(page)?;
        Ok(Self { reader, instance, layouts })
    }

    fn read(&mut self, complete_to_ns: u64, events: &mut Vec<TraceEvent>) -> Result<(), String> {
        let Self { reader, layouts, .. } = self;
        reader.read(complete_to_ns, |_, piece| match piece {
            Piece::Event { at_ns, bytes } => events.extend(layouts.event(at_ns, bytes)),
            Piece::Lost { before_ns, .. } => events.push(TraceEvent { at_ns: before_ns, what: What::Lost }),
        })
    }
}
