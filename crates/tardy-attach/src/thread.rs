//! One thread of the program, followed through its events.

use std::sync::LazyLock;

use tardy_sys::system_calls;

use crate::cycle::{Activity, Cycle, Times};
use crate::event::{Name, Task, TaskState};
use crate::habits::Habits;
use crate::rhythm::{Observed, Rhythm};
use crate::wait::{Block, Call, Due, Source, TimerKind, Wait, Woken};

/// System calls of a cycle that took longer are kept.
const LONG_CALL_NS: u64 = 20_000;
/// The most of them in a cycle.
const CALLS_MAX: usize = 64;

/// A page fault in which a signal may end the wait begins to wait within this time.
const FAULT_WAITS_NS: u64 = 200_000;
/// The number of restart_syscall(2), with which the kernel continues some calls; -1 if this processor has none.
static RESTART: LazyLock<i64> = LazyLock::new(|| system_calls::number("restart_syscall").unwrap_or(-1));

/// What a thread does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Unknown, until its first event.
    Unknown,
    Running,
    Ready,
    Blocked,
}

/// A completed cycle, or that cycles were lost.
#[derive(Clone, Debug, PartialEq)]
pub enum Completed {
    /// A cycle.
    Cycle(Box<Cycle>),
    /// The thread's rhythm is known from now on, with what ended its last wait.
    Found(Rhythm, Woken),
    /// So many cycles were lost with their events.
    Lost(u64),
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub name: Name,
    /// The kernel's priority.
    pub priority: i32,
    /// The waits before its rhythm was found.
    pub observed: Observed,
    /// What it does that real-time programs should do, or should not.
    pub habits: Habits,
    rhythm: Option<Rhythm>,
    state: State,
    cpu: u32,
    call: Option<Call>,
    woken: Option<Woken>,
    due: Option<Due>,
    /// A periodic timer that expired while the thread worked.
    overdue: Option<Due>,
    switched_ns: Option<u64>,
    /// The CPU in whose queue it was when it was woken, and when it was moved to that of `cpu`.
    queued_cpu: u32,
    moved_ns: Option<u64>,
    /// When it took its last page fault; `None` since its last system call.
    fault_ns: Option<u64>,
    /// The wait that a signal interrupted. The thread continues it by the same call.
    interrupted_wait: Option<Call>,
    /// A stop in the wait that it continues: from, to, and what it was.
    stop: Option<(u64, u64, Block)>,
    cycle: Option<Cycle>,
    /// Time that interrupts took in the cycle: so far, and when the thread entered its system call.
    interrupted_ns: u64,
    interrupted_at_call_ns: u64,
    last_due_ns: Option<i64>,
    /// Whether events were lost since `last_due_ns`.
    lost: bool,
}

impl Thread {
    /// A thread of which nothing is known yet.
    pub fn new(pid: u32, name: Name) -> Self {
        Self {
            pid,
            name,
            priority: i32::MAX,
            observed: Observed::default(),
            habits: Habits::default(),
            rhythm: None,
            state: State::Unknown,
            cpu: 0,
            call: None,
            woken: None,
            due: None,
            overdue: None,
            switched_ns: None,
            queued_cpu: 0,
            moved_ns: None,
            fault_ns: None,
            interrupted_wait: None,
            stop: None,
            cycle: None,
            interrupted_ns: 0,
            interrupted_at_call_ns: 0,
            last_due_ns: None,
            lost: false,
        }
    }

    /// The rhythm, once it is known.
    pub fn rhythm(&self) -> Option<&Rhythm> {
        self.rhythm.as_ref()
    }

    /// The system call in progress; `None` outside of one, and if it began before the thread was followed.
    pub fn call(&self) -> Option<Call> {
        self.call
    }

    /// The wait with which a cycle began at this time; `None` if none did.
    pub fn begun_at(&self, at_ns: u64) -> Option<&Wait> {
        self.cycle.as_ref().map(|cycle| &cycle.wait).filter(|wait| wait.left_ns == at_ns)
    }

    /// Events were lost: what the thread did in between is unknown.
    pub fn lose(&mut self) {
        (self.state, self.call, self.woken, self.due, self.overdue) =
            (State::Unknown, None, None, None, None);
        (self.fault_ns, self.interrupted_wait, self.stop) = (None, None, None);
        self.lost |= self.rhythm.is_some();
        self.cycle = None;
    }

    /// Cycles are counted from now on: those that were lost before, while recording was off in the warm-up, are not.
    pub fn start_counting(&mut self) {
        self.lost = false;
    }

    /// The thread enters a system call.
    pub fn enter(&mut self, at_ns: u64, number: i64, args: [u64; 4]) {
        self.habits.note_call(number, &args);
        (self.woken, self.due, self.switched_ns, self.fault_ns) = (None, None, None, None);
        let is_continued = |call: &Call| number == *RESTART || (call.number, call.args) == (number, args);
        self.call = self.interrupted_wait.take().filter(is_continued);
        if self.call.is_none() {
            self.call = Some(Call { number, args, entered_ns: at_ns });
            self.stop = None;
            self.interrupted_at_call_ns = self.interrupted_ns;
        }
    }

