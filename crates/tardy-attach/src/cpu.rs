//! What each CPU did recently: the tasks that ran, and the handlers of interrupts.

use std::collections::VecDeque;

use crate::event::{Event, Handler, Task, What};

/// The most switches, interrupts and events of a CPU that are kept.
const KEPT_MAX: usize = 8192;
/// Nesting limit of interrupts, with room to spare.
const OPEN_MAX: usize = 8;

/// A timer that a thread started.
#[derive(Clone, Copy, Debug)]
pub struct Armed {
    /// The thread.
    pub tid: u32,
    /// The requested time, on CLOCK_MONOTONIC.
    pub soft_ns: i64,
    /// The latest time that was allowed.
    pub hard_ns: i64,
    /// When it was started.
    pub at_ns: u64,
}

/// A timer whose function runs.
#[derive(Clone, Copy, Debug)]
pub struct Expiring {
    /// The task in which it runs, or on top of which. On PREEMPT_RT, soft timers expire in a thread, and others can preempt it.
    pub by: u32,
    /// Its address.
    pub timer: u64,
    /// How it was started; the thread that it wakes may start it again before its function ends.
    pub armed: Option<Armed>,
    /// The address of its function.
    pub function: u64,
    /// When the function began.
    pub at_ns: u64,
    /// Whether it has woken a task.
    pub wakes: bool,
}

/// An interrupt's handler with those that ran on top of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
    /// The handler.
    pub handler: Handler,
}

/// The log of one CPU.
#[derive(Clone, Debug, Default)]
pub struct CpuLog {
    /// The task that runs; `None` before the first switch.
    pub current: Option<Task>,
    /// The timers whose functions run, the innermost last.
    expiring: Vec<Expiring>,
    switches: VecDeque<(u64, Task)>,
    open: Vec<(u64, Handler)>,
    interrupts: VecDeque<Interrupt>,
    recent: VecDeque<Event>,
    /// The log has no gap since this time.
    whole_from_ns: u64,
}

impl CpuLog {
    /// Adds an event. Returns the interrupt that it ends, if no other one remains.
    pub fn take(&mut self, event: &Event) -> Option<Interrupt> {
        let ended = match event.what {
            What::Switch { from, to, .. } => {
                if self.current.is_none() {
                    push(&mut self.switches, (self.whole_from_ns, from));
                }
                self.leave_handlers(event.at_ns);
                self.current = Some(to);
                push(&mut self.switches, (event.at_ns, to));
                None
            }
            What::InterruptBegin(handler) => {
                if self.open.len() < OPEN_MAX {
                    self.open.push((event.at_ns, handler));
                }
                None
            }
            What::InterruptEnd(handler) => self.end_interrupt(event.at_ns, handler),
            What::Lost { .. } => {
                self.forget(event.at_ns);
                None
            }
            _ => None,
        };
        push(&mut self.recent, *event);
        ended
    }

    /// Forgets everything: events before this time are missing.
    pub fn forget(&mut self, at_ns: u64) {
        *self = Self { whole_from_ns: at_ns, ..Self::default() };
    }

    /// The scheduler never switches within a handler of an interrupt: the end of an open one was not recorded. On PREEMPT_RT it
    /// switches within soft interrupts.
    fn leave_handlers(&mut self, at_ns: u64) {
        if let Some((from_ns, handler @ Handler::Softirq(_))) = self.open.first().copied() {
            push(&mut self.interrupts, Interrupt { from_ns, to_ns: at_ns, handler });
        }
        self.open.clear();
    }

    fn end_interrupt(&mut self, at_ns: u64, ended: Handler) -> Option<Interrupt> {
        // The end of a device's handler does not name it.
        let is_same = |open: &Handler| match (open, ended) {
            (Handler::Irq(open, _), Handler::Irq(ended, _)) => *open == ended,
            (open, ended) => *open == ended,
        };
        let index = self.open.iter().rposition(|(_, open)| is_same(open))?;
        self.open.truncate(index + 1);
        let (from_ns, handler) = self.open.pop()?;
        if !self.open.is_empty() {
            return None;
        }
        let interrupt = Interrupt { from_ns, to_ns: at_ns, handler };
        push(&mut self.interrupts, interrupt);
        Some(interrupt)
    }

    /// The function of a timer begins.
    pub fn expire(&mut self, expiring: Expiring) {
        if self.expiring.len() == OPEN_MAX {
            self.expiring.remove(0);
        }
        self.expiring.push(expiring);
    }

    /// The timer whose function runs in this task, or on top of it.
    pub fn expiring(&mut self, by: u32) -> Option<&mut Expiring> {
        self.expiring.iter_mut().rfind(|one| one.by == by)
    }

    /// Its function ends. The ends of timers whose begin was not recorded, such as the tick's, are seen too.
    pub fn end_expiry(&mut self, by: u32, timer: u64) -> Option<Expiring> {
        let index = self.expiring.iter().rposition(|one| one.by == by && one.timer == timer)?;
        Some(self.expiring.remove(index))
    }

    /// The handler that runs, the outermost.
    pub fn handler(&self) -> Option<Handler> {
        self.open.first().map(|(_, handler)| *handler)
    }

