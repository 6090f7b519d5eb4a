//! Why wake-ups were late: the same sentences in the terminal and in the report.

use tardy_analyse::causes::simultaneous::Event;
use tardy_analyse::causes::timeline::Occupant;
use tardy_analyse::causes::{self, Cause, Hint, How, Stage};
use tardy_analyse::findings::Findings;
use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::moment::{CauseTrace, Task};

use crate::latency::{count, harmless, short, with_unit};
use crate::sentence;

/// Moments beyond this are in the run file alone.
pub(crate) const SHOWN_MAX: usize = 4;
/// Events of several CPUs beyond this are counted only.
const EVENTS_MAX: usize = 3;
/// Longer names are shortened.
const NAME_MAX: usize = 40;

/// The causes that are known, the latest wake-up first.
pub(crate) fn worst_first(findings: &Findings) -> Vec<&Cause> {
    let mut causes: Vec<&Cause> = findings.causes.iter().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.late_ns));
    causes
}

/// Which wake-up it was: `312 us late on cpu 1, after 12.3 s`.
pub(crate) fn title(run: &Run, cause: &Cause) -> String {
    let series = &run.series[cause.series];
    let at_ns = series.worst.get(cause.outlier).map_or(0, |outlier| outlier.at_ns);
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    format!("{} late, {place}, after {}", with_unit(cause.late_ns as f64), sentence::rounded(at_ns))
}

/// Who held the CPU, for how long, and where on the way.
pub(crate) fn sentence(run: &Run, cause: &Cause) -> String {
    let held = with_unit(cause.held_ns as f64);
    let who = who(&cause.occupant);
    let place = place(cause.stage);
    match cause.how {
        How::InterruptsOff => match hypervisor(run) {
            None => format!("{who} held interrupts off, and the timer's with them, for {held}."),
            Some(host) => format!(
                "{who} held interrupts off, and the timer's with them, for {held}; or {host} was elsewhere meanwhile, \
                 which looks the same from within."
            ),
        },
        How::HigherPriority => {
            format!("{who} had the CPU for {held} of it, {place}: it goes before the thread.")
        }
        How::SamePriority => format!(
            "{who} had the CPU for {held} of it, {place}: it has the thread's own priority, and such a task is not \
             interrupted."
        ),
        How::PreemptionOff => format!(
            "{who} kept the CPU for {held} of it, {place}, although the thread goes before it: it was where the kernel \
             cannot be preempted."
        ),
        How::Interrupt | How::TimerFunction => format!("{who} took {held} of it, {place}."),
        How::Softirq => {
            format!("{who} took {held} of it, {place}: soft interrupts go before every thread here.")
        }
        How::LeavingIdle => format!(
            "The CPU was idle and nothing ran for {held} of it, {place}: it left its idle state late, or the machine \
             below it was elsewhere."
        ),
        How::Machine => format!(
            "Nothing that the kernel can see ran for {held} of it, {place}: firmware (an SMI), a hypervisor or the \
             hardware."
        ),
        How::OwnWay => format!("Nobody else had the CPU for long: {held} of it were its own way, {place}."),
    }
}

/// What this machine runs on, if that may take the CPU away unseen: the lab's emulator does not.
fn hypervisor(run: &Run) -> Option<String> {
    let name = run.facts.cpu.hypervisor.get().filter(|name| *name != "none")?;
    run.lab.is_none().then(|| format!("the hypervisor ({})", short(&harmless(name), NAME_MAX)))
}

fn who(occupant: &Occupant) -> String {
    match occupant {
        Occupant::Task(task) => {
            let name = short(&harmless(&task.name), NAME_MAX);
            format!("'{name}' ({})", rank(task))
        }
        Occupant::Irq { .. } => format!("The handler of {}", short(&harmless(&occupant.name()), NAME_MAX)),
        Occupant::Vector { name } => format!("The CPU's own interrupt {}", short(&harmless(name), NAME_MAX)),
        Occupant::TimerFunction { function, soft } => {
            let within = if *soft { ", in a soft interrupt," } else { "" };
            format!("The timer function '{}'{within}", short(&harmless(function), NAME_MAX))
        }
        Occupant::Softirq { name } => format!("The soft interrupt {}", short(&harmless(name), NAME_MAX)),
        Occupant::Idle => "Nobody".to_owned(),
        Occupant::OwnWay => "The thread".to_owned(),
    }
}