    /// The thread leaves its system call.
    pub fn leave(&mut self, at_ns: u64, number: i64, result: i64) -> Vec<Completed> {
        self.fault_ns = None;
        let is_same = |call: &Call| call.number == number || number == *RESTART;
        let Some(call) = self.call.take().filter(is_same) else { return Vec::new() };
        let (woken, due) = (self.woken.take(), self.due.take());
        if is_interruption(result) && self.is_rhythm_call(call.number) {
            self.interrupted_wait = Some(call);
            return Vec::new();
        }
        if woken.is_none()
            && self.is_rhythm_call(call.number)
            && let Some(due) = self.overdue.take()
        {
            // The timer expired before the thread waited for it.
            let woken = Woken { at_ns: due.expired_ns, source: Source::Timer(due.kind), by: Name::default() };
            return self.end_wait(call, woken, Some(due), at_ns);
        }
        match woken {
            Some(woken) => self.end_wait(call, woken, due, at_ns),
            None => {
                self.note_call(call, at_ns);
                Vec::new()
            }
        }
    }

    /// The thread is woken, and was in the queue of the CPU `target`.
    pub fn wake(&mut self, woken: Woken, due: Option<Due>, task: &Task, target: Option<u32>) {
        (self.name, self.priority) = (task.name, task.priority);
        if due.is_some() {
            self.overdue = None;
        }
        self.woken = Some(woken);
        self.due = due;
        if self.state == State::Blocked {
            if let Some((_, to_ns, _)) = self.stop.as_mut().filter(|_| self.call.is_none()) {
                *to_ns = woken.at_ns;
            }
            self.state = State::Ready;
            self.cpu = target.unwrap_or(self.cpu);
            (self.queued_cpu, self.moved_ns) = (self.cpu, None);
            self.note(woken.at_ns, Activity::Ready { cpu: self.cpu, by: Some((woken.source, woken.by)) });
        }
    }

    /// The thread is moved to the queue of another CPU.
    pub fn migrate(&mut self, at_ns: u64, cpu: u32) {
        self.cpu = cpu;
        if self.state != State::Ready {
            return;
        }
        self.moved_ns = Some(at_ns);
        if let Some(Activity::Ready { by, .. }) = self.cycle.as_ref().and_then(Cycle::latest) {
            self.note(at_ns, Activity::Ready { cpu, by });
        }
    }

    /// A periodic timer of the thread expired while it worked.
    pub fn overdue(&mut self, due: Due) {
        if due.kind == TimerKind::Deadline {
            let woken = Woken { at_ns: due.expired_ns, source: Source::Timer(due.kind), by: Name::default() };
            (self.woken, self.due) = (Some(woken), Some(due));
        } else if self.overdue.is_none() {
            self.overdue = Some(due);
        }
    }

    /// The scheduler switches to the thread.
    pub fn switch_to(&mut self, at_ns: u64, cpu: u32, task: &Task) {
        (self.name, self.priority) = (task.name, task.priority);
        (self.state, self.cpu, self.switched_ns) = (State::Running, cpu, Some(at_ns));
        self.note(at_ns, Activity::Run { cpu });
    }

    /// The scheduler switches to another task.
    pub fn switch_from(&mut self, at_ns: u64, cpu: u32, state: TaskState) {
        self.cpu = cpu;
        if state == TaskState::Ready {
            self.state = State::Ready;
            self.note(at_ns, Activity::Ready { cpu, by: None });
            return;
        }
        self.state = State::Blocked;
        let block = self.block(at_ns, state);
        if self.interrupted_wait.is_some() {
            let from_ns = self.stop.map_or(at_ns, |(from_ns, ..)| from_ns);
            self.stop = Some((from_ns, at_ns, block));
        }
        self.note(at_ns, Activity::Blocked { call: self.call, block });
    }

    /// What the thread waits for that leaves the CPU in this state.
    fn block(&self, at_ns: u64, state: TaskState) -> Block {
        match state {
            TaskState::Stopped => Block::Stopped,
            TaskState::Traced => Block::Traced,
            _ if self.call.is_some() => Block::Call,
            TaskState::Interruptible => match self.fault_ns {
                // A cgroup's freezer stops its tasks in this state, outside of system calls.
                None => Block::Frozen,
                Some(fault_ns) if at_ns - fault_ns <= FAULT_WAITS_NS => Block::Page,
                Some(_) => Block::Unknown,
            },
            _ if self.fault_ns.is_some() => Block::Page,
            _ => Block::Unknown,
        }
    }

    /// An interrupt ended that ran while the thread had this CPU.
    pub fn interrupted(&mut self, from_ns: u64, to_ns: u64) {
        if let Some(cycle) = self.cycle.as_mut().filter(|_| self.state == State::Running) {
            self.interrupted_ns += to_ns.saturating_sub(from_ns.max(cycle.wait.left_ns));
        }
    }

