//! Traces the causes of late wake-ups: a late thread stops the trace; the supervisor reads it and restarts it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use tardy_host::trace::moments::{Late, MomentTrace};
use tardy_host::trace::tracefs::Tracefs;
use tardy_probe::cells::{self, Traced, Tracing};
use tardy_record::moment::{CauseTrace, MOMENT_COUNT, Moment, TracingCost, Untraced};
use tardy_record::plan::{CausesPlan, ThreadPlan, TimerPlan};
use tardy_record::series::{Series, SeriesKind};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::shared_map::SharedMap;

use super::synthetic_moment;
use crate::engine::{Counted, Observer, PhaseContext, Reading, Supervisor};
use crate::sources::own_probe::ProbeState;

/// Time between two checks whether a thread has stopped the trace. Another late wake-up in between has no moment.
const LOOK_NS: u64 = 5_000_000;
/// The most times at which the trace was off that are known; the oldest are forgotten.
const OFF_MAX: usize = 1 << 16;
/// Number of stretches into which the warm-up is divided, alternately traced and not.
const WARM_STRETCHES: u64 = 16;
/// Turning the trace on or off delays threads that wake at that time, so wake-ups within this time are not compared.
const WARM_SETTLE_NS: u64 = 2_000_000;

/// The causes of one phase.
pub(crate) struct Causes<'r> {
    context: PhaseContext<'r>,
    state: Rc<ProbeState<'r>>,
    /// `None` for a synthetic probe, whose moments are also synthetic.
    trace: Option<MomentTrace>,
    plan: CausesPlan,
    /// Empty if the kernel cannot be traced.
    threads: Vec<Thread>,
    warm_up: Option<WarmUp>,
    next_look_ns: u64,
    /// When the trace was off, in order, on the monotonic clock, and why.
    off: VecDeque<(u64, u64, Untraced)>,
}

/// One measuring thread.
struct Thread {
    plan: ThreadPlan,
    map: Rc<SharedMap>,
    /// Number of its block in the map.
    block: usize,
    tid: u32,
    priority: u32,
    /// Lateness in ns and moment of late wake-ups, by the cycle's number.
    moments: BTreeMap<u64, (i64, Moment)>,
    stops: u64,
    not_traced: u64,
    /// The cycles whose wake-ups stopped the trace, and which it does not show.
    cut: BTreeSet<u64>,
}

/// The warm-up in progress. Times are on the monotonic clock.
struct WarmUp {
    stretch_ns: u64,
    next_ns: u64,
    end_ns: u64,
    traced: bool,
}

impl<'r> Causes<'r> {
    /// The causes of wake-ups of the threads of `timer`.
    pub(crate) fn new(
        context: PhaseContext<'r>,
        state: Rc<ProbeState<'r>>,
        timer: &TimerPlan,
        plan: CausesPlan,
    ) -> Self {
        let thread = |(block, plan): (usize, &ThreadPlan)| Thread {
            plan: *plan,
            map: Rc::clone(context.map.shared()),
            block,
            tid: 0,
            priority: 0,
            moments: BTreeMap::new(),
            stops: 0,
            not_traced: 0,
            cut: BTreeSet::new(),
        };
        let threads = timer.threads.iter().enumerate().map(thread).collect();
        Self {
            context,
            state,
            trace: None,
            plan,
            threads,
            warm_up: None,
            next_look_ns: u64::MAX,
            off: VecDeque::new(),
        }
    }

    fn make_trace(&self) -> Result<MomentTrace, String> {
        let request = self.context.request;
        let tracefs = Tracefs::find(&KernelFiles::under(&request.kernel_root))?;
        let cpus: Vec<u32> = self.threads.iter().map(|thread| thread.plan.cpu).collect();
        MomentTrace::make(&tracefs, &request.origin.id, &cpus, self.plan.buffer_kib)
    }

    fn is_synthetic(&self) -> bool {
        self.context.request.fake.is_some()
    }

    /// Continues the warm-up or reads a stopped trace, if it is time to look.
    fn look(&mut self) -> Result<(), String> {
        let now_ns = monotonic_ns();
        if now_ns < self.next_look_ns {
            return Ok(());
        }
        if self.warm_up.is_some() {
            return self.continue_warm_up(now_ns);
        }
        self.next_look_ns = now_ns + LOOK_NS;
        if self.threads.iter().all(|thread| thread.get(Tracing::Stops) == thread.stops) {
            return Ok(());
        }
        let stopped_ns = self.threads.iter().filter_map(Thread::late).map(|late| late.at_ns).min();
        self.read_stopped_trace()?;
        self.trace.as_mut().map_or(Ok(()), |trace| trace.set_on(true))?;
        self.was_off(stopped_ns.unwrap_or(now_ns), Untraced::BeingRead);
        Ok(())
    }

