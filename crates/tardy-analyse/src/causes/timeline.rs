//! The occupants of a CPU from a deadline to the late wake-up.

use std::collections::BTreeMap;

use serde::Serialize;
use tardy_record::moment::{Happening, Moment, MomentEvent, Task};

use super::Stage;

/// The occupant of a CPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Occupant {
    /// A task, in user space or in the kernel.
    Task(Task),
    /// Nothing: the CPU is idle.
    Idle,
    /// A device's interrupt handler.
    Irq {
        /// The interrupt's number.
        irq: u32,
        /// The handler's name; empty if its beginning was not traced.
        name: String,
    },
    /// A soft interrupt.
    Softirq {
        /// Its name.
        name: String,
    },
    /// An interrupt of the CPU itself.
    Vector {
        /// The name of its trace event.
        name: String,
    },
    /// A timer's function.
    TimerFunction {
        /// Its name; empty if its beginning was not traced.
        function: String,
        /// Whether it ran in a soft interrupt instead of the timer's interrupt.
        soft: bool,
    },
    /// The wake-up itself: the timer's interrupt that caused it, and the thread after the switch to it.
    OwnWay,
    /// The cycle before, whatever ran in it: the thread did not wait yet.
    PreviousCycle,
    /// Unknown: the trace does not show it, or shows only the end of an interrupt whose beginning it lacks.
    Unknown,
}

impl Occupant {
    /// Its name, such as `irq 39 eth0`.
    pub fn name(&self) -> String {
        match self {
            Self::Task(task) => task.name.clone(),
            Self::Idle => "idle".to_owned(),
            Self::Irq { irq, name } => format!("irq {irq} {name}").trim_end().to_owned(),
            Self::Softirq { name } => format!("softirq {name}"),
            Self::Vector { name } => format!("interrupt {name}"),
            Self::TimerFunction { function, .. } => {
                format!("timer function {function}").trim_end().to_owned()
            }
            Self::OwnWay => "its own path".to_owned(),
            Self::PreviousCycle => "the cycle before".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// A stretch of time with one occupant. Times in ns from the deadline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// Its beginning.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// The occupant.
    pub occupant: Occupant,
}

/// The occupants of the CPU from the beginning of the trace, or from the deadline if that is earlier, to the wake-up. Times
/// in ns from the deadline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Contiguous stretches, in order.
    pub stretches: Vec<Stretch>,
    /// When the thread's timer fired; `None` if the trace does not show it.
    pub fired_ns: Option<i64>,
    /// When the thread was woken.
    pub ready_ns: Option<i64>,
    /// When the scheduler switched to the thread; the time of `ready_ns` if the thread had not left the CPU.
    pub switched_ns: Option<i64>,
    /// When the thread read the clock: the latency.
    pub woke_ns: i64,
}

/// The occupant that used the CPU longest, and for how long in ns.
pub(super) struct Longest {
    pub(super) occupant: Occupant,
    pub(super) held_ns: i64,
}

impl Timeline {
    /// The timeline of a moment whose wake-up was late by `late_ns`; `None` if nothing was recorded.
    pub fn of(moment: &Moment, late_ns: i64) -> Option<Self> {
        let first = moment.events.first()?;
        let from_ns = moment.whole_from_ns.min(first.at_ns).min(late_ns);
        let marks = Marks::of(moment);
        let mut cpu = Cpu::at_the_beginning_of(moment);
        let mut stretches: Vec<Stretch> = Vec::new();
        push(&mut stretches, 0, from_ns, || Occupant::Unknown);
        let mut at_ns = from_ns;
        for event in &moment.events {
            let to_ns = event.at_ns.min(late_ns);
            push(&mut stretches, at_ns, to_ns, || cpu.occupant(&marks, at_ns));
            at_ns = to_ns.max(at_ns);
            cpu.take(event);
        }
        push(&mut stretches, at_ns, late_ns, || cpu.occupant(&marks, at_ns));
        if let Some(waits_from_ns) = moment.waits_from_ns {
            stretches = with_previous_cycle(stretches, waits_from_ns);
        }
        let Marks { fired_ns, ready_ns, switched_ns, .. } = marks;
        Some(Self { stretches, fired_ns, ready_ns, switched_ns, woke_ns: late_ns })
    }

