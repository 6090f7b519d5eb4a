//! Cycles and causes from synthetic streams of events.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tardy_record::program::{CycleCause, DEADLINE, Why};

use crate::causes::{self, Context};
use crate::cpu::CpuLog;
use crate::cycle::Cycle;
use crate::event::{Event, Handler, Name, Task, TaskState, What};
use crate::moments;
use crate::quota::Stopped;
use crate::thread::{Completed, Thread};
use crate::tracker::{Progress, Tracker};
use crate::usual::Usual;
use crate::wait::{Block, Due, TimerKind, Wait};

const TID: u32 = 7;
const PERIOD_NS: u64 = 1_000_000;
const FUNCTION: u64 = 0xf;
const QUOTA_FUNCTION: u64 = 0xe;
const DEADLINE_FUNCTION: u64 = 0xd;
const TIMERFD_FUNCTION: u64 = 0xc;

fn task(tid: u32, priority: i32) -> Task {
    Task { tid, priority, name: Name::of("task") }
}

/// The thread, of real-time priority 80.
fn own() -> Task {
    task(TID, 19)
}

/// A stream of events on one CPU.
#[derive(Default)]
struct Stream {
    events: Vec<Event>,
}

impl Stream {
    fn add(&mut self, at_ns: u64, by: u32, what: What) {
        self.events.push(Event { at_ns, cpu: 0, by, what });
    }

    /// The second CPU switches.
    fn switch_second(&mut self, at_ns: u64, from: Task, to: Task) {
        let what = What::Switch { from, state: TaskState::Ready, to };
        self.events.push(Event { at_ns, cpu: 1, by: from.tid, what });
    }

    fn switch(&mut self, at_ns: u64, from: Task, ready: bool, to: Task) {
        let state = if ready { TaskState::Ready } else { TaskState::Interruptible };
        self.leave(at_ns, from, state, to);
    }

    fn leave(&mut self, at_ns: u64, from: Task, state: TaskState, to: Task) {
        self.add(at_ns, from.tid, What::Switch { from, state, to });
    }

    /// The thread sleeps from `from_ns` until `due_ns` and returns 20 us later; `runs` has the CPU in between.
    fn sleep(&mut self, from_ns: u64, due_ns: u64, runs: Task) {
        self.enter(from_ns);
        self.wait(from_ns + 1000, due_ns, due_ns, runs);
    }

    fn enter(&mut self, at_ns: u64) {
        self.add(at_ns, TID, What::Enter { call: sleep_call(), args: [1, 1, 0, 0] });
    }

    /// In that call, the thread starts a timer, which expires after `expires_ns`.
    fn wait(&mut self, from_ns: u64, due_ns: u64, expires_ns: u64, runs: Task) {
        let timer = 0xa;
        let start =
            What::Start { timer, function: FUNCTION, expires_ns: due_ns as i64, soft_ns: due_ns as i64 };
        self.add(from_ns, TID, start);
        self.switch(from_ns + 1000, own(), false, runs);
        self.add(expires_ns + 3000, runs.tid, What::InterruptBegin(Handler::Vector(0)));
        self.add(expires_ns + 5000, runs.tid, What::Expire { timer, function: FUNCTION });
        self.add(expires_ns + 6000, runs.tid, What::Waking { task: own(), target: Some(0) });
        self.add(expires_ns + 7000, runs.tid, What::ExpireEnd { timer });
        self.add(expires_ns + 8000, runs.tid, What::InterruptEnd(Handler::Vector(0)));
        self.switch(expires_ns + 15_000, runs, true, own());
        self.add(expires_ns + 20_000, TID, What::Leave { call: sleep_call(), result: 0 });
    }
}

fn sleep_call() -> i64 {
    tardy_sys::system_calls::number("clock_nanosleep").unwrap()
}

/// All cycles of a stream, with the causes of each.
fn cycles(stream: &Stream) -> Vec<(Cycle, Vec<(Why, u64)>)> {
    cycles_stopped(stream, &|_, _, _| None)
}

/// The same, with what is known of quotas.
fn cycles_stopped(
    stream: &Stream,
    stopped: &dyn Fn(u32, u64, u64) -> Option<Stopped>,
) -> Vec<(Cycle, Vec<(Why, u64)>)> {
    let short = |cause: CycleCause| (cause.why, cause.took_ns);
    let found = cycles_explained(stream, stopped, &|_, _| None).into_iter();
    found.map(|(cycle, causes)| (cycle, causes.into_iter().map(short).collect())).collect()
}

