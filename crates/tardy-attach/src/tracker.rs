//! Follows a program's threads through a stream of events in the order of time.

use std::collections::{BTreeMap, VecDeque};

use tardy_sys::system_calls;

use crate::chain::{Chains, Passage};
use crate::cpu::{Armed, CpuLog, Expiring};
use crate::event::{Edge, Event, Handler, Name, Task, TaskState, What};
use crate::thread::{Completed, Thread};
use crate::wait::{Call, Due, Source, TimerKind, Woken};

/// The most timers that are armed at once. When it is reached, all of them are forgotten.
const ARMED_MAX: usize = 65_536;
/// The most times of [`Tracker::refills`].
const REFILLS_MAX: usize = 8192;
/// The most threads that are followed.
pub const THREADS_MAX: usize = 4096;
/// A time this far from the present is not on CLOCK_MONOTONIC.
const FAR_NS: u64 = 30 * 86_400 * 1_000_000_000;

/// How far other clocks are ahead of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// CLOCK_REALTIME.
    pub realtime_ns: i64,
}

/// What an event completed, with the thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Of the thread with this number.
    Thread(u32, Completed),
    /// The thread with this number began a cycle that its timer was due for.
    Begun(u32),
    /// Work passed through several threads.
    Passage(Passage),
    /// The thread with this number marked the begin or the end of a stretch.
    Mark(u32, Edge),
    /// The thread with this number ended.
    Ended(u32),
}

/// The program's threads and the CPUs.
#[derive(Debug, Default)]
pub struct Tracker {
    /// The threads that are followed, by number.
    pub threads: BTreeMap<u32, Thread>,
    /// What the CPUs did recently.
    pub cpus: BTreeMap<u32, CpuLog>,
    /// Whether only threads of this name are followed.
    only: Option<Name>,
    functions: BTreeMap<u64, TimerKind>,
    armed: BTreeMap<u64, Armed>,
    chains: Chains,
    /// When cgroups with a quota received new CPU time.
    refills: VecDeque<u64>,
    /// How far other clocks are ahead.
    pub clocks: Clocks,
    /// Events that were lost, and in how many places.
    pub lost_events: u64,
}

impl Tracker {
    /// A tracker that knows the kinds of timers by the addresses of their functions. It follows new threads only if they have
    /// the name `only`, if there is one.
    pub fn new(functions: BTreeMap<u64, TimerKind>, only: Option<&str>) -> Self {
        Self { functions, only: only.map(Name::of), ..Self::default() }
    }

    /// When a cgroup received new CPU time at last between two times. Without the kernel's symbols, the end: it may have.
    pub fn last_refill(&self, from_ns: u64, to_ns: u64) -> Option<u64> {
        if !self.functions.values().any(|kind| *kind == TimerKind::Quota) {
            return Some(to_ns);
        }
        let before = self.refills.partition_point(|at_ns| *at_ns <= to_ns).checked_sub(1)?;
        Some(self.refills[before]).filter(|at_ns| *at_ns > from_ns)
    }

    /// How long a task slept between two times, as far as the events of the CPUs go back.
    pub fn slept_ns(&self, tid: u32, from_ns: u64, to_ns: u64) -> u64 {
        let events = self.cpus.values().flat_map(|log| log.events(0, to_ns).1);
        let mut changes: Vec<(u64, bool)> = events
            .filter_map(|event| match event.what {
                What::Switch { from, state, .. } if from.tid == tid => {
                    Some((event.at_ns, state != TaskState::Ready))
                }
                What::Waking { task, .. } if task.tid == tid => Some((event.at_ns, false)),
                _ => None,
            })
            .collect();
        changes.sort_unstable();
        let ends = changes.iter().skip(1).map(|(at_ns, _)| *at_ns).chain([to_ns]);
        let sleeps = changes.iter().zip(ends).filter(|((_, sleeps), _)| *sleeps);
        sleeps.map(|((at_ns, _), end_ns)| end_ns.min(to_ns).saturating_sub((*at_ns).max(from_ns))).sum()
    }

    /// Follows a thread.
    pub fn follow(&mut self, pid: u32, tid: u32, name: &str) {
        if self.threads.len() < THREADS_MAX {
            self.threads.entry(tid).or_insert_with(|| Thread::new(pid, Name::of(name)));
        }
    }