    /// The tasks that ran between two times, with the time of each, the longest first.
    pub fn tasks(&self, from_ns: u64, to_ns: u64) -> Vec<(Task, u64)> {
        let mut times: Vec<(Task, u64)> = Vec::new();
        let first = self.switches.partition_point(|(at_ns, _)| *at_ns <= from_ns).saturating_sub(1);
        for index in first..self.switches.len() {
            let (at_ns, task) = self.switches[index];
            let until_ns = self.switches.get(index + 1).map_or(to_ns, |(at_ns, _)| *at_ns);
            if at_ns >= to_ns {
                break;
            }
            let ns = until_ns.min(to_ns).saturating_sub(at_ns.max(from_ns));
            match times.iter_mut().find(|(known, _)| known.tid == task.tid) {
                Some((_, sum)) => *sum += ns,
                None if ns > 0 => times.push((task, ns)),
                None => {}
            }
        }
        times.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        times
    }

    /// The interrupts' handlers that ran between two times, with the time of each, the longest first.
    pub fn handlers(&self, from_ns: u64, to_ns: u64) -> Vec<(Handler, u64)> {
        let mut times: Vec<(Handler, u64)> = Vec::new();
        let first = self.interrupts.partition_point(|one| one.to_ns <= from_ns);
        let ended = self.interrupts.iter().skip(first).copied();
        let open =
            self.open.first().map(|(at, handler)| Interrupt { from_ns: *at, to_ns, handler: *handler });
        for one in ended.chain(open).take_while(|one| one.from_ns < to_ns) {
            let ns = one.to_ns.min(to_ns).saturating_sub(one.from_ns.max(from_ns));
            match times.iter_mut().find(|(known, _)| *known == one.handler) {
                Some((_, sum)) => *sum += ns,
                None => times.push((one.handler, ns)),
            }
        }
        times.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        times
    }

    /// The events between two times, and the time from which they are complete.
    pub fn events(&self, from_ns: u64, to_ns: u64) -> (u64, impl Iterator<Item = &Event>) {
        let first = self.recent.partition_point(|event| event.at_ns < from_ns);
        let oldest_ns = match self.recent.len() {
            KEPT_MAX => self.recent[0].at_ns,
            _ => self.whole_from_ns,
        };
        (oldest_ns.max(from_ns), self.recent.iter().skip(first).take_while(move |event| event.at_ns <= to_ns))
    }

    /// Whether everything since this time is known.
    pub fn is_whole_since(&self, from_ns: u64) -> bool {
        let oldest = |full: bool, oldest_ns: Option<u64>| full && oldest_ns.is_none_or(|ns| ns > from_ns);
        self.whole_from_ns <= from_ns
            && !oldest(self.switches.len() == KEPT_MAX, self.switches.front().map(|(at, _)| *at))
            && !oldest(self.interrupts.len() == KEPT_MAX, self.interrupts.front().map(|one| one.from_ns))
    }
}

fn push<T>(kept: &mut VecDeque<T>, new: T) {
    if kept.len() == KEPT_MAX {
        kept.pop_front();
    }
    kept.push_back(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Name, TaskState};

    fn task(tid: u32) -> Task {
        Task { tid, priority: 120, name: Name::of("task") }
    }

    fn log(events: &[(u64, What)]) -> CpuLog {
        let mut log = CpuLog::default();
        for (at_ns, what) in events {
            log.take(&Event { at_ns: *at_ns, cpu: 0, by: 0, what: *what });
        }
        log
    }

    fn switch(from: u32, to: u32) -> What {
        What::Switch { from: task(from), state: TaskState::Ready, to: task(to) }
    }

    #[test]
    fn times_of_tasks_are_cut_to_the_stretch() {
        let log = log(&[(100, switch(1, 2)), (200, switch(2, 3)), (250, switch(3, 2)), (400, switch(2, 0))]);
        assert_eq!(log.tasks(150, 300), [(task(2), 100), (task(3), 50)]);
        assert_eq!(log.tasks(0, 100), [(task(1), 100)]);
        assert_eq!(log.tasks(500, 600), [(task(0), 100)]);
    }

    #[test]
    fn nested_handlers_count_for_the_outermost() {
        let (outer, inner) = (Handler::Vector(0), Handler::Softirq(1));
        let log = log(&[
            (10, What::InterruptBegin(outer)),
            (12, What::InterruptBegin(inner)),
            (15, What::InterruptEnd(inner)),
            (20, What::InterruptEnd(outer)),
            (30, What::InterruptBegin(inner)),
        ]);
        assert_eq!(log.handlers(0, 40), [(outer, 10), (inner, 10)]);
        assert_eq!(log.handlers(14, 18), [(outer, 4)]);
        assert_eq!(log.handler(), Some(inner));
    }

    #[test]
    fn a_handler_whose_end_was_not_recorded_ends_with_the_next_switch() {
        let (timer, softirq) = (Handler::Vector(0), Handler::Softirq(1));
        let log = log(&[
            (10, What::InterruptBegin(timer)),
            (100, switch(1, 2)),
            (200, What::InterruptBegin(softirq)),
            (210, What::InterruptEnd(softirq)),
            (220, What::InterruptBegin(softirq)),
            (225, switch(2, 3)),
            (300, What::InterruptEnd(timer)),
        ]);
        assert_eq!(log.handler(), None);
        assert_eq!(log.handlers(0, 400), [(softirq, 15)]);
    }

    #[test]
    fn a_loss_forgets_what_came_before() {
        let log = log(&[(100, switch(1, 2)), (200, What::Lost { count: 3 }), (300, switch(2, 3))]);
        assert_eq!(log.tasks(100, 400), [(task(2), 100), (task(3), 100)]);
        assert!(log.is_whole_since(200) && !log.is_whole_since(199));
    }
}