/// All cycles of a stream with their causes, with what is known of quotas and of places in the program.
fn cycles_explained(
    stream: &Stream,
    stopped: &dyn Fn(u32, u64, u64) -> Option<Stopped>,
    place: &dyn Fn(u32, u64) -> Option<String>,
) -> Vec<(Cycle, Vec<CycleCause>)> {
    let functions = [
        (FUNCTION, TimerKind::Sleep),
        (QUOTA_FUNCTION, TimerKind::Quota),
        (DEADLINE_FUNCTION, TimerKind::Deadline),
        (TIMERFD_FUNCTION, TimerKind::Timerfd),
    ];
    let mut tracker = Tracker::new(BTreeMap::from(functions), None);
    tracker.follow(1, TID, "loop");
    let (mut progress, mut usual, mut found) = (Vec::new(), Usual::default(), Vec::new());
    for event in &stream.events {
        tracker.take(event, &mut progress);
        for one in progress.drain(..) {
            let Progress::Thread(TID, Completed::Cycle(cycle)) = one else { continue };
            let handler = &|_| String::new();
            let context = Context { tracker: &tracker, handler, descriptor: &|_, _| None, stopped, place };
            let causes = causes::of(&cycle, TID, &usual, &context);
            usual.learn(&cycle);
            found.push((*cycle, causes));
        }
    }
    found
}

/// 500 cycles with 100 us of work; `disturb` adds to the cycle 450 and returns when its work ends.
fn stream(disturb: impl Fn(&mut Stream, u64) -> u64) -> Stream {
    let mut stream = Stream::default();
    let mut free_ns = PERIOD_NS / 2;
    for cycle in 1..=500u64 {
        let due_ns = cycle * PERIOD_NS;
        stream.sleep(free_ns, due_ns.max(free_ns), task(0, 120));
        let begin_ns = due_ns.max(free_ns) + 20_000;
        free_ns = if cycle == 450 { disturb(&mut stream, begin_ns) } else { begin_ns + 100_000 };
    }
    stream
}

#[test]
fn cycles_have_latencies_responses_and_work() {
    let found = cycles(&stream(|_, begin_ns| begin_ns + 100_000));
    assert!(found.len() > 250, "{}", found.len());
    // The first cycle has none to be compared with.
    for (cycle, causes) in found.iter().skip(1) {
        assert_eq!((cycle.latency_ns(), cycle.response_ns()), (20_000, 120_000));
        assert_eq!((cycle.times.own_ns, cycle.times.preempted_ns, cycle.skipped), (100_000, 0, 0));
        assert_eq!(cycle.period_ns.unwrap_or(PERIOD_NS), PERIOD_NS);
        assert!(causes.is_empty(), "{causes:?}");
    }
}

/// The causes of the cycle that was disturbed.
fn causes_of(disturb: impl Fn(&mut Stream, u64) -> u64) -> Vec<(Why, u64)> {
    let found = cycles(&stream(disturb));
    let late: Vec<_> = found.into_iter().filter(|(cycle, _)| cycle.own_response_ns() > 200_000).collect();
    assert_eq!(late.len(), 1);
    late.into_iter().next().unwrap().1
}

#[test]
fn a_task_of_higher_priority_is_the_cause_of_its_time() {
    let preempted = |stream: &mut Stream, begin_ns: u64| {
        let other = task(9, 9);
        stream.switch(begin_ns + 50_000, own(), true, other);
        stream.switch(begin_ns + 350_000, other, false, own());
        begin_ns + 400_000
    };
    assert_eq!(causes_of(preempted), [(Why::HigherPriority, 300_000)]);
}

#[test]
fn longer_own_work_and_an_interrupt_are_both_causes() {
    let both = |stream: &mut Stream, begin_ns: u64| {
        stream.add(begin_ns + 10_000, TID, What::InterruptBegin(Handler::Irq(5, 0)));
        stream.add(begin_ns + 210_000, TID, What::InterruptEnd(Handler::Irq(5, 0)));
        begin_ns + 600_000
    };
    assert_eq!(causes_of(both), [(Why::OwnWork, 400_000), (Why::Interrupt, 200_000)]);
}

