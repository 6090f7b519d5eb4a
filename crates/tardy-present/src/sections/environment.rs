//! Other users of the CPUs: kernel threads, interrupts, and tardy itself.

use tardy_analyse::name;
use tardy_record::Run;
use tardy_record::environment::{SourceTotal, ThreadTime, WatcherCost};
use tardy_record::self_cost::ThreadCost;

use crate::page::{Element, Page, PageTable, Place, folded_table, heading};
use crate::section::{Context, Section};
use tardy_plot::numbers::{count, harmless, microseconds, per_cent, short, three_digits};
use tardy_plot::worst_cpus;

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
        if elements.len() > 1 {
            page.add(Place::After, elements);
        }
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

/// The cost of the threads of tardy; those of many CPUs are folded.
fn cost(run: &Run) -> Vec<Element> {
    let table = cost_table(run);
    if table.is_empty() || !worst_cpus::has_many(run) {
        return titled("tardy itself", table);
    }
    let cpu_ns = run.self_cost.iter().fold(0u64, |sum, cost| sum.saturating_add(cost.cpu_ns));
    vec![Element::Rest {
        summary: format!(
            "tardy itself: {} threads, {} s of CPU time",
            run.self_cost.len(),
            three_digits(cpu_ns as f64 / 1e9)
        ),
        elements: vec![Element::Table(table)],
    }]
}

fn cost_table(run: &Run) -> PageTable {
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
    PageTable::new("", &heads, run.self_cost.iter().map(row).collect())
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
    PageTable::new("words-end", &["watcher", "readings", "mean, µs", "longest, µs", "left out"], rows)
}
