//! Makes series of the measuring thread's records.

use tardy_record::plan::RoundTripPlan;
use tardy_record::round_trip::{Part, RoundTripSeries};
use tardy_record::series::{Level, Quantity, Series, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use crate::thread::{Outcome, Record, Times};

/// The parts in the order of [`Recorder::parts`].
const PARTS: [Part; 4] = [Part::Send, Part::Wire, Part::Peer, Part::Receive];

/// The counted time of a phase, in ns of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Start of the run.
    pub run_start_ns: u64,
    /// Beginning of the counted part.
    pub from_ns: u64,
    /// Its planned end.
    pub to_ns: u64,
}

/// The series of a phase.
#[derive(Debug)]
pub struct Recorder {
    plan: RoundTripPlan,
    span: Span,
    whole: SeriesBuilder,
    parts: [SeriesBuilder; 4],
    /// Counts; the series of the whole has them.
    counts: RoundTripSeries,
    /// The time of the latest reading, which the next one may not precede: an answer may overtake another.
    last_ns: u64,
    cycle: u64,
}

impl Recorder {
    /// A recorder for a phase. Latencies above each of `thresholds_ns` are counted.
    pub fn new(plan: &RoundTripPlan, span: Span, thresholds_ns: &[u64]) -> Self {
        let start_ns = span.from_ns.saturating_sub(span.run_start_ns);
        let builder = |thresholds_ns: &[u64]| {
            SeriesBuilder::new(start_ns, None, span.to_ns.saturating_sub(span.from_ns), thresholds_ns)
        };
        Self {
            plan: plan.clone(),
            span,
            whole: builder(thresholds_ns),
            parts: [(); 4].map(|()| builder(&[])),
            counts: RoundTripSeries::of(Part::Whole, plan),
            last_ns: 0,
            cycle: 0,
        }
    }

    /// Adds a record, if it belongs to the counted time.
    pub fn add(&mut self, record: &Record) {
        if record.due_ns < self.span.from_ns {
            return;
        }
        match record.outcome {
            Outcome::Answered(times) => self.add_answer(&times, record.due_ns),
            Outcome::Lost => {
                self.counts.lost += 1;
                self.whole.drop_readings(1);
            }
            Outcome::NotSent => self.counts.not_sent += 1,
        }
    }

    /// Counts records that the thread could not hand over.
    pub fn add_unrecorded(&mut self, count: u64) {
        self.counts.unrecorded += count;
        if count > 0 {
            self.whole.drop_readings(count);
        }
    }

    fn add_answer(&mut self, times: &Times, due_ns: u64) {
        let whole_ns = times.read_ns - times.sent_ns;
        let at_ns = (due_ns - self.span.run_start_ns).saturating_add(whole_ns.max(0) as u64);
        self.last_ns = self.last_ns.max(at_ns);
        let (at_ns, cycle) = (self.last_ns, self.cycle);
        self.cycle += 1;
        let reading = |value_ns: i64| Reading { value_ns, at_ns, cycle, missed: 0 };
        self.whole.record(reading(whole_ns));
        self.counts.late += u64::from(times.is_late);
        if let Some(devices) = times.devices {
            self.counts.devices = Some(self.counts.devices.map_or(devices, |known| known.min(devices)));
        }
        match parts(times) {
            Some(parts) => {
                for (builder, part_ns) in self.parts.iter_mut().zip(parts) {
                    if let Some(part_ns) = part_ns {
                        builder.record(reading(part_ns));
                    }
                }
            }
            None => self.counts.undivided += 1,
        }
    }

    /// The highest round trip so far, in ns.
    pub fn max_ns(&self) -> Option<i64> {
        self.whole.max_ns()
    }