#[test]
fn a_mutex_and_a_condition_of_one_thread_are_two_causes() {
    let waits = |stream: &mut Stream, begin_ns: u64| {
        let call = tardy_sys::system_calls::number("futex").unwrap();
        let holder = task(9, 120);
        for (at_ns, operation) in [(begin_ns, 128), (begin_ns + 300_000, 128 | 9)] {
            stream.add(at_ns, TID, What::Enter { call, args: [0, operation, 0, 0] });
            stream.switch(at_ns, own(), false, holder);
            stream.add(at_ns + 200_000, 9, What::Waking { task: own(), target: Some(0) });
            stream.switch(at_ns + 200_000, holder, true, own());
            stream.add(at_ns + 200_000, TID, What::Leave { call, result: 0 });
        }
        begin_ns + 550_000
    };
    assert_eq!(causes_of(waits), [(Why::Mutex, 200_000), (Why::OtherThread, 200_000)]);
}

#[test]
fn calls_from_two_places_are_two_causes_and_each_has_its_time_on_the_cpu() {
    const RUN_NS: u64 = 400_000;
    const BLOCKED_NS: u64 = 1_000_000;
    let write = tardy_sys::system_calls::number("write").unwrap();
    // When the thread blocks in the first of them.
    let first_ns = std::cell::Cell::new(0);
    let stream = stream(|stream, begin_ns| {
        let mut at_ns = begin_ns + 50_000;
        for call in 0..2 {
            stream.add(at_ns, TID, What::Enter { call: write, args: [1, 0, 0, 0] });
            at_ns += RUN_NS;
            if call == 0 {
                first_ns.set(at_ns);
            }
            stream.switch(at_ns, own(), false, task(0, 120));
            at_ns += BLOCKED_NS;
            stream.add(at_ns, 0, What::Waking { task: own(), target: Some(0) });
            stream.switch(at_ns + 1000, task(0, 120), true, own());
            at_ns += 2000;
            stream.add(at_ns, TID, What::Leave { call: write, result: 1 });
        }
        at_ns + 50_000
    });
    let place = |tid: u32, at_ns: u64| {
        assert_eq!(tid, TID);
        Some(if at_ns == first_ns.get() { "log+0x2 in loop" } else { "send+0x7 in loop" }.to_owned())
    };
    let named = |place: &dyn Fn(u32, u64) -> Option<String>| -> Vec<(String, u64)> {
        let found = cycles_explained(&stream, &|_, _, _| None, place);
        let (_, causes) = found.into_iter().find(|(cycle, _)| cycle.times.blocked_ns > 0).unwrap();
        let mut named: Vec<_> = causes.into_iter().map(|cause| (cause.what, cause.took_ns)).collect();
        named.sort();
        named
    };
    // 1 us after the return to the CPU is in the call too.
    let took_ns = RUN_NS + BLOCKED_NS + 1000;
    let places = ["write, from log+0x2 in loop", "write, from send+0x7 in loop"]
        .map(|what| (what.to_owned(), took_ns));
    assert_eq!(named(&place), places);
    assert_eq!(named(&|_, _| None), [("write".to_owned(), 2 * took_ns)]);
}

#[test]
fn a_ready_thread_on_an_idle_cpu_is_throttled() {
    let throttled = |stream: &mut Stream, begin_ns: u64| {
        stream.switch(begin_ns + 50_000, own(), true, task(0, 120));
        stream.switch(begin_ns + 750_000, task(0, 120), true, own());
        begin_ns + 800_000
    };
    assert_eq!(causes_of(throttled), [(Why::Throttled, 700_000)]);
}

#[test]
fn a_preempted_thread_that_moves_waits_for_the_other_cpu() {
    let moved = |stream: &mut Stream, begin_ns: u64| {
        let (first, second) = (task(9, 9), task(10, 5));
        stream.switch_second(begin_ns + 40_000, task(0, 120), second);
        stream.switch(begin_ns + 50_000, own(), true, first);
        stream.add(begin_ns + 55_000, 9, What::Migrate { tid: TID, to: 1 });
        // The CPU that it left is idle.
        stream.switch(begin_ns + 60_000, first, false, task(0, 120));
        stream.switch_second(begin_ns + 755_000, second, own());
        stream.add(begin_ns + 780_000, 0, What::Migrate { tid: TID, to: 0 });
        stream.switch(begin_ns + 790_000, task(0, 120), true, own());
        begin_ns + 800_000
    };
    assert_eq!(causes_of(moved), [(Why::HigherPriority, 700_000)]);
}

