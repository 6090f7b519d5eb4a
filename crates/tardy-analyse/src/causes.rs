//! The causes of late wake-ups: what occupied the CPU, and why the thread could not run.
//!
//! The cause follows from the kernel's trace, if it was kept ([`tardy_record::moment`]). The time from the deadline to
//! the wake-up is divided into stretches by the occupant of the CPU ([`timeline`]). The cause is the occupant with the
//! most time, classified by the stage in which it occupied the CPU: before the timer's interrupt, in it, between the
//! wake-up of the thread and the scheduler's switch to it, or after.

pub mod simultaneous;
pub mod timeline;

use serde::Serialize;
use tardy_record::moment::Task;
use tardy_record::series::{Change, Outlier};
use tardy_record::{Run, Series};

use timeline::{Occupant, Timeline};

/// A change around a late wake-up is a hint if it is at least this many times the usual change.
const HINT_FACTOR: f64 = 3.0;

/// The cause of one late wake-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// Index of the series in the run.
    pub series: usize,
    /// Index among the series' worst.
    pub outlier: usize,
    /// The latency, in ns.
    pub late_ns: i64,
    /// The occupant that used the CPU longest.
    pub occupant: Occupant,
    /// How the occupant kept the thread from the CPU.
    pub how: How,
    /// How long the occupant used the CPU, in ns.
    pub held_ns: i64,
    /// The stage in which the occupant used the CPU for most of that time.
    pub stage: Stage,
    /// The whole timeline.
    pub timeline: Timeline,
}

/// How the thread was kept from the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Interrupts were disabled, so the timer's interrupt was delayed.
    InterruptsOff,
    /// A task of higher priority.
    HigherPriority,
    /// A task of the same priority, which the thread does not preempt.
    SamePriority,
    /// A task of lower priority that could not be preempted.
    PreemptionOff,
    /// An interrupt's handler.
    Interrupt,
    /// A soft interrupt.
    Softirq,
    /// The function of another timer.
    TimerFunction,
    /// The CPU left an idle state late.
    LeavingIdle,
    /// Nothing visible to the kernel: firmware (SMI), a hypervisor, the hardware.
    Machine,
    /// No other occupant: the wake-up path itself took most of the time.
    OwnWay,
}

impl How {
    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::InterruptsOff => "interrupts off",
            Self::HigherPriority => "higher priority",
            Self::SamePriority => "same priority",
            Self::PreemptionOff => "preemption off",
            Self::Interrupt => "interrupt",
            Self::Softirq => "soft interrupt",
            Self::TimerFunction => "timer function",
            Self::LeavingIdle => "leaving idle",
            Self::Machine => "machine",
            Self::OwnWay => "wake-up itself",
        }
    }
}

/// A stage of the wake-up, from the deadline to the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// From the deadline to the timer's function in its interrupt.
    BeforeInterrupt,
    /// From the timer's function to the wake-up of the thread.
    InInterrupt,
    /// From the wake-up to the scheduler's switch to the thread.
    BeforeSwitch,
    /// From the switch until the thread reads the clock.
    AfterSwitch,
}

/// A change that the watchers recorded around an untraced late wake-up: a guess at the cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hint {
    /// Index of the series in the run.
    pub series: usize,
    /// Index among the series' worst.
    pub outlier: usize,
    /// The change that exceeds the usual change most.
    pub change: Change,
}

/// The causes of the traced wake-ups of `run`, by series, the worst first.
pub fn of(run: &Run) -> Vec<Cause> {
    let causes = |(index, series): (usize, &Series)| -> Vec<Cause> {
        let one = |(outlier, one): (usize, &Outlier)| cause(index, outlier, one);
        series.worst.iter().enumerate().filter_map(one).collect()
    };
    run.series.iter().enumerate().flat_map(causes).collect()
}

/// For each untraced series, the change that exceeds the usual change most around the worst wake-up, if it is a hint.
pub fn hints(run: &Run) -> Vec<Hint> {
    let hint = |(index, series): (usize, &Series)| {
        let worst = series.worst.first().filter(|worst| worst.moment.is_none())?;
        largest_change(&worst.around).map(|change| Hint { series: index, outlier: 0, change: change.clone() })
    };
    // For an unpinned thread it is unknown which CPU's counters apply.
    let is_of_a_cpu =
        |series: &Series| series.is_of_wakeups() && series.timer().is_none_or(|timer| timer.pinned);
    run.series.iter().enumerate().filter(|(_, series)| is_of_a_cpu(series)).filter_map(hint).collect()
}

