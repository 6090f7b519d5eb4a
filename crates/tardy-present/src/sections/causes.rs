//! The causes of late wake-ups: what occupied the CPU, according to the kernel's trace.

use tardy_analyse::causes::simultaneous::Event;
use tardy_analyse::causes::timeline::Occupant;
use tardy_analyse::causes::{self, Cause, Hint, How, Stage};
use tardy_analyse::findings::Findings;
use tardy_analyse::name;
use tardy_record::moment::{CauseTrace, Task, Untraced};
use tardy_record::series::Change;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use super::machine::hypervisor;
use super::program::causes_text;
use crate::figures;
use crate::page::{Page, Place, figure, heading, paragraphs};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, typographic};
use tardy_plot::numbers::{counted, harmless, rounded, short, with_unit};

/// The largest number of late wake-ups that are shown; all of them are in the run file.
const SHOWN_MAX: usize = 4;
/// The largest number of events on several CPUs that are shown; further ones are counted.
const EVENTS_MAX: usize = 3;
/// The largest number of causes in a list; others are counted.
const LISTED_MAX: usize = 4;
/// Longer names are shortened.
const NAME_MAX: usize = 40;

/// Causes of late wake-ups.
pub struct Causes;

impl Section for Causes {
    fn name(&self) -> &'static str {
        "causes"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let (run, findings) = (context.run, context.findings);
        let conclusions = conclusions(run, findings);
        let shown = shown(run, findings);
        if conclusions.is_empty() && shown.is_empty() {
            return;
        }
        let mut block = text.block();
        block.paragraphs(Style::Bold, &conclusions);
        for cause in shown {
            block.paragraph(Style::Plain, &format!("{}: {}", title(run, cause), sentence(run, cause)));
        }
        block.paragraphs(Style::Faint, &notes(run, findings));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let (run, findings) = (context.run, context.findings);
        let conclusions = conclusions(run, findings);
        let of_program = latest(findings.causes.iter().filter(|cause| is_of_program(run, cause)));
        let shown = [shown(run, findings), of_program].concat();
        if conclusions.is_empty() && shown.is_empty() {
            return;
        }
        let is_own = shown.iter().all(|cause| !is_of_program(run, cause));
        let mut elements =
            vec![heading(2, if is_own { "Causes of late wake-ups" } else { "Latest wake-ups" })];
        elements.extend(paragraphs("lead", &conclusions));
        for (number, cause) in shown.into_iter().enumerate() {
            let title = typographic(&title(run, cause));
            let id = page.plot_id(&format!("moment-{number}"));
            let caption = match is_of_program(run, cause) {
                true => explained(run, cause).unwrap_or_default(),
                false => sentence(run, cause),
            };
            elements
                .extend(figure(figures::moment(&id, &title, cause, page.marks()), &typographic(&caption)));
        }
        elements.extend(paragraphs("note", &notes(run, findings)));
        page.add(Place::After, elements);
    }
}

/// The causes that are shown: those of the threads that tardy measures with, the latest wake-up first. What delayed a program is shown with its cycles, of
/// which more is known than who had the CPU.
fn shown<'f>(run: &Run, findings: &'f Findings) -> Vec<&'f Cause> {
    latest(own(run, findings))
}

fn own<'f>(run: &Run, findings: &'f Findings) -> impl Iterator<Item = &'f Cause> {
    findings.causes.iter().filter(|cause| !is_of_program(run, cause))
}

fn is_of_program(run: &Run, cause: &Cause) -> bool {
    run.series[cause.series].program().is_some()
}

fn latest<'f>(causes: impl Iterator<Item = &'f Cause>) -> Vec<&'f Cause> {
    let mut causes: Vec<&Cause> = causes.collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.late_ns));
    causes.truncate(SHOWN_MAX);
    causes
}

