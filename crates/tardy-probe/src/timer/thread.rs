//! One measuring thread: it prepares, waits for the start, measures and ends.

use std::io;

use tardy_record::plan::{Policy, ThreadPlan, TimerPlan, Wake};
use tardy_sys::clock::{Clock, monotonic_ns};
use tardy_sys::memory;
use tardy_sys::ring::Ring;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::shared_map::{Block, SharedMap};
use tardy_sys::thread_usage;

use super::fake::{self, Fake, PatientFake};
use super::grid::{DitheredGrid, Grid, Schedule};
use super::pace::Pace;
use super::recorder::Recorder;
use super::trace_stopper::{TraceStopper, WarmUp};
use super::waiter::{
    Busy, ClockNanosleep, DeadlinePeriod, Nanosleep, Setitimer, TimerSettime, Timerfd, Waiter,
};
use super::wakeup::Wakeup;
use super::woken::Woken;
use crate::cells::{Stage, Total};
use crate::level::Level;
use crate::order::{Granted, Order};
use crate::wiggle::edges::Edges;
use crate::wiggle::output::{Output, Work};

/// A measuring thread's part of the order.
pub struct TimerThread<'a> {
    order: &'a Order,
    timer: &'a TimerPlan,
    plan: ThreadPlan,
    block: Block<'a>,
    /// The ring for every sample, if the user requested samples.
    ring: Option<Ring<'a>>,
    index: u64,
    /// Stops the kernel's trace, if causes are traced.
    stopper: Option<TraceStopper<'a>>,
    /// The line that each wake-up of a wiggle writes, once it is claimed.
    output: Option<Output>,
}

/// A thread that is ready.
pub struct Prepared {
    /// The granted scheduling.
    pub granted: Granted,
    /// Requests that were refused, as messages for the user.
    pub refused: Vec<String>,
    /// The kernel's id of the thread.
    pub tid: u32,
    pub(crate) migrations: Option<u64>,
}

impl Prepared {
    /// The calling thread, which runs as `granted`; `refused` holds messages for the user.
    pub(crate) fn now(granted: Granted, refused: Vec<String>) -> Self {
        let migrations = thread_usage::migrations_of_this_thread();
        Self { granted, refused, tid: scheduling::thread_id(), migrations }
    }

    /// Adds to the thread's block how often it has migrated since it was prepared, and how it is scheduled.
    pub(crate) fn account(&self, block: Block<'_>) {
        let moved = thread_usage::migrations_of_this_thread().zip(self.migrations);
        let scheduling = scheduling::in_force(0).ok();
        let _writing = block.writing();
        if let Some((after, before)) = moved {
            block.cells()[Total::Migrations as usize].set(after.saturating_sub(before) + 1);
        }
        if let Some(scheduling) = scheduling {
            block.cells()[Total::SchedulingAtEnd as usize].set(scheduling.to_cell());
        }
    }
}