    /// The series so far: of the whole, and of the parts that have readings.
    pub fn series(&self, phase: usize) -> Vec<Series> {
        let of = |builder: &SeriesBuilder, label: &str, kind: RoundTripSeries| {
            let kind = SeriesKind::RoundTrip(kind);
            builder.series(label.to_owned(), phase, Quantity::Latency, Level::UserThread, kind)
        };
        let mut series = vec![of(&self.whole, "round trip", self.counts.clone())];
        for (part, builder) in PARTS.into_iter().zip(&self.parts) {
            if builder.recorded() > 0 {
                let label = format!("round trip, {}", part.name());
                series.push(of(builder, &label, RoundTripSeries::of(part, &self.plan)));
            }
        }
        series
    }
}

/// The parts of a round trip in the order of [`PARTS`], which add up to the whole; `None` if a stamp is missing. A peer that does not
/// say how long it had the request is part of the wire.
fn parts(times: &Times) -> Option<[Option<i64>; 4]> {
    let (out_ns, in_ns) = (times.out_ns?, times.in_ns?);
    let peer_ns = times.peer_ns.map(|ns| ns as i64);
    let away_ns = in_ns - out_ns;
    Some([
        Some(out_ns - times.sent_ns),
        Some(away_ns - peer_ns.unwrap_or(0)),
        peer_ns,
        Some(times.read_ns - in_ns),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::plan::{Policy, Protocol};

    const MS: u64 = 1_000_000;

    fn recorder() -> Recorder {
        let plan = RoundTripPlan {
            protocol: Protocol::Udp,
            peer: "host".to_owned(),
            link: None,
            cpu: 1,
            policy: Policy::Fifo,
            priority: 80,
            interval_ns: MS,
            dma_latency_us: None,
        };
        Recorder::new(&plan, Span { run_start_ns: MS, from_ns: 10 * MS, to_ns: 100 * MS }, &[50_000])
    }

    fn answered(due_ns: u64, out_ns: Option<i64>, peer_ns: Option<u64>) -> Record {
        let times = Times {
            sent_ns: 1_000,
            out_ns,
            in_ns: Some(50_000),
            read_ns: 71_000,
            peer_ns,
            ..Times::default()
        };
        Record { due_ns, outcome: Outcome::Answered(times) }
    }

    fn sum(series: &Series) -> i64 {
        series.sum_ns.get().unwrap()
    }

    #[test]
    fn the_parts_add_up_to_the_whole() {
        for peer_ns in [None, Some(7_000)] {
            let mut recorder = recorder();
            (10..20).for_each(|ms| recorder.add(&answered(ms * MS, Some(4_000), peer_ns)));
            let series = recorder.series(0);
            assert_eq!(series.len(), if peer_ns.is_some() { 5 } else { 4 });
            assert_eq!((series[0].tally.recorded, sum(&series[0])), (10, 700_000));
            assert_eq!(series[1..].iter().map(sum).sum::<i64>(), 700_000);
            assert_eq!(series[0].thresholds[0].measured, 10);
        }
    }

    #[test]
    fn every_request_of_the_counted_time_is_accounted_for() {
        let mut recorder = recorder();
        let lost = |ms| Record { due_ns: ms * MS, outcome: Outcome::Lost };
        recorder.add(&answered(9 * MS, Some(4_000), None));
        recorder.add(&answered(10 * MS, None, None));
        recorder.add(&lost(9));
        recorder.add(&lost(11));
        recorder.add(&Record { due_ns: 12 * MS, outcome: Outcome::NotSent });
        recorder.add_unrecorded(2);
        let series = recorder.series(0);
        let SeriesKind::RoundTrip(kind) = &series[0].kind else { panic!("{:?}", series[0].kind) };
        assert_eq!(series.len(), 1, "no stamp of sending, no parts");
        assert_eq!((kind.lost, kind.not_sent, kind.undivided, kind.unrecorded), (1, 1, 1, 2));
        let tally = series[0].tally;
        assert_eq!((tally.recorded, tally.dropped.get(), tally.attempted.get()), (1, Some(3), Some(4)));
    }
}