#[test]
fn a_woken_thread_that_an_idle_cpu_pulls_waited_in_the_first_queue() {
    let mut stream = stream(|_, begin_ns| begin_ns + 100_000);
    let due_ns = 460 * PERIOD_NS;
    let is_of_wake_up = |event: &Event| (due_ns + 9000..due_ns + 700_000).contains(&event.at_ns);
    let next = stream.events.iter().position(is_of_wake_up).unwrap();
    let later: Vec<Event> =
        stream.events.split_off(next).into_iter().filter(|event| event.at_ns >= due_ns + PERIOD_NS).collect();
    let (rival, idle) = (task(9, 9), task(0, 120));
    let call = tardy_sys::system_calls::number("clock_nanosleep").unwrap();
    stream.switch(due_ns + 9000, idle, true, rival);
    stream.add(due_ns + 710_000, 0, What::Migrate { tid: TID, to: 1 });
    stream.switch_second(due_ns + 712_000, idle, own());
    stream.events.push(Event {
        at_ns: due_ns + 715_000,
        cpu: 1,
        by: TID,
        what: What::Leave { call, result: 0 },
    });
    stream.sleep(due_ns + 800_000, due_ns + PERIOD_NS, rival);
    stream.events.retain(|event| event.at_ns < due_ns + PERIOD_NS);
    stream.events.extend(later);
    let late = cycles(&stream).into_iter().find(|(cycle, _)| cycle.latency_ns() > 200_000).unwrap();
    assert_eq!(late.0.latency_ns(), 715_000);
    let causes: Vec<Why> = late.1.iter().map(|(why, _)| *why).collect();
    assert_eq!(causes, [Why::HigherPriority], "{:?}", late.1);
}

#[test]
fn a_timer_of_the_server_for_ordinary_tasks_is_not_the_threads() {
    let mut stream = stream(|_, begin_ns| begin_ns + 100_000);
    // It starts, and expires, in interrupts while the thread runs.
    for cycle in 440..460u64 {
        let at_ns = cycle * PERIOD_NS + 16_000;
        let (timer, function) = (0xd0, DEADLINE_FUNCTION);
        let (expires_ns, soft_ns) = (at_ns as i64 + 900_000, at_ns as i64 + 900_000);
        let begin = stream.events.partition_point(|event| event.at_ns <= at_ns);
        let whats = [
            What::Expire { timer, function },
            What::ExpireEnd { timer },
            What::Start { timer, function, expires_ns, soft_ns },
        ];
        let events = whats.map(|what| Event { at_ns, cpu: 0, by: TID, what });
        stream.events.splice(begin..begin, events);
    }
    let found = cycles(&stream);
    let is_whole =
        |(cycle, causes): &(Cycle, Vec<(Why, u64)>)| cycle.latency_ns() == 20_000 && causes.is_empty();
    assert!(found.len() > 250 && found.iter().skip(1).all(is_whole), "{found:?}");
}