    /// The occupant that used the CPU longest from the deadline on.
    pub(super) fn longest(&self) -> Option<Longest> {
        let mut held: Vec<Longest> = Vec::new();
        for (stretch, _, ns) in self.parts() {
            match held.iter_mut().find(|known| known.occupant == stretch.occupant) {
                Some(known) => known.held_ns += ns,
                None => held.push(Longest { occupant: stretch.occupant.clone(), held_ns: ns }),
            }
        }
        held.into_iter().max_by_key(|one| one.held_ns)
    }

    /// The stage in which an occupant used the CPU for most of the time.
    pub(super) fn stage_of(&self, occupant: &Occupant) -> Stage {
        let mut held = [
            (Stage::AfterSwitch, 0),
            (Stage::BeforeSwitch, 0),
            (Stage::InInterrupt, 0),
            (Stage::BeforeInterrupt, 0),
        ];
        for (_, stage, ns) in self.parts().filter(|(stretch, ..)| stretch.occupant == *occupant) {
            held.iter_mut().filter(|(known, _)| *known == stage).for_each(|(_, sum)| *sum += ns);
        }
        held.into_iter().max_by_key(|(_, ns)| *ns).map_or(Stage::BeforeInterrupt, |(stage, _)| stage)
    }

    /// Whether the scheduler switched to this occupant while the thread was ready to run.
    pub(super) fn is_chosen_before(&self, occupant: &Occupant) -> bool {
        let ready_ns = self.ready_ns.unwrap_or(i64::MAX);
        let first = self.stretches.iter().find(|stretch| stretch.occupant == *occupant);
        first.is_some_and(|stretch| stretch.from_ns > ready_ns)
    }

    /// The time from the deadline on, divided into parts with one stretch and one stage each; the last value is in ns.
    fn parts(&self) -> impl Iterator<Item = (&Stretch, Stage, i64)> {
        self.stretches.iter().flat_map(move |stretch| {
            self.stages().into_iter().filter_map(move |(stage, from_ns, to_ns)| {
                let ns = stretch.to_ns.min(to_ns) - stretch.from_ns.max(from_ns);
                (ns > 0).then_some((stretch, stage, ns))
            })
        })
    }

    /// The four stages with beginning and end. A stage whose end was not traced lasts to the wake-up.
    fn stages(&self) -> [(Stage, i64, i64); 4] {
        let end = self.woke_ns;
        let fired = self.fired_ns.or(self.ready_ns).map_or(end, |ns| ns.clamp(0, end.max(0)));
        let ready = self.ready_ns.map_or(end, |ns| ns.max(fired));
        let switched = self.switched_ns.map_or(end, |ns| ns.max(ready));
        [
            (Stage::BeforeInterrupt, 0, fired),
            (Stage::InInterrupt, fired, ready),
            (Stage::BeforeSwitch, ready, switched),
            (Stage::AfterSwitch, switched, end),
        ]
    }
}

fn push(stretches: &mut Vec<Stretch>, from_ns: i64, to_ns: i64, occupant: impl FnOnce() -> Occupant) {
    if to_ns <= from_ns {
        return;
    }
    let occupant = occupant();
    match stretches.last_mut() {
        Some(last) if last.occupant == occupant => last.to_ns = to_ns,
        _ => stretches.push(Stretch { from_ns, to_ns, occupant }),
    }
}

/// The stretches, of which the cycle before is one from the deadline to the time at which the thread began to wait.
fn with_previous_cycle(stretches: Vec<Stretch>, waits_from_ns: i64) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for Stretch { from_ns, to_ns, occupant } in stretches {
        let [begin, end] = [0, waits_from_ns.max(0)].map(|ns| ns.clamp(from_ns, to_ns));
        push(&mut all, from_ns, begin, || occupant.clone());
        push(&mut all, begin, end, || Occupant::PreviousCycle);
        push(&mut all, end, to_ns, || occupant);
    }
    all
}

