//! The kernel's activity around a wake-up, as a run keeps it for its report and for trace viewers.

use tardy_host::trace::happenings::SOFTIRQS;
use tardy_record::moment::{self, Happening, MOMENT_EVENTS_MAX, Moment, MomentEvent, OPEN_MAX, still_open};

use crate::cpu::CpuLog;
use crate::event::{Event, Handler, Task, What};
use crate::layout::vector_name;
use crate::wait::{TimerKind, Wait};

/// How long before the due time a moment begins.
const BEFORE_NS: u64 = 100_000;
/// Time before the begin of a moment in which handlers are searched for that had not ended.
const LOOK_BACK_NS: u64 = 5_000_000;

/// The moment of a wake-up; `None` if its CPU's events are not complete.
pub fn of(
    wait: &Wait,
    tid: u32,
    priority: i32,
    log: &CpuLog,
    handler: &dyn Fn(u16) -> String,
    kind: &dyn Fn(u64) -> TimerKind,
) -> Option<Moment> {
    // Who had the CPU does not explain the delay of a thread that was stopped.
    if wait.stop.is_some() {
        return None;
    }
    let due_ns = u64::try_from(wait.due_ns()).ok()?;
    let from_ns = due_ns.saturating_sub(BEFORE_NS);
    let (whole_from_ns, _) = log.events(from_ns, wait.left_ns);
    if whole_from_ns > due_ns {
        return None;
    }
    let since_due = |at_ns: u64| at_ns as i64 - due_ns as i64;
    let (_, recorded) = log.events(from_ns.saturating_sub(LOOK_BACK_NS), wait.left_ns);
    // Of a timer whose begin was not recorded, such as the tick's, the end is recorded.
    let mut timers = Vec::new();
    let is_whole = |event: &&Event| match event.what {
        What::Expire { timer, .. } => {
            timers.push(timer);
            true
        }
        What::ExpireEnd { timer } => {
            let index = timers.iter().rposition(|known| *known == timer);
            index.map(|index| timers.remove(index)).is_some()
        }
        _ => true,
    };
    let happening = |what: &What| happening(what, handler, kind);
    let events: Vec<MomentEvent> = recorded
        .filter(is_whole)
        .filter_map(|event| {
            Some(MomentEvent { at_ns: since_due(event.at_ns), what: happening(&event.what)? })
        })
        .collect();
    // If there are too many events, the last ones are kept, because they explain the end of the delay.
    let begin = events.partition_point(|event| event.at_ns < since_due(whole_from_ns));
    let first = begin.max(events.len().saturating_sub(MOMENT_EVENTS_MAX - OPEN_MAX));
    let whole_from_ns = if first > begin { events[first].at_ns } else { since_due(whole_from_ns) };
    let open = still_open(&events[..first], |event| &event.what);
    let realtime = moment::Task { name: String::new(), tid, priority }.realtime_priority();
    Some(Moment {
        tid,
        priority: realtime.unwrap_or(0),
        whole_from_ns,
        waits_from_ns: Some(since_due(wait.call.entered_ns)),
        events: open.into_iter().chain(&events[first..]).cloned().collect(),
    })
}

fn happening(
    what: &What,
    handler: &dyn Fn(u16) -> String,
    kind: &dyn Fn(u64) -> TimerKind,
) -> Option<Happening> {
    Some(match what {
        What::Switch { from, to, .. } => Happening::Switch { from: task(from), to: task(to) },
        What::Waking { task: woken, .. } => Happening::Ready { task: task(woken) },
        What::Expire { function, .. } => Happening::TimerBegin { function: function_name(*function, kind) },
        What::ExpireEnd { .. } => Happening::TimerEnd,
        What::InterruptBegin(Handler::Irq(irq, name)) => {
            Happening::IrqBegin { irq: *irq, name: handler(*name) }
        }
        What::InterruptEnd(Handler::Irq(irq, _)) => Happening::IrqEnd { irq: *irq },
        What::InterruptBegin(Handler::Softirq(number)) => Happening::SoftirqBegin { name: softirq(*number) },
        What::InterruptEnd(Handler::Softirq(number)) => Happening::SoftirqEnd { name: softirq(*number) },
        What::InterruptBegin(Handler::Vector(index)) => {
            Happening::VectorBegin { name: vector_name(*index).to_owned() }
        }
        What::InterruptEnd(Handler::Vector(index)) => {
            Happening::VectorEnd { name: vector_name(*index).to_owned() }
        }
        _ => return None,
    })
}

fn function_name(function: u64, kind: &dyn Fn(u64) -> TimerKind) -> String {
    let kind = kind(function);
    let known = TimerKind::FUNCTIONS.iter().find(|(_, known)| *known == kind);
    known.map_or_else(|| format!("{function:#x}"), |(name, _)| (*name).to_owned())
}

/// The name of a soft interrupt.
pub fn softirq(number: u8) -> String {
    SOFTIRQS.get(usize::from(number)).map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

fn task(task: &Task) -> moment::Task {
    moment::Task { name: task.name.text(), tid: task.tid, priority: task.priority }
}