impl<'a> TimerThread<'a> {
    /// Thread `index` of `timer` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, timer: &'a TimerPlan, index: usize) -> Self {
        let plan = timer.threads[index];
        Self {
            order,
            timer,
            plan,
            block: map.block(index),
            ring: map.ring(index),
            index: index as u64,
            stopper: None,
            output: None,
        }
    }

    /// Sets the CPU, and the policy if granted, and touches the stack. If a real-time policy is refused, the thread
    /// runs as SCHED_OTHER: a degraded measurement that is reported as such is better than none.
    ///
    /// # Errors
    /// If the CPU, or the pin that it drives, is not available.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let timer = self.timer;
        let mut refused = Vec::new();
        let mut pinned = false;
        // This process inherits the supervisor's affinity, so a thread that may migrate must be unpinned.
        if !self.plan.pinned {
            let companions = self.order.placement.companions(self.plan.cpu, scheduling::CPU_COUNT_MAX as u32);
            scheduling::set_affinity(&companions)
                .map_err(|error| format!("the threads cannot be unpinned: {error}"))?;
        } else {
            scheduling::set_affinity(&[self.plan.cpu])
                .map_err(|error| format!("cannot pin to CPU {}: {error}; `tardy check --full` lists the CPUs online and this process's cpuset", self.plan.cpu))?;
            pinned = true;
        }
        let (mut policy, mut priority) = (timer.policy, self.plan.priority);
        if let Err(error) = scheduling::set(self.scheduling(timer)) {
            refused.push(refusal(timer.policy, &error));
            (policy, priority) = (Policy::Other, 0);
            // Only SCHED_DEADLINE requires an unpinned thread.
            pinned = scheduling::set_affinity(&[self.plan.cpu]).is_ok();
            set_other()?;
        }
        if let Some(pin) = self.order.pin.as_ref().filter(|_| self.order.fake.is_none()) {
            self.output = Some(Output::claim(pin)?);
        }
        memory::prefault_stack();
        let migrations = thread_usage::migrations_of_this_thread();
        let granted = Granted { policy, priority, pinned };
        let tid = match self.order.fake {
            Some(_) => fake::thread_id(self.index as usize),
            None => scheduling::thread_id(),
        };
        if let Some(path) = &self.order.stop_trace {
            match TraceStopper::open(path, self.block) {
                Ok(stopper) => self.stopper = Some(stopper),
                Err(error) => refused
                    .push(format!("{} cannot be opened ({error}), so no cause is traced", path.display())),
            }
        }
        Ok(Prepared { granted, refused, tid, migrations })
    }

    fn scheduling(&self, timer: &TimerPlan) -> Scheduling {
        match timer.policy {
            Policy::Fifo => Scheduling::Fifo(self.plan.priority),
            Policy::Rr => Scheduling::Rr(self.plan.priority),
            Policy::Other => Scheduling::Other,
            // Half of the period is longer than any cycle, and the kernel still admits two such threads per CPU.
            Policy::Deadline => Scheduling::Deadline {
                runtime_ns: self.plan.interval_ns / 2,
                period_ns: self.plan.interval_ns,
            },
        }
    }

    /// Measures from `start_ns` on the monotonic clock until the span is over or the supervisor stops it. Neither
    /// allocates nor, once [`Self::prepare`] has touched the memory, faults a page.
    pub fn measure(&mut self, start_ns: u64) -> io::Result<()> {
        let timer = self.timer;
        let clock = super::sys_clock(timer.clock);
        let to_start_ns = start_ns as i64 - monotonic_ns() as i64;
        let first_ns = match self.order.fake {
            Some(_) => start_ns as i64,
            None if clock == Clock::Monotonic => start_ns as i64,
            None => clock.now_ns() + to_start_ns,
        } + self.plan.offset_ns as i64;
        let schedule = Schedule {
            clock,
            first_ns,
            interval_ns: self.plan.interval_ns,
            dither_ns: timer.dither_ns,
            seed: self.order.seed.wrapping_add(self.index + 1),
        };
        if let Some(seed) = self.order.fake {
            let fake = Fake::new(schedule, timer.wake, seed);
            return match self.ring {
                Some(ring) => {
                    self.cycle(PatientFake::new(fake, self.block, ring), Clock::Monotonic, start_ns)
                }
                None => self.cycle(fake, Clock::Monotonic, start_ns),
            };
        }
        match timer.wake {
            Wake::ClockNanosleep if schedule.dither_ns > 0 => {
                self.cycle(ClockNanosleep::new(DitheredGrid::new(schedule), clock), clock, start_ns)
            }
            Wake::ClockNanosleep => {
                self.cycle(ClockNanosleep::new(Grid::new(schedule), clock), clock, start_ns)
            }
            Wake::Nanosleep => {
                waiting_for_start(start_ns)?;
                self.cycle(Nanosleep::new(schedule), clock, start_ns)
            }
            Wake::TimerSettime => self.cycle(TimerSettime::new(schedule)?, clock, start_ns),
            Wake::Setitimer => self.cycle(Setitimer::new(schedule)?, clock, start_ns),
            Wake::Timerfd => self.cycle(Timerfd::new(schedule)?, clock, start_ns),
            Wake::Busy => self.cycle(Busy::new(schedule), clock, start_ns),
            Wake::Deadline => self.cycle(DeadlinePeriod::new(schedule), clock, start_ns),
        }
    }

    /// Adds the thread's migrations to the block. Not part of the measurement, since reading their number allocates.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.block);
    }

    /// Measures with `waiter`, whose deadlines are on `clock`, followed by the write of a wiggle.
    fn cycle<W: Waiter>(&mut self, waiter: W, clock: Clock, start_ns: u64) -> io::Result<()> {
        match self.output.take() {
            None => self.cycle_on(waiter, clock, start_ns),
            Some(output) => output.lend(Wiggling { thread: self, waiter, clock, start_ns }),
        }
    }

    /// Measures with `waiter`; records times on the monotonic clock.
    fn cycle_on<W: Waiter>(&mut self, waiter: W, clock: Clock, start_ns: u64) -> io::Result<()> {
        match clock {
            Clock::Monotonic => self.cycle_at(waiter, start_ns, |woken| woken.now_ns as u64),
            _ => self.cycle_at(waiter, start_ns, |_| monotonic_ns()),
        }
    }

    /// The measuring loop. `at` is the time of a wake-up on the monotonic clock.
    fn cycle_at<W: Waiter>(
        &mut self,
        mut waiter: W,
        start_ns: u64,
        at: impl Fn(&Woken) -> u64,
    ) -> io::Result<()> {
        let pace = Pace::new(self.timer.wake, self.plan.interval_ns, self.order.warmup_ns, self.order.span);
        debug_assert!(
            W::MAY_END_BY_CLOCK || pace.duration_ns == u64::MAX,
            "a schedule is ended by its cycles"
        );
        let block = self.block;
        let warmed = match self.stopper {
            Some(_) => self.warm_up_traced(&mut waiter, pace.warmup_cycles)?,
            None => self.warm_up(&mut waiter, pace.warmup_cycles, |_| {})?,
        };
        let counted_from_ns = warmed.as_ref().map_or(start_ns, &at);
        let mut recorder =
            Recorder::new(block, self.plan.interval_ns, &self.order.thresholds_ns, counted_from_ns)
                .with_samples(self.ring)
                .with_stopper(self.stopper.take());
        recorder.set_stage(Stage::Counting);
        let counted_until_ns = counted_from_ns.saturating_add(pace.duration_ns);
        let used_before = thread_usage::of_this_thread()?;

        let mut cycle = 0;
        while cycle < pace.cycles && !block.is_asked_to_end() {
            let woken = match waiter.wait() {
                Ok(woken) => woken,
                Err(error) => {
                    unless_interrupted(error)?;
                    continue;
                }
            };
            let at_ns = at(&woken);
            if W::MAY_END_BY_CLOCK && at_ns >= counted_until_ns {
                break;
            }
            let late_ns = woken.now_ns - woken.deadline_ns;
            if woken.is_single() {
                recorder.record_single(late_ns, at_ns, cycle);
                cycle += 1;
                continue;
            }
            cycle += woken.dropped;
            if cycle >= pace.cycles {
                break;
            }
            // Deadlines after the planned end were never attempted.
            let missed = woken.missed.min(pace.cycles - cycle - 1);
            recorder.record(Wakeup { late_ns, at_ns, cycle, missed, dropped: woken.dropped });
            recorder.add_kernel_overruns(woken.kernel_overruns);
            cycle += 1 + missed;
        }

        let used = thread_usage::of_this_thread()?.since(&used_before);
        recorder.finish(used);
        Ok(())
    }

    /// Waits for `cycles` that are not counted. Returns the last wake-up, if there was one.
    fn warm_up<W: Waiter>(
        &self,
        waiter: &mut W,
        cycles: u64,
        mut note: impl FnMut(i64),
    ) -> io::Result<Option<Woken>> {
        let mut last = None;
        let mut warmed = 0;
        while warmed < cycles && !self.block.is_asked_to_end() {
            let woken = match waiter.wait() {
                Ok(woken) => woken,
                Err(error) => {
                    unless_interrupted(error)?;
                    continue;
                }
            };
            warmed += 1 + woken.missed + woken.dropped;
            note(woken.now_ns - woken.deadline_ns);
            last = Some(woken);
        }
        Ok(last)
    }

    /// Warms up while the supervisor turns the kernel's trace on and off, to measure the cost of tracing.
    fn warm_up_traced<W: Waiter>(&self, waiter: &mut W, cycles: u64) -> io::Result<Option<Woken>> {
        // Computing the medians takes time, and must not delay the first counted cycle.
        let after = cycles / 8;
        let mut traced = WarmUp::new(self.block);
        self.warm_up(waiter, cycles - after, |late_ns| traced.note(late_ns))?;
        traced.report();
        self.warm_up(waiter, after, |_| {})
    }
}