/// On PREEMPT_RT a soft timer expires in a thread, which the thread that it wakes preempts before the function ends: it works, starts the
/// timer again, and another timer wakes a task in an interrupt.
#[test]
fn a_timer_whose_function_is_preempted_by_the_thread_that_it_wakes_is_known_in_the_next_cycle() {
    let call = tardy_sys::system_calls::number("read").unwrap();
    let (timer, function, ktimers) = (0xa, TIMERFD_FUNCTION, task(18, 98));
    let mut stream = Stream::default();
    stream.switch(1, task(0, 120), true, own());
    for cycle in 1..=500u64 {
        let due_ns = cycle * PERIOD_NS;
        let soft_ns = due_ns as i64;
        let begun_ns = due_ns - PERIOD_NS + 100_000;
        stream.add(begun_ns, TID, What::Enter { call, args: [3, 0, 0, 0] });
        stream.add(begun_ns + 1000, TID, What::Start { timer, function, expires_ns: soft_ns, soft_ns });
        stream.switch(begun_ns + 2000, own(), false, ktimers);
        if cycle > 1 {
            stream.add(begun_ns + 3000, 18, What::ExpireEnd { timer });
        }
        stream.add(due_ns + 4000, 18, What::Expire { timer, function });
        // The tick, whose begin is not recorded, ends in an interrupt of that thread.
        stream.add(due_ns + 4500, 18, What::ExpireEnd { timer: 0xc });
        stream.add(due_ns + 5000, 18, What::Waking { task: own(), target: Some(0) });
        stream.switch(due_ns + 6000, ktimers, true, own());
        // The interrupt of another timer.
        stream.add(due_ns + 7000, TID, What::Expire { timer: 0xb, function: FUNCTION });
        stream.add(due_ns + 8000, TID, What::Waking { task: task(9, 120), target: Some(0) });
        stream.add(due_ns + 9000, TID, What::ExpireEnd { timer: 0xb });
        stream.add(due_ns + 20_000, TID, What::Leave { call, result: 8 });
    }
    let found = cycles(&stream);
    let is_whole = |(cycle, _): &(Cycle, Vec<(Why, u64)>)| {
        (cycle.latency_ns(), cycle.response_ns()) == (20_000, 100_000) && cycle.wait.due.is_some()
    };
    assert!(found.len() > 250 && found.iter().all(is_whole), "{found:?}");
}

/// The causes of a cycle of an ordinary thread that loses the CPU to an ordinary task for 700 us, 400 us after which there is new
/// CPU time for a cgroup with a quota.
fn causes_with_quota(stopped: &dyn Fn(u32, u64, u64) -> Option<Stopped>) -> Vec<(Why, u64)> {
    let mut stream = stream(|stream, begin_ns| {
        stream.switch(begin_ns + 50_000, own(), true, task(9, 120));
        let refill = What::Expire { timer: 0xb, function: QUOTA_FUNCTION };
        stream.add(begin_ns + 450_000, 9, refill);
        stream.add(begin_ns + 451_000, 9, What::ExpireEnd { timer: 0xb });
        stream.switch(begin_ns + 750_000, task(9, 120), true, own());
        begin_ns + 800_000
    });
    for event in &mut stream.events {
        match &mut event.what {
            What::Waking { task, .. } => task.priority = 120,
            What::Switch { from, to, .. } => {
                let own = [from, to].into_iter().filter(|task| task.tid == TID);
                own.for_each(|task| task.priority = 120);
            }
            _ => {}
        }
    }
    let found = cycles_stopped(&stream, stopped);
    found.into_iter().find(|(cycle, _)| cycle.own_response_ns() > 200_000).unwrap().1
}

#[test]
fn a_quota_is_the_cause_until_its_period_ends_if_the_kernel_counted_a_stop() {
    let stopped = |ns| move |_: u32, _: u64, _: u64| Some(Stopped { ns, group: "/a".to_owned() });
    let expected = [(Why::Throttled, 400_000), (Why::NoPriority, 300_000)];
    assert_eq!(causes_with_quota(&stopped(390_000)), expected);
    assert_eq!(causes_with_quota(&stopped(1000)), [(Why::NoPriority, 700_000)]);
    assert_eq!(causes_with_quota(&|_, _, _| None), [(Why::NoPriority, 700_000)]);
}

#[test]
fn a_late_thread_that_loses_the_cpu_before_it_starts_its_timer_is_not_held_by_interrupts() {
    let mut stream = Stream::default();
    for cycle in 1..450 {
        stream.sleep(cycle * PERIOD_NS - PERIOD_NS / 2, cycle * PERIOD_NS, task(0, 120));
    }
    // When it enters its call, that time has passed already.
    let (due_ns, entered_ns) = (450 * PERIOD_NS, 450 * PERIOD_NS + 200_000);
    stream.enter(entered_ns);
    stream.switch(entered_ns + 1000, own(), true, task(9, 120));
    stream.switch(entered_ns + 301_000, task(9, 120), true, own());
    stream.wait(entered_ns + 302_000, due_ns, entered_ns + 302_000, task(0, 120));
    stream.sleep(451 * PERIOD_NS - PERIOD_NS / 4, 451 * PERIOD_NS, task(0, 120));
    let found = cycles(&stream);
    let (_, causes) = found.iter().find(|(cycle, _)| cycle.wait.due_ns() == due_ns as i64).unwrap();
    // The cycle before comes first, though it took less.
    assert_eq!(causes[..], [(Why::PreviousCycle, 200_000), (Why::Throttled, 300_000)]);
}

