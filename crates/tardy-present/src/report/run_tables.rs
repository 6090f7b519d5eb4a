//! What stands behind a run's numbers: loads, outliers, interrupts, facts, costs, events and the plan, as tables.

use serde::Serialize;
use tardy_analyse::findings::Findings;
use tardy_analyse::loads::LoadFindings;
use tardy_analyse::name;
use tardy_record::environment::SourceTotal;
use tardy_record::plan::{PhasePlan, Policy, ProbePlan, Span, TimerPlan};
use tardy_record::self_cost::ThreadCost;
use tardy_record::series::{Outlier, Series};
use tardy_record::wiggle::{Pace, WigglePlan};
use tardy_record::{Run, facts};

use super::run_view::duration;
use crate::latency::{count, harmless, microseconds, per_cent, short, three_digits, typeset};
use crate::{notes, sentence, summary};

/// Rows of interrupts and softirqs beyond this are left out.
const ROW_MAX: usize = 24;
/// Kernel threads beyond this, which took less, are left out.
const THREAD_MAX: usize = 12;

/// A table: heads and rows of text.
#[derive(Debug, Default, Serialize)]
pub(super) struct TableView {
    pub(super) heads: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Everything behind the numbers.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    loads: Vec<LoadView>,
    outliers: Vec<OutliersView>,
    threads: TableView,
    interrupts: TableView,
    softirqs: TableView,
    facts: Vec<FactsView>,
    cost: TableView,
    watchers: TableView,
    events: TableView,
    plan: TableView,
    phases: TableView,
    command: String,
}

#[derive(Debug, Serialize)]
struct LoadView {
    spec: String,
    parts: Vec<String>,
    remarks: Vec<String>,
    deaths: Vec<String>,
}

#[derive(Debug, Serialize)]
struct OutliersView {
    title: String,
    rows: Vec<OutlierView>,
}

#[derive(Debug, Serialize)]
struct OutlierView {
    latency: String,
    at: String,
    cycle: String,
    around: Vec<String>,
}

#[derive(Debug, Serialize)]
struct FactsView {
    section: &'static str,
    rows: Vec<FactView>,
}

#[derive(Debug, Serialize)]
struct FactView {
    name: &'static str,
    value: String,
    how: String,
    unknown: bool,
}

pub(super) fn of(run: &Run, findings: &Findings) -> Details {
    Details {
        loads: findings.loads.iter().zip(&run.loads).map(|(found, load)| load_view(found, load)).collect(),
        outliers: worst_first(run).into_iter().map(|one| outliers(run, one)).collect(),
        threads: threads(run),
        interrupts: sources(&run.environment.interrupts),
        softirqs: sources(&run.environment.softirqs),
        facts: facts_views(run),
        cost: cost(run),
        watchers: watchers(run),
        events: events(run),
        plan: plan(run),
        phases: phases(run),
        command: harmless(&run.origin.command.join(" ")),
    }
}

fn load_view(found: &LoadFindings, load: &tardy_record::load::LoadResult) -> LoadView {
    let deaths = load.parts.iter().flat_map(|part| {
        part.deaths.iter().map(|death| {
            let (name, how) = (harmless(&part.name), harmless(&death.how));
            format!("{name} died after {}: {how}", sentence::rounded(death.at_ns))
        })
    });
    LoadView {
        spec: harmless(&load.spec),
        parts: found.parts.iter().map(summary::part_text).collect(),
        remarks: found.remarks.iter().map(|remark| harmless(remark)).collect(),
        deaths: deaths.collect(),
    }
}

/// The series that have outliers, the worst first.
fn worst_first(run: &Run) -> Vec<&Series> {
    let mut series: Vec<&Series> = run.own_series().filter(|one| !one.worst.is_empty()).collect();
    series.sort_by_key(|one| std::cmp::Reverse(one.max_ns));
    series
}

fn outliers(run: &Run, series: &Series) -> OutliersView {
    let phase = match run.phases.get(series.phase) {
        Some(phase) if run.phases.len() > 1 => format!(", {}", harmless(&phase.label)),
        _ => String::new(),
    };
    let label = short(&harmless(&name::of(series)), 60);
    let latency =
        |outlier: Option<&Outlier>| outlier.map_or_else(String::new, |one| typeset(one.latency_ns as f64));
    let (first, last) = (latency(series.worst.first()), latency(series.worst.last()));
    let row = |outlier: &Outlier| OutlierView {
        latency: microseconds(outlier.latency_ns as f64),
        at: format!("{:.3}", outlier.at_ns as f64 / 1e9),
        cycle: count(outlier.cycle),
        around: outlier.around.iter().map(change).collect(),
    };
    OutliersView {
        title: format!("{label}{phase}: the {} worst, {first} to {last}", series.worst.len()),
        rows: series.worst.iter().map(row).collect(),
    }
}

