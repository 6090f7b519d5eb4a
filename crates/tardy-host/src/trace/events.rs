//! The four kernel events that show a thread's wake-up by a timer, out of the bytes of a trace.

use super::format::{Field, Format};

/// The events that are recorded: subsystem and name.
pub const EVENTS: [&str; 4] =
    ["timer/hrtimer_start", "timer/hrtimer_expire_entry", "sched/sched_wakeup", "sched/sched_switch"];

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, on the trace's clock, which is CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A thread started a timer (hrtimer_start).
    Start {
        /// The thread.
        tid: u32,
        /// The timer's address.
        timer: u64,
        /// When it shall expire, on the timer's clock.
        expires_ns: i64,
    },
    /// The timer's interrupt handler got to a timer (hrtimer_expire_entry).
    Expire {
        /// The timer's address.
        timer: u64,
    },
    /// A thread was made ready to run (sched_wakeup).
    Wakeup {
        /// The thread.
        tid: u32,
    },
    /// The scheduler switched to a thread (sched_switch).
    Switch {
        /// The thread.
        tid: u32,
    },
    /// Events before this time are not there.
    Lost,
}

/// How the kernel lays the four events out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLayouts {
    kind: Field,
    pid: Field,
    start: (u16, Field, Field),
    expire: (u16, Field),
    wakeup: (u16, Field),
    switch: (u16, Field),
}

impl EventLayouts {
    /// The layouts that the `format` files of [`EVENTS`], in that order, describe.
    ///
    /// # Errors
    /// The event and field that is not as it has been in every kernel so far.
    pub fn of(formats: &[Format; 4]) -> Result<Self, String> {
        let field = |event: usize, name: &str| {
            let lacks = || format!("this kernel's event {} has no field {name}", EVENTS[event]);
            formats[event].field(name).ok_or_else(lacks)
        };
        let id = |event: usize| formats[event].id;
        Ok(Self {
            kind: field(0, "common_type")?,
            pid: field(0, "common_pid")?,
            start: (id(0), field(0, "hrtimer")?, field(0, "expires")?),
            expire: (id(1), field(1, "hrtimer")?),
            wakeup: (id(2), field(2, "pid")?),
            switch: (id(3), field(3, "next_pid")?),
        })
    }

    /// The event that `bytes` are, if they are one of the four.
    pub fn event(&self, at_ns: u64, bytes: &[u8]) -> Option<TraceEvent> {
        let kind = self.kind.number(bytes)?;
        let is = |id: u16| kind == u64::from(id);
        let thread = |field: Field| u32::try_from(field.number(bytes)?).ok();
        let what = if is(self.start.0) {
            What::Start {
                tid: thread(self.pid)?,
                timer: self.start.1.number(bytes)?,
                expires_ns: self.start.2.signed(bytes)?,
            }
        } else if is(self.expire.0) {
            What::Expire { timer: self.expire.1.number(bytes)? }
        } else if is(self.wakeup.0) {
            What::Wakeup { tid: thread(self.wakeup.1)? }
        } else if is(self.switch.0) {
            What::Switch { tid: thread(self.switch.1)? }
        } else {
            return None;
        };
        Some(TraceEvent { at_ns, what })
    }
}
