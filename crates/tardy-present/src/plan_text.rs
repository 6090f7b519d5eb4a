//! The text of `--dry-run`: what would be measured, and how.

use tardy_plot::numbers::{confidence, count, harmless, one_in, prefixed, short};
use tardy_record::cpu_list;
use tardy_record::plan::{PhasePlan, Plan, Span};
use tardy_record::stop_rule::StopAt;
use tardy_record::units::format_duration_ns;

use crate::placement_text;
use crate::section;
use crate::sections;
use crate::table::Table;

/// The most phases that are listed.
const PHASES_MAX: usize = 60;
/// The longest list of loads in the table, in characters.
const LOAD_MAX: usize = 40;

/// The plan as text, `width` columns wide if the table's columns fit.
pub fn text(plan: &Plan, width: usize) -> String {
    let mut lines = Vec::new();
    match &plan.about {
        Some(about) => lines.push(format!("recipe {}: {}", harmless(&plan.recipe), harmless(about))),
        None => lines.push("plan of the command line, without a recipe".to_owned()),
    }
    lines.push(duration(plan));
    lines.push(format!(
        "CPU {} measured; the supervisor runs on CPU {}",
        cpu_list::format(&plan.measured_cpus()),
        plan.housekeeping_cpu
    ));
    lines.extend(placement_text::lines(&plan.placement));
    let duration = |ns: &u64| format_duration_ns(*ns);
    if let Some(limit_ns) = plan.limit_ns {
        lines.push(format!("limit {}", duration(&limit_ns)));
    }
    if let Some(rule) = plan.until {
        lines.push(format!(
            "each phase ends when the data decide whether at most {} wake-ups is later than the limit ({} confidence){}{}",
            one_in(rule.probability),
            confidence(rule.confidence),
            match rule.at {
                StopAt::Decided => "",
                StopAt::Supported => ", if they support it",
                StopAt::Refuted => ", if they refute it",
            },
            match rule.cluster {
                1 => String::new(),
                cluster => format!("; a single event makes at most {cluster} of them late"),
            }
        ));
    }
    let others: Vec<&u64> = plan.thresholds_ns.iter().filter(|ns| Some(**ns) != plan.limit_ns).collect();
    if !others.is_empty() {
        let thresholds: Vec<String> = others.into_iter().map(duration).collect();
        lines.push(format!("thresholds {}", thresholds.join(", ")));
    }
    for floor in &plan.load_floors {
        lines.push(format!("{} at least {} per second", harmless(&floor.part), prefixed(floor.per_second)));
    }
    if let Some(peer) = &plan.peer {
        lines.push(format!("network loads send to {}", harmless(peer)));
    }
    lines.push(String::new());
    lines.extend(table(plan).lines(width));
    if plan.phases.len() > PHASES_MAX {
        lines.push(format!("and {} more phases; --json lists all", plan.phases.len() - PHASES_MAX));
    }
    lines.join("\n") + "\n"
}

fn duration(plan: &Plan) -> String {
    let total_ns = plan
        .phases
        .iter()
        .fold(0u64, |sum, phase| sum.saturating_add(phase.warmup_ns).saturating_add(phase.planned_ns()));
    let phases =
        if plan.phases.len() == 1 { "1 phase".to_owned() } else { format!("{} phases", plan.phases.len()) };
    let scale = if plan.scale == 1.0 { String::new() } else { format!(", scaled by {}", plan.scale) };
    format!("{phases}, about {} in total{scale}; seed {}", format_duration_ns(total_ns), plan.seed)
}

fn table(plan: &Plan) -> Table {
    let heads =
        ["phase", "probe", "clock", "policy", "priority", "interval", "CPUs", "warm-up", "length", "load"];
    let rows: Vec<[String; 10]> = plan.phases.iter().take(PHASES_MAX).map(row).collect();
    // A column in which no phase has a value is left out.
    let shown: Vec<usize> =
        (0..heads.len()).filter(|column| rows.iter().any(|row| !row[*column].is_empty())).collect();
    let mut table = Table::of_words(&shown.iter().map(|column| heads[*column]).collect::<Vec<_>>());
    for row in &rows {
        table.push(shown.iter().map(|column| row[*column].clone()).collect());
    }
    table
}

fn row(phase: &PhasePlan) -> [String; 10] {
    let kind = phase.probe.kind();
    let measurement =
        sections::ALL.iter().filter_map(|section| section.measurement()).find(|one| one.is_made_by(kind));
    let planned: section::Planned =
        measurement.map(|measurement| measurement.planned(phase)).unwrap_or_default();
    let span = match phase.span {
        Span::DurationNs(ns) => format_duration_ns(ns),
        Span::Loops(loops) => format!("{} cycles", count(loops)),
        Span::Unknown => "unknown".to_owned(),
    };
    let load = if phase.loads.is_empty() { "none".to_owned() } else { harmless(&phase.loads.join(" + ")) };
    let intervals = planned.intervals_ns.into_iter().map(format_duration_ns).collect::<Vec<_>>();
    [
        short(&harmless(&phase.label), 30),
        if planned.wake == phase.label { String::new() } else { short(&harmless(&planned.wake), 24) },
        planned.clock.to_owned(),
        planned.policy.to_owned(),
        planned.priorities.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        short(&intervals.join(", "), 16),
        cpu_list::format(&phase.probe.cpus()),
        format_duration_ns(phase.warmup_ns),
        span,
        short(&load, LOAD_MAX),
    ]
}
