//! Decodes the four kernel events of a timer wake-up from a trace.

use super::format::{Field, Format};

/// The events that are recorded: subsystem and name.
pub const EVENTS: [&str; 4] =
    ["timer/hrtimer_start", "timer/hrtimer_expire_entry", "sched/sched_wakeup", "sched/sched_switch"];

/// A decoded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event on CLOCK_MONOTONIC, the trace's clock.
    pub at_ns: u64,
    /// The kind of event.
    pub what: What,
}

/// The kinds of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A thread started a timer (hrtimer_start).
    Start {
        /// The thread.
        tid: u32,
        /// The timer's address.
        timer: u64,
        /// Its expiry, on the timer's clock.
        expires_ns: i64,
    },
    /// The interrupt handler reached a timer (hrtimer_expire_entry).
    Expire {
        /// The timer's address.
        timer: u64,
    },
    /// A thread was made runnable (sched_wakeup).
    Wakeup {
        /// The thread.
        tid: u32,
    },
    /// The scheduler switched to a thread (sched_switch).
    Switch {
        /// The thread.
        tid: u32,
    },
    /// Events before this time were lost.
    Lost,
}

/// The layout of the four events on this kernel.
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
    /// The layouts from the `format` files of [`EVENTS`], in that order.
    ///
    /// # Errors
    /// A message with the event and the field that this kernel lacks. No known kernel lacks any.
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

    /// Decodes `bytes`; `None` if it is none of the four events.
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