    /// Notes that the trace was off until now.
    fn was_off(&mut self, from_ns: u64, reason: Untraced) {
        if self.off.len() == OFF_MAX {
            self.off.pop_front();
        }
        self.off.push_back((from_ns, monotonic_ns(), reason));
    }

    /// Takes the last moments and stops tracing. Call it after the threads have ended.
    fn stop(&mut self) -> Result<(), String> {
        self.next_look_ns = u64::MAX;
        let outcome = self.read_stopped_trace();
        if let Some(trace) = &self.trace {
            let moments = self.threads.iter_mut().flat_map(|thread| thread.moments.values_mut());
            trace.name_functions(moments.map(|(_, moment)| moment));
        }
        outcome
    }

    /// Adds the moments of the worst wake-ups to a thread's series.
    fn annotate(&self, thread: &Thread, series: &mut Series) {
        let SeriesKind::Timer(timer) = &mut series.kind else { return };
        for outlier in &mut series.worst {
            outlier.moment = thread.moments.get(&outlier.cycle).map(|(_, moment)| moment.clone());
        }
        let worst = series.worst.first().filter(|worst| worst.moment.is_none());
        let worst_untraced = worst.and_then(|worst| {
            let at_ns = self.context.clock.start_ns() + worst.at_ns;
            let due_ns = at_ns.saturating_add_signed(-worst.latency_ns);
            untraced(&self.off, thread.cut.contains(&worst.cycle), due_ns, at_ns)
        });
        let (stops, not_traced, cost) = (thread.stops, thread.not_traced, thread.cost());
        timer.causes = Some(CauseTrace { stops, not_traced, cost, worst_untraced });
        if self.is_synthetic() {
            let wanted =
                series.worst.iter_mut().filter(|outlier| outlier.latency_ns > self.plan.over_ns as i64);
            for outlier in wanted.take(MOMENT_COUNT) {
                outlier.moment = Some(synthetic_moment::of(outlier, thread.tid, thread.priority));
            }
        }
    }

    fn continue_warm_up(&mut self, now_ns: u64) -> Result<(), String> {
        let (Some(warm_up), Some(trace)) = (&mut self.warm_up, &mut self.trace) else { return Ok(()) };
        let set_state =
            |state: Traced| self.threads.iter().for_each(|thread| thread.set(Tracing::State, state as u64));
        if now_ns >= warm_up.end_ns {
            set_state(Traced::Unsure);
            trace.set_on(true)?;
            self.threads.iter().for_each(|thread| thread.arm(self.plan.over_ns));
            self.warm_up = None;
            self.next_look_ns = now_ns + LOOK_NS;
            self.was_off(0, Untraced::NotBegun);
        } else if now_ns >= warm_up.next_ns {
            warm_up.traced = !warm_up.traced;
            set_state(Traced::Unsure);
            trace.set_on(warm_up.traced)?;
            warm_up.next_ns = (now_ns + warm_up.stretch_ns.max(2 * WARM_SETTLE_NS)).min(warm_up.end_ns);
            self.next_look_ns = (now_ns + WARM_SETTLE_NS).min(warm_up.end_ns);
        } else {
            set_state(if warm_up.traced { Traced::On } else { Traced::Off });
            self.next_look_ns = warm_up.next_ns;
        }
        Ok(())
    }

    fn read_stopped_trace(&mut self) -> Result<(), String> {
        let Some(trace) = &mut self.trace else { return Ok(()) };
        // A thread may have stopped the trace just before the previous stop of another was read and the trace restarted. A running
        // trace may fill as fast as it is read, so reading it might never end.
        trace.set_on(false)?;
        let late: Vec<Late> = self.threads.iter().filter_map(Thread::late).collect();
        let stopped = trace.take(&late)?;
        for thread in &mut self.threads {
            if let Some(late) = thread.late() {
                thread.adopt(stopped.moment(&late), late.at_ns - late.deadline_ns, self.plan.over_ns);
            }
        }
        Ok(())
    }
}

impl Observer for Causes<'_> {
    /// Creates the trace.
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        if self.is_synthetic() {
            return Ok(());
        }
        let trace = self.make_trace().map_err(|reason| {
            format!("no cause can be traced: {reason}. To measure without causes, remove --causes")
        })?;
        self.state.set_stop_trace(Some(trace.stop_file()));
        self.trace = Some(trace);
        Ok(())
    }

    fn begin(&mut self, counted: Counted) -> Result<(), String> {
        let threads = self.state.tids().into_iter().zip(self.state.granted());
        for (thread, (tid, granted)) in self.threads.iter_mut().zip(threads) {
            (thread.tid, thread.priority) = (tid, granted.priority);
        }
        if self.trace.is_some() {
            let Counted { start_ns, from_ns, .. } = counted;
            let stretch_ns = (from_ns - start_ns) / WARM_STRETCHES;
            self.warm_up = Some(WarmUp { stretch_ns, next_ns: start_ns, end_ns: from_ns, traced: false });
            self.next_look_ns = start_ns;
        }
        Ok(())
    }

    fn wait_ns(&self) -> u64 {
        self.next_look_ns.saturating_sub(monotonic_ns())
    }

    fn on_wake(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        self.look()
    }

    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.stop()
    }

    fn add_to(&self, series: &mut Vec<Series>) {
        let live = self.state.series();
        // Only threads that count have a series.
        let counting = self.threads.iter().zip(live.iter()).filter(|(_, live)| live.cells().is_some());
        for ((thread, _), series) in counting.zip(series) {
            self.annotate(thread, series);
        }
    }
}

