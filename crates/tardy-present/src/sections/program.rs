//! A user's program: the cycles of its threads, and why some were late; its chains of threads; the stretches that it marks.

use tardy_analyse::findings::Findings;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::program::{ProgramChain, ProgramMark, ProgramThread};
use tardy_analyse::row::Row;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::program::{CycleCause, DEADLINE, LateCycle, Timing, WatchedMark, Why};
use tardy_record::units::{format_duration_ns, format_found_interval_ns};

use super::machine::hypervisor;
use super::phase_terms::{PhaseWords, scheduling};
use crate::page::{Element, Page, PageTable, Place, heading, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use tardy_plot::numbers::{count, counted, figure, harmless, quantile, rounded, short, with_unit};

/// The most late cycles of a thread that are shown; the run file has more.
const SHOWN_MAX: usize = 4;
/// The most tasks that a cause names.
const NAMES_MAX: usize = 3;
/// Longer names are shortened, and longer chains.
const NAME_MAX: usize = 40;
const CHAIN_MAX: usize = 72;
/// The quantile of the table.
const LEVEL: &str = "p99.9";

/// Heads of the tables.
const CYCLES: &str = "Cycles, in us: the least period to the highest, mean own work to the highest, highest preemption, p99.9 of responses to the highest";
const CHAINS: &str = "Chains of threads, in us: from the due time of the first to the end of the last one's work, and the parts of it";
const MARKS: &str = "Marked stretches, in us: from begin to end, and from one begin to the next";

/// A user's program.
pub struct Program;

impl Section for Program {
    fn name(&self) -> &'static str {
        "program"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let Findings { program: threads, chains, marks, .. } = context.findings;
        let tables = [(CYCLES, table(threads)), (CHAINS, chain_table(chains)), (MARKS, mark_table(marks))];
        for (title, table) in tables.iter().filter(|(_, table)| !table.is_empty()) {
            let mut block = text.block();
            block.titled_table(title, table);
            text.add(Part::Results, block);
        }
        let mut block = text.block();
        block.paragraphs(Style::Bold, &conclusions(threads));
        block.paragraphs(Style::Plain, &late(threads));
        block.paragraphs(Style::Faint, &hypervisor_note(context.run, threads));
        block.paragraphs(Style::Plain, &latest_passages(chains));
        block.paragraphs(Style::Plain, &missed_marks(marks));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let Findings { program: threads, chains, marks, .. } = context.findings;
        let mut add = |title: &str, table: &Table| {
            if !table.is_empty() {
                let table = Element::Table(PageTable::typeset("", table));
                page.add(Place::Breakdown, [heading(3, title), table]);
            }
        };
        add("Cycles of the program's threads, in µs", &table(threads));
        add(&CHAINS.replace("in us", "in µs"), &chain_table(chains));
        add(&MARKS.replace("in us", "in µs"), &mark_table(marks));
        let of_series = [latest_passages(chains), missed_marks(marks)].concat();
        page.add(Place::Breakdown, paragraphs("note", &of_series));
        let late = late(threads);
        if !late.is_empty() {
            let mut elements = vec![heading(2, "Causes of late cycles")];
            elements.extend(paragraphs("lead", &conclusions(threads)));
            elements.extend(paragraphs("note", &late));
            elements.extend(paragraphs("note", &hypervisor_note(context.run, threads)));
            page.add(Place::After, elements);
        }
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        notes(context.findings)
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Program {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Program
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Cycles
    }

    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let threads = phase.series.iter().filter_map(|index| run.series[*index].program()?.thread.as_ref());
        let mut methods: Vec<String> = threads
            .map(|thread| {
                let every = format_found_interval_ns(thread.interval_ns);
                let policy = thread
                    .policy
                    .map_or_else(String::new, |policy| format!(", {}", scheduling(policy, thread.priority)));
                format!("{} every {every}{policy}", harmless(&thread.wait))
            })
            .collect();
        methods.dedup();
        match methods.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            [first, ..] => Some(format!("{first} and others")),
        }
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let PhaseWords { max, readings, over, on, threads, .. } = PhaseWords::of(phase, "thread")?;
        Some(format!("In {readings}{over} of {threads}, the latest was {max} late{on}."))
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let target = match &plan.probe {
            ProbePlan::Program(program) => program.target.clone(),
            _ => String::new(),
        };
        Planned { wake: target, ..Planned::default() }
    }
}

