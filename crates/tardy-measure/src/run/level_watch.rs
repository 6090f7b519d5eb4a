//! The kernel's events beside a timer probe: read once a second, and turned into one series for each level and thread.

use tardy_record::Series;
use tardy_record::plan::{KernelPlan, PhasePlan, ThreadPlan};
use tardy_record::series::Change;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;

use super::fake_trace::FakeTrace;
use super::house::House;
use super::live_series::LiveSeries;
use tardy_host::trace::cycles::{Cycle, Matcher};
use tardy_host::trace::events::{EventLayouts, TraceEvent, What};
use tardy_host::trace::instance::Instance;
use tardy_host::trace::levels::{Grid, ThreadLevels};
use tardy_host::trace::page::Piece;
use tardy_host::trace::reader::TraceReader;
use tardy_host::trace::tracefs::Tracefs;

/// Cycles of a thread that does not count yet are kept for this long: until the house learns when it began.
const UNDECIDED_NS: i64 = 5_000_000_000;

/// The levels of one phase.
pub(super) struct LevelWatch {
    phase: usize,
    source: Source,
    /// Events that came after the time up to which all pipes had been read.
    waiting: Vec<TraceEvent>,
    matcher: Matcher,
    threads: Vec<Thread>,
    planned_ns: u64,
    thresholds_ns: Vec<u64>,
    annotated_to_ns: u64,
    lost_events: u64,
}

/// Where events come from.
enum Source {
    Real(Box<Trace>),
    Fake(FakeTrace),
}

/// The kernel's trace.
struct Trace {
    /// Before the instance, which cannot be removed while its pipes are open.
    reader: TraceReader,
    instance: Instance,
    layouts: EventLayouts,
}

struct Thread {
    grid: Grid,
    /// Once it is known when the thread began to count.
    levels: Option<ThreadLevels>,
    undecided: Vec<Cycle>,
}

impl LevelWatch {
    /// Starts to trace the threads `tids` of phase `index`, which wait for the common start.
    pub(super) fn start(
        house: &House<'_>,
        index: usize,
        phase: &PhasePlan,
        plan: &KernelPlan,
        tids: &[u32],
    ) -> Result<Self, String> {
        let cpus = phase.probe.cpus();
        let source = match house.request.fake {
            Some(seed) => Source::Fake(FakeTrace::new(
                seed,
                house.request.plan.seed.wrapping_add(index as u64 * 65_536),
                &plan.timer,
            )),
            None => {
                let tracefs = Tracefs::find(&KernelFiles::under(&house.request.kernel_root))?;
                let (page, layouts) = tracefs.layouts()?;
                let instance = Instance::make(&tracefs, &house.run.origin.id)?;
                instance.trace_wake_ups(tids, &cpus, plan.buffer_kib)?;
                let reader = instance.reader(page)?;
                Source::Real(Box::new(Trace { reader, instance, layouts }))
            }
        };
        let cycles = |thread: &ThreadPlan| PhasePlan::cycles_of(phase.span, thread.interval_ns);
        let thread = |thread: &ThreadPlan| Thread {
            grid: Grid {
                cpu: thread.cpu,
                first_ns: thread.offset_ns,
                interval_ns: thread.interval_ns,
                cycles: cycles(thread),
                run_start_ns: house.clock.start_ns(),
            },
            levels: None,
            undecided: Vec::new(),
        };
        Ok(Self {
            phase: index,
            source,
            waiting: Vec::new(),
            matcher: Matcher::new(tids),
            threads: plan.timer.threads.iter().map(thread).collect(),
            planned_ns: phase.planned_ns(),
            thresholds_ns: house.request.plan.thresholds_ns.clone(),
            annotated_to_ns: 0,
            lost_events: 0,
        })
    }

    /// Says when the threads' common start is, on the monotonic clock.
    pub(super) fn set_start(&mut self, start_ns: u64) {
        self.threads.iter_mut().for_each(|thread| thread.grid.first_ns += start_ns);
        if let Source::Fake(fake) = &mut self.source {
            fake.set_start(start_ns);
        }
    }

    /// Takes the events that have come, and matches those that nothing earlier can come before any more. To be called
    /// before the cells are read: a thread that they do not show to count did not when these events came.
    pub(super) fn collect(&mut self) -> Result<(), String> {
        let Source::Real(trace) = &mut self.source else { return Ok(()) };
        let complete_to_ns = monotonic_ns();
        trace.read(complete_to_ns, &mut self.waiting)?;
        self.match_up_to(complete_to_ns);
        Ok(())
    }

    /// Counts the cycles of threads whose cells say that they count.
    pub(super) fn count(&mut self, live: &[LiveSeries<'_>]) {
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

    /// Notes what the watchers saw around worst samples that are new.
    pub(super) fn annotate_worst(&mut self, now_ns: u64, changes: &[Change]) {
        let levels = self.threads.iter_mut().filter_map(|thread| thread.levels.as_mut());
        levels.for_each(|levels| levels.annotate_worst(self.annotated_to_ns, changes));
        self.annotated_to_ns = now_ns;
    }

    /// Takes the last events, stops to trace and accounts for the end. The threads have ended, and `live` has read
    /// their last word.
    pub(super) fn finish(&mut self, live: &[LiveSeries<'_>]) -> Result<(), String> {
        let outcome = match &mut self.source {
            Source::Real(trace) => {
                // What is written from here on is of no thread that is measured.
                let _ = trace.instance.write("tracing_on", "0");
                let outcome = trace.read(u64::MAX, &mut self.waiting);
                self.lost_events = trace.instance.lost_events();
                outcome
            }
            Source::Fake(fake) => {
                let ends = live.iter().map(|series| series.cells().map_or(0, |cells| cells.counted_to_ns()));
                fake.events(&ends.collect::<Vec<_>>(), &mut self.waiting);
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

    /// The series as they stand.
    pub(super) fn series(&self) -> impl Iterator<Item = Series> {
        let levels = self.threads.iter().filter_map(|thread| thread.levels.as_ref());
        levels.flat_map(|levels| levels.series(self.phase, self.lost_events))
    }

    fn match_up_to(&mut self, complete_to_ns: u64) {
        // Stable: events of one CPU stay in their order.
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

impl Trace {
    fn read(&mut self, complete_to_ns: u64, events: &mut Vec<TraceEvent>) -> Result<(), String> {
        let Self { reader, layouts, .. } = self;
        reader.read(complete_to_ns, |_, piece| match piece {
            Piece::Event { at_ns, bytes } => events.extend(layouts.event(at_ns, bytes)),
            Piece::Lost { before_ns, .. } => events.push(TraceEvent { at_ns: before_ns, what: What::Lost }),
        })
    }
}