/// Every cause with its count, the most frequent first.
pub fn tally(causes: &[Cause]) -> Vec<(How, String, usize)> {
    let mut tally: Vec<(How, String, usize)> = Vec::new();
    for cause in causes {
        let name = cause.occupant.name();
        match tally.iter_mut().find(|(how, known, _)| *how == cause.how && *known == name) {
            Some((_, _, count)) => *count += 1,
            None => tally.push((cause.how, name, 1)),
        }
    }
    tally.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    tally
}

fn largest_change(around: &[Change]) -> Option<&Change> {
    let factor = |change: &Change| change.by / change.usual.max(1.0);
    around.iter().max_by(|a, b| factor(a).total_cmp(&factor(b))).filter(|most| factor(most) >= HINT_FACTOR)
}

fn cause(series: usize, index: usize, outlier: &Outlier) -> Option<Cause> {
    let moment = outlier.moment.as_ref()?;
    let timeline = Timeline::of(moment, outlier.latency_ns)?;
    let longest = timeline.longest()?;
    let stage = timeline.stage_of(&longest.occupant);
    let how = how(&longest.occupant, stage, moment.tid, moment.priority);
    Some(Cause {
        series,
        outlier: index,
        late_ns: outlier.latency_ns,
        occupant: longest.occupant,
        how,
        held_ns: longest.held_ns,
        stage,
        timeline,
    })
}

fn how(occupant: &Occupant, stage: Stage, tid: u32, priority: u32) -> How {
    match occupant {
        Occupant::OwnWay => How::OwnWay,
        Occupant::Irq { .. } | Occupant::Vector { .. } => How::Interrupt,
        Occupant::Softirq { .. } | Occupant::TimerFunction { soft: true, .. } => How::Softirq,
        Occupant::TimerFunction { soft: false, .. } => How::TimerFunction,
        Occupant::Idle => How::LeavingIdle,
        Occupant::Task(task) if task.tid == tid => How::Machine,
        Occupant::Task(_) if stage == Stage::BeforeInterrupt => How::InterruptsOff,
        Occupant::Task(task) => of_a_task(task, priority),
    }
}