/// A thread that writes a line after each wake-up.
struct Wiggling<'t, 'a, W> {
    thread: &'t mut TimerThread<'a>,
    waiter: W,
    clock: Clock,
    start_ns: u64,
}

impl<W: Waiter> Work<io::Result<()>> for Wiggling<'_, '_, W> {
    fn with<L: Level>(self, level: L) -> io::Result<()> {
        self.thread.cycle_on(Edges::new(self.waiter, level), self.clock, self.start_ns)
    }
}

/// Returns the error unless a signal ended the wait. The caller then looks whether it is asked to end, and waits again.
#[cold]
fn unless_interrupted(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

fn waiting_for_start(start_ns: u64) -> io::Result<()> {
    tardy_sys::waiting::sleep_until(Clock::Monotonic, start_ns as i64)
}

/// Gives this thread SCHED_OTHER.
///
/// # Errors
/// If this process has SCHED_IDLE, which no process leaves without CAP_SYS_NICE or a limit of nice values
/// (user_check_sched_setscheduler in kernel/sched/syscalls.c).
pub(crate) fn set_other() -> Result<(), String> {
    scheduling::set(Scheduling::Other).map_err(|error| {
        format!(
            "SCHED_OTHER was refused: {error}. A process with SCHED_IDLE cannot leave it without CAP_SYS_NICE: start \
             tardy without `chrt --idle`"
        )
    })
}

/// A message for the user: a policy was refused, and how to grant it.
pub(crate) fn refusal(policy: Policy, error: &io::Error) -> String {
    let name = policy.name().to_uppercase();
    let advice = match (policy, error.raw_os_error()) {
        (Policy::Deadline, Some(16)) => {
            "no bandwidth is left, or the thread is pinned: only an exclusive cpuset partition allows both"
        }
        (Policy::Deadline, Some(22)) => {
            "the interval is outside kernel.sched_deadline_period_min_us and _max_us (100 us at the least, by default)"
        }
        (Policy::Deadline, _) => {
            "grant it with `setcap cap_sys_nice,cap_ipc_lock+ep` on a tardy that only one group may execute \
             (docs/security.md): no limit allows it"
        }
        _ => {
            "grant it with `setcap cap_sys_nice,cap_ipc_lock+ep` on a tardy that only one group may execute \
             (docs/security.md), with `ulimit -r 99`, or with an rtprio line for your group in /etc/security/limits.d, in that \
             order of preference; if none helps, as in a container or a cgroup without real-time runtime, `tardy check` shows why"
        }
    };
    format!("SCHED_{name} was refused ({error}), so the thread runs as SCHED_OTHER; {advice}")
}
