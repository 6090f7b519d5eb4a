//! The causes of a late cycle: what took longer than in the thread's other cycles.
//!
//! The span from the due time to the end of the work is divided into parts, each with its occupant. A part is a cause if it
//! took at least a fifth of the excess over the usual times, so that two causes of the same cycle are both found. Parts of one
//! kind that took so much only together, as many short tasks do, are one cause.

use std::collections::{BTreeMap, BTreeSet};

use tardy_host::trace::happenings::SOFTIRQS;
use tardy_record::moment;
use tardy_record::program::{CycleCause, DEADLINE, Why};
use tardy_sys::system_calls::{self, Futex};

use crate::cpu::CpuLog;
use crate::cycle::{Activity, Cycle};
use crate::event::{Handler, Task};
use crate::layout::vector_name;
use crate::quota::Stopped;
use crate::tracker::Tracker;
use crate::usual::Usual;
use crate::wait::{Block, Call, Source};

/// The share of a cycle's excess that a cause has at least.
const SHARE: f64 = 0.2;
/// The shortest excess that is a cause, in ns.
const EXCESS_MIN_NS: f64 = 10_000.0;
/// The most causes of a cycle.
const CAUSES_MAX: usize = 4;
/// The most parts that the text of a cause names.
const NAMED_MAX: usize = 2;
/// A CPU that is idle for longer while the thread is ready does not leave an idle state: the thread may not run.
const IDLE_EXIT_MAX_NS: u64 = 500_000;
/// Page faults explain own work of at most this long each, in ns: the zeroing of a huge page.
const FAULT_MAX_NS: f64 = 200_000.0;

/// What stopped a thread.
const STOPPED: &str = "a signal";
const TRACED: &str = "a tracer (ptrace)";
const FROZEN: &str = "the freezer of its cgroup";

/// What the causes are found with.
pub struct Context<'a> {
    /// Threads and CPUs.
    pub tracker: &'a Tracker,
    /// The name of an interrupt's handler by its index.
    pub handler: &'a dyn Fn(u16) -> String,
    /// What a file descriptor of a process refers to.
    pub descriptor: &'a dyn Fn(u32, u64) -> Option<String>,
    /// For how long CPU quotas stopped a process in the rounds around a time; `None` if that is unknown.
    pub stopped: &'a dyn Fn(u32, u64, u64) -> Option<Stopped>,
    /// Where in the program a thread was that blocked at a time; `None` if that is unknown.
    pub place: &'a dyn Fn(u32, u64) -> Option<String>,
}

/// A part of a cycle.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    why: Why,
    what: String,
    took_ns: f64,
    excess_ns: f64,
}

/// The causes of a cycle of the thread `tid`, the longest first.
pub fn of(cycle: &Cycle, tid: u32, usual: &Usual, context: &Context<'_>) -> Vec<CycleCause> {
    let pid = context.tracker.threads.get(&tid).map_or(0, |thread| thread.pid);
    let due_ns = cycle.wait.due_ns().max(0) as u64;
    let quotas_are_known = (context.stopped)(pid, due_ns, cycle.end_ns).is_some();
    let mut parts = Parts { context, tid, quotas_are_known, parts: Vec::new() };
    parts.add_wake_up(cycle, usual);
    parts.add_work(cycle, usual);
    let mut causes = with_share(as_one_stop_by_a_tracer(parts.parts));
    // A thread that did not wait yet when it was due is late by that first, whatever followed.
    let follows = |part: &Part| part.why != Why::PreviousCycle;
    causes.sort_by(|a, b| follows(a).cmp(&follows(b)).then(b.excess_ns.total_cmp(&a.excess_ns)));
    causes.truncate(CAUSES_MAX);
    causes.into_iter().map(Part::cause).collect()
}

