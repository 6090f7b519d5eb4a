//! Round trips over a network: how long they took, and which part of them was long.

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::row::{self, Row};
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan, Protocol, RoundTripPlan};
use tardy_record::round_trip::{Part as PartOfTrip, RoundTripSeries};
use tardy_record::series::SeriesKind;
use tardy_record::units::format_duration_ns;
use tardy_record::{Run, Series};

use super::phase_terms::{PhaseWords, scheduling};
use crate::page::{Element, Page, PageTable, Place, heading, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::table::Table;
use crate::terminal_text::Style;
use tardy_plot::numbers::{count, counted, figure, harmless, quantile};
use tardy_plot::terms::{LATENCY, Terms};

const TITLE: &str = "Round trips, part by part, in us";
const HEADS: [&str; 7] = ["part", "from", "min", "p50", "p99.9", "max", "readings"];
/// What the stamps do not show.
const NOTE: &str = "Stamps are the kernel's, of CLOCK_REALTIME. The interrupt of the device is part of the wire, and its time is \
                    unknown: the stamp of receiving is taken in the soft interrupt. A link without a device, such as veth, has \
                    no interrupt.";

/// Terms for round trips.
const WORDS: Terms = Terms {
    distribution: "Duration of a round trip",
    quantity: "duration",
    exceeding: "that took at least each time",
    degree: "long",
    axis: "time of a round trip, µs",
    peak: "longest round trip",
    values: "times",
    more: "longer",
    pooled: "all round trips",
    ..LATENCY
};

/// Round trips.
pub struct RoundTrips;

impl Section for RoundTrips {
    fn name(&self) -> &'static str {
        "round trips"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let table = table(context.run);
        if table.is_empty() {
            return;
        }
        let mut block = text.block();
        block.titled_table(TITLE, &table);
        block.paragraphs(Style::Plain, &losses(context.run));
        block.paragraphs(Style::Faint, &[NOTE.to_owned()]);
        text.add(Part::Results, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let table = table(context.run);
        if table.is_empty() {
            return;
        }
        let table = Element::Table(PageTable::typeset("", &table));
        page.add(Place::Breakdown, [heading(3, TITLE.replace("in us", "in µs")), table]);
        page.add(
            Place::Breakdown,
            paragraphs("note", &[losses(context.run), vec![NOTE.to_owned()]].concat()),
        );
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for RoundTrips {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::RoundTrip
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::RoundTrips
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    fn method(&self, run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        let ProbePlan::RoundTrip(plan) = &run.plan.phases.get(phase.phase)?.probe else { return None };
        let every = format_duration_ns(plan.interval_ns);
        Some(format!("{} every {every}, {}", target(plan), scheduling(plan.policy, plan.priority)))
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        let words = PhaseWords::of(phase, "thread")?;
        let most = words.thousandth();
        let most = most
            .map_or_else(String::new, |(share, value)| format!("; all but {share} took less than {value}"));
        let PhaseWords { max, readings, over, under, .. } = words;
        Some(format!("In {readings}{over} {under}, the longest took {max}{most}."))
    }

    /// An answer has no time at which it is due.
    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        false
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::RoundTrip(trip) = &plan.probe {
            planned.wake = target(trip);
            planned.policy = trip.policy.name();
            planned.priorities = vec![u64::from(trip.priority)];
            planned.intervals_ns = vec![trip.interval_ns];
        }
        planned
    }
}

/// `udp to HOST`, `ethercat on eth0`.
fn target(plan: &RoundTripPlan) -> String {
    let link = plan.link.as_deref().map_or_else(String::new, |link| format!(" on {}", harmless(link)));
    match plan.protocol {
        Protocol::Ethercat => format!("ethercat{link}"),
        protocol => format!("{} to {}{link}", protocol.name(), harmless(&plan.peer)),
    }
}

fn trip(series: &Series) -> Option<&RoundTripSeries> {
    match &series.kind {
        SeriesKind::RoundTrip(trip) => Some(trip),
        _ => None,
    }
}

/// A row for the whole and for each part, phase by phase.
fn table(run: &Run) -> Table {
    let mut table = Table::new(&HEADS);
    let has_peer = run.series.iter().filter_map(trip).any(|trip| trip.part == PartOfTrip::Peer);
    for series in &run.series {
        let Some(trip) = trip(series) else { continue };
        let (part, from) = describe(trip.part, has_peer);
        table.push(cells(part, from, &row::of_series(series)));
    }
    table
}

fn describe(part: PartOfTrip, has_peer: bool) -> (&'static str, &'static str) {
    match part {
        PartOfTrip::Whole => ("round trip", "send call to return of receive call"),
        PartOfTrip::Send => ("send path", "send call to driver"),
        PartOfTrip::Wire if has_peer => ("wire", "driver to soft interrupt, without the peer"),
        PartOfTrip::Wire => ("wire and peer", "driver to soft interrupt"),
        PartOfTrip::Peer => ("peer", "its receive stamp to its send call"),
        PartOfTrip::Receive => ("receive, wake-up", "soft interrupt to return of receive call"),
    }
}

fn cells(part: &str, from: &str, row: &Row) -> Vec<String> {
    let of = |ns: Option<i64>| figure(ns.map(|ns| ns as f64), false);
    let level = |name: &str| {
        quantile(row.quantiles.iter().find(|quantile| quantile.level == name).and_then(|found| found.value))
    };
    vec![
        part.to_owned(),
        from.to_owned(),
        of(row.min_ns),
        level("p50"),
        level("p99.9"),
        of(row.max_ns),
        count(row.recorded),
    ]
}

/// What became of requests without an answer in time.
fn losses(run: &Run) -> Vec<String> {
    let whole =
        run.series.iter().filter(|series| trip(series).is_some_and(|one| one.part == PartOfTrip::Whole));
    whole.filter_map(|series| Some(sentence(trip(series)?, series.tally.recorded))).collect()
}

fn sentence(trip: &RoundTripSeries, answered: u64) -> String {
    let mut text = format!(
        "{} answered, {} later than the next request was due; {} lost; {} not sent.",
        counted(answered, "request was", "requests were"),
        count(trip.late),
        count(trip.lost),
        count(trip.not_sent),
    );
    if let Some(devices) = trip.devices {
        text +=
            &format!(" Each answer had passed at least {}.", counted(devices.into(), "device", "devices"));
    }
    if trip.undivided > 0 {
        text += &format!(
            " {} without all time stamps, and in no part.",
            counted(trip.undivided, "answer is", "answers are")
        );
    }
    if trip.unrecorded > 0 {
        let lost = counted(trip.unrecorded, "outcome", "outcomes");
        text += &format!(" {lost} could not be kept, because the supervisor was too late.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_counted_in_one_sentence() {
        let trip = RoundTripSeries {
            part: PartOfTrip::Whole,
            cpu: 0,
            interval_ns: 1,
            late: 2,
            lost: 3,
            not_sent: 0,
            undivided: 1,
            unrecorded: 0,
            devices: Some(4),
        };
        assert_eq!(
            sentence(&trip, 10),
            "10 requests were answered, 2 later than the next request was due; 3 lost; 0 not sent. Each answer had passed at \
             least 4 devices. 1 answer is without all time stamps, and in no part."
        );
    }
}