impl Thread {
    fn get(&self, cell: Tracing) -> u64 {
        self.map.block(self.block).cells()[cells::TRACING + cell as usize].get()
    }

    /// Sets one of the cells that the supervisor writes.
    fn set(&self, cell: Tracing, value: u64) {
        self.map.block(self.block).cells()[cells::TRACING + cell as usize].set(value);
    }

    /// The wake-up at which the thread stopped the trace; `None` if it has not since the trace was last read.
    fn late(&self) -> Option<Late> {
        if self.get(Tracing::Stops) == self.stops {
            return None;
        }
        let at_ns = self.get(Tracing::StoppedAt);
        let deadline_ns = at_ns.saturating_sub(self.get(Tracing::StoppedLateness));
        Some(Late { tid: self.tid, priority: self.priority, cpu: self.plan.cpu, deadline_ns, at_ns })
    }

    /// Keeps the moment of the wake-up that stopped the trace, and arms the thread again.
    fn adopt(&mut self, moment: Option<Moment>, late_ns: u64, over_ns: u64) {
        self.stops = self.get(Tracing::Stops);
        match moment {
            Some(moment) => self.keep(self.get(Tracing::StoppedCycle), late_ns as i64, moment),
            None => {
                self.not_traced += 1;
                self.cut.insert(self.get(Tracing::StoppedCycle));
            }
        }
        self.arm(over_ns);
        self.set(Tracing::Answered, self.stops);
    }

    /// Sets the lateness at which the thread stops the trace.
    fn arm(&self, over_ns: u64) {
        let usual_ns = (self.get(Tracing::WarmUsual) as i64).max(0).unsigned_abs();
        let kept_ns: Vec<u64> = self.moments.values().map(|(late_ns, _)| late_ns.unsigned_abs()).collect();
        self.set(Tracing::Over, stops_above_ns(over_ns, usual_ns, &kept_ns));
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

/// The lateness above which a wake-up stops the trace: above the limit; or if that is 0, above the usual lateness and half of the
/// worst that is kept, so that the trace is rarely being read when the worst of all comes. Once there are enough moments, only
/// wake-ups later than these stop it.
fn stops_above_ns(over_ns: u64, usual_ns: u64, kept_ns: &[u64]) -> u64 {
    let least_ns = match over_ns {
        0 => kept_ns.iter().max().map_or(0, |ns| ns / 2).max(usual_ns),
        _ => over_ns,
    };
    let floor_ns = if kept_ns.len() < MOMENT_COUNT { None } else { kept_ns.iter().min() };
    floor_ns.copied().unwrap_or(0).max(least_ns).max(1)
}

/// Why the trace has not the wake-up that was due at `due_ns` and came at `at_ns`. It was off at the times `off`; `is_cut`: the
/// wake-up stopped it, and was not in it.
fn untraced(off: &VecDeque<(u64, u64, Untraced)>, is_cut: bool, due_ns: u64, at_ns: u64) -> Option<Untraced> {
    let during = off.iter().find(|(from_ns, to_ns, _)| at_ns > *from_ns && due_ns < *to_ns);
    during.map(|(_, _, reason)| *reason).or(is_cut.then_some(Untraced::Overwritten))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_that_is_not_half_as_late_as_the_worst_does_not_stop_the_trace() {
        assert_eq!(stops_above_ns(0, 9000, &[]), 9000);
        assert_eq!(stops_above_ns(0, 9000, &[30_000, 100_000]), 50_000);
        // What the user demands is traced.
        assert_eq!(stops_above_ns(20_000, 9000, &[30_000, 100_000]), 20_000);
        assert_eq!(stops_above_ns(20_000, 9000, &[70_000; MOMENT_COUNT]), 70_000);
    }

    #[test]
    fn the_reason_is_what_the_trace_did_at_that_time() {
        let off = VecDeque::from([(0, 100, Untraced::NotBegun), (500, 700, Untraced::BeingRead)]);
        let of = |is_cut, due_ns, at_ns| untraced(&off, is_cut, due_ns, at_ns);
        assert_eq!(of(false, 90, 130), Some(Untraced::NotBegun));
        assert_eq!(of(true, 650, 900), Some(Untraced::BeingRead));
        assert_eq!(of(true, 750, 900), Some(Untraced::Overwritten));
        assert_eq!(of(false, 750, 900), None);
    }
}
