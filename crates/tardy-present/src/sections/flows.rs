//! Flows through a time-aware switch, and whether their frames arrived in their slots.

use tardy_analyse::findings::Findings;
use tardy_analyse::flows::{self, FlowFindings, FlowPhase, LimitFindings, Limited, SlotVerdict};
use tardy_analyse::name::{self, Readings};
use tardy_analyse::phases::PhaseFindings;
use tardy_record::flow::StampSource;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::switch::{ScheduleSource, SwitchPlace, SwitchRecord};
use tardy_record::units::format_duration_ns;
use tardy_record::{Knowable, Run};

use super::phase_terms::distinct;
use super::ptp;
use crate::figures;
use crate::page::{Element, Judgement, Page, PageTable, Place, Tone, figure, heading, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::{Style, typographic};
use tardy_plot::numbers::{count, counted, harmless, microseconds, prefixed, short, three_digits, with_unit};
use tardy_plot::terms::{LATENCY, Terms};

/// Longer names are shortened.
const NAME_MAX: usize = 24;
/// The most names in the headline.
const NAMES_MAX: usize = 4;
/// Longer labels of phases are shortened in the terminal.
const LABEL_MAX: usize = 28;

/// The headings of the table.
const HEADS: [&str; 9] =
    ["flow", "class", "received", "lost", "bit/s", "outside", "worst, us", "opens at", "slot"];

const CYCLE_CAPTION: &str = "Arrivals modulo the cycle, as a rate on the wire, with one panel for each phase of the test: \
                             each frame occupies the link for the time that it takes at the link’s speed. \
                             Behind the curves are the slots of each flow’s class in \
                             the operating schedule (without the shaper: of the tested schedule), with darker guard \
                             bands. A red tick below the axis marks a frame outside its slot.";
const DRIFT_CAPTION: &str = "Each bar is an interval of time: it extends from the earliest to the latest phase of the \
                             cycle at which frames of a flow arrived, with a mark at the median. A slope means a cycle \
                             other than the schedule’s, or a clock that drifts; a gap means a gate that stopped.";

/// Terms for frames.
const WORDS: Terms = Terms { pooled: "all flows", ..LATENCY };

/// Flows through a switch.
pub struct Flows;

impl Section for Flows {
    fn name(&self) -> &'static str {
        "flows"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let phases = &context.findings.flows;
        if phases.is_empty() {
            return;
        }
        add_tables(phases, text);
        let mut notes_block = text.block();
        notes_block.paragraphs(Style::Faint, &notes(context.run, phases));
        text.add(Part::Results, notes_block);
        let mut conclusion = text.block();
        conclusion.paragraphs(Style::Bold, &sentences(phases));
        text.add(Part::Conclusion, conclusion);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let (run, phases) = (context.run, &context.findings.flows);
        if phases.is_empty() {
            return;
        }
        let mut elements = vec![heading(2, "Slots")];
        let sentences: Vec<String> = sentences(phases).iter().map(|text| typographic(text)).collect();
        if !sentences.is_empty() {
            let tone = match flows::held(phases) {
                Some(true) => Tone::Kept,
                Some(false) => Tone::Broken,
                None => Tone::Neutral,
            };
            let strong = String::new();
            let judgement =
                Judgement { tone, alert: false, strong, paragraphs: sentences, items: Vec::new() };
            elements.push(Element::Judgement(judgement));
        }
        let marks = page.marks();
        elements.extend(figure(figures::cycle(&page.plot_id("cycle"), run, phases, marks), CYCLE_CAPTION));
        for phase in phases {
            elements.push(heading(3, short(&harmless(&phase.label), 60)));
            elements.push(Element::Table(PageTable::typeset("", &table(phase))));
        }
        elements.extend(paragraphs("note", &notes(run, phases)));
        if let Some(drift) = figure(figures::drift(&page.plot_id("drift"), run, phases, marks), DRIFT_CAPTION)
        {
            elements.extend([heading(3, "Phase of the frames over time"), drift]);
        }
        page.add(Place::Before, elements);
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }

    fn before_comparison(&self, context: &Context<'_>, text: &mut Text) {
        let phases = &context.findings.flows;
        if phases.is_empty() {
            return;
        }
        text.add_paragraph(Part::Head, Style::Bold, &harmless(&name::of_run(context.run)));
        add_tables(phases, text);
        let mut conclusion = text.block();
        conclusion.paragraphs(Style::Bold, &sentences(phases));
        text.add(Part::Conclusion, conclusion);
    }
}

impl Measurement for Flows {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Switch
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::Frames
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    fn method(&self, _run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let every =
            phase.period_ns.map_or_else(String::new, |ns| format!(" every {}", format_duration_ns(ns)));
        Some(format!("switch{every}"))
    }