fn change(change: &tardy_record::series::Change) -> String {
    let unit = if change.unit.is_empty() { String::new() } else { format!(" {}", harmless(&change.unit)) };
    format!("{}: {}{unit}, usually {}", harmless(&change.what), figure(change.by), figure(change.usual))
}

/// A number of whatever size.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { three_digits(value) }
}

fn threads(run: &Run) -> TableView {
    let row = |thread: &tardy_record::environment::ThreadTime| {
        let cpu = three_digits(thread.cpu_ns as f64 / 1e6);
        vec![short(&harmless(&thread.name), 40), thread.pid.to_string(), cpu, per_cent(thread.share)]
    };
    TableView {
        heads: vec!["thread", "pid", "CPU time, ms", "of a CPU"],
        rows: run.environment.kernel_threads.iter().take(THREAD_MAX).map(row).collect(),
    }
}

fn sources(sources: &[SourceTotal]) -> TableView {
    let total =
        |source: &&SourceTotal| source.per_cpu.values().fold(0u64, |sum, one| sum.saturating_add(*one));
    let mut busiest: Vec<&SourceTotal> = sources.iter().filter(|source| total(source) > 0).collect();
    busiest.sort_by_key(|source| std::cmp::Reverse(total(source)));
    let row = |source: &&SourceTotal| {
        let cpus = source
            .per_cpu
            .iter()
            .filter(|(_, n)| **n > 0)
            .map(|(cpu, n)| format!("cpu {cpu}: {}", count(*n)));
        let cpus: Vec<String> = cpus.take(8).collect();
        let name = format!("{} {}", harmless(&source.source), harmless(&source.description));
        vec![short(name.trim(), 60), count(total(source)), cpus.join(", ")]
    };
    TableView { heads: vec!["source", "in all", "on"], rows: busiest.iter().take(ROW_MAX).map(row).collect() }
}

fn facts_views(run: &Run) -> Vec<FactsView> {
    let mut views: Vec<FactsView> = Vec::new();
    for facts::Row { section, name, value, how } in run.facts.rows() {
        let unknown = value == "unknown";
        let row = FactView { name, value: harmless(&value), how: harmless(&how), unknown };
        match views.last_mut() {
            Some(view) if view.section == section => view.rows.push(row),
            _ => views.push(FactsView { section, rows: vec![row] }),
        }
    }
    views
}

fn cost(run: &Run) -> TableView {
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
    TableView {
        heads: vec![
            "thread",
            "µs a cycle",
            "CPU time, s",
            "page faults",
            "involuntary switches",
            "migrations",
        ],
        rows: run.self_cost.iter().map(row).collect(),
    }
}

/// What to call one of tardy's threads: one that was not pinned is not named after a CPU.
fn thread_name(run: &Run, cost: &ThreadCost) -> String {
    let its = |series: &&Series| {
        Some(series.phase) == cost.phase && cost.thread == format!("timer, {}", series.label)
    };
    let unpinned = run.series.iter().find(its).filter(|series| notes::unpinned(series));
    unpinned.map_or_else(|| cost.thread.clone(), |series| format!("timer, {}", name::of(series)))
}

fn watchers(run: &Run) -> TableView {
    let row = |watcher: &tardy_record::environment::WatcherCost| {
        vec![
            short(&harmless(&watcher.name), 40),
            count(watcher.readings),
            microseconds(watcher.total_ns as f64 / watcher.readings.max(1) as f64),
            microseconds(watcher.longest_ns as f64),
            watcher.left_out.as_ref().map_or_else(String::new, |why| harmless(why)),
        ]
    };
    TableView {
        heads: vec!["watcher", "readings", "mean, µs", "longest, µs", "left out"],
        rows: run.environment.watchers.iter().map(row).collect(),
    }
}