/// Stops by a tracer as one part: a thread has one tracer, whose name the event that ends a stop has not always.
fn as_one_stop_by_a_tracer(parts: Vec<Part>) -> Vec<Part> {
    let is_traced = |part: &Part| part.why == Why::Stopped && part.what.starts_with(TRACED);
    let (stops, mut parts): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_traced);
    let named = stops.iter().position(|part| part.what.contains("task ")).unwrap_or(0);
    let sum = |of: fn(&Part) -> f64| stops.iter().map(of).sum();
    let (took_ns, excess_ns) = (sum(|part| part.took_ns), sum(|part| part.excess_ns));
    parts.extend(stops.get(named).map(|part| Part { took_ns, excess_ns, ..part.clone() }));
    parts
}

/// The parts that are causes.
fn with_share(parts: Vec<Part>) -> Vec<Part> {
    let total: f64 = parts.iter().map(|part| part.excess_ns.max(0.0)).sum();
    let has_share = |part: &Part| part.excess_ns >= EXCESS_MIN_NS.max(SHARE * total);
    let (mut causes, others): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(has_share);
    let mut kinds: Vec<Vec<Part>> = Vec::new();
    for part in others.into_iter().filter(|part| part.excess_ns > 0.0) {
        match kinds.iter_mut().find(|kind| kind[0].why == part.why) {
            Some(kind) => kind.push(part),
            None => kinds.push(vec![part]),
        }
    }
    causes.extend(kinds.into_iter().map(Part::all_of).filter(has_share));
    causes
}

impl Part {
    /// Parts of one kind as one, which names the longest. There is at least one.
    fn all_of(mut parts: Vec<Self>) -> Self {
        parts.sort_by(|a, b| b.excess_ns.total_cmp(&a.excess_ns));
        let sum = |of: fn(&Self) -> f64| parts.iter().map(of).sum();
        let mut named: Vec<String> = parts.iter().take(NAMED_MAX).map(|part| part.what.clone()).collect();
        if parts.len() > NAMED_MAX {
            named.push(format!("{} more", parts.len() - NAMED_MAX));
        }
        let last = named.pop().unwrap_or_default();
        let what = if named.is_empty() { last } else { format!("{} and {last}", named.join(", ")) };
        Self {
            why: parts[0].why,
            what,
            took_ns: sum(|part| part.took_ns),
            excess_ns: sum(|part| part.excess_ns),
        }
    }

    fn cause(self) -> CycleCause {
        let Self { why, what, took_ns, excess_ns } = self;
        CycleCause { why, what, took_ns: took_ns as u64, excess_ns: excess_ns as u64 }
    }
}

struct Parts<'a> {
    context: &'a Context<'a>,
    tid: u32,
    /// Whether it is known for how long quotas stopped the thread in this cycle.
    quotas_are_known: bool,
    parts: Vec<Part>,
}

