//! A synthesis as a page: links, ways and slack as pictures, the simulation, the bounds, and what stays of an older schedule.

use tardy_analyse::findings;
use tardy_analyse::flows::{self, FlowPhase};
use tardy_plot::numbers::{count, counted, harmless, per_cent};
use tardy_record::Run;
use tardy_record::units::format_duration_ns;
use tardy_synthesis::answer::{Answer, Verdict};
use tardy_synthesis::instance::Instance;
use tardy_synthesis::summary::Summary;

use super::pictures::Pictures;
use super::{expectation, kept, of_ports, verdict};
use tardy_present::figures::{self, Marks};
use tardy_present::page::{
    Element, Judgement, KeyNumber, PageTable, RunPage, Tone, figure, folded_table, heading, paragraph,
    paragraphs,
};
use tardy_present::report;
use tardy_present::sections::flows as flow_sections;
use tardy_present::table::Table;
use tardy_present::terminal_text::typographic;

/// Longer tables are collapsed.
const ROWS_SHOWN: usize = 12;
/// The most flows whose verdicts are listed: those that did not hold.
const VERDICTS_SHOWN: usize = 12;

/// Where a page comes from, and the simulation of the written file.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The name of the switch file.
    pub file: &'a str,
    /// The version of tardy.
    pub version: &'a str,
    /// The simulation; `None` if no file was written.
    pub run: Option<Run>,
}

/// The page. The same file and options give the same page, byte for byte.
pub fn html(instance: &Instance, answer: &Answer, summary: &Summary, evidence: &Evidence<'_>) -> String {
    let title = format!("Schedule of {}", harmless(evidence.file));
    let header = vec![heading(1, title.clone()), judgement(answer, summary), numbers(summary)];
    let pictures = Pictures::of(instance, answer, summary);
    let mut sections = vec![links(&pictures, summary), ways(&pictures), expected(&pictures, summary)];
    sections.extend(evidence.run.as_ref().map(simulated));
    sections.extend(summary.kept.as_ref().map(|kept| {
        let mut elements = vec![heading(2, "The schedule before")];
        elements.extend(paragraphs("", &kept::sentences(kept)));
        elements
    }));
    sections.retain(|elements| elements.len() > 1);
    let page = RunPage { id: "schedule".to_owned(), header, sections, data: String::new() };
    report::html_with(report::WITHOUT_SCRIPT, title, page, 0, evidence.version)
}

fn judgement(answer: &Answer, summary: &Summary) -> Element {
    let tone = match answer.verdict {
        Verdict::Scheduled => Tone::Kept,
        Verdict::Infeasible(_) | Verdict::Starved(_) => Tone::Broken,
        Verdict::Undecided => Tone::Neutral,
    };
    let text = verdict(summary);
    let mut lines = text.lines().map(typographic);
    Element::Judgement(Judgement {
        tone,
        alert: false,
        strong: lines.next().unwrap_or_default(),
        paragraphs: lines.collect(),
        items: Vec::new(),
    })
}

fn numbers(summary: &Summary) -> Element {
    let duration = |ns: u64| spaced(&format_duration_ns(ns));
    let mut numbers = vec![
        KeyNumber::new("flows", &count(summary.placed as u64), format!("of {}", count(summary.flows as u64))),
        KeyNumber::new("hyperperiod", &duration(summary.hyperperiod_ns), "all flows repeat".to_owned()),
    ];
    if let Some(longest) = summary.ports.iter().max_by_key(|port| port.entries) {
        numbers.push(KeyNumber::new("longest list", &count(longest.entries as u64), harmless(&longest.link)));
    }
    if let Some(tightest) = &summary.tightest {
        numbers.push(KeyNumber::new("least slack", &duration(tightest.slack_ns), harmless(&tightest.flow)));
    }
    let least = summary.ports.iter().min_by(|a, b| a.best_effort.total_cmp(&b.best_effort));
    if let Some(least) = least {
        let share = per_cent(least.best_effort).replace(' ', "\u{a0}");
        numbers.push(KeyNumber::new("least best effort", &share, harmless(&least.link)));
    }
    Element::Numbers { numbers }
}

/// `1.5us` as `1.5 µs`, with a no-break space.
fn spaced(duration: &str) -> String {
    let at = duration.find(|c: char| c.is_alphabetic()).unwrap_or(duration.len());
    let (value, unit) = duration.split_at(at);
    // A duration of several units stays as it is.
    if unit.chars().all(char::is_alphabetic) {
        format!("{value}\u{a0}{}", unit.replace("us", "µs"))
    } else {
        duration.to_owned()
    }
}

