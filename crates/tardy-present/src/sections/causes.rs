//! Why wake-ups were late: what held the CPU, by the kernel's own trace.

use tardy_analyse::causes::simultaneous::Event;
use tardy_analyse::causes::timeline::Occupant;
use tardy_analyse::causes::{self, Cause, Hint, How, Stage};
use tardy_analyse::findings::Findings;
use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::moment::{CauseTrace, Task};

use crate::figures;
use crate::latency::{count, harmless, rounded, short, with_unit};
use crate::page::{Page, Place, figure, heading, paragraphs};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, typographic};

/// At most so many moments are shown; all of them are in the run file.
const SHOWN_MAX: usize = 4;
/// At most so many events of several CPUs are shown; further ones are counted.
const EVENTS_MAX: usize = 3;
/// Longer names are shortened.
const NAME_MAX: usize = 40;

/// Why wake-ups were late.
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
        let mut elements = vec![heading(2, "Why it was late")];
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

/// Which wake-up it was: `312 us late, cpu 1, after 12.3s`.
fn title(run: &Run, cause: &Cause) -> String {
    let series = &run.series[cause.series];
    let place = short(&harmless(&name::of(series)), NAME_MAX);
    let after = series.worst.get(cause.outlier);
    let after = after.map_or_else(String::new, |outlier| format!(", after {}", rounded(outlier.at_ns)));
    format!("{} late, {place}{after}", with_unit(cause.late_ns as f64))
}

/// What held the CPU, for how long, and where on the way.
fn sentence(run: &Run, cause: &Cause) -> String {
    let held = with_unit(cause.held_ns as f64);
    let who = who(&cause.occupant);
    let place = place(cause.stage);
    match cause.how {
        How::InterruptsOff => match hypervisor(run) {
            None => format!("{who} had interrupts disabled, and the timer's with them, for {held}."),
            Some(host) => format!(
                "{who} had interrupts disabled, and the timer's with them, for {held}; or {host} ran something else, \
                 which looks the same from inside."
            ),
        },
        How::HigherPriority => {
            format!("{who} had the CPU for {held} of it, {place}: it has higher priority.")
        }
        How::SamePriority => format!(
            "{who} had the CPU for {held} of it, {place}: it has the same priority as the thread, and is not preempted \
             for it."
        ),
        How::PreemptionOff => format!(
            "{who} kept the CPU for {held} of it, {place}, although the thread has higher priority: it was in a section \
             of the kernel that cannot be preempted."
        ),
        How::Interrupt | How::TimerFunction => format!("{who} took {held} of it, {place}."),
        How::Softirq => {
            format!(
                "{who} took {held} of it, {place}: soft interrupts have higher priority than every thread here."
            )
        }
        How::LeavingIdle => format!(
            "The CPU was idle and nothing ran for {held} of it, {place}: it left its idle state late, or the hypervisor ran \
             something else."
        ),
        How::Machine => format!(
            "Nothing visible to the kernel ran for {held} of it, {place}: firmware (an SMI), a hypervisor or the hardware \
             held the CPU."
        ),
        How::OwnWay => {
            format!("Nothing else had the CPU for long: {held} of it were the thread's own path, {place}.")
        }
    }
}

/// The hypervisor below this machine, if it can take the CPU away unseen. The lab's emulator cannot.
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

/// The most frequent cause, events that hit several CPUs at once, and guesses.
fn conclusions(run: &Run, findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = most_of(&findings.causes).into_iter().collect();
    lines.extend(findings.simultaneous.iter().take(EVENTS_MAX).map(at_once));
    if findings.simultaneous.len() > EVENTS_MAX {
        let more = findings.simultaneous.len() - EVENTS_MAX;
        lines.push(format!("Several CPUs were late at once {more} more times."));
    }
    // Guesses only if no cause is known.
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
        How::InterruptsOff => format!("interrupts that were disabled while '{name}' ran"),
        How::HigherPriority => format!("'{name}', which has higher priority"),
        How::SamePriority => format!("'{name}', which has the same priority"),
        How::PreemptionOff => format!("'{name}', which could not be preempted"),
        How::Interrupt | How::Softirq | How::TimerFunction => name,
        How::LeavingIdle => "a CPU that left its idle state late".to_owned(),
        How::Machine => "something below the kernel".to_owned(),
        How::OwnWay => "nothing but the path from the timer to the thread itself".to_owned(),
    };
    Some(format!("Of the {total} worst wake-ups that were traced, {most} waited for {what}."))
}

fn at_once(event: &Event) -> String {
    let felt: Vec<String> =
        event.felt.iter().map(|(cpu, late_ns)| format!("cpu {cpu} {}", with_unit(*late_ns as f64))).collect();
    format!(
        "After {}, {} CPUs were late at once ({}): a single event that stops all of them, such as a hypervisor, firmware or \
         the kernel's stop_machine.",
        rounded(event.from_ns),
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
        "A guess, since nothing was traced: around the worst of {place}, {what} rose by {}, where {} is usual; --causes \
         finds the cause.",
        amount(hint.change.by),
        amount(hint.change.usual)
    )
}

/// What tracing cost, and what it missed.
fn notes(run: &Run, findings: &Findings) -> Vec<String> {
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
            "Tracing costs latency, and the warm-up was too short to measure how much; use --warmup 1s or more."
                .to_owned(),
        );
    }
    let not_traced: u64 = traced.iter().map(|trace| trace.not_traced).sum();
    if not_traced > 0 {
        notes.push(format!(
            "{} late wake-ups have no trace: another one had just stopped it.",
            count(not_traced)
        ));
    }
    let all = findings.causes.len();
    if all > SHOWN_MAX {
        notes.push(format!("{} more moments are in the run file.", all - SHOWN_MAX));
    }
    notes
}