impl Parts<'_> {
    /// The parts from the due time to the return of the waiting call.
    fn add_wake_up(&mut self, cycle: &Cycle, usual: &Usual) {
        let wait = &cycle.wait;
        if let Some(due) = wait.due {
            let soft_ns = due.soft_ns.max(0) as u64;
            let entered_ns = wait.call.entered_ns;
            let late_ns = entered_ns.saturating_sub(soft_ns) as f64;
            if late_ns > 0.0 {
                let (why, what) = (Why::PreviousCycle, String::new());
                self.parts.push(Part { why, what, took_ns: late_ns, excess_ns: late_ns });
            }
            // A thread that is late may lose the CPU in its call, before it starts the timer. A stop interrupts the call.
            let held_from_ns = wait.held_from_ns(&due);
            let (from_ns, to_ns) = (soft_ns.max(entered_ns), due.armed_ns);
            let (stopped_ns, again_ns, block) = wait.stop.unwrap_or((to_ns, to_ns, Block::Unknown));
            let end_ns = to_ns.max(from_ns);
            let [stopped_ns, again_ns] = [stopped_ns, again_ns].map(|ns| ns.clamp(from_ns, end_ns));
            let mut starting = self.occupants(due.cpu, from_ns, stopped_ns, Stage::Preempted);
            starting.extend(
                (again_ns > stopped_ns).then(|| self.blocked(None, block, (stopped_ns, again_ns), None)),
            );
            starting.extend(self.occupants(due.cpu, again_ns, end_ns, Stage::Preempted));
            self.add_group(starting, 0.0);
            // Slack before the latest allowed time is what the program permits, and before the wait there was no timer.
            let held = self.occupants(due.cpu, held_from_ns, due.expired_ns, Stage::BeforeInterrupt);
            self.add_group(held, usual.held_ns);
        }
        let woken_ns = wait.woken.at_ns.max(wait.call.entered_ns);
        let switched_ns = wait.switched_ns.max(woken_ns);
        let moved_ns = wait.moved_ns.unwrap_or(woken_ns).clamp(woken_ns, switched_ns);
        let mut ready = self.occupants(wait.queued_cpu, woken_ns, moved_ns, Stage::Woken);
        ready.extend(self.occupants(wait.cpu, moved_ns, switched_ns, Stage::Woken));
        self.add_group(ready, usual.ready_ns);
        let mut path = self.interrupts(wait.cpu, switched_ns, wait.left_ns);
        let interrupted: f64 = path.iter().map(|part| part.took_ns).sum();
        let own = wait.left_ns.saturating_sub(switched_ns) as f64 - interrupted;
        path.push(Part { why: Why::WakeUpPath, what: String::new(), took_ns: own, excess_ns: 0.0 });
        self.add_group(path, usual.path_ns);
    }

    /// The parts from the return of the waiting call to the end of the work.
    fn add_work(&mut self, cycle: &Cycle, usual: &Usual) {
        let mut preempted = Vec::new();
        let mut blocked: Vec<(i64, Part)> = Vec::new();
        let mut in_calls: Vec<InCall> = Vec::new();
        let mut own_ns = 0.0;
        let stretches: Vec<_> = cycle.stretches().collect();
        let places = self.places_of_calls(&stretches);
        let place_of = |call: &Call| places.get(&call.entered_ns).cloned();
        for (index, (from, to, activity)) in stretches.iter().copied().enumerate() {
            match activity {
                Activity::Run { cpu } => {
                    let interrupts = self.interrupts(cpu, from, to);
                    let interrupted: f64 = interrupts.iter().map(|part| part.took_ns).sum();
                    own_ns += (to - from) as f64 - interrupted;
                    preempted.extend(interrupts);
                    for (call, ns) in overlaps(cycle, from, to) {
                        let place = place_of(&call);
                        let is_same =
                            |known: &&mut InCall| known.call.number == call.number && known.place == place;
                        match in_calls.iter_mut().find(is_same) {
                            Some(known) => known.ns += ns,
                            None => in_calls.push(InCall { call, place, ns }),
                        }
                    }
                }
                Activity::Ready { cpu, by } => {
                    let stage = if by.is_some() { Stage::Woken } else { Stage::Preempted };
                    preempted.extend(self.occupants(cpu, from, to, stage));
                }
                Activity::Blocked { call, block } => {
                    let waker = stretches.get(index + 1).and_then(|(_, _, next)| match next {
                        Activity::Ready { by: Some((source, name)), .. } => Some((*source, name.text())),
                        _ => None,
                    });
                    let mut part = self.blocked(call, block, (from, to), waker);
                    let place =
                        call.map_or_else(|| (self.context.place)(self.tid, from), |call| place_of(&call));
                    part.what = with_place(part.what, place);
                    let number = call.map_or(-1, |call| call.number);
                    match blocked.iter_mut().find(|(known, one)| {
                        *known == number && (one.why, &one.what) == (part.why, &part.what)
                    }) {
                        Some((_, one)) => one.took_ns += part.took_ns,
                        None => blocked.push((number, part)),
                    }
                }
                Activity::Fault => {}
            }
        }
        self.add_group(preempted, usual.preempted_ns);
        let numbers: BTreeSet<i64> = blocked.iter().map(|(number, _)| *number).collect();
        for number in numbers {
            let group = blocked.iter().filter(|(one, _)| *one == number).map(|(_, part)| part.clone());
            self.add_group(group.collect(), usual.blocked(number));
        }
        self.add_own_work(cycle, usual, own_ns, &in_calls);
    }

    /// Own work, in system calls and outside, with page faults.
    fn add_own_work(&mut self, cycle: &Cycle, usual: &Usual, own_ns: f64, in_calls: &[InCall]) {
        let mut group: Vec<Part> = in_calls.iter().map(|one| self.in_call(one)).collect();
        let outside = own_ns - in_calls.iter().map(|one| one.ns).sum::<f64>();
        let faults = cycle.times.faults as f64 - usual.faults;
        let excess = own_ns - usual.own_ns;
        let (why, what) = if faults >= 1.0 && excess <= faults * FAULT_MAX_NS {
            let count = cycle.times.faults;
            (
                Why::PageFault,
                if count == 1 { "1 page fault".to_owned() } else { format!("{count} page faults") },
            )
        } else {
            (Why::OwnWork, String::new())
        };
        group.push(Part { why, what, took_ns: outside, excess_ns: 0.0 });
        // Usual work is outside of the long calls, which are rare.
        for part in &mut group {
            let of_calls = !matches!(part.why, Why::OwnWork | Why::PageFault);
            part.excess_ns = if of_calls { part.took_ns } else { part.took_ns - usual.own_ns };
        }
        for part in group {
            match self.parts.iter_mut().find(|known| known.why == part.why && known.what == part.what) {
                Some(known) => {
                    known.took_ns += part.took_ns;
                    known.excess_ns += part.excess_ns.max(0.0);
                }
                None => self.parts.push(part),
            }
        }
    }

    /// Adds parts that together usually take `usual_ns`.
    fn add_group(&mut self, group: Vec<Part>, usual_ns: f64) {
        let total: f64 = group.iter().map(|part| part.took_ns).sum();
        if total <= 0.0 {
            return;
        }
        for part in group {
            let excess_ns = part.took_ns - usual_ns.min(total) * part.took_ns / total;
            match self.parts.iter_mut().find(|known| known.why == part.why && known.what == part.what) {
                Some(known) => {
                    known.took_ns += part.took_ns;
                    known.excess_ns += excess_ns;
                }
                None => self.parts.push(Part { excess_ns, ..part }),
            }
        }
    }

    /// The handlers of interrupts on a CPU.
    fn interrupts(&self, cpu: u32, from: u64, to: u64) -> Vec<Part> {
        let Some(log) = self.context.tracker.cpus.get(&cpu) else { return Vec::new() };
        let handlers = log.handlers(from, to).into_iter();
        handlers
            .map(|(handler, ns)| {
                let what = self.handler_name(handler);
                Part { why: Why::Interrupt, what, took_ns: ns as f64, excess_ns: 0.0 }
            })
            .collect()
    }

    /// Who had a CPU that the thread waited for.
    fn occupants(&self, cpu: u32, from: u64, to: u64, stage: Stage<'_>) -> Vec<Part> {
        let (stopped_until, group) = match stage {
            Stage::BeforeInterrupt | Stage::Stopped(_) => (from, None),
            Stage::Woken | Stage::Preempted => self.stopped_by_quota(from, to),
        };
        let stopped = match &group {
            Some(group) => self.tasks_of(cpu, from, stopped_until, Stage::Stopped(group)),
            None => Vec::new(),
        };
        let then = self.tasks_of(cpu, stopped_until, to, stage);
        stopped.into_iter().chain(then).collect()
    }

    /// Until when a CPU quota stopped the thread that was ready in this time, and that of which cgroup. Its end is that of a quota's
    /// period: the time after it is that of other causes.
    fn stopped_by_quota(&self, from: u64, to: u64) -> (u64, Option<String>) {
        let thread = self.context.tracker.threads.get(&self.tid);
        // Quotas are for ordinary threads.
        let stopped = thread
            .filter(|thread| to > from && !is_realtime(thread.priority))
            .and_then(|thread| (self.context.stopped)(thread.pid, from, to));
        let until = self.context.tracker.last_refill(from, to);
        match (stopped, until) {
            (Some(Stopped { ns, group }), Some(until)) if ns * 2 >= until - from => (until, Some(group)),
            _ => (from, None),
        }
    }

    /// Who had a CPU in a stage of the thread's waiting for it.
    fn tasks_of(&self, cpu: u32, from: u64, to: u64, stage: Stage<'_>) -> Vec<Part> {
        let Some(log) = self.context.tracker.cpus.get(&cpu).filter(|_| to > from) else { return Vec::new() };
        let mut parts = self.interrupts(cpu, from, to);
        let mut interrupted: f64 = parts.iter().map(|part| part.took_ns).sum();
        let ran_at_first = log.tasks(from, from + 1).first().map(|(task, _)| task.tid);
        for (task, ns) in log.tasks(from, to) {
            // Interrupts are on top of the task that ran longest.
            let took_ns = ns as f64 - interrupted.min(ns as f64);
            interrupted -= (ns as f64).min(interrupted);
            let (why, what) = self.occupant(&task, ns, stage, ran_at_first == Some(task.tid));
            parts.push(Part { why, what, took_ns, excess_ns: 0.0 });
        }
        parts
    }

    fn occupant(&self, task: &Task, ns: u64, stage: Stage<'_>, ran_at_first: bool) -> (Why, String) {
        let thread = self.context.tracker.threads.get(&self.tid);
        let own = thread.map_or(120, |thread| thread.priority);
        let why = match stage {
            _ if task.tid == self.tid => return (Why::WakeUpPath, String::new()),
            Stage::BeforeInterrupt if task.tid == 0 => Why::IdleExit,
            Stage::BeforeInterrupt => Why::InterruptsOff,
            Stage::Stopped(group) if task.tid == 0 || !is_realtime(task.priority) => {
                return (Why::Throttled, format!("cgroup {group}"));
            }
            _ if task.tid == 0 => match ns > IDLE_EXIT_MAX_NS && self.may_be_stopped() {
                true => Why::Throttled,
                false => Why::IdleExit,
            },
            _ if task.priority < own && is_realtime(task.priority) => Why::HigherPriority,
            _ if !is_realtime(own) => Why::NoPriority,
            _ if task.priority == own => Why::SamePriority,
            // The scheduler chose a task of lower priority: the thread must not run.
            Stage::Preempted => Why::Throttled,
            Stage::Woken if !ran_at_first => Why::Throttled,
            Stage::Woken | Stage::Stopped(_) => Why::PreemptionOff,
        };
        let what = match why {
            // Limits and quotas are for other policies.
            Why::Throttled if own < 0 => DEADLINE.to_owned(),
            _ if task.tid == 0 => "idle".to_owned(),
            _ => describe(task),
        };
        (why, what)
    }

    /// Whether a limit of CPU time may keep the thread from running on an idle CPU: that of real-time tasks, or a quota that is not
    /// visible.
    fn may_be_stopped(&self) -> bool {
        let Some(thread) = self.context.tracker.threads.get(&self.tid) else { return true };
        is_realtime(thread.priority) || !self.quotas_are_known
    }

    /// A wait within the cycle.
    fn blocked(
        &self,
        call: Option<Call>,
        block: Block,
        (from, to): (u64, u64),
        waker: Option<(Source, String)>,
    ) -> Part {
        let took_ns = (to - from) as f64;
        let part = |why, what| Part { why, what, took_ns, excess_ns: 0.0 };
        let by = match &waker {
            Some((Source::Task(tid), name)) => Some((*tid, named(name, *tid))),
            _ => None,
        };
        let call = match (block, call) {
            (Block::Call, Some(call)) => call,
            (Block::Page, _) => return part(Why::PageFault, "a page was read or made".to_owned()),
            (Block::Stopped, _) => return part(Why::Stopped, STOPPED.to_owned()),
            (Block::Traced, _) => {
                let tracer = by.map_or_else(String::new, |(_, tracer)| format!(", {tracer}"));
                return part(Why::Stopped, format!("{TRACED}{tracer}"));
            }
            (Block::Frozen, _) => return part(Why::Stopped, FROZEN.to_owned()),
            (Block::Unknown | Block::Call, _) => return part(Why::UnknownWait, String::new()),
        };
        let Some(futex) = system_calls::futex_operation(call.number, call.args[1]) else {
            return part(Why::SystemCall, self.call_name(call));
        };
        let why = if futex == Futex::Wait { Why::Mutex } else { Why::OtherThread };
        let Some((tid, mut what)) = by else { return part(why, "futex".to_owned()) };
        if self.context.tracker.slept_ns(tid, from, to) * 2 > to - from {
            what = format!("{what}, which slept itself");
        } else if let Some(other) = self.kept_from_running(tid, from, to) {
            what = format!("{what}, which {other} kept from running");
        }
        part(why, what)
    }

    /// The task that had the CPU of `tid` for most of a time in which that task hardly ran.
    fn kept_from_running(&self, tid: u32, from: u64, to: u64) -> Option<String> {
        let of_owner = |log: &CpuLog| {
            log.tasks(from, to).iter().find(|(task, _)| task.tid == tid).map_or(0, |(_, ns)| *ns)
        };
        let cpus = &self.context.tracker.cpus;
        let ran: u64 = cpus.values().map(of_owner).sum();
        if ran * 2 > to - from {
            return None;
        }
        let log = cpus.values().max_by_key(|log| of_owner(log)).filter(|log| of_owner(log) > 0)?;
        let (other, ns) =
            log.tasks(from, to).into_iter().find(|(task, _)| task.tid != tid && task.tid != 0)?;
        (ns * 2 > to - from).then(|| describe(&other))
    }

    fn in_call(&self, one: &InCall) -> Part {
        let what = with_place(self.call_name(one.call), one.place.clone());
        Part { why: Why::SystemCall, what, took_ns: one.ns, excess_ns: 0.0 }
    }

    /// The places of the system calls in which the thread blocked, by the times at which it entered them.
    fn places_of_calls(&self, stretches: &[(u64, u64, Activity)]) -> BTreeMap<u64, String> {
        let mut places = BTreeMap::new();
        for (from, _, activity) in stretches {
            if let Activity::Blocked { call: Some(call), .. } = activity
                && !places.contains_key(&call.entered_ns)
                && let Some(place) = (self.context.place)(self.tid, *from)
            {
                places.insert(call.entered_ns, place);
            }
        }
        places
    }

    /// `write to /dev/pts/0`, or the name alone if the call has no file descriptor.
    fn call_name(&self, call: Call) -> String {
        let Some(name) = system_calls::name(call.number) else {
            return format!("system call {}", call.number);
        };
        let pid = self.context.tracker.threads.get(&self.tid).map(|thread| thread.pid);
        let file = || (self.context.descriptor)(pid?, call.args[0]);
        match name {
            "write" | "writev" | "pwrite64" | "sendto" | "sendmsg" | "sendfile" => {
                file().map_or(name.to_owned(), |file| format!("{name} to {file}"))
            }
            "read" | "readv" | "pread64" | "recvfrom" | "recvmsg" => {
                file().map_or(name.to_owned(), |file| format!("{name} from {file}"))
            }
            "fsync" | "fdatasync" | "ioctl" | "ftruncate" | "fallocate" | "flock" => {
                file().map_or(name.to_owned(), |file| format!("{name} of {file}"))
            }
            "brk" | "mmap" | "munmap" | "mremap" | "madvise" => format!("{name} (memory allocation)"),
            _ => name.to_owned(),
        }
    }

    fn handler_name(&self, handler: Handler) -> String {
        match handler {
            Handler::Irq(irq, name) => format!("irq {irq} {}", (self.context.handler)(name)),
            Handler::Softirq(number) => {
                let name = SOFTIRQS.get(usize::from(number)).copied().unwrap_or("?");
                format!("the soft interrupt {name}")
            }
            Handler::Vector(index) => format!("the CPU's {} interrupt", vector_name(index)),
        }
    }
}

