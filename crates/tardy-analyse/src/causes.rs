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

/// A CPU that is idle for longer while the thread is ready does not leave an idle state: the thread may not run.
const IDLE_EXIT_MAX_NS: i64 = 500_000;

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
    /// Whether the wake-up was later than the limit. Without a limit, every one that was to be traced is late.
    pub is_late: bool,
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
    /// An ordinary task, and the thread has no real-time priority either.
    NoPriority,
    /// The scheduler chose a task of lower priority, or left the CPU idle, while the thread was ready: a limit of CPU time.
    Throttled,
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
    /// The thread did not wait yet: its cycle before ended late.
    PreviousCycle,
    /// A program's thread had the CPU itself, and the trace does not show what it did.
    Itself,
    /// The trace does not show it.
    Unknown,
}

impl How {
    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Self::InterruptsOff => "interrupts off",
            Self::HigherPriority => "higher priority",
            Self::SamePriority => "same priority",
            Self::PreemptionOff => "preemption off",
            Self::NoPriority => "no priority",
            Self::Throttled => "throttled",
            Self::Interrupt => "interrupt",
            Self::Softirq => "soft interrupt",
            Self::TimerFunction => "timer function",
            Self::LeavingIdle => "leaving idle",
            Self::Machine => "machine",
            Self::OwnWay => "wake-up itself",
            Self::PreviousCycle => "previous cycle",
            Self::Itself => "thread itself",
            Self::Unknown => "unknown",
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
        let limit_ns = run.plan.limit_ns.map_or(i64::MIN, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let one = |(outlier, one): (usize, &Outlier)| {
            let cause = cause((index, outlier), one, series.program().is_some())?;
            Some(Cause { is_late: cause.late_ns > limit_ns, ..cause })
        };
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
pub fn tally<'c>(causes: impl IntoIterator<Item = &'c Cause>) -> Vec<(How, String, usize)> {
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

fn cause((series, index): (usize, usize), outlier: &Outlier, is_of_program: bool) -> Option<Cause> {
    let moment = outlier.moment.as_ref()?;
    let timeline = Timeline::of(moment, outlier.latency_ns)?;
    let longest = timeline.longest()?;
    let stage = timeline.stage_of(&longest.occupant);
    let is_chosen = timeline.is_chosen_before(&longest.occupant);
    let how = match how(&longest.occupant, stage, moment.tid, moment.priority) {
        // A program may do anything, also in the call in which it waits.
        How::Machine if is_of_program => How::Itself,
        How::PreemptionOff if is_chosen => How::Throttled,
        How::LeavingIdle if stage == Stage::BeforeSwitch && longest.held_ns > IDLE_EXIT_MAX_NS => {
            How::Throttled
        }
        how => how,
    };
    Some(Cause {
        series,
        outlier: index,
        late_ns: outlier.latency_ns,
        is_late: true,
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
        Occupant::PreviousCycle => How::PreviousCycle,
        Occupant::Unknown => How::Unknown,
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
    } else if priority == 0 {
        How::NoPriority
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
        let moment = Moment { tid: TID, priority: 90, whole_from_ns: -100_000, waits_from_ns: None, events };
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
        cause((0, 0), &outlier(latency_ns, events), false).unwrap()
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
    fn an_ordinary_thread_shares_the_cpu_and_a_task_that_the_scheduler_chose_could_be_preempted() {
        let (first, other) = (task("first", 11, 120), task("other", 12, 120));
        let mut events = vec![(-50_000, switch(&own(), &first))];
        events.extend(interrupt(1000));
        let kept = [events.clone(), vec![(297_000, switch(&first, &own()))]].concat();
        let chosen =
            [events.clone(), vec![(5000, switch(&first, &other)), (297_000, switch(&other, &own()))]]
                .concat();
        let mut idle = events;
        idle.extend([(5000, switch(&first, &task("swapper/0", 0, 120))), (997_000, switch(&first, &own()))]);
        let how = |latency_ns, events: &[(i64, Happening)], priority| {
            let mut outlier = outlier(latency_ns, events.to_vec());
            outlier.moment.as_mut().unwrap().priority = priority;
            cause((0, 0), &outlier, false).unwrap().how
        };
        assert_eq!([90, 0].map(|own| how(300_000, &kept, own)), [How::PreemptionOff, How::NoPriority]);
        assert_eq!([90, 0].map(|own| how(300_000, &chosen, own)), [How::Throttled, How::NoPriority]);
        assert_eq!(how(1_000_000, &idle, 90), How::Throttled);
    }

    #[test]
    fn interrupts_softirqs_and_other_timers_are_named() {
        let builder = task("cc1", 12, 120);
        let with = |inside: Vec<(i64, Happening)>| {
            let mut events = vec![(-50_000, switch(&own(), &builder))];
            events.extend(inside);
            events.push((297_000, switch(&builder, &own())));
            let cause = cause((0, 0), &outlier(300_000, events), false).unwrap();
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
    fn what_began_before_the_trace_is_unknown() {
        let builder = task("cc1", 12, 120);
        let timer = || "local_timer".to_owned();
        let begins_with = |first: Vec<(i64, Happening)>| {
            let mut events = first;
            events.extend(interrupt(281_000));
            events.push((297_000, switch(&builder, &own())));
            let cause = cause((0, 0), &outlier(300_000, events), false).unwrap();
            (cause.how, cause.occupant.name())
        };
        let unknown = (How::Unknown, "unknown".to_owned());
        assert_eq!(begins_with(vec![(280_000, Happening::IrqEnd { irq: 39 })]), unknown);
        assert_eq!(begins_with(vec![(280_000, Happening::VectorEnd { name: timer() })]), unknown);
        // The tick: the beginning of its function is not recorded, and its end is.
        let tick = vec![
            (279_000, Happening::VectorBegin { name: timer() }),
            (279_500, Happening::TimerEnd),
            (280_000, Happening::VectorEnd { name: timer() }),
        ];
        assert_eq!(begins_with(tick), (How::InterruptsOff, "cc1".to_owned()));
        // The trace has nothing of the first two thirds of the delay.
        let mut late = outlier(300_000, interrupt(281_000));
        late.moment.as_mut().unwrap().whole_from_ns = 200_000;
        assert_eq!(cause((0, 0), &late, false).unwrap().how, How::Unknown);
    }

    #[test]
    fn a_thread_that_did_not_wait_yet_is_late_by_its_cycle_before() {
        // Interrupts and other tasks within that cycle are not what delayed this one.
        let other = task("cc1", 12, 120);
        let mut events = vec![(10_000, switch(&own(), &other)), (200_000, switch(&other, &own()))];
        events.extend(interrupt(281_000));
        let mut late = outlier(300_000, events);
        late.moment.as_mut().unwrap().waits_from_ns = Some(280_000);
        let before = cause((0, 0), &late, true).unwrap();
        assert_eq!((before.how, before.held_ns), (How::PreviousCycle, 280_000));
        // It waits in time, and has the CPU itself: whether that is the call's work or the machine is not known of a program.
        let mut itself = outlier(300_000, interrupt(290_000));
        itself.moment.as_mut().unwrap().waits_from_ns = Some(-5000);
        assert_eq!(cause((0, 0), &itself, true).unwrap().how, How::Itself);
        assert_eq!(cause((0, 0), &itself, false).unwrap().how, How::Machine);
    }

    #[test]
    fn a_soft_interrupt_that_a_thread_preempts_does_not_run_on_with_the_thread() {
        let ksoftirqd = task("ksoftirqd/0", 12, 120);
        let name = || "NET_RX".to_owned();
        let events = vec![
            (-50_000, switch(&own(), &ksoftirqd)),
            (-40_000, Happening::SoftirqBegin { name: name() }),
            (20_000, switch(&ksoftirqd, &own())),
            (310_000, Happening::SoftirqEnd { name: name() }),
        ];
        let mut with_wake_up = interrupt(1000);
        with_wake_up.extend(events);
        with_wake_up.sort_by_key(|(at_ns, _)| *at_ns);
        let cause = cause((0, 0), &outlier(300_000, with_wake_up), false).unwrap();
        assert_eq!((cause.how, cause.held_ns > 270_000), (How::OwnWay, true));
    }

    #[test]
    fn without_an_occupant_it_was_the_machine_or_the_path_itself() {
        let idle = task("swapper/0", 0, 120);
        let cause = story(300_000, &idle, 290_000, 293_000);
        assert_eq!((cause.how, cause.stage), (How::LeavingIdle, Stage::BeforeInterrupt));
        // The thread had not left the CPU, but its timer interrupt was late.
        let unoccupied = super::cause((0, 0), &outlier(300_000, interrupt(290_000)), false).unwrap();
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