fn events(run: &Run) -> TableView {
    let row = |event: &tardy_record::event::Event| {
        let times =
            if event.count > 1 { format!(" ({} of them)", count(event.count)) } else { String::new() };
        vec![
            format!("{:.3}", event.at_ns as f64 / 1e9),
            format!("{}{times}", harmless(&event.text)),
            microseconds(event.took_ns as f64),
        ]
    };
    TableView { heads: vec!["at, s", "what", "took, µs"], rows: run.events.iter().map(row).collect() }
}

fn plan(run: &Run) -> TableView {
    let plan = &run.plan;
    let optional = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let rows = vec![
        vec!["recipe".to_owned(), harmless(&plan.recipe)],
        vec!["about".to_owned(), optional(plan.about.as_ref().map(|text| harmless(text)))],
        vec!["limit".to_owned(), optional(plan.limit_ns.map(duration))],
        vec!["scale".to_owned(), plan.scale.to_string()],
        vec!["seed".to_owned(), plan.seed.to_string()],
        vec!["housekeeping".to_owned(), format!("cpu {}", plan.housekeeping_cpu)],
        vec!["ambient".to_owned(), optional(plan.ambient_c.map(|c| format!("{c} °C")))],
        vec!["peer".to_owned(), optional(plan.peer.as_ref().map(|peer| harmless(peer)))],
        vec!["run".to_owned(), harmless(&run.origin.id)],
        vec!["boot".to_owned(), harmless(&run.origin.boot_id)],
    ];
    TableView { heads: vec!["what", "value"], rows }
}

fn phases(run: &Run) -> TableView {
    TableView {
        heads: vec![
            "phase",
            "wake",
            "clock",
            "policy",
            "priorities",
            "intervals",
            "warm-up",
            "span",
            "loads",
        ],
        rows: run.plan.phases.iter().map(phase).collect(),
    }
}

fn phase(phase: &PhasePlan) -> Vec<String> {
    let distinct = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.dedup();
        values
    };
    let timer = phase.probe.timer();
    let threads = timer.map_or(&[][..], |timer| &timer.threads[..]);
    let priorities = match &phase.probe {
        ProbePlan::Tracer(tracer) => tracer.priority.map(u64::from).into_iter().collect(),
        ProbePlan::Noise(noise) => {
            distinct(noise.threads.iter().map(|thread| u64::from(thread.priority)).collect())
        }
        ProbePlan::Reaction(reaction) => vec![u64::from(reaction.priority)],
        ProbePlan::Wiggle(WigglePlan { pace: Pace::Fastest(fastest), .. }) => {
            distinct(fastest.threads.iter().map(|thread| u64::from(thread.priority)).collect())
        }
        _ => distinct(threads.iter().map(|thread| u64::from(thread.priority)).collect()),
    };
    let intervals = match &phase.probe {
        ProbePlan::Tracer(tracer) => vec![tracer.period_ns],
        ProbePlan::Foreign(foreign) => foreign.period_ns.get().into_iter().collect(),
        ProbePlan::Switch(switch) => {
            distinct(switch.flows.iter().filter_map(|flow| flow.period_ns).collect())
        }
        _ => distinct(threads.iter().map(|thread| thread.interval_ns).collect()),
    };
    let of_timer = |part: fn(&TimerPlan) -> &'static str| timer.map_or("–", part).to_owned();
    let policy = match &phase.probe {
        ProbePlan::Noise(noise) => noise.policy.name().to_owned(),
        ProbePlan::Reaction(reaction) => reaction.policy.name().to_owned(),
        ProbePlan::Wiggle(wiggle) => wiggle.policy().map_or("–", Policy::name).to_owned(),
        _ => of_timer(|timer| timer.policy.name()),
    };
    let span = match phase.span {
        Span::DurationNs(ns) => duration(ns),
        Span::Loops(loops) => format!("{} cycles", count(loops)),
        Span::Unknown => "unknown".to_owned(),
    };
    vec![
        short(&harmless(&phase.label), 40),
        match phase.probe.foreign() {
            Some(foreign) => short(&harmless(&foreign.tool), 40),
            None => timer.map_or(phase.probe.name(), |timer| timer.wake.name()).to_owned(),
        },
        of_timer(|timer| timer.clock.name()),
        policy,
        priorities.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        intervals.into_iter().map(duration).collect::<Vec<_>>().join(", "),
        duration(phase.warmup_ns),
        span,
        if phase.loads.is_empty() { "none".to_owned() } else { harmless(&phase.loads.join(", ")) },
    ]
}