#[test]
fn a_stop_is_a_page_fault_only_if_there_was_one() {
    let stopped = |state: TaskState, faults: bool| {
        causes_of(|stream, begin_ns| {
            if faults {
                stream.add(begin_ns + 40_000, TID, What::Fault { address: 0 });
            }
            stream.leave(begin_ns + 50_000, own(), state, task(0, 120));
            stream.add(begin_ns + 740_000, 9, What::Waking { task: own(), target: Some(0) });
            stream.switch(begin_ns + 750_000, task(0, 120), true, own());
            begin_ns + 800_000
        })
    };
    for (state, faults, why) in [
        (TaskState::Stopped, false, Why::Stopped),
        (TaskState::Stopped, true, Why::Stopped),
        (TaskState::Traced, false, Why::Stopped),
        // A freezer of cgroup v2, and the wait for a page in user space (userfaultfd).
        (TaskState::Interruptible, false, Why::Stopped),
        (TaskState::Interruptible, true, Why::PageFault),
        (TaskState::Uninterruptible, true, Why::PageFault),
        (TaskState::Uninterruptible, false, Why::UnknownWait),
    ] {
        assert_eq!(stopped(state, faults), [(why, 690_000)], "{state:?} {faults}");
    }
}

#[test]
fn a_stop_in_the_wait_delays_the_wake_up_and_not_the_end_of_the_cycle_before() {
    let (signalled, continued) = (450 * PERIOD_NS + 600_000, 453 * PERIOD_NS + 200_000);
    let mut stream = stream(|_, begin_ns| begin_ns + 100_000);
    let last = stream.events.partition_point(|event| event.at_ns < signalled);
    stream.events.truncate(last);
    // SIGSTOP interrupts the call, whose result is that of the kernel's restart. SIGCONT comes after three due times.
    stream.add(signalled, 9, What::Waking { task: own(), target: Some(0) });
    stream.switch(signalled + 5000, task(0, 120), true, own());
    stream.add(signalled + 6000, TID, What::Leave { call: sleep_call(), result: -514 });
    stream.leave(signalled + 10_000, own(), TaskState::Stopped, task(0, 120));
    stream.add(continued, 9, What::Waking { task: own(), target: Some(0) });
    stream.switch(continued + 5000, task(0, 120), true, own());
    stream.enter(continued + 6000);
    stream.wait(continued + 7000, 451 * PERIOD_NS, continued + 7000, task(0, 120));
    stream.sleep(continued + 100_000, 454 * PERIOD_NS, task(0, 120));
    let found = cycles(&stream);
    let [before, stopped] = &found[found.len() - 2..] else { panic!("{found:?}") };
    assert_eq!((before.0.response_ns(), &before.1[..]), (120_000, &[][..]));
    assert_eq!(stopped.0.wait.due_ns(), 451 * PERIOD_NS as i64);
    assert_eq!(stopped.1[..], [(Why::Stopped, continued - 451 * PERIOD_NS)]);
}