    /// None: [`Section::text`] adds a sentence for each flow.
    fn sentence(&self, _phase: &PhaseFindings) -> Option<String> {
        None
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Switch(switch) = &plan.probe {
            planned.intervals_ns = distinct(switch.flows.iter().filter_map(|flow| flow.period_ns));
        }
        planned
    }
}

/// The verdict on the switch, in one sentence; `None` for a run without flows, or one that is invalid.
pub(crate) fn headline(findings: &Findings) -> Option<String> {
    let phases = &findings.flows;
    if phases.is_empty() || !findings.validity.valid {
        return None;
    }
    let judged: Vec<&FlowFindings> =
        phases.iter().filter(|phase| phase.judged).flat_map(|phase| &phase.flows).collect();
    if judged.is_empty() {
        return Some("The switch ran without its shaper, so no slot was tested".to_owned());
    }
    let with = |held: Option<bool>| judged.iter().filter(move |flow| flow.held == held);
    let listed = |held: Option<bool>| {
        let named = with(held)
            .take(NAMES_MAX)
            .map(|flow| format!("{}: {}", short(&harmless(&flow.flow), NAME_MAX), word(flow).to_lowercase()));
        let more = with(held).count().saturating_sub(NAMES_MAX);
        let more = (more > 0).then(|| format!("and {} more", count(more as u64)));
        named.chain(more).collect::<Vec<_>>().join("; ")
    };
    let (all, failed, open) = (judged.len(), with(Some(false)).count(), with(None).count());
    let flows = if all == 1 { "flow" } else { "flows" };
    Some(match (failed, open) {
        (0, 0) if all == 1 => "The switch held: its flow kept its slot and its limits".to_owned(),
        (0, 0) => format!("The switch held: all {} flows kept their slots and limits", count(all as u64)),
        (0, _) => {
            format!("Whether the switch held is undecidable for {open} of {all} {flows} ({})", listed(None))
        }
        _ => format!("The switch failed: {failed} of {all} {flows} did not hold ({})", listed(Some(false))),
    })
}

/// A table of flows for each phase.
fn add_tables(phases: &[FlowPhase], text: &mut Text) {
    for phase in phases {
        let mut block = text.block();
        block.titled_table(&format!("Slots, {}", short(&harmless(&phase.label), LABEL_MAX)), &table(phase));
        text.add(Part::Results, block);
    }
}

/// The table of a phase, with a row for each flow.
pub fn table(phase: &FlowPhase) -> Table {
    let mut table = Table::new(&HEADS);
    phase.flows.iter().for_each(|flow| table.push(cells(flow)));
    table
}

fn cells(flow: &FlowFindings) -> Vec<String> {
    let worst = flow.early.worst_ns.max(flow.late.worst_ns);
    vec![
        short(&harmless(&flow.flow), NAME_MAX),
        flow.class.to_string(),
        count(flow.received),
        flow.lost.map_or_else(|| "-".to_owned(), count),
        prefixed(flow.rate_bps),
        flow.outside.map_or_else(|| "-".to_owned(), |share| format!("{} %", three_digits(share * 100.0))),
        if worst > 0 { microseconds(worst as f64) } else { "-".to_owned() },
        opening_rate(flow),
        word(flow).to_owned(),
    ]
}

/// The rate at the opening of the flow's fullest slot; while a queue is emptied it is the rate of the port.
fn opening_rate(flow: &FlowFindings) -> String {
    let fullest = flow.slots.iter().max_by_key(|slot| slot.frames).filter(|slot| slot.frames > 0);
    fullest.map_or_else(|| "-".to_owned(), |slot| prefixed(slot.opening_rate_bps))
}

fn word(flow: &FlowFindings) -> &'static str {
    match flow.verdict {
        _ if flow.held == Some(false) && flow.misclassified.is_some() => "WRONG CLASS",
        SlotVerdict::Broken => "BROKEN",
        SlotVerdict::NothingCame => "no frames",
        SlotVerdict::NotInForce => "not in force",
        _ if flow.held == Some(false) => match flow.limits.iter().find(|limit| limit.kept() == Some(false)) {
            Some(LimitFindings { of: Limited::Deadline, .. }) => "TOO LATE",
            Some(LimitFindings { of: Limited::Jitter, .. }) => "JITTER",
            _ => "FRAMES LOST",
        },
        SlotVerdict::Held => "held",
        SlotVerdict::HeldAtTheGate { .. } => "held at the gate",
        SlotVerdict::CannotTell { .. } => "undecidable",
        SlotVerdict::NotShaped => "-",
    }
}