/// The times of the stages of the thread's wake-up in the trace.
struct Marks {
    tid: u32,
    fired_ns: Option<i64>,
    ready_ns: Option<i64>,
    switched_ns: Option<i64>,
}

impl Marks {
    fn of(moment: &Moment) -> Self {
        let events = &moment.events;
        let is_ready =
            |event: &MomentEvent| matches!(&event.what, Happening::Ready { task } if task.tid == moment.tid);
        // The last wake-up of the thread: earlier ones may be spurious.
        let ready = events.iter().rposition(is_ready);
        let ready_ns = ready.map(|index| events[index].at_ns);
        let fired_ns = ready.and_then(|index| {
            let before = events[..index].iter().rev();
            let begin = before.take_while(|event| !matches!(event.what, Happening::TimerEnd));
            let begin = begin.filter(|event| matches!(event.what, Happening::TimerBegin { .. }));
            begin.map(|event| event.at_ns).next()
        });
        let switched_ns = ready.map(|index| {
            let to_own = |event: &&MomentEvent| matches!(&event.what, Happening::Switch { to, .. } if to.tid == moment.tid);
            events[index..].iter().find(to_own).map_or(events[index].at_ns, |event| event.at_ns)
        });
        Self { tid: moment.tid, fired_ns, ready_ns, switched_ns }
    }
}

/// The state of a CPU: a task, and the interruptions on top of it.
#[derive(Clone)]
struct Cpu {
    task: Task,
    above: Vec<Frame>,
    /// The soft interrupts of tasks that another task preempted within them, as on PREEMPT_RT.
    preempted: BTreeMap<u32, Vec<Frame>>,
    /// Until then it is unknown what ran at the beginning of the trace.
    unknown_until_ns: i64,
}

/// An interruption, and the time at which it began.
#[derive(Clone)]
struct Frame {
    occupant: Occupant,
    begun: Happening,
    begun_ns: i64,
}

impl Cpu {
    /// The state before the first event, derived from later events: the task that is switched from first. An interruption that
    /// ends without a beginning, before the scheduler switches, was there when the trace began.
    fn at_the_beginning_of(moment: &Moment) -> Self {
        let first_switch = moment.events.iter().find_map(|event| match &event.what {
            Happening::Switch { from, .. } => Some(from.clone()),
            _ => None,
        });
        let own = || Task {
            name: "the thread itself".to_owned(),
            tid: moment.tid,
            priority: 99 - i32::try_from(moment.priority).unwrap_or(0),
        };
        let task = first_switch.unwrap_or_else(own);
        let this = Self { task, above: Vec::new(), preempted: BTreeMap::new(), unknown_until_ns: i64::MIN };
        let mut scratch = this.clone();
        let before_switch =
            moment.events.iter().take_while(|event| !matches!(event.what, Happening::Switch { .. }));
        let open_at_first = before_switch.filter(|event| scratch.take(event)).last();
        Self { unknown_until_ns: open_at_first.map_or(i64::MIN, |event| event.at_ns), ..this }
    }

    /// Follows an event. Returns whether it ends an interruption that was there when the trace began.
    fn take(&mut self, event: &MomentEvent) -> bool {
        if let Some(occupant) = begun(&event.what, self.above.last()) {
            self.above.push(Frame { occupant, begun: event.what.clone(), begun_ns: event.at_ns });
        } else if event.what.depth_change() < 0 {
            match self.above.iter().rposition(|frame| event.what.ends(&frame.begun)) {
                Some(index) => self.above.truncate(index),
                // Not all functions of timers have a begin in the trace, and interrupts that contain one do.
                None => return self.above.is_empty() && event.what != Happening::TimerEnd,
            }
        } else if let Happening::Switch { from, to } = &event.what {
            // The scheduler never switches within a handler of an interrupt: the end of an open one is missing.
            let is_soft = |frame: &Frame| matches!(frame.occupant, Occupant::Softirq { .. });
            let mut left = std::mem::take(&mut self.above);
            left.truncate(left.iter().take_while(|frame| is_soft(frame)).count());
            self.preempted.insert(from.tid, left);
            self.above = self.preempted.remove(&to.tid).unwrap_or_default();
            self.task = to.clone();
        }
        false
    }

