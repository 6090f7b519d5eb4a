//! Waits: a thread in a system call, from entering it to its return, and what ended the wait.

use crate::event::{Handler, Name};

/// A system call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its first four arguments.
    pub args: [u64; 4],
    /// When the thread entered it.
    pub entered_ns: u64,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// What its system call waits for.
    Call,
    /// A page, in a page fault.
    Page,
    /// The end of a stop by a signal.
    Stopped,
    /// Its tracer.
    Traced,
    /// The end of a freeze of its cgroup.
    Frozen,
    /// Unknown: it is in no system call, and took no page fault.
    Unknown,
}

/// A timer that has woken a thread, or will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The requested time, on CLOCK_MONOTONIC.
    pub soft_ns: i64,
    /// The latest time that was allowed, on CLOCK_MONOTONIC.
    pub hard_ns: i64,
    /// When the timer was started.
    pub armed_ns: u64,
    /// When the timer's function began.
    pub expired_ns: u64,
    /// The CPU on which it ran.
    pub cpu: u32,
    /// The kind of timer.
    pub kind: TimerKind,
}

/// The kinds of timers that wake threads, by the function that they call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerKind {
    /// A system call's own time-out (hrtimer_wakeup).
    Sleep,
    /// timerfd_create(2) (timerfd_tmrproc).
    Timerfd,
    /// timer_create(2) (posix_timer_fn) and setitimer(2) (it_real_fn).
    Signal,
    /// The period of SCHED_DEADLINE (dl_task_timer).
    Deadline,
    /// New CPU time for a cgroup with a quota (sched_cfs_period_timer, sched_cfs_slack_timer). It wakes no thread.
    Quota,
    /// Another function, or the kernel hides its symbols.
    Other,
}

impl TimerKind {
    /// The kernel's functions by kind.
    pub const FUNCTIONS: [(&'static str, Self); 7] = [
        ("hrtimer_wakeup", Self::Sleep),
        ("timerfd_tmrproc", Self::Timerfd),
        ("posix_timer_fn", Self::Signal),
        ("it_real_fn", Self::Signal),
        ("dl_task_timer", Self::Deadline),
        ("sched_cfs_period_timer", Self::Quota),
        ("sched_cfs_slack_timer", Self::Quota),
    ];

    /// Whether the timer continues when its thread is late, so that it expires while the thread still works.
    pub fn is_periodic(self) -> bool {
        matches!(self, Self::Timerfd | Self::Signal | Self::Deadline)
    }
}

/// What woke a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A timer.
    Timer(TimerKind),
    /// The handler of an interrupt.
    Interrupt(Handler),
    /// Another task.
    Task(u32),
}

/// How and when a thread was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Woken {
    /// When it was made ready.
    pub at_ns: u64,
    /// What woke it.
    pub source: Source,
    /// The name of the task that ran there.
    pub by: Name,
}

/// A finished wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The system call.
    pub call: Call,
    /// How it was woken.
    pub woken: Woken,
    /// The timer that woke it.
    pub due: Option<Due>,
    /// When the scheduler switched to it; the time at which it was woken if it had not left the CPU.
    pub switched_ns: u64,
    /// The CPU on which it ran then.
    pub cpu: u32,
    /// The CPU in whose queue it was when it was woken.
    pub queued_cpu: u32,
    /// When it was moved from there to the queue of `cpu`; `None` if it was not, or before it was woken.
    pub moved_ns: Option<u64>,
    /// When the call returned.
    pub left_ns: u64,
    /// A stop in the wait, which interrupted the call: from, to, and what it was.
    pub stop: Option<(u64, u64, Block)>,
}

/// What distinguishes the waits of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// The number of the system call.
    pub call: i64,
    /// Whether the time of its timer is absolute.
    pub absolute: bool,
    /// What ends the wait.
    pub source: Source,
}

impl Wait {
    /// The signature.
    pub fn signature(&self) -> Signature {
        // Of other tasks any may wake it: the call is what its waits have in common.
        let source = match self.woken.source {
            Source::Task(_) => Source::Task(0),
            other => other,
        };
        Signature { call: self.call.number, absolute: self.is_absolute(), source }
    }

    fn is_absolute(&self) -> bool {
        /// TIMER_ABSTIME.
        const ABSOLUTE: u64 = 1;
        match self.woken.source {
            Source::Timer(kind) if kind.is_periodic() => true,
            Source::Timer(_) => {
                tardy_sys::system_calls::is_clock_nanosleep(self.call.number)
                    && self.call.args[1] & ABSOLUTE != 0
                    || tardy_sys::system_calls::is_futex_until(self.call.number, self.call.args[1])
            }
            _ => false,
        }
    }

    /// From when on its timer could expire: the latest allowed time, if the thread had started the timer in its call then.
    pub fn held_from_ns(&self, due: &Due) -> u64 {
        (due.hard_ns.max(0) as u64).max(self.call.entered_ns).max(due.armed_ns).min(due.expired_ns)
    }

    /// The time that the wait's lateness counts from: the timer's, or that at which it was woken.
    pub fn due_ns(&self) -> i64 {
        self.due.map_or(self.woken.at_ns as i64, |due| due.soft_ns)
    }
}
