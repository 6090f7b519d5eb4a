//! The kernel events that a program is watched with, decoded.

/// A command name as the kernel's events hold it, ended by a NUL or 16 bytes long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name(pub [u8; 16]);

impl Name {
    /// The name of a text, cut to 16 bytes.
    pub fn of(text: &str) -> Self {
        let mut name = [0; 16];
        for (byte, from) in name.iter_mut().zip(text.bytes()) {
            *byte = from;
        }
        Self(name)
    }

    /// The name as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

/// A task in an event of the scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its number; 0 is the CPU's idle task.
    pub tid: u32,
    /// The kernel's priority, as in [`tardy_record::moment::Task`].
    pub priority: i32,
    /// Its name.
    pub name: Name,
}

/// An event on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The task that ran there.
    pub by: u32,
    /// The kind of event.
    pub what: What,
}

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The task enters a system call (sys_enter).
    Enter {
        /// Its number.
        call: i64,
        /// Its first four arguments.
        args: [u64; 4],
    },
    /// The task leaves its system call (sys_exit).
    Leave {
        /// Its number.
        call: i64,
        /// Its result.
        result: i64,
    },
    /// The task starts a timer (hrtimer_start).
    Start {
        /// The timer's address.
        timer: u64,
        /// The address of its function.
        function: u64,
        /// The latest time at which it may expire, on its own clock.
        expires_ns: i64,
        /// The time that was requested.
        soft_ns: i64,
    },
    /// A timer's function begins (hrtimer_expire_entry).
    Expire {
        /// The timer's address.
        timer: u64,
        /// The address of its function.
        function: u64,
    },
    /// It ends (hrtimer_expire_exit).
    ExpireEnd {
        /// The timer's address. The kernel cannot filter this event by the function.
        timer: u64,
    },
    /// A task is woken (sched_waking).
    Waking {
        /// The task.
        task: Task,
        /// The CPU in whose queue it was; `None` if the event does not have it.
        target: Option<u32>,
    },
    /// A task is moved to the queue of another CPU (sched_migrate_task).
    Migrate {
        /// The task.
        tid: u32,
        /// The CPU.
        to: u32,
    },
    /// The scheduler switches to another task (sched_switch).
    Switch {
        /// The previous task.
        from: Task,
        /// How the previous task leaves the CPU.
        state: TaskState,
        /// The next task.
        to: Task,
    },
    /// The task takes a page fault in user space (page_fault_user).
    Fault {
        /// The address that it accessed.
        address: u64,
    },
    /// The task makes another (sched_process_fork).
    Fork {
        /// The new task.
        child: u32,
    },
    /// The task ends (sched_process_exit).
    End,
    /// An interrupt's handler begins (irq_handler_entry, softirq_entry, the CPU's own interrupts).
    InterruptBegin(Handler),
    /// It ends.
    InterruptEnd(Handler),
    /// The task marks the begin or the end of a stretch (ftrace/print, or one of its USDT probes).
    Mark(Edge),
    /// Events of this CPU before this time were lost.
    Lost {
        /// How many, if that is known.
        count: u64,
    },
}

/// How a task leaves the CPU (prev_state of sched_switch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It stays ready to run.
    Ready,
    /// It waits, and a signal ends the wait (S).
    Interruptible,
    /// It waits, and no signal ends the wait (D), or it ends.
    Uninterruptible,
    /// A signal has stopped it (T).
    Stopped,
    /// Its tracer has stopped it (t).
    Traced,
}

impl TaskState {
    /// The state in the bits of the event (TASK_REPORT in include/linux/sched.h).
    pub fn of(bits: u64) -> Self {
        match bits & 0xff {
            0 => Self::Ready,
            1 => Self::Interruptible,
            4 => Self::Stopped,
            8 => Self::Traced,
            _ => Self::Uninterruptible,
        }
    }
}

/// An end of a stretch that a program marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Whether it begins.
    pub is_begin: bool,
    /// The index of its name; `None`: the stretch that the thread began last.
    pub name: Option<u16>,
}

/// What handles an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handler {
    /// A device's handler, by the interrupt's number and an index into the names of handlers.
    Irq(u32, u16),
    /// A soft interrupt, by its number.
    Softirq(u8),
    /// An interrupt of the CPU itself, by its index in [`tardy_host::trace::happenings::VECTORS`].
    Vector(u8),
}