/// Time on a CPU in a system call.
struct InCall {
    call: Call,
    /// Where in the program it was made, if the thread blocked in it.
    place: Option<String>,
    ns: f64,
}

/// `write to pipe:[4711], from write_late+0x2a in control`.
fn with_place(what: String, place: Option<String>) -> String {
    match place {
        Some(place) => format!("{what}, from {place}"),
        None => what,
    }
}

/// Where in the cycle a thread waits for its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage<'g> {
    /// From the due time to the timer's function.
    BeforeInterrupt,
    /// From being woken on.
    Woken,
    /// From losing the CPU while it wanted to run.
    Preempted,
    /// While the quota of this cgroup stopped it.
    Stopped(&'g str),
}

/// Whether the kernel's priority is one of SCHED_FIFO, SCHED_RR or SCHED_DEADLINE.
fn is_realtime(priority: i32) -> bool {
    priority < 99
}

/// The long system calls that overlap a stretch of running, with the time of each in it.
fn overlaps(cycle: &Cycle, from: u64, to: u64) -> Vec<(Call, f64)> {
    let overlap = |(call, took_ns): &(Call, u64)| {
        let ns = to.min(call.entered_ns + took_ns).saturating_sub(from.max(call.entered_ns));
        (ns > 0).then_some((*call, ns as f64))
    };
    cycle.calls.iter().filter_map(overlap).collect()
}