    /// The thread took a page fault.
    pub fn fault(&mut self, at_ns: u64) {
        self.habits.faults += 1;
        self.fault_ns = Some(at_ns);
        self.note(at_ns, Activity::Fault);
    }

    fn is_rhythm_call(&self, number: i64) -> bool {
        self.rhythm.is_some_and(|rhythm| rhythm.signature.call == number)
    }

    fn end_wait(&mut self, call: Call, woken: Woken, due: Option<Due>, at_ns: u64) -> Vec<Completed> {
        let switched_ns = self.switched_ns.filter(|ns| *ns >= woken.at_ns).unwrap_or(woken.at_ns);
        // A thread that did not leave the CPU was in no queue.
        let has_waited = self.switched_ns.is_some_and(|ns| ns >= woken.at_ns);
        let (queued_cpu, moved_ns) = match has_waited {
            true => (self.queued_cpu, self.moved_ns.filter(|ns| *ns <= switched_ns)),
            false => (self.cpu, None),
        };
        let (cpu, stop) = (self.cpu, self.stop.take());
        let wait = Wait { call, woken, due, switched_ns, cpu, queued_cpu, moved_ns, left_ns: at_ns, stop };
        match self.rhythm {
            None => match self.observed.add(&wait) {
                Some(rhythm) => {
                    self.rhythm = Some(rhythm);
                    vec![Completed::Found(rhythm, woken)]
                }
                None => Vec::new(),
            },
            Some(rhythm) if rhythm.signature == wait.signature() && rhythm.begins(wait.due_ns()) => {
                self.begin_cycle(&rhythm, wait)
            }
            Some(_) => {
                self.note_call(call, at_ns);
                Vec::new()
            }
        }
    }

    /// The thread begins its next cycle; completes the one before.
    fn begin_cycle(&mut self, rhythm: &Rhythm, wait: Wait) -> Vec<Completed> {
        let mut completed = Vec::new();
        let due_ns = wait.due_ns();
        let periods = self
            .last_due_ns
            .map(|last| ((due_ns - last) as f64 / rhythm.interval_ns as f64).round().max(0.0) as u64);
        let mut number = 0;
        let mut previous = None;
        if let Some(mut cycle) = self.cycle.take() {
            number = cycle.number + periods.unwrap_or(1).max(1);
            previous = Some((cycle.wait.left_ns, cycle.wait.cpu));
            self.complete(&mut cycle, wait.call.entered_ns);
            cycle.skipped = if rhythm.has_schedule { periods.unwrap_or(1).saturating_sub(1) } else { 0 };
            completed.push(Completed::Cycle(Box::new(cycle)));
        } else if self.lost {
            completed.push(Completed::Lost(periods.unwrap_or(0)));
        }
        self.lost = false;
        self.last_due_ns = Some(due_ns);
        let mut cycle = Cycle::begun(wait, number);
        if let Some((begun_ns, cpu)) = previous {
            cycle.period_ns = Some(wait.left_ns - begun_ns);
            cycle.migrated = cpu != wait.cpu;
        }
        self.interrupted_ns = 0;
        self.cycle = Some(cycle);
        completed
    }

    /// Ends a cycle at the time at which the thread entered its next wait: what came after belongs to the wait.
    fn complete(&self, cycle: &mut Cycle, end_ns: u64) {
        cycle.end_ns = end_ns.max(cycle.wait.left_ns);
        cycle.log.retain(|(at_ns, _)| *at_ns <= end_ns);
        let mut times = Times { faults: cycle.times.faults, ..Times::default() };
        for (from, to, activity) in cycle.stretches() {
            match activity {
                Activity::Run { .. } => times.own_ns += to - from,
                Activity::Ready { .. } => times.preempted_ns += to - from,
                Activity::Blocked { .. } => times.blocked_ns += to - from,
                Activity::Fault => {}
            }
        }
        let interrupted_ns = self.interrupted_at_call_ns.min(times.own_ns);
        times.own_ns -= interrupted_ns;
        times.preempted_ns += interrupted_ns;
        cycle.times = times;
    }

    fn note(&mut self, at_ns: u64, activity: Activity) {
        if let Some(cycle) = &mut self.cycle {
            cycle.note(at_ns, activity);
        }
    }

    fn note_call(&mut self, call: Call, left_ns: u64) {
        let Some(cycle) = &mut self.cycle else { return };
        let took_ns = left_ns - call.entered_ns;
        if took_ns >= LONG_CALL_NS && cycle.calls.len() < CALLS_MAX {
            cycle.calls.push((call, took_ns));
        }
    }
}

/// Whether a signal ended the call before its time: EINTR, or one of the kernel's own results with which it restarts the call.
fn is_interruption(result: i64) -> bool {
    result == -4 || (-516..=-512).contains(&result)
}