fn links(pictures: &Pictures, summary: &Summary) -> Vec<Element> {
    let plot = figures::both("links", Marks::default(), |id, options| pictures.links(id, options));
    let part = if pictures.is_complete() { "the hyperperiod" } else { "the first part of the hyperperiod" };
    let caption = format!(
        "Each bar is a frame on a link, in the colour of its flow, over {part}. Behind the bars is the time in which the gates of best \
         effort are open."
    );
    let mut elements = vec![heading(2, "Links")];
    elements.extend(figure(plot, &caption));
    elements.extend(fitting("Ports", &of_ports(summary.ports.iter())));
    elements.push(paragraph(
        "note",
        "“waits” is how long a full frame of best effort can wait for its gate if no other frame is in its way.",
    ));
    elements
}

fn ways(pictures: &Pictures) -> Vec<Element> {
    let plot = figures::both("ways", Marks::default(), |id, options| pictures.ways(id, options));
    let mut elements = vec![heading(2, "The way of each flow")];
    elements.extend(figure(
        plot,
        "Each bar is the frame on a link; between two bars a switch forwards it. No frame waits. A red tick is the deadline, if it is near.",
    ));
    elements
}

/// Slack, bounds and simulated maxima.
fn expected(pictures: &Pictures, summary: &Summary) -> Vec<Element> {
    let plot = figures::both("slack", Marks::default(), |id, options| pictures.slack(id, options));
    let mut elements = vec![heading(2, "Slack and bounds")];
    elements.extend(figure(
        plot,
        "Each bar is the latency in the schedule, the dot the longest simulated one, and the upright line the longest possible one. The \
         space to 100 % is the slack.",
    ));
    if let Some(verified) = &summary.verified {
        elements.extend(fitting("Flows", &expectation::of(verified.flows.iter())));
        elements.extend(paragraphs("note", &expectation::conclusions(verified)));
    }
    elements
}

/// A table, collapsed below its name if it is long.
fn fitting(name: &str, table: &Table) -> Option<Element> {
    let rows = table.heads_and_rows().1.len();
    let table = PageTable::typeset("", table);
    match rows {
        0 => None,
        1..=ROWS_SHOWN => Some(Element::Table(table)),
        _ => folded_table(&format!("{name} ({})", count(rows as u64)), PageTable { tall: true, ..table }),
    }
}

/// The verdicts on the simulated flows, as `tardy tsn simulate` gives them.
fn simulated(run: &Run) -> Vec<Element> {
    let phases = findings::of(run, &findings::Options::default()).flows;
    let judged = |phase: &FlowPhase| -> Vec<(FlowPhase, Option<bool>)> {
        let one = |flow: &flows::FlowFindings| {
            let phase = FlowPhase { flows: vec![flow.clone()], ..phase.clone() };
            let held = flows::held(std::slice::from_ref(&phase));
            (phase, held)
        };
        phase.flows.iter().map(one).collect()
    };
    let all: Vec<(FlowPhase, Option<bool>)> = phases.iter().flat_map(judged).collect();
    let with = |wanted: Option<bool>| all.iter().filter(|(_, held)| *held == wanted).count() as u64;
    let (kept, broken, open) = (with(Some(true)), with(Some(false)), with(None));
    let mut strong = format!("{} held", counted(kept, "flow", "flows"));
    if broken > 0 {
        strong += &format!(", {} did not hold", count(broken));
    }
    if open > 0 {
        strong += &format!(", {} not judged", counted(open, "flow is", "flows are"));
    }
    let not_held: Vec<&FlowPhase> =
        all.iter().filter(|(_, held)| *held != Some(true)).map(|(phase, _)| phase).collect();
    let shown = not_held.iter().take(VERDICTS_SHOWN);
    let mut items: Vec<String> = shown
        .flat_map(|phase| flow_sections::sentences(std::slice::from_ref(*phase)))
        .map(|text| typographic(&text))
        .collect();
    if not_held.len() > VERDICTS_SHOWN {
        let more = (not_held.len() - VERDICTS_SHOWN) as u64;
        items.push(format!("… and {}", counted(more, "more flow", "more flows")));
    }
    let tone = match (broken, kept) {
        (0, 0) => Tone::Neutral,
        (0, _) => Tone::Kept,
        _ => Tone::Broken,
    };
    let mut elements = vec![
        heading(2, "Simulation"),
        Element::Judgement(Judgement {
            tone,
            alert: false,
            strong: format!("{strong}."),
            paragraphs: Vec::new(),
            items,
        }),
    ];
    elements.extend(phases.iter().filter_map(|phase| fitting("Flows", &flow_sections::table(phase))));
    elements.extend(paragraphs("note", &flow_sections::notes(run, &phases)));
    elements
}