/// `'name' (task 7)`; without the name if no event had it yet.
fn named(name: &str, tid: u32) -> String {
    if name.is_empty() { format!("task {tid}") } else { format!("'{name}' (task {tid})") }
}

/// `'name' (task 7, real-time priority 90)`.
fn describe(task: &Task) -> String {
    let name = task.name.text();
    let known = moment::Task { name, tid: task.tid, priority: task.priority };
    let priority = match (known.realtime_priority(), task.priority < 0) {
        (Some(priority), _) => format!(", real-time priority {priority}"),
        (None, true) => ", SCHED_DEADLINE".to_owned(),
        (None, false) => String::new(),
    };
    format!("'{}' (task {}{priority})", known.name, task.tid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_parts_of_a_kind_are_one_cause_if_they_have_a_share_together() {
        let part = |why, what: &str, us: u32| {
            let took_ns = f64::from(us) * 1e3;
            Part { why, what: what.to_owned(), took_ns, excess_ns: took_ns }
        };
        let mut parts = vec![part(Why::OwnWork, "", 500), part(Why::Interrupt, "irq 5", 190)];
        parts.extend(["a", "c", "b"].map(|what| part(Why::HigherPriority, what, 100)));
        parts[3].excess_ns += 1.0;
        let found = |parts: Vec<Part>| -> Vec<(Why, String, u64)> {
            let causes = with_share(parts).into_iter().map(Part::cause);
            causes.map(|cause| (cause.why, cause.what, cause.took_ns)).collect()
        };
        let own = (Why::OwnWork, String::new(), 500_000);
        let together = (Why::HigherPriority, "c, a and 1 more".to_owned(), 300_000);
        assert_eq!(found(parts.clone()), [own.clone(), together]);
        parts.remove(2);
        let two = (Why::HigherPriority, "c and b".to_owned(), 200_000);
        assert_eq!(found(parts.clone()), [own.clone(), (Why::Interrupt, "irq 5".to_owned(), 190_000), two]);
        parts.remove(2);
        assert_eq!(found(parts), [own, (Why::Interrupt, "irq 5".to_owned(), 190_000)]);
    }

    #[test]
    fn stops_by_a_tracer_are_one_cause_with_its_name() {
        let part = |what: &str, us: f64| Part {
            why: Why::Stopped,
            what: what.to_owned(),
            took_ns: us,
            excess_ns: us,
        };
        let named = format!("{TRACED}, 'strace' (task 7)");
        let parts = vec![part(TRACED, 36.0), part(STOPPED, 5.0), part(&named, 14.0)];
        assert_eq!(as_one_stop_by_a_tracer(parts), [part(STOPPED, 5.0), part(&named, 50.0)]);
        assert_eq!(as_one_stop_by_a_tracer(vec![part(STOPPED, 5.0)]), [part(STOPPED, 5.0)]);
    }
}
