//! Tracing for causes beside a timer probe: the trace that a late thread has stopped is read, and set going again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tardy_record::moment::{CauseTrace, MOMENT_COUNT, Moment, TracingCost};
use tardy_record::plan::{CausesPlan, PhasePlan, ThreadPlan, TimerPlan};
use tardy_record::series::{Series, SeriesKind};
use tardy_sys::cell64::Cell64;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::shared_map::{Block, SharedMap};

use super::fake_moment;
use super::house::House;
use tardy_host::trace::moments::{Late, MomentTrace};
use tardy_host::trace::tracefs::Tracefs;
use tardy_probe::cells::{self, Traced, Tracing};
use tardy_probe::order::Granted;

/// How often the house looks whether a thread has stopped the trace: what is late meanwhile has no moment.
const LOOK_NS: u64 = 20_000_000;
/// The warm-up is cut into so many stretches, traced and not in turns.
const WARM_STRETCHES: u64 = 16;
/// Whoever turns the trace on or off also holds up who wakes just then: that long nothing is compared.
const WARM_SETTLE_NS: u64 = 2_000_000;

/// The causes of one phase.
pub(super) struct CauseWatch<'m> {
    /// Absent for a fake, which makes moments up.
    trace: Option<MomentTrace>,
    plan: CausesPlan,
    threads: Vec<Thread<'m>>,
    warm_up: Option<WarmUp>,
    next_look_ns: u64,
}

/// One measuring thread.
struct Thread<'m> {
    plan: ThreadPlan,
    block: Block<'m>,
    tid: u32,
    priority: u32,
    /// By the numbers of their cycles.
    moments: BTreeMap<u64, (i64, Moment)>,
    stops: u64,
    not_traced: u64,
}

/// The warm-up, while it goes on. Times on the monotonic clock.
struct WarmUp {
    stretch_ns: u64,
    next_ns: u64,
    end_ns: u64,
    traced: bool,
}

impl<'m> CauseWatch<'m> {
    /// Makes the trace for a phase, whose threads count in the blocks of `map`.
    pub(super) fn make(
        house: &House<'_>,
        map: &'m SharedMap,
        timer: &TimerPlan,
        plan: CausesPlan,
    ) -> Result<Self, String> {
        let trace = match house.request.fake {
            Some(_) => None,
            None => {
                let tracefs = Tracefs::find(&KernelFiles::under(&house.request.kernel_root))?;
                let cpus: Vec<u32> = timer.threads.iter().map(|thread| thread.cpu).collect();
                Some(MomentTrace::make(&tracefs, &house.run.origin.id, &cpus, plan.buffer_kib)?)
            }
        };
        let thread = |(block, plan): (usize, &ThreadPlan)| Thread {
            plan: *plan,
            block: map.block(block),
            tid: 0,
            priority: 0,
            moments: BTreeMap::new(),
            stops: 0,
            not_traced: 0,
        };
        let threads = timer.threads.iter().enumerate().map(thread).collect();
        Ok(Self { trace, plan, threads, warm_up: None, next_look_ns: u64::MAX })
    }

    /// The file by which a thread stops the trace.
    pub(super) fn stop_file(&self) -> Option<PathBuf> {
        self.trace.as_ref().map(MomentTrace::stop_file)
    }

    /// Says which threads they are, and when the warm-up and the counted part begin, on the monotonic clock.
    pub(super) fn begin(
        &mut self,
        tids: &[u32],
        granted: impl Iterator<Item = Granted>,
        start_ns: u64,
        phase: &PhasePlan,
    ) {
        for ((thread, tid), granted) in self.threads.iter_mut().zip(tids).zip(granted) {
            (thread.tid, thread.priority) = (*tid, granted.priority);
        }
        if self.trace.is_none() {
            return;
        }
        let end_ns = start_ns + phase.warmup_ns;
        let stretch_ns = phase.warmup_ns / WARM_STRETCHES;
        self.warm_up = Some(WarmUp { stretch_ns, next_ns: start_ns, end_ns, traced: false });
        self.next_look_ns = start_ns;
    }

    /// When there is something to do next, on the monotonic clock.
    pub(super) fn next_look_ns(&self) -> u64 {
        self.next_look_ns
    }

    /// Does what is due.
    pub(super) fn look(&mut self) -> Result<(), String> {
        let now_ns = monotonic_ns();
        if now_ns < self.next_look_ns {
            return Ok(());
        }
        if self.warm_up.is_some() {
            return self.go_on_with_the_warm_up(now_ns);
        }
        self.next_look_ns = now_ns + LOOK_NS;
        if self.threads.iter().all(|thread| thread.get(Tracing::Stops) == thread.stops) {
            return Ok(());
        }
        self.read_what_was_stopped()?;
        self.trace.as_mut().map_or(Ok(()), |trace| trace.set_on(true))
    }

