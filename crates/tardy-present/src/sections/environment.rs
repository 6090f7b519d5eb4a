//! Other users of the CPUs: kernel threads, interrupts, and tardy itself.

use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::environment::{SourceTotal, ThreadTime, WatcherCost};
use tardy_record::self_cost::ThreadCost;

use crate::latency::{count, harmless, microseconds, per_cent, short, three_digits};
use crate::page::{Element, Page, PageTable, Place, folded_table, heading};
use crate::section::{Context, Section};
use crate::worst_cpus;

/// The largest number of interrupts and of soft interrupts that are shown.
const ROW_MAX: usize = 24;
/// The largest number of kernel threads that are shown.
const THREAD_MAX: usize = 12;

/// Other users of the CPUs.
pub struct Environment;

impl Section for Environment {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let (run, environment) = (context.run, &context.run.environment);
        let mut elements = vec![heading(2, "What else used the CPUs")];
        elements.extend(titled("Kernel threads", threads(run)));
        let interrupts = sources(&environment.interrupts);
        elements.extend(match worst_cpus::has_many(run) && !interrupts.is_empty() {
            true => Some(Element::Rest {
                summary: "Interrupts".to_owned(),
                elements: vec![Element::Table(interrupts)],
            }),
            false => folded_table("Interrupts", interrupts),
        });
        elements.extend(folded_table("Soft interrupts", sources(&environment.softirqs)));
        elements.extend(cost(run));
        elements.extend(folded_table("The cost of the watchers", watchers(run)));
        page.add(Place::After, elements);
    }
}

fn titled(title: &str, table: PageTable) -> Vec<Element> {
    if table.is_empty() { Vec::new() } else { vec![heading(3, title), Element::Table(table)] }
}

fn threads(run: &Run) -> PageTable {
    let row = |thread: &ThreadTime| {
        let cpu = three_digits(thread.cpu_ns as f64 / 1e6);
        vec![short(&harmless(&thread.name), 40), thread.pid.to_string(), cpu, per_cent(thread.share)]
    };
    let rows = run.environment.kernel_threads.iter().take(THREAD_MAX).map(row).collect();
    PageTable::new("", &["thread", "pid", "CPU time, ms", "of a CPU"], rows)
}

/// A table of the sources of interrupts, the most frequent first.
fn sources(sources: &[SourceTotal]) -> PageTable {
    let total =
        |source: &&SourceTotal| source.per_cpu.values().fold(0u64, |sum, one| sum.saturating_add(*one));
    let mut busiest: Vec<&SourceTotal> = sources.iter().filter(|source| total(source) > 0).collect();
    busiest.sort_by_key(|source| std::cmp::Reverse(total(source)));
    let row = |source: &&SourceTotal| {
        let cpus = source.per_cpu.iter().filter(|(_, n)| **n > 0);
        let cpus: Vec<String> = cpus.map(|(cpu, n)| format!("cpu {cpu}: {}", count(*n))).take(8).collect();
        let name = format!("{} {}", harmless(&source.source), harmless(&source.description));
        vec![short(name.trim(), 60), count(total(source)), cpus.join(", ")]
    };
    PageTable::new("", &["source", "total", "on"], busiest.iter().take(ROW_MAX).map(row).collect())
}

/// The cost of the threads of tardy. Of many, those with the most CPU time are shown, and the others folded.
fn cost(run: &Run) -> Vec<Element> {
    let time = |cost: &&ThreadCost| i64::try_from(cost.cpu_ns).ok();
    let mut threads: Vec<&ThreadCost> = run.self_cost.iter().collect();
    // The supervisor is not one of the CPUs.
    let Some(worst) = worst_cpus::of(&threads.iter().map(time).collect::<Vec<_>>())
        .filter(|_| threads.len() > worst_cpus::SHOWN_MAX + 1)
    else {
        return titled("tardy itself", cost_table(run, &threads));
    };
    let part = |indices: &[usize]| -> Vec<&ThreadCost> {
        indices.iter().map(|index| &run.self_cost[*index]).collect()
    };
    let others = part(&worst.folded);
    threads = part(&worst.shown);
    let seconds = |cost: Option<&&ThreadCost>| {
        cost.map_or_else(String::new, |cost| format!("{:.3}", cost.cpu_ns as f64 / 1e9))
    };
    let (most, least) = (seconds(others.first()), seconds(others.last()));
    let range = if least == most { most } else { format!("{least} to {most}") };
    let mut elements = titled("tardy itself", cost_table(run, &threads));
    elements.push(Element::Rest {
        summary: format!("{} more threads: CPU time {range} s", others.len()),
        elements: vec![Element::Table(cost_table(run, &others))],
    });
    elements
}

fn cost_table(run: &Run, threads: &[&ThreadCost]) -> PageTable {
    let row = |cost: &ThreadCost| {
        let phase = cost.phase.and_then(|index| run.phases.get(index)).filter(|_| run.phases.len() > 1);
        let phase = phase.map_or_else(String::new, |phase| format!(", {}", harmless(&phase.label)));
        vec![
            short(&format!("{}{phase}", harmless(&thread_name(run, cost))), 60),
            cost.cpu_ns_per_cycle().map_or_else(|| "–".to_owned(), microseconds),
            format!("{:.3}", cost.cpu_ns as f64 / 1e9),
            count(cost.minor_faults.saturating_add(cost.major_faults)),
            count(cost.involuntary_switches),
            cost.migrations.map_or_else(|| "unknown".to_owned(), count),
        ]
    };
    let heads =
        ["thread", "µs per cycle", "CPU time, s", "page faults", "involuntary switches", "migrations"];
    PageTable::new("", &heads, threads.iter().copied().map(row).collect())
}

/// The name of one of tardy's threads. An unpinned thread is not named after a CPU.
fn thread_name(run: &Run, cost: &ThreadCost) -> String {
    let is_its_series = |series: &&tardy_record::Series| {
        Some(series.phase) == cost.phase && cost.thread == format!("timer, {}", series.label)
    };
    let unpinned = run.series.iter().find(is_its_series).filter(|series| name::is_unpinned(series));
    unpinned.map_or_else(|| cost.thread.clone(), |series| format!("timer, {}", name::of(series)))
}

fn watchers(run: &Run) -> PageTable {
    let row = |watcher: &WatcherCost| {
        vec![
            short(&harmless(&watcher.name), 40),
            count(watcher.readings),
            microseconds(watcher.total_ns as f64 / watcher.readings.max(1) as f64),
            microseconds(watcher.longest_ns as f64),
            watcher.left_out.as_ref().map_or_else(String::new, |why| harmless(why)),
        ]
    };
    let rows = run.environment.watchers.iter().map(row).collect();
    PageTable::new("", &["watcher", "readings", "mean, µs", "longest, µs", "left out"], rows)
}