#[test]
fn the_holder_of_a_mutex_that_sleeps_is_kept_from_running_by_nothing() {
    let call = tardy_sys::system_calls::number("futex").unwrap();
    let (holder, other) = (task(9, 120), task(10, 120));
    let waited_for = |sleeps: bool| {
        let stream = stream(|stream, begin_ns| {
            stream.switch_second(begin_ns - 1000, task(0, 120), holder);
            let state = if sleeps { TaskState::Interruptible } else { TaskState::Ready };
            let off = What::Switch { from: holder, state, to: other };
            stream.events.push(Event { at_ns: begin_ns + 10_000, cpu: 1, by: 9, what: off });
            stream.add(begin_ns + 20_000, TID, What::Enter { call, args: [0, 128, 0, 0] });
            stream.switch(begin_ns + 20_000, own(), false, task(0, 120));
            if sleeps {
                let waking = What::Waking { task: holder, target: Some(1) };
                stream.events.push(Event { at_ns: begin_ns + 700_000, cpu: 1, by: 10, what: waking });
            }
            stream.switch_second(begin_ns + 705_000, other, holder);
            let waking = What::Waking { task: own(), target: Some(0) };
            stream.events.push(Event { at_ns: begin_ns + 720_000, cpu: 1, by: 9, what: waking });
            stream.switch(begin_ns + 721_000, task(0, 120), true, own());
            stream.add(begin_ns + 722_000, TID, What::Leave { call, result: 0 });
            begin_ns + 800_000
        });
        let found = cycles_explained(&stream, &|_, _, _| None, &|_, _| None);
        let (_, causes) = found.into_iter().find(|(cycle, _)| cycle.times.blocked_ns > 0).unwrap();
        assert_eq!(causes[0].why, Why::Mutex);
        causes[0].what.clone()
    };
    assert_eq!(waited_for(true), "'task' (task 9), which slept itself");
    assert_eq!(waited_for(false), "'task' (task 9), which 'task' (task 10) kept from running");
}

#[test]
fn a_deadline_task_that_used_up_its_runtime_is_not_throttled_by_another_limit() {
    let mut stream = stream(|stream, begin_ns| {
        stream.switch(begin_ns + 50_000, own(), true, task(9, 120));
        stream.switch(begin_ns + 750_000, task(9, 120), true, own());
        begin_ns + 800_000
    });
    for event in &mut stream.events {
        match &mut event.what {
            What::Waking { task, .. } if task.tid == TID => task.priority = -1,
            What::Switch { from, to, .. } => {
                [from, to].into_iter().filter(|task| task.tid == TID).for_each(|task| task.priority = -1);
            }
            _ => {}
        }
    }
    let found = cycles_explained(&stream, &|_, _, _| None, &|_, _| None);
    let (_, causes) = found.into_iter().find(|(cycle, _)| cycle.own_response_ns() > 200_000).unwrap();
    assert_eq!((causes[0].why, causes[0].what.as_str()), (Why::Throttled, DEADLINE));
}

#[test]
fn a_moment_has_the_begin_of_what_runs_and_no_end_without_a_begin() {
    let mut log = CpuLog::default();
    let tick = 0x77;
    for (at_ns, what) in [
        // An interrupt that began long before the due time, in which the tick's function ends, whose begin is not recorded.
        (600_000, What::InterruptBegin(Handler::Vector(0))),
        (1_100_000, What::ExpireEnd { timer: tick }),
        (1_200_000, What::InterruptEnd(Handler::Vector(0))),
    ] {
        log.take(&Event { at_ns, cpu: 0, by: TID, what });
    }
    let stream = stream(|_, begin_ns| begin_ns + 100_000);
    let (cycle, _) = cycles(&stream).pop().unwrap();
    let mut wait = cycle.wait;
    wait.due = wait.due.map(|due| Due { soft_ns: 1_000_000, ..due });
    (wait.left_ns, wait.call.entered_ns) = (1_500_000, 1_300_000);
    let of = |wait: &Wait| moments::of(wait, TID, 19, &log, &|_| String::new(), &|_| TimerKind::Sleep);
    let moment = of(&wait).unwrap();
    let at_ns: Vec<i64> = moment.events.iter().map(|event| event.at_ns).collect();
    assert_eq!((at_ns, moment.waits_from_ns), (vec![-400_000, 200_000], Some(300_000)));
    // Who had the CPU does not explain the delay of a thread that was stopped.
    assert_eq!(of(&Wait { stop: Some((0, 1, Block::Stopped)), ..wait }), None);
}

#[test]
fn cycles_lost_with_their_events_are_counted() {
    let mut stream = stream(|_, begin_ns| begin_ns + 100_000);
    let lost = |event: &Event| (420 * PERIOD_NS..430 * PERIOD_NS + 1).contains(&event.at_ns);
    let first = stream.events.iter().position(lost).unwrap();
    stream.events.retain(|event| !lost(event));
    let what = What::Lost { count: 100 };
    stream.events.insert(first, Event { at_ns: 430 * PERIOD_NS, cpu: 0, by: 0, what });
    let mut tracker = Tracker::new(BTreeMap::from([(FUNCTION, TimerKind::Sleep)]), None);
    tracker.follow(1, TID, "loop");
    let mut progress = Vec::new();
    stream.events.iter().for_each(|event| tracker.take(event, &mut progress));
    let lost = progress.iter().find_map(|one| match one {
        Progress::Thread(TID, Completed::Lost(count)) => Some(*count),
        _ => None,
    });
    // The cycles 419 to 430: the last one before the loss never ended.
    assert_eq!(lost, Some(12));
}

