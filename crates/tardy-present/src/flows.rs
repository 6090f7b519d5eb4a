//! The slots of a time-aware switch: the same table and sentences in the terminal and in the report.

use tardy_analyse::flows::{FlowFindings, FlowPhase, SlotVerdict};
use tardy_record::flow::StampSource;
use tardy_record::switch::{ScheduleSource, SwitchPlace, SwitchRecord};
use tardy_record::units::format_duration_ns;
use tardy_record::{Knowable, Run};

use crate::latency::{count, harmless, microseconds, prefixed, short, three_digits, with_unit};

/// Longer names are shortened.
const NAME_MAX: usize = 24;

/// The heads of the table; the first column is the flow.
pub(crate) const HEADS: [&str; 9] =
    ["flow", "class", "received", "lost", "bit/s", "outside", "worst, us", "opens at", "slot"];

/// The rows of the table, a flow each.
pub(crate) fn rows(phase: &FlowPhase) -> Vec<Vec<String>> {
    phase.flows.iter().map(cells).collect()
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
        word(flow.verdict).to_owned(),
    ]
}

/// The rate at the opening of the flow's fullest slot: the port's own, while a queue is being emptied.
fn opening_rate(flow: &FlowFindings) -> String {
    let fullest = flow.slots.iter().max_by_key(|slot| slot.frames).filter(|slot| slot.frames > 0);
    fullest.map_or_else(|| "-".to_owned(), |slot| prefixed(slot.opening_rate_bps))
}

fn word(verdict: SlotVerdict) -> &'static str {
    match verdict {
        SlotVerdict::Held => "held",
        SlotVerdict::HeldAtTheGate { .. } => "held at the gate",
        SlotVerdict::Broken => "BROKEN",
        SlotVerdict::CannotTell { .. } => "cannot tell",
        SlotVerdict::NothingCame => "nothing came",
        SlotVerdict::NotShaped => "-",
    }
}

/// Whether the slots of all flows that were shaped held; absent where none was, and where nothing worse is known of one than
/// that it cannot be told.
pub(crate) fn all_held(phases: &[FlowPhase]) -> Option<bool> {
    let verdicts: Vec<SlotVerdict> = phases
        .iter()
        .flat_map(|phase| &phase.flows)
        .map(|flow| flow.verdict)
        .filter(|verdict| *verdict != SlotVerdict::NotShaped)
        .collect();
    let holds =
        |verdict: &SlotVerdict| matches!(verdict, SlotVerdict::Held | SlotVerdict::HeldAtTheGate { .. });
    let is_told = |verdict: &&SlotVerdict| !matches!(verdict, SlotVerdict::CannotTell { .. });
    let told: Vec<&SlotVerdict> = verdicts.iter().filter(is_told).collect();
    let all_hold = told.iter().all(|verdict| holds(verdict));
    (!told.is_empty() && (told.len() == verdicts.len() || !all_hold)).then_some(all_hold)
}

/// What the test came to, a sentence for each flow whose slot says something.
pub(crate) fn sentences(phases: &[FlowPhase]) -> Vec<String> {
    phases
        .iter()
        .flat_map(|phase| phase.flows.iter().map(move |flow| (phase, flow)))
        .filter_map(sentence)
        .collect()
}

fn sentence((phase, flow): (&FlowPhase, &FlowFindings)) -> Option<String> {
    let name = short(&harmless(&flow.flow), NAME_MAX);
    let of = count(flow.received);
    Some(match flow.verdict {
        SlotVerdict::Held => format!("The slot of {name} held: all {of} frames came in it."),
        SlotVerdict::HeldAtTheGate { late } => format!(
            "The slot of {name} held at the gate: {} of {of} frames came up to {} after its end, which is no longer than \
             a frame takes from there to its listener ({}).",
            count(late),
            with_unit(flow.late.worst_ns as f64),
            with_unit(flow.dequeue_to_receive.map_or(0, |cost| cost.max_ns) as f64),
        ),
        SlotVerdict::Broken => {
            let part = |frames: u64, worst_ns: u64, when: &str| {
                (frames > 0).then(|| {
                    format!("{} frames came up to {} {when}", count(frames), with_unit(worst_ns as f64))
                })
            };
            let parts = [
                part(flow.early.frames, flow.early.worst_ns, "before it"),
                part(flow.late.frames, flow.late.worst_ns, "after it"),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            format!("The slot of {name} was broken: of {of}, {}.", parts.join(", and "))
        }
        SlotVerdict::CannotTell { shut_ns } => format!(
            "Whether the slot of {name} held cannot be told: of {of} frames {} came outside it, but from its gate to its \
             listener one takes up to {}, and the gate is shut for {} only.",
            count(flow.early.frames + flow.late.frames),
            with_unit(flow.dequeue_to_receive.map_or(0, |cost| cost.max_ns) as f64),
            with_unit(shut_ns as f64),
        ),
        SlotVerdict::NothingCame => format!("Nothing of {name} came in phase {}.", harmless(&phase.label)),
        SlotVerdict::NotShaped => format!(
            "Without the shaper {} % of the frames of {name} came outside what is its slot with it.",
            three_digits(flow.outside? * 100.0)
        ),
    })
}

/// What stands below the table: where times come from, and what the switch said of itself.
pub(crate) fn notes(run: &Run, phases: &[FlowPhase]) -> Vec<String> {
    let mut notes = vec![
        "outside: the share of frames that came outside the windows of their class, those without the shaper held against \
         the same windows; opens at: the rate in the first tenth of the fullest window."
            .to_owned(),
        stamps(phases),
    ];
    if let Some(cost) = phases.iter().flat_map(|phase| &phase.flows).find_map(|flow| flow.dequeue_to_receive)
    {
        notes.push(format!(
            "From its dequeueing to its receipt a frame took {} to {}, half of them less than {} (by the kernel's own \
             trace, {} frames): that much later than the gate let it out it is seen.",
            with_unit(cost.min_ns as f64),
            with_unit(cost.max_ns as f64),
            with_unit(cost.median_ns as f64),
            count(cost.frames)
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
        StampSource::Software => "by the kernel, when the driver handed the frame over",
        StampSource::Simulated => "by nobody: a simulator computed them",
    };
    format!("Times of arrival were noted {}.", sources.iter().map(by).collect::<Vec<_>>().join(", and "))
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
            ScheduleSource::Sent => "as sent: the kernel cannot show so many entries",
            ScheduleSource::File => "as the switch file has it: the switch itself was not asked",
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