    /// Processes one event.
    pub fn take(&mut self, event: &Event, progress: &mut Vec<Progress>) {
        let ended = self.cpus.entry(event.cpu).or_default().take(event);
        if let Some(interrupt) = ended
            && let Some(thread) = self.running(event.cpu)
        {
            thread.interrupted(interrupt.from_ns, interrupt.to_ns);
        }
        let Event { at_ns, cpu, by, what } = *event;
        match what {
            What::Enter { call, args } => {
                if let Some(thread) = self.threads.get_mut(&by) {
                    thread.enter(at_ns, call, args);
                    let call = Call { number: call, args, entered_ns: at_ns };
                    progress.extend(self.chains.enter(by, &call).map(Progress::Passage));
                }
            }
            What::Leave { call, result } => self.leave(at_ns, by, (call, result), progress),
            What::Start { timer, function, expires_ns, soft_ns } => {
                if self.starts_own(by, self.kind(function)) {
                    self.arm(by, at_ns, timer, expires_ns, soft_ns);
                }
            }
            What::ExpireEnd { timer } => self.end_expiry(cpu, by, timer),
            What::Waking { task, target } => self.wake(at_ns, cpu, by, &task, target),
            What::Migrate { tid, to } => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.migrate(at_ns, to);
                }
            }
            What::Switch { from, state, to } => {
                if let Some(thread) = self.threads.get_mut(&from.tid) {
                    thread.switch_from(at_ns, cpu, state);
                    if state != TaskState::Ready {
                        self.chains.block(from.tid);
                    }
                }
                if let Some(thread) = self.threads.get_mut(&to.tid) {
                    thread.switch_to(at_ns, cpu, &to);
                }
            }
            What::Fault { .. } => {
                if let Some(thread) = self.threads.get_mut(&by) {
                    thread.fault(at_ns);
                }
            }
            What::Fork { child } => self.fork(by, child),
            What::End => {
                if self.threads.remove(&by).is_some() {
                    self.chains.end(by);
                    progress.push(Progress::Ended(by));
                }
            }
            What::Lost { count } => {
                self.lost_events += count;
                self.armed.clear();
                self.chains.forget();
                self.threads.values_mut().for_each(Thread::lose);
            }
            What::Mark(edge) => {
                if self.threads.contains_key(&by) {
                    progress.push(Progress::Mark(by, edge));
                }
            }
            What::Expire { timer, function } => {
                let armed = self.armed.remove(&timer);
                let expiring = Expiring { by, timer, armed, function, at_ns, wakes: false };
                self.cpus.entry(cpu).or_default().expire(expiring);
                if self.kind(function) == TimerKind::Quota {
                    if self.refills.len() == REFILLS_MAX {
                        self.refills.pop_front();
                    }
                    self.refills.push_back(at_ns);
                }
            }
            What::InterruptBegin(_) | What::InterruptEnd(_) => {}
        }
    }

    /// Forgets what threads and CPUs were doing: events before this time are missing.
    pub fn forget(&mut self, at_ns: u64) {
        self.armed.clear();
        self.chains.forget();
        self.cpus.values_mut().for_each(|log| log.forget(at_ns));
        self.threads.values_mut().for_each(Thread::lose);
    }

    fn leave(&mut self, at_ns: u64, tid: u32, (number, result): (i64, i64), progress: &mut Vec<Progress>) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let call = thread.call();
        progress
            .extend(thread.leave(at_ns, number, result).into_iter().map(|one| Progress::Thread(tid, one)));
        let begun = thread.begun_at(at_ns).and_then(|wait| Some((wait.call, wait.due?)));
        if let Some((call, due)) = begun {
            self.chains.begin(tid, due.soft_ns.max(0) as u64, at_ns, call);
            progress.push(Progress::Begun(tid));
        } else if let Some(call) = call.filter(|call| call.number == number) {
            self.chains.leave(tid, call, at_ns);
        }
    }

    fn running(&mut self, cpu: u32) -> Option<&mut Thread> {
        let tid = self.cpus.get(&cpu)?.current?.tid;
        self.threads.get_mut(&tid)
    }

    /// A new thread of a followed one's. Whether it is of the same process is read later, from /proc.
    fn fork(&mut self, parent: u32, child: u32) {
        let Some(thread) = self.threads.get(&parent) else { return };
        if self.only.is_none() && self.threads.len() < THREADS_MAX {
            let new = Thread::new(thread.pid, thread.name);
            self.threads.entry(child).or_insert(new);
        }
    }

    /// Whether a timer of this kind is the running thread's. The servers with which SCHED_DEADLINE protects ordinary tasks from
    /// real-time ones (since Linux 6.12) have the same timer function, and it starts in interrupts of any thread.
    fn starts_own(&self, tid: u32, kind: TimerKind) -> bool {
        let Some(thread) = self.threads.get(&tid) else { return false };
        match kind {
            TimerKind::Quota => false,
            TimerKind::Deadline => thread.priority < 0,
            _ => true,
        }
    }

    fn arm(&mut self, tid: u32, at_ns: u64, timer: u64, expires_ns: i64, soft_ns: i64) {
        if self.armed.len() >= ARMED_MAX {
            self.armed.clear();
        }
        // The event has the time of the timer's own clock, and does not name the clock.
        let is_far = soft_ns.saturating_sub(at_ns as i64).unsigned_abs() > FAR_NS;
        let ahead_ns = if is_far { self.clocks.realtime_ns } else { 0 };
        let armed = Armed {
            tid,
            soft_ns: soft_ns.saturating_sub(ahead_ns),
            hard_ns: expires_ns.saturating_sub(ahead_ns),
            at_ns,
        };
        self.armed.insert(timer, armed);
    }

    fn kind(&self, function: u64) -> TimerKind {
        self.functions.get(&function).copied().unwrap_or(TimerKind::Other)
    }

    /// The thread that started an expiring timer, if it is followed, and the timer.
    fn due(&self, expiring: &Expiring, cpu: u32) -> Option<(u32, Due)> {
        let armed = expiring.armed?;
        let due = Due {
            soft_ns: armed.soft_ns,
            hard_ns: armed.hard_ns,
            armed_ns: armed.at_ns,
            expired_ns: expiring.at_ns,
            cpu,
            kind: self.kind(expiring.function),
        };
        Some((armed.tid, due))
    }

    fn end_expiry(&mut self, cpu: u32, by: u32, timer: u64) {
        let Some(expired) = self.cpus.get_mut(&cpu).and_then(|log| log.end_expiry(by, timer)) else { return };
        if let Some((tid, due)) = self.due(&expired, cpu)
            && !expired.wakes
            && due.kind.is_periodic()
            && let Some(thread) = self.threads.get_mut(&tid)
        {
            thread.overdue(due);
        }
    }

    fn wake(&mut self, at_ns: u64, cpu: u32, by: u32, task: &Task, target: Option<u32>) {
        let expiring = self.cpus.entry(cpu).or_default().expiring(by).copied();
        let due = expiring.and_then(|expiring| self.due(&expiring, cpu));
        let log = self.cpus.entry(cpu).or_default();
        let source = match (expiring, log.handler()) {
            (Some(expiring), _) => {
                let kind = self.functions.get(&expiring.function).copied().unwrap_or(TimerKind::Other);
                Source::Timer(kind)
            }
            (None, Some(handler)) => Source::Interrupt(handler),
            (None, None) => Source::Task(by),
        };
        let name = log.current.filter(|task| task.tid == by).map_or_else(Name::default, |task| task.name);
        if self.threads.contains_key(&task.tid) && is_by_work(&source, self.threads.get(&by)) {
            self.chains.wake(by, task.tid, at_ns);
        }
        let Some(thread) = self.threads.get_mut(&task.tid) else { return };
        if let Some(expiring) = log.expiring(by) {
            expiring.wakes = true;
        }
        thread.wake(Woken { at_ns, source, by: name }, due.map(|(_, due)| due), task, target);
    }
}

/// Whether the work of the running thread wakes another one: itself, or by a packet to this machine, which the soft interrupt at
/// the end of its system call delivers.
fn is_by_work(source: &Source, running: Option<&Thread>) -> bool {
    /// NET_RX_SOFTIRQ.
    const RECEIVE: u8 = 3;
    const SENDING: [&str; 5] = ["sendto", "sendmsg", "sendmmsg", "write", "writev"];
    match source {
        Source::Task(_) => true,
        Source::Interrupt(Handler::Softirq(RECEIVE)) => {
            let call = running.and_then(Thread::call).and_then(|call| system_calls::name(call.number));
            call.is_some_and(|name| SENDING.contains(&name))
        }
        _ => false,
    }
}