fn of_a_task(task: &Task, priority: u32) -> How {
    if task.goes_before(priority) {
        How::HigherPriority
    } else if task.realtime_priority() == Some(priority) {
        How::SamePriority
    } else {
        How::PreemptionOff
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::moment::{Happening, Moment, MomentEvent};

    const TID: u32 = 7;

    fn task(name: &str, tid: u32, priority: i32) -> Task {
        Task { name: name.to_owned(), tid, priority }
    }

    fn own() -> Task {
        task("timer0", TID, 9)
    }

    fn outlier(latency_ns: i64, events: Vec<(i64, Happening)>) -> Outlier {
        let events = events.into_iter().map(|(at_ns, what)| MomentEvent { at_ns, what }).collect();
        let moment = Moment { tid: TID, priority: 90, whole_from_ns: -100_000, events };
        Outlier { latency_ns, at_ns: 0, cycle: 0, around: Vec::new(), overlaps: None, moment: Some(moment) }
    }

    fn switch(from: &Task, to: &Task) -> Happening {
        Happening::Switch { from: from.clone(), to: to.clone() }
    }

    /// The timer's interrupt at `fired`, which wakes the thread.
    fn interrupt(fired: i64) -> Vec<(i64, Happening)> {
        let name = || "local_timer".to_owned();
        vec![
            (fired, Happening::VectorBegin { name: name() }),
            (fired + 500, Happening::TimerBegin { function: "hrtimer_wakeup".to_owned() }),
            (fired + 1000, Happening::Ready { task: own() }),
            (fired + 1500, Happening::TimerEnd),
            (fired + 2000, Happening::VectorEnd { name: name() }),
        ]
    }

    fn story(latency_ns: i64, runs: &Task, fired: i64, switched: i64) -> Cause {
        let mut events = vec![(-50_000, switch(&own(), runs))];
        events.extend(interrupt(fired));
        events.push((switched, switch(runs, &own())));
        cause(0, 0, &outlier(latency_ns, events)).unwrap()
    }

    #[test]
    fn a_task_that_runs_while_the_timer_interrupt_is_late_has_interrupts_disabled() {
        let cause = story(300_000, &task("driver", 12, 120), 290_000, 295_000);
        assert_eq!((cause.how, cause.stage), (How::InterruptsOff, Stage::BeforeInterrupt));
        assert_eq!(cause.held_ns, 293_000);
        assert_eq!(cause.occupant.name(), "driver");
    }

    #[test]
    fn a_task_that_keeps_the_cpu_is_classified_by_its_priority() {
        let how = |priority| story(300_000, &task("other", 12, priority), 1000, 297_000).how;
        assert_eq!(how(4), How::HigherPriority);
        assert_eq!(how(-1), How::HigherPriority);
        assert_eq!(how(9), How::SamePriority);
        assert_eq!(how(50), How::PreemptionOff);
        assert_eq!(how(120), How::PreemptionOff);
    }

    #[test]
    fn interrupts_softirqs_and_other_timers_are_named() {
        let builder = task("cc1", 12, 120);
        let with = |inside: Vec<(i64, Happening)>| {
            let mut events = vec![(-50_000, switch(&own(), &builder))];
            events.extend(inside);
            events.push((297_000, switch(&builder, &own())));
            let cause = cause(0, 0, &outlier(300_000, events)).unwrap();
            (cause.how, cause.occupant.name())
        };
        let irq = [
            (1000, Happening::IrqBegin { irq: 39, name: "eth0".to_owned() }),
            (280_000, Happening::IrqEnd { irq: 39 }),
        ];
        let early = [irq.to_vec(), interrupt(281_000)].concat();
        assert_eq!(with(early), (How::Interrupt, "irq 39 eth0".to_owned()));
        let softirq = [
            (4000, Happening::SoftirqBegin { name: "NET_RX".to_owned() }),
            (290_000, Happening::SoftirqEnd { name: "NET_RX".to_owned() }),
        ];
        let late = [interrupt(1000), softirq.to_vec()].concat();
        assert_eq!(with(late), (How::Softirq, "softirq NET_RX".to_owned()));
        let soft_timer = [
            (4000, Happening::SoftirqBegin { name: "HRTIMER".to_owned() }),
            (4500, Happening::TimerBegin { function: "storm".to_owned() }),
            (289_000, Happening::TimerEnd),
            (290_000, Happening::SoftirqEnd { name: "HRTIMER".to_owned() }),
        ];
        let late = [interrupt(1000), soft_timer.to_vec()].concat();
        assert_eq!(with(late), (How::Softirq, "timer function storm".to_owned()));
        let other = [
            (1000, Happening::VectorBegin { name: "local_timer".to_owned() }),
            (1500, Happening::TimerBegin { function: "storm".to_owned() }),
            (280_000, Happening::TimerEnd),
            (280_500, Happening::TimerBegin { function: "hrtimer_wakeup".to_owned() }),
            (281_000, Happening::Ready { task: own() }),
            (281_500, Happening::TimerEnd),
            (282_000, Happening::VectorEnd { name: "local_timer".to_owned() }),
        ];
        assert_eq!(with(other.to_vec()), (How::TimerFunction, "timer function storm".to_owned()));
    }

    #[test]
    fn an_interrupt_that_began_before_the_trace_is_recognised() {
        let builder = task("cc1", 12, 120);
        let mut events = vec![(280_000, Happening::IrqEnd { irq: 39 })];
        events.extend(interrupt(281_000));
        events.push((297_000, switch(&builder, &own())));
        let cause = cause(0, 0, &outlier(300_000, events)).unwrap();
        assert_eq!((cause.how, cause.occupant.name()), (How::Interrupt, "irq 39".to_owned()));
    }

    #[test]
    fn without_an_occupant_it_was_the_machine_or_the_path_itself() {
        let idle = task("swapper/0", 0, 120);
        let cause = story(300_000, &idle, 290_000, 293_000);
        assert_eq!((cause.how, cause.stage), (How::LeavingIdle, Stage::BeforeInterrupt));
        // The thread had not left the CPU, but its timer interrupt was late.
        let unoccupied = super::cause(0, 0, &outlier(300_000, interrupt(290_000))).unwrap();
        assert_eq!(unoccupied.how, How::Machine);
        // The switch is immediate, but the thread reads the clock late.
        let slow = story(300_000, &idle, 1000, 3000);
        assert_eq!((slow.how, slow.stage), (How::OwnWay, Stage::AfterSwitch));
    }

    #[test]
    fn without_a_trace_the_largest_change_is_a_hint() {
        let change =
            |what: &str, by, usual| Change { what: what.to_owned(), by, usual, unit: "1".to_owned() };
        let around = [change("irq 3", 40.0, 30.0), change("SMI", 2.0, 0.0), change("irq 5", 900.0, 100.0)];
        assert_eq!(largest_change(&around).unwrap().what, "irq 5");
        assert_eq!(largest_change(&around[..2]), None);
    }
}
