//! The causes of late wake-ups: what occupied the CPU, according to the kernel's trace.

use tardy_analyse::causes::simultaneous::Event;
use tardy_analyse::causes::timeline::Occupant;
use tardy_analyse::causes::{self, Cause, Hint, How, Stage};
use tardy_analyse::findings::Findings;
use tardy_analyse::name;
use tardy_record::moment::{CauseTrace, Task};
use tardy_record::series::Change;
use tardy_record::{Run, Series};

use crate::figures;
use crate::page::{Page, Place, figure, heading, paragraphs};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, typographic};
use tardy_plot::numbers::{counted, harmless, rounded, short, with_unit};

/// The largest number of late wake-ups that are shown; all of them are in the run file.
const SHOWN_MAX: usize = 4;
/// The largest number of events on several CPUs that are shown; further ones are counted.
const EVENTS_MAX: usize = 3;
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
        let shown = shown(findings);
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
        let shown = shown(findings);
        if conclusions.is_empty() && shown.is_empty() {
            return;
        }
        let mut elements = vec![heading(2, "Causes of late wake-ups")];
        elements.extend(paragraphs("lead", &conclusions));
        for (number, cause) in shown.into_iter().enumerate() {
            let title = typographic(&title(run, cause));
            let id = page.plot_id(&format!("moment-{number}"));
            let caption = typographic(&sentence(run, cause));
            elements.extend(figure(figures::moment(&id, &title, cause, page.marks()), &caption));
        }
        elements.extend(paragraphs("note", &notes(run, findings)));
        page.add(Place::After, elements);
    }
}

/// The causes that are shown, the latest wake-up first.
fn shown(findings: &Findings) -> Vec<&Cause> {
    let mut causes: Vec<&Cause> = findings.causes.iter().collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.late_ns));
    causes.truncate(SHOWN_MAX);
    causes
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
    match cause.how {
        How::InterruptsOff => match hypervisor(run) {
            None => format!("{who} had interrupts disabled, including the timer's, for {held}."),
            Some(host) => format!(
                "{who} had interrupts disabled, including the timer's, for {held}; or {host} ran something else, \
                 which the guest cannot distinguish."
            ),
        },
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
        How::Interrupt | How::TimerFunction => format!("{who} took {held} of the delay, {place}."),
        How::Softirq => {
            format!(
                "{who} took {held} of the delay, {place}: soft interrupts have higher priority than all threads here."
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
        How::OwnWay => {
            format!(
                "Nothing else had the CPU for long: the wake-up itself took {held} of the delay, {place}."
            )
        }
    }
}

/// The hypervisor of this machine, if it can take the CPU away without a trace in the guest. The lab's emulator cannot.
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
        Occupant::Idle => "Nothing".to_owned(),
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

/// The most frequent cause, events that delayed several CPUs at once, and guesses.
fn conclusions(run: &Run, findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = most_of(&findings.causes).into_iter().collect();
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
    Some(match worst.moment {
        Some(_) => format!("The latest wake-up of all, {late} on {place} after {after}, was traced."),
        None => format!(
            "The latest wake-up of all, {late} on {place} after {after}, was not traced: its cause is unknown."
        ),
    })
}

fn most_of(causes: &[Cause]) -> Option<String> {
    let tally = causes::tally(causes);
    let (how, name, most) = tally.first()?;
    let (name, total) = (short(&harmless(name), NAME_MAX), causes.len());
    let what = match how {
        How::InterruptsOff => format!("'{name}' with interrupts disabled"),
        How::HigherPriority => format!("'{name}', which has higher priority"),
        How::SamePriority => format!("'{name}', which has the same priority"),
        How::PreemptionOff => format!("'{name}', which could not be preempted"),
        How::Interrupt | How::Softirq | How::TimerFunction => name,
        How::LeavingIdle => "a late exit from an idle state".to_owned(),
        How::Machine => "firmware, a hypervisor or the hardware".to_owned(),
        How::OwnWay => "the path from the timer to the thread itself".to_owned(),
    };
    Some(format!("Main cause, in {most} of the {total} worst traced wake-ups: {what}."))
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
    let all = findings.causes.len();
    if all > SHOWN_MAX {
        let more = counted((all - SHOWN_MAX) as u64, "more traced wake-up is", "more traced wake-ups are");
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
