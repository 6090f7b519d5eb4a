//! The experiment: the command, the plan, and the events.

use tardy_record::Run;
use tardy_record::event::Event;
use tardy_record::plan::{PhasePlan, Span};
use tardy_record::units::format_duration_ns;

use crate::page::{Element, Page, PageTable, Place, folded_table, heading};
use crate::placement_text;
use crate::section::{Context, Section};
use tardy_plot::numbers::{count, counted, harmless, microseconds, short};

const PHASE_HEADS: [&str; 9] =
    ["phase", "wake", "clock", "policy", "priorities", "intervals", "warm-up", "span", "loads"];

/// The experiment.
pub struct Experiment;

impl Section for Experiment {
    fn name(&self) -> &'static str {
        "experiment"
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let run = context.run;
        let mut elements = vec![heading(2, "The experiment")];
        let command = harmless(&run.origin.command.join(" "));
        if !command.is_empty() {
            elements.push(Element::Code { text: command });
        }
        let phases = run.plan.phases.iter().map(|phase| phase_row(context, phase)).collect();
        elements.push(Element::Fold {
            summary: "Plan".to_owned(),
            open: false,
            elements: vec![
                Element::Table(plan(run)),
                Element::Table(PageTable::new("", &PHASE_HEADS, phases)),
            ],
        });
        elements.extend(folded_table("Events", events(run)));
        page.add(Place::After, elements);
    }
}

fn plan(run: &Run) -> PageTable {
    let plan = &run.plan;
    let optional = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let rows = [
        ("recipe", harmless(&plan.recipe)),
        ("about", optional(plan.about.as_ref().map(|text| harmless(text)))),
        ("limit", optional(plan.limit_ns.map(format_duration_ns))),
        ("scale", plan.scale.to_string()),
        ("seed", plan.seed.to_string()),
        ("housekeeping", format!("cpu {}", plan.housekeeping_cpu)),
        ("ambient", optional(plan.ambient_c.map(|c| format!("{c} °C")))),
        ("peer", optional(plan.peer.as_ref().map(|peer| harmless(peer)))),
        ("run", harmless(&run.origin.id)),
        ("boot", harmless(&run.origin.boot_id)),
    ];
    let placement = placement_text::lines(&plan.placement).into_iter().map(|line| ("placement", line));
    let rows = rows.into_iter().chain(placement);
    PageTable::new("", &["what", "value"], rows.map(|(name, value)| vec![name.to_owned(), value]).collect())
}

fn phase_row(context: &Context<'_>, phase: &PhasePlan) -> Vec<String> {
    let measurement = context.measurement_by(phase.probe.kind());
    let planned = measurement.map(|measurement| measurement.planned(phase)).unwrap_or_default();
    let dashed = |text: &str| if text.is_empty() { "–".to_owned() } else { text.to_owned() };
    let span = match phase.span {
        Span::DurationNs(ns) => format_duration_ns(ns),
        Span::Loops(loops) => counted(loops, "cycle", "cycles"),
        Span::Unknown => "unknown".to_owned(),
    };
    vec![
        short(&harmless(&phase.label), 40),
        dashed(&planned.wake),
        dashed(planned.clock),
        dashed(planned.policy),
        planned.priorities.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        planned.intervals_ns.into_iter().map(format_duration_ns).collect::<Vec<_>>().join(", "),
        format_duration_ns(phase.warmup_ns),
        span,
        if phase.loads.is_empty() { "none".to_owned() } else { harmless(&phase.loads.join(", ")) },
    ]
}

fn events(run: &Run) -> PageTable {
    let row = |event: &Event| {
        let times = if event.count > 1 { format!(" ({} times)", count(event.count)) } else { String::new() };
        vec![
            format!("{:.3}", event.at_ns as f64 / 1e9),
            format!("{}{times}", harmless(&event.text)),
            microseconds(event.took_ns as f64),
        ]
    };
    PageTable::new("", &["at, s", "what", "took, µs"], run.events.iter().map(row).collect())
}