/// The result of the test: for each flow a sentence on its slot, and in judged phases one on each of its limits.
pub fn sentences(phases: &[FlowPhase]) -> Vec<String> {
    let of_flow = |(phase, flow): (&FlowPhase, &FlowFindings)| {
        let limits = flow.limits.iter().filter(|_| phase.judged).filter_map(|limit| of_limit(flow, limit));
        let class = of_class(flow).filter(|_| phase.judged);
        let name = short(&harmless(&flow.flow), NAME_MAX);
        let clocks = flow.clocks.iter().map(|found| ptp::at_moment(&name, found));
        class.into_iter().chain(sentence((phase, flow))).chain(limits).chain(clocks).collect::<Vec<_>>()
    };
    phases
        .iter()
        .flat_map(|phase| phase.flows.iter().map(move |flow| (phase, flow)))
        .flat_map(of_flow)
        .collect()
}

/// A sentence on the class of a flow whose frames got another than its file declares.
fn of_class(flow: &FlowFindings) -> Option<String> {
    let found = flow.misclassified.as_ref()?;
    let [name, switch, class, declared] = [&flow.flow, &found.switch, &found.class, &found.declared]
        .map(|text| short(&harmless(text), NAME_MAX));
    Some(format!(
        "Flow {name} did not hold: switch {switch} gives it class {class}, and its file declares {declared}. Its slot was judged \
         with the windows of the class that it has at its last port, number {}.",
        flow.class
    ))
}

/// A sentence on a limit of a flow; `None` for a flow that may not lose frames and lost none.
fn of_limit(flow: &FlowFindings, limit: &LimitFindings) -> Option<String> {
    let name = short(&harmless(&flow.flow), NAME_MAX);
    let kept = limit.kept();
    if limit.of == Limited::Loss {
        let (lost, sent) = (limit.observed?, flow.sent?);
        let share = || three_digits(lost as f64 * 100.0 / sent as f64);
        return match kept? {
            false => Some(format!(
                "Flow {name} lost frames: {} of {} ({} %); {} may be lost.",
                count(lost),
                count(sent),
                share(),
                if limit.limit == 0 { "none".to_owned() } else { format!("at most {}", count(limit.limit)) },
            )),
            true if lost == 0 => None,
            true => Some(format!(
                "Flow {name} lost {} of {} frames ({} %), {} fewer than it may lose.",
                count(lost),
                count(sent),
                share(),
                count(limit.limit - lost),
            )),
        };
    }
    let (what, measure) = match limit.of {
        Limited::Deadline => ("deadline", "the longest latency was"),
        _ => ("jitter limit", "latencies differed by up to"),
    };
    let permitted = format_duration_ns(limit.limit);
    let (Some(observed), Some(margin)) = (limit.observed, limit.margin) else {
        return Some(format!(
            "Whether flow {name} kept its {what} of {permitted} is unknown: no frame arrived."
        ));
    };
    let (observed, margin) = (with_unit(observed as f64), with_unit(margin.unsigned_abs() as f64));
    let late = limit.late.filter(|late| *late > 0).map_or_else(String::new, |late| {
        if late == flow.received {
            return " Every frame was later.".to_owned();
        }
        format!(" At least {} of {} frames {} later.", count(late), count(flow.received), was(late))
    });
    Some(match kept? {
        true => format!("Flow {name} kept its {what} of {permitted}: {measure} {observed}, {margin} less."),
        false => {
            format!(
                "Flow {name} exceeded its {what} of {permitted}: {measure} {observed}, {margin} more.{late}"
            )
        }
    })
}