fn table(threads: &[ProgramThread]) -> Table {
    let heads = [
        "thread",
        "interval",
        "cycles",
        "skipped",
        "missed",
        "period",
        "to",
        "own work",
        "to",
        "preempted",
        "response",
        "to",
    ];
    let mut table = Table::new(&heads);
    for thread in threads {
        let of = |timing| thread.timing(timing);
        let most = |row: Option<&Row>| figure(row.and_then(|row| row.max_ns).map(|ns| ns as f64), false);
        let least = |row: Option<&Row>| figure(row.and_then(|row| row.min_ns).map(|ns| ns as f64), false);
        let response = of(Timing::Response);
        table.push(vec![
            short(&harmless(&thread.label), NAME_MAX),
            format_found_interval_ns(thread.thread.interval_ns),
            count(thread.cycles),
            count(thread.thread.skipped),
            count(thread.thread.deadline_misses),
            least(of(Timing::Period)),
            most(of(Timing::Period)),
            figure(of(Timing::Execution).and_then(|row| row.mean_ns), false),
            most(of(Timing::Execution)),
            most(of(Timing::Preemption)),
            response.map_or_else(|| "n/a".to_owned(), |row| at_level(row, LEVEL)),
            most(response),
        ]);
    }
    table
}

/// A row for each chain, and below it a row for each part.
fn chain_table(chains: &[ProgramChain]) -> Table {
    let mut table = Table::new(&["chain", "passages", "of cycles", "mean", "p50", LEVEL, "max"]);
    for chain in chains {
        let [passages, cycles] = [chain.latency.recorded, chain.chain.first_cycles].map(count);
        table.push(row(short(&harmless(&chain.label), CHAIN_MAX), [passages, cycles], &chain.latency));
        for part in &chain.parts {
            let name = chain.chain.stages.get(part.stage).map_or("", |stage| stage.name.as_str());
            let what = if part.timing == Timing::StageWakeUp { "wakes up" } else { "runs" };
            let label = format!("  {} {what}", short(&harmless(name), NAME_MAX));
            table.push(row(label, [String::new(), String::new()], &part.row));
        }
    }
    table
}

fn row(label: String, counts: [String; 2], row: &Row) -> Vec<String> {
    let [passages, cycles] = counts;
    let mean = figure(row.mean_ns, false);
    vec![label, passages, cycles, mean, at_level(row, "p50"), at_level(row, LEVEL), highest(row)]
}

fn at_level(row: &Row, level: &str) -> String {
    quantile(row.quantiles.iter().find(|one| one.level == level).and_then(|one| one.value))
}

fn highest(row: &Row) -> String {
    figure(row.max_ns.map(|ns| ns as f64), false)
}

fn mark_table(marks: &[ProgramMark]) -> Table {
    let heads = ["stretch", "interval", "stretches", "missed", "mean", LEVEL, "max", "period", "to"];
    let mut table = Table::new(&heads);
    for mark in marks {
        let period = mark.period.as_ref();
        table.push(vec![
            short(&harmless(&mark.mark.name), NAME_MAX),
            mark.mark.interval_ns.map_or_else(|| "n/a".to_owned(), format_found_interval_ns),
            count(mark.duration.recorded),
            mark.mark.deadline_ns.map_or_else(|| "n/a".to_owned(), |_| count(mark.mark.deadline_misses)),
            figure(mark.duration.mean_ns, false),
            at_level(&mark.duration, LEVEL),
            highest(&mark.duration),
            figure(period.and_then(|row| row.min_ns).map(|ns| ns as f64), false),
            period.map_or_else(|| "n/a".to_owned(), highest),
        ]);
    }
    table
}

/// A sentence about the latest passage of each chain.
fn latest_passages(chains: &[ProgramChain]) -> Vec<String> {
    let sentence = |chain: &ProgramChain| {
        let latest = chain.chain.late.first()?;
        let parts = latest.stages.iter().zip(&chain.chain.stages).flat_map(|(times, stage)| {
            let name = short(&harmless(&stage.name), NAME_MAX);
            [(times.wake_up_ns, format!("{name} woke up")), (times.run_ns, format!("{name} ran"))]
        });
        let (longest_ns, longest) = parts.max_by_key(|(ns, _)| *ns)?;
        Some(format!(
            "{}: the latest passage, due after {}, took {}; {} of it while {longest}.",
            short(&harmless(&chain.label), CHAIN_MAX),
            rounded(latest.due_ns),
            with_unit(latest.took_ns as f64),
            with_unit(longest_ns as f64)
        ))
    };
    chains.iter().filter_map(sentence).collect()
}