    fn occupant(&self, marks: &Marks, at_ns: i64) -> Occupant {
        match self.above.last() {
            None if at_ns < self.unknown_until_ns => Occupant::Unknown,
            Some(frame) if frame.is_own(marks, at_ns) => Occupant::OwnWay,
            Some(frame) => frame.occupant.clone(),
            None if self.task.tid == marks.tid && marks.switched_ns.is_some_and(|ns| at_ns >= ns) => {
                Occupant::OwnWay
            }
            None if self.task.is_idle() => Occupant::Idle,
            None => Occupant::Task(self.task.clone()),
        }
    }
}

impl Frame {
    /// Whether it is the timer function that wakes the thread, or the interrupt in which that function runs, from its
    /// beginning on.
    fn is_own(&self, marks: &Marks, at_ns: i64) -> bool {
        let Some(fired_ns) = marks.fired_ns else { return false };
        match self.occupant {
            Occupant::TimerFunction { .. } => self.begun_ns == fired_ns,
            Occupant::Vector { .. } => (self.begun_ns..=at_ns).contains(&fired_ns),
            _ => false,
        }
    }
}

/// The occupant that begins with an event, on top of the interruption `below`; `None` for other events.
fn begun(what: &Happening, below: Option<&Frame>) -> Option<Occupant> {
    Some(match what {
        Happening::IrqBegin { irq, name } => Occupant::Irq { irq: *irq, name: name.clone() },
        Happening::SoftirqBegin { name } => Occupant::Softirq { name: name.clone() },
        Happening::VectorBegin { name } => Occupant::Vector { name: name.clone() },
        Happening::TimerBegin { function } => {
            let soft = below.is_some_and(|frame| matches!(frame.occupant, Occupant::Softirq { .. }));
            Occupant::TimerFunction { function: function.clone(), soft }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn happening(kind: u8, tid: u32) -> Happening {
        let task = |tid| Task { name: format!("t{tid}"), tid, priority: 120 };
        match kind {
            0 => Happening::Switch { from: task(tid), to: task(tid + 1) },
            1 => Happening::Ready { task: task(tid) },
            2 => Happening::IrqBegin { irq: tid, name: "a".to_owned() },
            3 => Happening::IrqEnd { irq: tid },
            4 => Happening::TimerBegin { function: "f".to_owned() },
            5 => Happening::TimerEnd,
            6 => Happening::SoftirqBegin { name: "NET_RX".to_owned() },
            7 => Happening::SoftirqEnd { name: "NET_RX".to_owned() },
            _ => Happening::Idle { state: None },
        }
    }

    proptest! {
        #[test]
        fn each_time_from_beginning_to_end_has_one_occupant(
            events in prop::collection::vec((0i64..2000, 0u8..9, 0u32..4), 1..60),
            late_ns in 1i64..1500,
            whole_from_ns in -500i64..1000,
            waits_from_ns in prop::option::of(-500i64..1000),
        ) {
            let mut events: Vec<MomentEvent> = events
                .into_iter()
                .map(|(at_ns, kind, tid)| MomentEvent { at_ns: at_ns - 500, what: happening(kind, tid) })
                .collect();
            events.sort_by_key(|event| event.at_ns);
            let moment = Moment { tid: 2, priority: 50, whole_from_ns, waits_from_ns, events };
            let timeline = Timeline::of(&moment, late_ns).unwrap();
            let first = timeline.stretches.first().unwrap();
            prop_assert!(first.from_ns <= 0 && first.from_ns <= whole_from_ns);
            prop_assert_eq!(timeline.stretches.last().unwrap().to_ns, late_ns);
            for pair in timeline.stretches.windows(2) {
                prop_assert_eq!(pair[0].to_ns, pair[1].from_ns);
                prop_assert_ne!(&pair[0].occupant, &pair[1].occupant);
            }
            // No time is lost or counted twice.
            prop_assert_eq!(timeline.parts().map(|(_, _, ns)| ns).sum::<i64>(), late_ns);
        }
    }
}