fn rank(task: &Task) -> String {
    let priority = match (task.priority, task.realtime_priority()) {
        (..0, _) => "SCHED_DEADLINE".to_owned(),
        (_, Some(priority)) => format!("real-time priority {priority}"),
        (_, None) => "no real-time priority".to_owned(),
    };
    format!("task {}, {priority}", task.tid)
}

fn place(stage: Stage) -> &'static str {
    match stage {
        Stage::BeforeInterrupt => "before the timer's interrupt",
        Stage::InInterrupt => "between the timer's interrupt and the wake-up",
        Stage::BeforeSwitch => "between the wake-up and the scheduler's switch to the thread",
        Stage::AfterSwitch => "after the scheduler's switch to the thread",
    }
}

/// What it comes to: what is behind most of the traced wake-ups, what several CPUs felt at once, and guesses.
pub(crate) fn conclusions(run: &Run, findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = most_of(&findings.causes).into_iter().collect();
    lines.extend(findings.simultaneous.iter().take(EVENTS_MAX).map(at_once));
    if findings.simultaneous.len() > EVENTS_MAX {
        let more = findings.simultaneous.len() - EVENTS_MAX;
        lines.push(format!("{more} further times several CPUs were late at once."));
    }
    // Guesses only where nothing is known.
    if findings.causes.is_empty() {
        lines.extend(findings.hints.iter().take(EVENTS_MAX).map(|hint| guess(run, hint)));
    }
    lines
}

fn most_of(causes: &[Cause]) -> Option<String> {
    let tally = causes::tally(causes);
    let (how, name, most) = tally.first()?;
    let (name, total) = (short(&harmless(name), NAME_MAX), causes.len());
    let what = match how {
        How::InterruptsOff => format!("interrupts that were held off while '{name}' ran"),
        How::HigherPriority => format!("'{name}', which goes before the thread"),
        How::SamePriority => format!("'{name}', of the thread's own priority"),
        How::PreemptionOff => format!("'{name}', which could not be preempted"),
        How::Interrupt | How::Softirq | How::TimerFunction => name,
        How::LeavingIdle => "a CPU that left its idle state late".to_owned(),
        How::Machine => "something below the kernel".to_owned(),
        How::OwnWay => "nobody, but the way from the timer to the thread itself".to_owned(),
    };
    Some(format!("Of the {total} worst wake-ups that were traced, {most} had to wait for {what}."))
}

fn at_once(event: &Event) -> String {
    let felt: Vec<String> =
        event.felt.iter().map(|(cpu, late_ns)| format!("cpu {cpu} {}", with_unit(*late_ns as f64))).collect();
    format!(
        "After {} {} CPUs were late at once ({}): one event, and something that stops them all, such as a hypervisor, \
         firmware or the kernel's stop_machine.",
        sentence::rounded(event.from_ns),
        event.felt.len(),
        felt.join(", ")
    )
}

fn guess(run: &Run, hint: &Hint) -> String {
    let series = &run.series[hint.series];
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    let what = short(&harmless(&hint.change.what), NAME_MAX);
    let amount = |value: f64| format!("{value:.0} {}", harmless(&hint.change.unit)).trim_end().to_owned();
    format!(
        "A guess, since nothing was traced: around the worst of {place}, {what} went up by {}, where {} is usual; \
         --causes would tell.",
        amount(hint.change.by),
        amount(hint.change.usual)
    )
}

/// What tracing cost and what it did not catch.
pub(crate) fn notes(run: &Run, findings: &Findings) -> Vec<String> {
    let traced: Vec<&CauseTrace> =
        run.series.iter().filter_map(|series| series.timer()?.causes.as_ref()).collect();
    let mut notes = Vec::new();
    let costs = traced.iter().filter_map(|trace| trace.cost);
    if let Some(cost) = costs.max_by_key(|cost| cost.cost_ns()) {
        notes.push(format!(
            "Tracing costs latency: the median of the warm-up was {} with the trace on and {} with it off.",
            with_unit(cost.traced_ns as f64),
            with_unit(cost.untraced_ns as f64)
        ));
    } else if !traced.is_empty() {
        notes.push(
            "Tracing costs latency, and the warm-up was too short to say how much; give --warmup 1s or more."
                .to_owned(),
        );
    }
    let not_traced: u64 = traced.iter().map(|trace| trace.not_traced).sum();
    if not_traced > 0 {
        notes
            .push(format!("{} late wake-ups have no trace: another had just stopped it.", count(not_traced)));
    }
    let all = findings.causes.len();
    if all > SHOWN_MAX {
        notes.push(format!("{} more moments are in the run file.", all - SHOWN_MAX));
    }
    notes
}