/// A sentence for each stretch that took longer than its deadline, or that did not end.
fn missed_marks(marks: &[ProgramMark]) -> Vec<String> {
    let sentence = |mark: &ProgramMark| {
        let WatchedMark { deadline_ns, deadline_misses, unfinished, name, .. } = &mark.mark;
        let missed = deadline_ns.filter(|_| *deadline_misses > 0).map(|deadline_ns| {
            let (misses, all) =
                (count(*deadline_misses), counted(mark.duration.recorded, "stretch", "stretches"));
            format!("{misses} of {all} took longer than {}", format_duration_ns(deadline_ns))
        });
        let open = (*unfinished > 0).then(|| {
            format!("{} not end before the next began", counted(*unfinished, "stretch did", "stretches did"))
        });
        let parts: Vec<String> = missed.into_iter().chain(open).collect();
        (!parts.is_empty()).then(|| format!("{}: {}.", short(&harmless(name), NAME_MAX), parts.join("; ")))
    };
    marks.iter().filter_map(sentence).collect()
}

/// What is to be known of the numbers.
fn notes(findings: &Findings) -> Vec<String> {
    let threads = &findings.program;
    let mut notes = Vec::new();
    if threads.iter().any(|thread| !thread.thread.has_schedule) {
        notes.push(
            "A thread without a schedule sleeps for a time, or until it is woken: a late wake-up delays all later ones, \
             and none is missed."
                .to_owned(),
        );
    }
    let slack = threads.iter().map(|thread| thread.thread.slack_ns).max().unwrap_or(0);
    if slack > 0 {
        notes.push(format!(
            "Latencies count from the requested time. The kernel was allowed to wake a thread up to {} later (timer slack, \
             which threads without real-time priority have).",
            with_unit(slack as f64)
        ));
    }
    notes
}

/// A sentence for each thread that missed deadlines or skipped cycles.
fn conclusions(threads: &[ProgramThread]) -> Vec<String> {
    let conclusion = |thread: &ProgramThread| {
        let (misses, skipped) = (thread.thread.deadline_misses, thread.thread.skipped);
        let late = thread.late().count();
        if misses == 0 && skipped == 0 && late == 0 {
            return None;
        }
        let name = short(&harmless(&thread.label), NAME_MAX);
        let deadline = deadline(thread.thread.deadline_ns, thread.thread.interval_ns);
        let skipped = if skipped > 0 { format!("; it skipped {}", count(skipped)) } else { String::new() };
        let cycles = counted(thread.cycles, "cycle", "cycles");
        let main = main_causes(&thread.tally, late);
        Some(format!(
            "{name}: {} of {cycles} ended later than {deadline} after the due time{skipped}.{main}",
            count(misses)
        ))
    };
    threads.iter().filter_map(conclusion).collect()
}

/// A deadline. One that the user has not named is the interval, which was found.
fn deadline(deadline_ns: u64, interval_ns: u64) -> String {
    match deadline_ns == interval_ns {
        true => format_found_interval_ns(interval_ns),
        false => format_duration_ns(deadline_ns),
    }
}