#[test]
fn cycles_of_the_warm_up_are_not_lost() {
    let stream = stream(|_, begin_ns| begin_ns + 100_000);
    let completed = |starts_counting: bool| {
        let mut tracker = Tracker::new(BTreeMap::from([(FUNCTION, TimerKind::Sleep)]), None);
        tracker.follow(1, TID, "loop");
        let mut progress = Vec::new();
        // Recording is off for ten periods, as while its cost is measured.
        let (off_ns, on_ns) = (420 * PERIOD_NS, 430 * PERIOD_NS);
        let (before, after) = (stream.events.iter())
            .filter(|event| !(off_ns..on_ns).contains(&event.at_ns))
            .partition::<Vec<&Event>, _>(|event| event.at_ns < off_ns);
        before.into_iter().for_each(|event| tracker.take(event, &mut progress));
        tracker.forget(on_ns);
        if starts_counting {
            tracker.threads.values_mut().for_each(Thread::start_counting);
        }
        progress.clear();
        after.into_iter().for_each(|event| tracker.take(event, &mut progress));
        let is_lost = |one: &&Progress| matches!(one, Progress::Thread(TID, Completed::Lost(_)));
        (progress.iter().filter(is_lost).count(), progress.len() > 50)
    };
    assert_eq!((completed(false), completed(true)), ((1, true), (0, true)));
}

proptest! {
    #[test]
    fn no_stream_causes_a_panic(events in prop::collection::vec((0u64..5000, 0u8..14, 0u32..4, 0u64..4, 0u32..2), 0..600)) {
        let mut tracker = Tracker::new(BTreeMap::from([(1, TimerKind::Sleep), (2, TimerKind::Timerfd), (3, TimerKind::Deadline)]), None);
        tracker.follow(1, 1, "one");
        let (mut at_ns, mut progress) = (0, Vec::new());
        for (step, kind, tid, number, cpu) in events {
            at_ns += step * 100;
            let call = [0, 1, 230, 202][number as usize];
            let what = match kind {
                0 => What::Enter { call, args: [number; 4] },
                1 => What::Leave { call, result: if tid == 1 && cpu == 1 { -514 } else { 0 } },
                2 => What::Start { timer: number, function: number, expires_ns: at_ns as i64, soft_ns: i64::MIN + number as i64 },
                3 => What::Start { timer: number, function: number, expires_ns: at_ns as i64 + 9, soft_ns: at_ns as i64 },
                4 => What::Expire { timer: number, function: number },
                5 => What::ExpireEnd { timer: number },
                6 => What::Waking { task: task(tid, number as i32), target: Some(cpu) },
                7 | 8 => What::Switch {
                    from: task(tid, 120),
                    state: if kind == 7 { TaskState::Ready } else { TaskState::Stopped },
                    to: task(number as u32, 120),
                },
                9 => What::Fault { address: 0 },
                10 => What::Fork { child: number as u32 },
                11 => if number == 0 { What::End } else { What::Lost { count: number } },
                12 => What::InterruptBegin(Handler::Vector(number as u8)),
                _ => What::InterruptEnd(Handler::Vector(number as u8)),
            };
            tracker.take(&Event { at_ns, cpu, by: tid, what }, &mut progress);
            for one in progress.drain(..) {
                let Progress::Thread(tid, Completed::Cycle(cycle)) = one else { continue };
                let context = Context { tracker: &tracker, handler: &|_| String::new(), descriptor: &|_, _| None, stopped: &|_, _, _| None, place: &|_, _| None };
                let _ = causes::of(&cycle, tid, &Usual::default(), &context);
                let times = cycle.times;
                prop_assert!(times.own_ns + times.preempted_ns + times.blocked_ns <= cycle.end_ns - cycle.wait.left_ns);
            }
        }
    }
}