    /// Takes the last moments, and stops to trace. The threads have ended.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        self.next_look_ns = u64::MAX;
        let Some(trace) = &mut self.trace else { return Ok(()) };
        trace.set_on(false)?;
        let outcome = self.read_what_was_stopped();
        if let Some(trace) = &self.trace {
            let moments = self.threads.iter_mut().flat_map(|thread| thread.moments.values_mut());
            trace.name_functions(moments.map(|(_, moment)| moment));
        }
        outcome
    }

    /// Adds to a thread's series what is known of its worst wake-ups.
    pub(super) fn add_to(&self, index: usize, series: &mut Series) {
        let thread = &self.threads[index];
        let SeriesKind::Timer(timer) = &mut series.kind else { return };
        timer.causes =
            Some(CauseTrace { stops: thread.stops, not_traced: thread.not_traced, cost: thread.cost() });
        for outlier in &mut series.worst {
            outlier.moment = thread.moments.get(&outlier.cycle).map(|(_, moment)| moment.clone());
        }
        if self.trace.is_none() {
            let wanted =
                series.worst.iter_mut().filter(|outlier| outlier.latency_ns > self.plan.over_ns as i64);
            for outlier in wanted.take(MOMENT_COUNT) {
                outlier.moment = Some(fake_moment::of(outlier, thread.tid, thread.priority));
            }
        }
    }

    fn go_on_with_the_warm_up(&mut self, now_ns: u64) -> Result<(), String> {
        let (Some(warm_up), Some(trace)) = (&mut self.warm_up, &mut self.trace) else { return Ok(()) };
        let say =
            |state: Traced| self.threads.iter().for_each(|thread| thread.say(Tracing::State, state as u64));
        if now_ns >= warm_up.end_ns {
            say(Traced::Unsure);
            trace.set_on(true)?;
            self.threads.iter().for_each(|thread| thread.want_later_than(self.plan.over_ns));
            self.warm_up = None;
            self.next_look_ns = now_ns + LOOK_NS;
        } else if now_ns >= warm_up.next_ns {
            warm_up.traced = !warm_up.traced;
            say(Traced::Unsure);
            trace.set_on(warm_up.traced)?;
            warm_up.next_ns = (now_ns + warm_up.stretch_ns.max(2 * WARM_SETTLE_NS)).min(warm_up.end_ns);
            self.next_look_ns = (now_ns + WARM_SETTLE_NS).min(warm_up.end_ns);
        } else {
            say(if warm_up.traced { Traced::On } else { Traced::Off });
            self.next_look_ns = warm_up.next_ns;
        }
        Ok(())
    }

    fn read_what_was_stopped(&mut self) -> Result<(), String> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        let late: Vec<Late> = self.threads.iter().filter_map(Thread::late).collect();
        let stopped = trace.take(&late)?;
        for thread in &mut self.threads {
            if let Some(late) = thread.late() {
                thread.take_over(stopped.moment(&late), late.at_ns - late.deadline_ns, self.plan.over_ns);
            }
        }
        Ok(())
    }
}

impl Thread<'_> {
    fn cell(&self, cell: Tracing) -> &Cell64 {
        &self.block.cells()[cells::TRACING + cell as usize]
    }

    fn get(&self, cell: Tracing) -> u64 {
        self.cell(cell).get()
    }

    /// Writes one of the house's cells.
    fn say(&self, cell: Tracing, value: u64) {
        self.cell(cell).set(value);
    }

    /// The wake-up at which the thread has stopped the trace, if it has since the last time.
    fn late(&self) -> Option<Late> {
        if self.get(Tracing::Stops) == self.stops {
            return None;
        }
        let at_ns = self.get(Tracing::StoppedAt);
        let deadline_ns = at_ns.saturating_sub(self.get(Tracing::StoppedLateness));
        Some(Late { tid: self.tid, priority: self.priority, cpu: self.plan.cpu, deadline_ns, at_ns })
    }

    /// Takes the moment of that wake-up, and arms the thread again.
    fn take_over(&mut self, moment: Option<Moment>, late_ns: u64, over_ns: u64) {
        self.stops = self.get(Tracing::Stops);
        match moment {
            Some(moment) => self.keep(self.get(Tracing::StoppedCycle), late_ns as i64, moment),
            None => self.not_traced += 1,
        }
        self.want_later_than(over_ns);
        self.say(Tracing::Answered, self.stops);
    }

    /// Has the thread stop the trace at wake-ups later than the limit and than what is usual here; once there are enough
    /// moments, only at worse ones than these.
    fn want_later_than(&self, over_ns: u64) {
        let usual_ns =
            if over_ns == 0 { (self.get(Tracing::WarmUsual) as i64).max(0).unsigned_abs() } else { 0 };
        let floor_ns = match self.moments.len() {
            MOMENT_COUNT.. => self.moments.values().map(|(late_ns, _)| late_ns.unsigned_abs()).min(),
            _ => None,
        };
        self.say(Tracing::Over, floor_ns.unwrap_or(0).max(usual_ns).max(over_ns).max(1));
    }

    fn keep(&mut self, cycle: u64, late_ns: i64, moment: Moment) {
        self.moments.insert(cycle, (late_ns, moment));
        if self.moments.len() > MOMENT_COUNT
            && let Some((least, _)) = self.moments.iter().min_by_key(|(_, (late_ns, _))| *late_ns)
        {
            let least = *least;
            self.moments.remove(&least);
        }
    }

    fn cost(&self) -> Option<TracingCost> {
        (self.get(Tracing::WarmCount) > 0).then(|| TracingCost {
            traced_ns: self.get(Tracing::WarmTraced) as i64,
            untraced_ns: self.get(Tracing::WarmUntraced) as i64,
        })
    }
}