/// The kind of cause that at least half of the explained cycles share, or else a list of kinds, as sentences.
fn main_causes(tally: &[(Why, String, usize)], late: usize) -> String {
    let mut kinds: Vec<(Why, Vec<String>, usize)> = Vec::new();
    for (why, what, count) in tally {
        let name = if tally.len() == 1 { what.as_str() } else { without_numbers(what) };
        let name = harmless(name);
        // The sentences on different limits differ.
        let is_same = |(known, names, _): &&mut (Why, Vec<String>, usize)| {
            known == why && (*why != Why::Throttled || names.contains(&name))
        };
        match kinds.iter_mut().find(is_same) {
            Some((_, names, sum)) => {
                *sum += count;
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            None => kinds.push((*why, vec![name], *count)),
        }
    }
    kinds.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let text = |(why, names, _): &(Why, Vec<String>, usize)| {
        let more = names.len().saturating_sub(NAMES_MAX);
        let named = names[..names.len() - more].join(", ");
        cause_text(*why, &if more > 0 { format!("{named} and {more} more") } else { named }, "")
    };
    match kinds.first() {
        None => String::new(),
        Some(first) if first.2 * 2 >= late => {
            format!(" In {} of the {late} explained, {}.", first.2, text(first))
        }
        Some(_) => {
            let all: Vec<String> = kinds.iter().map(|kind| format!("in {} {}", kind.2, text(kind))).collect();
            format!(" Of the {late} explained, none has a cause that half share: {}.", all.join("; "))
        }
    }
}

/// The name of the first task in `'name' (task 7)`, without what differs from one task of the name to the next.
fn without_numbers(what: &str) -> &str {
    what.split(" (task ").next().unwrap_or(what)
}

/// A sentence for each of the latest cycles.
fn late(threads: &[ProgramThread]) -> Vec<String> {
    let sentences = |thread: &ProgramThread| -> Vec<String> {
        thread
            .late()
            .chain(thread.woken_late())
            .take(SHOWN_MAX)
            .map(|cycle| sentence(&thread.label, cycle))
            .collect()
    };
    threads.iter().flat_map(sentences).collect()
}

/// On a virtual machine, what seems to be a task's or the kernel's time may be that of another guest.
fn hypervisor_note(run: &Run, threads: &[ProgramThread]) -> Vec<String> {
    let may_be =
        |why: Why| matches!(why, Why::InterruptsOff | Why::IdleExit | Why::Interrupt | Why::PreemptionOff);
    let mut causes = threads.iter().flat_map(ProgramThread::late).flat_map(|cycle| &cycle.causes);
    let host = hypervisor(run).filter(|_| causes.any(|cause| may_be(cause.why)));
    let note = |host| {
        format!(
            "While a task kept an interrupt from running or was not preempted, or the CPU left an idle state late, {host} may \
             have run something else, which the guest cannot distinguish."
        )
    };
    host.map(note).into_iter().collect()
}

fn sentence(label: &str, cycle: &LateCycle) -> String {
    format!(
        "{}, due after {}: awake {} late, finished after {}: {}.",
        short(&harmless(label), NAME_MAX),
        rounded(cycle.due_ns),
        with_unit(cycle.latency_ns as f64),
        with_unit(cycle.response_ns as f64),
        causes_text(cycle)
    )
}

/// The causes of a cycle with their times, as clauses.
pub fn causes_text(cycle: &LateCycle) -> String {
    let clause = |cause: &CycleCause| {
        let time = format!(" for {}", with_unit(cause.took_ns as f64));
        cause_text(cause.why, &harmless(&cause.what), &time)
    };
    let causes: Vec<String> = cycle.causes.iter().map(clause).collect();
    if causes.is_empty() { "no single cause".to_owned() } else { causes.join("; ") }
}

/// Whether `what` names several, as in `'a' (task 7), 'b' (task 8) and 5 more`. Names are in quotation marks.
fn is_several(what: &str) -> bool {
    what.split('\'').step_by(2).any(|outside| outside.contains(" and "))
}

/// A cause as a clause, such as `it waited for a mutex without priority inheritance, of 'low' (task 7)`. `time`, such as ` for 7 us`,
/// follows the words that it belongs to.
fn cause_text(why: Why, what: &str, time: &str) -> String {
    format!("{}{time}{}", clause(why, what), reason(why, what))
}

/// Why a cause was possible; empty if its clause states it.
fn reason(why: Why, what: &str) -> String {
    match why {
        Why::NoPriority => ", because the thread has no real-time priority".to_owned(),
        Why::Throttled if what == DEADLINE => ": it had used up its runtime of SCHED_DEADLINE".to_owned(),
        Why::Throttled if what == "idle" => {
            ": it was ready and its CPU idle (a CPU quota of a cgroup, or a limit on real-time tasks)"
                .to_owned()
        }
        Why::Throttled if what.starts_with("cgroup ") => format!(": the CPU quota of {what} was used up"),
        Why::Throttled => {
            let have = if is_several(what) { "have" } else { "has" };
            format!(": {what}, which {have} lower priority, had the CPU (a limit on real-time tasks)")
        }
        Why::UnknownWait => ", for a page or because it was frozen, which no event shows".to_owned(),
        _ => String::new(),
    }
}

/// What happened.
fn clause(why: Why, what: &str) -> String {
    let have = if is_several(what) { "have" } else { "has" };
    match why {
        Why::InterruptsOff => format!("{what} kept the timer's interrupt from running"),
        Why::IdleExit => "the CPU left an idle state late".to_owned(),
        Why::Interrupt => format!("{what} ran"),
        Why::HigherPriority => format!("{what}, which {have} higher priority, had the CPU"),
        Why::SamePriority => format!("{what}, which {have} the same priority, had the CPU"),
        Why::PreemptionOff => format!("{what} could not be preempted"),
        Why::Mutex => format!("it waited for a mutex without priority inheritance, of {what}"),
        Why::OtherThread => format!("it waited for {what}"),
        Why::SystemCall => format!("it was in the system call {what}"),
        Why::PageFault => format!("it took page faults ({what})"),
        Why::Stopped => format!("it was stopped by {what}"),
        Why::PreviousCycle => "the cycle before ended late".to_owned(),
        Why::OwnWork => "its own work took longer than usual".to_owned(),
        Why::NoPriority => format!("{what} had the CPU"),
        Why::Throttled => "the thread was throttled".to_owned(),
        Why::UnknownWait => "it waited outside of system calls".to_owned(),
        Why::WakeUpPath => {
            "the kernel's way from the interrupt to the program took longer than usual".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(tally: &[(Why, &str, usize)], late: usize) -> String {
        let tally: Vec<(Why, String, usize)> =
            tally.iter().map(|(why, what, count)| (*why, (*what).to_owned(), *count)).collect();
        main_causes(&tally, late)
    }

    #[test]
    fn different_tasks_of_one_kind_are_one_main_cause() {
        let tasks = [
            (Why::NoPriority, "'rustc' (task 7)", 2),
            (Why::OwnWork, "", 2),
            (Why::NoPriority, "'rustc' (task 8)", 1),
            (Why::NoPriority, "'cc1' (task 9), 'ld' (task 10) and 3 more", 1),
        ];
        let text = main(&tasks, 6);
        let expected = " In 4 of the 6 explained, 'rustc', 'cc1' had the CPU, because the thread has no real-time priority.";
        assert_eq!(text, expected);
        assert!(main(&tasks[..1], 2).contains("'rustc' (task 7) had the CPU"), "one task has its number");
    }

    #[test]
    fn a_cause_that_fewer_than_half_share_is_not_the_main_cause() {
        let three =
            [(Why::OwnWork, "", 3), (Why::HigherPriority, "'a' (task 7)", 2), (Why::Interrupt, "irq 5", 2)];
        let text = main(&three, 7);
        assert!(
            text.starts_with(" Of the 7 explained, none has a cause that half share: in 3 its own work"),
            "{text}"
        );
        assert!(
            text.contains("; in 2 'a', which has higher priority, had the CPU; in 2 irq 5 ran."),
            "{text}"
        );
        assert_eq!(main(&[], 0), "");
    }

    #[test]
    fn a_time_follows_the_words_that_it_belongs_to() {
        let text = |why, what: &str| cause_text(why, what, " for 7 us");
        assert_eq!(
            text(Why::NoPriority, "'rustc'"),
            "'rustc' had the CPU for 7 us, because the thread has no real-time priority"
        );
        assert_eq!(
            text(Why::Throttled, DEADLINE),
            "the thread was throttled for 7 us: it had used up its runtime of SCHED_DEADLINE"
        );
        assert_eq!(
            text(Why::UnknownWait, ""),
            "it waited outside of system calls for 7 us, for a page or because it was frozen, which no event shows"
        );
        assert_eq!(text(Why::Stopped, "a signal"), "it was stopped by a signal for 7 us");
    }

    #[test]
    fn a_deadline_that_is_the_found_interval_has_four_digits() {
        let shown = [(3_148_549, 3_148_549), (3_148_549, 4_000_000)].map(|(one, other)| deadline(one, other));
        assert_eq!(shown, ["3.149ms", "3.148549ms"]);
    }
}