fn was(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

fn all_arrived(received: u64) -> String {
    if received == 1 {
        "its only frame arrived".to_owned()
    } else {
        format!("all {} frames arrived", count(received))
    }
}

fn sentence((phase, flow): (&FlowPhase, &FlowFindings)) -> Option<String> {
    let name = short(&harmless(&flow.flow), NAME_MAX);
    let of = count(flow.received);
    Some(match flow.verdict {
        SlotVerdict::Held => format!("The slot of {name} held: {} in it.", all_arrived(flow.received)),
        SlotVerdict::HeldAtTheGate { late } if flow.at_gate.is_some_and(|count| count.undecided == 0) => {
            format!(
                "The slot of {name} held at the gate: {} of {of} frames arrived outside it, but all were sent in it. A frame takes \
             up to {} from the gate to its listener.",
                count(late),
                with_unit(flow.dequeue_to_receive?.max_ns as f64),
            )
        }
        SlotVerdict::HeldAtTheGate { late } => format!(
            "The slot of {name} held at the gate: {} of {of} frames arrived up to {} after its end, no later than a frame \
             takes from the gate to its listener ({}).",
            count(late),
            with_unit(flow.late.worst_ns as f64),
            with_unit(flow.dequeue_to_receive?.max_ns as f64),
        ),
        SlotVerdict::Broken => {
            let part = |frames: u64, worst_ns: u64, when: &str| {
                (frames > 0).then(|| {
                    let frames = counted(frames, "frame", "frames");
                    format!("{frames} arrived up to {} {when}", with_unit(worst_ns as f64))
                })
            };
            let parts = [
                part(flow.early.frames, flow.early.worst_ns, "before it"),
                part(flow.late.frames, flow.late.worst_ns, "after it"),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("The slot of {name} was violated: of {of} frames, {}.", parts.join(", and "))
        }
        SlotVerdict::CannotTell { .. } if flow.at_gate.is_some() => format!(
            "Whether the slot of {name} held is undecidable: {} of {of} frames {} sent so near to its end that the kernel's trace \
             does not decide.",
            count(flow.at_gate?.undecided),
            was(flow.at_gate?.undecided),
        ),
        SlotVerdict::CannotTell { shut_ns } => format!(
            "Whether the slot of {name} held is undecidable: {} of {of} frames arrived outside it, but a frame takes up to \
             {} from the gate to its listener, and the gate is closed for only {}.",
            count(flow.early.frames + flow.late.frames),
            with_unit(flow.dequeue_to_receive?.max_ns as f64),
            with_unit(shut_ns as f64),
        ),
        SlotVerdict::NothingCame => {
            format!("No frame of {name} arrived in phase {}.", harmless(&phase.label))
        }
        SlotVerdict::NotInForce => format!(
            "The slot of {name} was never in force: when its {of} frames were sent, the schedule had not started, or had no window \
             for its class."
        ),
        SlotVerdict::NotShaped => format!(
            "Without the shaper, {} % of the frames of {name} arrived outside the slot that it has with the shaper.",
            three_digits(flow.outside? * 100.0)
        ),
    })
}

/// Notes to the tables: the source of the times of arrival, and what the switch reported.
pub fn notes(run: &Run, phases: &[FlowPhase]) -> Vec<String> {
    let mut notes = vec![
        "outside: the share of frames that arrived outside the windows of their class; frames without the shaper are \
         compared with the same windows. opens at: the rate in the first tenth of the fullest window."
            .to_owned(),
        stamps(phases),
    ];
    if let Some(cost) = phases.iter().flat_map(|phase| &phase.flows).find_map(|flow| flow.dequeue_to_receive)
    {
        notes.push(format!(
            "A frame took {} to {} from dequeueing to receipt, with a median of {} (from the kernel's trace of {}): \
             its time of arrival is that much later than its departure from the gate.",
            with_unit(cost.min_ns as f64),
            with_unit(cost.max_ns as f64),
            with_unit(cost.median_ns as f64),
            counted(cost.frames, "frame", "frames")
        ));
    }
    notes.extend(run.switch.iter().flat_map(of_switch));
    notes
}

fn stamps(phases: &[FlowPhase]) -> String {
    let mut sources: Vec<StampSource> =
        phases.iter().flat_map(|phase| &phase.flows).map(|flow| flow.stamped_by).collect();
    sources.sort_unstable();
    sources.dedup();
    let by = |source: &StampSource| match source {
        StampSource::Hardware => "by the network device, on the wire",
        StampSource::Software => "by the kernel, when the driver delivered the frame",
        StampSource::Simulated => "by a simulator, which computed them",
    };
    format!("Times of arrival were taken {}.", sources.iter().map(by).collect::<Vec<_>>().join(", and "))
}

fn of_switch(switch: &SwitchRecord) -> Vec<String> {
    let place = match switch.place {
        SwitchPlace::Ports => "real ports, cabled to interfaces of this machine",
        SwitchPlace::Namespaces => "network namespaces and virtual links of one machine",
        SwitchPlace::Simulator => "a simulator",
    };
    let mut notes = vec![format!("Switch {}: {place}.", short(&harmless(&switch.name), NAME_MAX))];
    notes.extend(switch.ports.iter().map(|port| {
        let source = match port.source {
            ScheduleSource::ReadBack => "read back from the kernel",
            ScheduleSource::Sent => "as sent: the kernel cannot report so many entries",
            ScheduleSource::File => "from the switch file: the switch itself was not queried",
            ScheduleSource::Simulated => "simulated",
        };
        format!(
            "Port {}: {} entries in a cycle of {}, {source}.",
            short(&harmless(&port.port), NAME_MAX),
            count(port.entries.len() as u64),
            format_duration_ns(port.cycle_ns)
        )
    }));
    if let Knowable::Known(seconds) = switch.tai_minus_utc_s {
        notes.push(format!("TAI − UTC was {seconds} s."));
    }
    notes.extend(switch.remarks.iter().map(|remark| harmless(remark)));
    notes
}