/// The causes of the program's cycle that began with this wake-up; `None` if the cycle is not explained.
fn explained(run: &Run, cause: &Cause) -> Option<String> {
    let series = &run.series[cause.series];
    let due_ns = series.worst.get(cause.outlier)?.at_ns.checked_add_signed(-cause.late_ns)?;
    let late = &series.program()?.thread.as_deref()?.late;
    let cycle = late.iter().find(|cycle| cycle.due_ns == due_ns && !cycle.causes.is_empty())?;
    Some(format!("The cycle: {}.", causes_text(cycle)))
}

/// Identifies a wake-up: `312 us late, cpu 1, after 12.3s`.
fn title(run: &Run, cause: &Cause) -> String {
    let series = &run.series[cause.series];
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    let after = series.worst.get(cause.outlier);
    let after = after.map_or_else(String::new, |outlier| format!(", after {}", rounded(outlier.at_ns)));
    format!("{} late, {place}{after}", with_unit(cause.late_ns as f64))
}

/// What occupied the CPU, for how long, and in which stage of the wake-up.
fn sentence(run: &Run, cause: &Cause) -> String {
    let held = with_unit(cause.held_ns as f64);
    let who = who(&cause.occupant);
    let place = place(cause.stage);
    let or_host = hypervisor(run).map_or_else(String::new, |host| {
        format!("; or {host} ran something else, which the guest cannot distinguish")
    });
    match cause.how {
        How::InterruptsOff => {
            format!("{who} had interrupts disabled, including the timer's, for {held}{or_host}.")
        }
        How::HigherPriority => {
            format!("{who} had the CPU for {held} of the delay, {place}: it has higher priority.")
        }
        How::SamePriority => format!(
            "{who} had the CPU for {held} of the delay, {place}: it has the same priority as the thread, which therefore \
             does not preempt it."
        ),
        How::PreemptionOff => format!(
            "{who} kept the CPU for {held} of the delay, {place}, although the thread has higher priority: the kernel \
             code that it ran cannot be preempted."
        ),
        How::NoPriority => {
            format!(
                "{who} had the CPU for {held} of the delay, {place}: the thread has no real-time priority."
            )
        }
        How::Throttled => format!(
            "The thread was ready and was not allowed to run for {held} of the delay, {place}: a limit of CPU time (a CPU quota \
             of a cgroup, or the limit on real-time tasks), or a hypervisor."
        ),
        How::Interrupt | How::TimerFunction => format!("{who} took {held} of the delay, {place}{or_host}."),
        How::Softirq => {
            format!(
                "{who} took {held} of the delay, {place}: soft interrupts have higher priority than all threads here{or_host}."
            )
        }
        How::LeavingIdle => format!(
            "The CPU was idle for {held} of the delay, {place}: it left its idle state late, or the hypervisor ran \
             something else."
        ),
        How::Machine => format!(
            "Nothing visible to the kernel ran for {held} of the delay, {place}: firmware (an SMI), a hypervisor or the \
             hardware held the CPU."
        ),
        How::PreviousCycle => {
            format!("The thread did not wait yet for {held} of the delay: its cycle before ended late.")
        }
        How::Itself => format!(
            "The thread itself had the CPU for {held} of the delay, {place}: its own work, that of the kernel for its call, \
             or firmware (an SMI) or a hypervisor, which the trace does not distinguish."
        ),
        How::Unknown => format!("The trace does not show what had the CPU for {held} of the delay, {place}."),
        How::OwnWay => {
            format!(
                "Nothing else had the CPU for long: the wake-up itself took {held} of the delay, {place}."
            )
        }
    }
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
        Occupant::Idle => "Nothing".to_owned(),
        Occupant::OwnWay | Occupant::PreviousCycle => "The thread".to_owned(),
        Occupant::Unknown => "Unknown".to_owned(),
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

/// The most frequent cause, events that delayed several CPUs at once, and guesses.
fn conclusions(run: &Run, findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = most_of(run, findings).into_iter().collect();
    lines.extend(the_worst(run));
    let at_once = |event| at_once(event, run.validity.valid);
    lines.extend(findings.simultaneous.iter().take(EVENTS_MAX).map(at_once));
    if findings.simultaneous.len() > EVENTS_MAX {
        let more = findings.simultaneous.len() - EVENTS_MAX;
        let more = counted(more as u64, "more time", "more times");
        lines.push(format!("Several CPUs were late at the same time {more}."));
    }
    // Guesses only if no cause is known.
    if findings.causes.is_empty() {
        lines.extend(findings.hints.iter().take(EVENTS_MAX).map(|hint| guess(run, hint)));
    }
    lines
}

/// Whether the latest wake-up of all is among the traced ones; `None` if none was to be traced.
fn the_worst(run: &Run) -> Option<String> {
    let traced = |series: &&Series| series.timer().is_some_and(|timer| timer.causes.is_some());
    let worst = run.series.iter().filter(traced).filter_map(|series| Some((series, series.worst.first()?)));
    let (series, worst) = worst.max_by_key(|(_, worst)| worst.latency_ns)?;
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    let (late, after) = (with_unit(worst.latency_ns as f64), rounded(worst.at_ns));
    let causes = series.timer().and_then(|timer| timer.causes.as_ref());
    let why = match causes.and_then(|causes| causes.worst_untraced) {
        _ if worst.moment.is_some() => "was traced",
        Some(Untraced::NotBegun) => "was not traced, because it came before the trace began",
        Some(Untraced::BeingRead) => {
            "was not traced, because the trace of an earlier late wake-up was being read"
        }
        Some(Untraced::Overwritten) => {
            "was not traced, because the kernel's buffer did not reach back to its deadline"
        }
        None => "was not traced: its cause is unknown",
    };
    Some(format!("The latest wake-up of all, {late} on {place} after {after}, {why}."))
}

/// The cause that at least half of the late wake-ups share, or else a list of causes; `None` if nothing was late.
fn most_of(run: &Run, findings: &Findings) -> Option<String> {
    let late: Vec<&Cause> = own(run, findings).filter(|cause| cause.is_late).collect();
    let tally = causes::tally(late.iter().copied());
    let (how, name, most) = tally.first()?;
    let of_all = match run.plan.limit_ns {
        Some(limit_ns) => {
            let traced = counted(late.len() as u64, "traced wake-up", "traced wake-ups");
            format!("{traced} later than the limit of {}", format_duration_ns(limit_ns))
        }
        None => counted(late.len() as u64, "worst traced wake-up", "worst traced wake-ups"),
    };
    if most * 2 >= late.len() && *how == How::Unknown {
        return Some(format!("The cause is unknown in {most} of the {of_all}: the trace does not show it."));
    }
    if most * 2 >= late.len() {
        return Some(format!("Main cause, in {most} of the {of_all}: {}.", phrase(run, *how, name)));
    }
    let mut listed: Vec<String> = tally
        .iter()
        .take(LISTED_MAX)
        .map(|(how, name, count)| format!("{} ({count})", phrase(run, *how, name)))
        .collect();
    let others: usize = tally.iter().skip(LISTED_MAX).map(|(_, _, count)| count).sum();
    if others > 0 {
        listed.push(format!("others ({others})"));
    }
    Some(format!("No cause is that of half of the {of_all}: {}.", listed.join("; ")))
}

/// A cause, as a noun. A guest does not see that its host ran something else: it has the time of whatever the guest ran.
fn phrase(run: &Run, how: How, name: &str) -> String {
    let name = short(&harmless(name), NAME_MAX);
    let or_host = || hypervisor(run).map_or_else(String::new, |host| format!(", or {host}"));
    match how {
        How::InterruptsOff => format!("'{name}' with interrupts disabled{}", or_host()),
        How::HigherPriority => format!("'{name}', which has higher priority"),
        How::SamePriority => format!("'{name}', which has the same priority"),
        How::PreemptionOff => format!("'{name}', which could not be preempted"),
        How::NoPriority => format!("'{name}', because the thread has no real-time priority"),
        How::Throttled => "a limit of CPU time".to_owned(),
        How::Interrupt | How::Softirq | How::TimerFunction => name + &or_host(),
        How::LeavingIdle => "a late exit from an idle state".to_owned(),
        How::Machine => "firmware, a hypervisor or the hardware".to_owned(),
        How::OwnWay => "the path from the timer to the thread itself".to_owned(),
        How::PreviousCycle => "the thread's cycle before, which ended late".to_owned(),
        How::Itself => "the thread itself".to_owned(),
        How::Unknown => "unknown".to_owned(),
    }
}

/// The cause is stated for a valid run only: what invalidates a run may have stopped the CPUs or their threads.
fn at_once(event: &Event, is_valid: bool) -> String {
    let felt: Vec<String> =
        event.felt.iter().map(|(cpu, late_ns)| format!("cpu {cpu} {}", with_unit(*late_ns as f64))).collect();
    let (after, count, felt) = (rounded(event.from_ns), event.felt.len(), felt.join(", "));
    match event.is_one_stop && is_valid {
        true => format!(
            "After {after}, {count} CPUs were late at the same time ({felt}) and ran again at the same time, which hardly \
             happens by chance: a single event that stops all of them, such as a hypervisor, firmware or the kernel's \
             stop_machine."
        ),
        false => format!("After {after}, {count} CPUs were late at the same time ({felt})."),
    }
}

fn guess(run: &Run, hint: &Hint) -> String {
    let series = &run.series[hint.series];
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    format!(
        "A guess without a trace: around the worst wake-up of {place}, {}; use --causes to find the cause.",
        rise(&hint.change)
    )
}

/// A change in words. A counter's change is its rate; in earlier runs it is an amount, whose unit names no time.
fn rise(change: &Change) -> String {
    let is_rate = change.unit.ends_with("/s") || change.unit == "per second";
    let amount = |value: f64| format!("{value:.0} {}", harmless(&change.unit)).trim_end().to_owned();
    format!(
        "{} rose {} {} (usually {})",
        short(&harmless(&change.what), NAME_MAX),
        if is_rate { "to" } else { "by" },
        amount(change.by),
        amount(change.usual)
    )
}

/// The latency that tracing added, and the wake-ups that it missed.
fn notes(run: &Run, findings: &Findings) -> Vec<String> {
    let traced: Vec<&CauseTrace> =
        run.series.iter().filter_map(|series| series.timer()?.causes.as_ref()).collect();
    let mut notes = Vec::new();
    let costs = traced.iter().filter_map(|trace| trace.cost);
    if let Some(cost) = costs.max_by_key(|cost| cost.cost_ns()) {
        notes.push(format!(
            "Tracing adds latency: the median of the warm-up was {} with tracing and {} without.",
            with_unit(cost.traced_ns as f64),
            with_unit(cost.untraced_ns as f64)
        ));
    } else if !traced.is_empty() {
        notes.push(
            "Tracing adds latency, and the warm-up was too short to measure how much; use --warmup 1s or more."
                .to_owned(),
        );
    }
    let not_traced: u64 = traced.iter().map(|trace| trace.not_traced).sum();
    if not_traced > 0 {
        notes.push(format!(
            "{} not traced: another late wake-up had just stopped the trace.",
            counted(not_traced, "late wake-up was", "late wake-ups were")
        ));
    }
    let more = own(run, findings).count() - shown(run, findings).len();
    if more > 0 {
        let more = counted(more as u64, "more traced wake-up is", "more traced wake-ups are");
        notes.push(format!("{more} in the run file."));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_rises_to_a_value_and_an_amount_by_one() {
        let change =
            |unit: &str| Change { what: "forks".to_owned(), by: 900.0, usual: 3.0, unit: unit.to_owned() };
        assert_eq!(rise(&change("per second")), "forks rose to 900 per second (usually 3 per second)");
        assert_eq!(rise(&change("faults/s")), "forks rose to 900 faults/s (usually 3 faults/s)");
        assert_eq!(rise(&change("forks")), "forks rose by 900 forks (usually 3 forks)");
    }
}
