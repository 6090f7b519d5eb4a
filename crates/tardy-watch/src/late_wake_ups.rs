//! Late wake-ups of the probe, found while it measures: the supervisor compares the histograms that it reads once per
//! second. The measuring threads do nothing for it.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::path::PathBuf;

use tardy_measure::engine::{Listener, LiveState, RunProgress, UserRequest};
use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;
use tardy_record::series::Outlier;
use tardy_record::{Histogram, Run};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::EndSignals;

use crate::late_command::Occasion;
use crate::response::Response;

/// A listener that responds to late wake-ups, and passes everything on.
pub struct LateWakeUps<'a> {
    inner: &'a mut dyn Listener,
    /// Later wake-ups are late, in ns.
    late_ns: u64,
    run: PathBuf,
    response: Response,
    /// By the number of the phase, from 1, and the label.
    series: BTreeMap<(usize, String), Known>,
}

/// What is known of a series.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    late: u64,
    newest_ns: Option<u64>,
}

impl<'a> LateWakeUps<'a> {
    /// A listener in front of `inner`, for a run with the file `run`.
    pub fn new(inner: &'a mut dyn Listener, late_ns: u64, run: PathBuf, response: Response) -> Self {
        Self { inner, late_ns, run, response, series: BTreeMap::new() }
    }

    /// Responds to what was late since the last reading of the run `measured`, and waits for the command. Returns messages for the
    /// user.
    pub fn finish(mut self, measured: Option<&Run>) -> Vec<String> {
        for series in measured.iter().flat_map(|run| run.own_series()) {
            let newest = series.worst.iter().max_by_key(|outlier| outlier.at_ns);
            self.look(series.phase + 1, &series.label, &series.measured, newest);
        }
        self.respond();
        match EndSignals::catch() {
            Ok(signals) => self.response.finish(&signals),
            Err(_) => Vec::new(),
        }
    }

    fn look(&mut self, phase: usize, label: &str, histogram: &Histogram, newest: Option<&Outlier>) {
        let late_ns = i64::try_from(self.late_ns).unwrap_or(i64::MAX);
        let known = self.series.entry((phase, label.to_owned())).or_default();
        if let Some(occasion) = late(known, label, histogram, newest, late_ns) {
            self.response.note(occasion);
        }
    }

    fn respond(&mut self) {
        let now_ns = monotonic_ns();
        let failed = self.response.poll(now_ns);
        let started = match self.response.is_due(now_ns) {
            true => self.response.respond(&self.run, now_ns),
            false => Vec::new(),
        };
        failed.into_iter().chain(started).for_each(|message| self.inner.message(&message));
    }
}

/// The wake-ups of a series that are late and were not known.
fn late(
    known: &mut Known,
    label: &str,
    histogram: &Histogram,
    newest: Option<&Outlier>,
    late_ns: i64,
) -> Option<Occasion> {
    // Of the bin that contains the limit, it is unknown which readings are above it. The latest ones are known exactly.
    let late = histogram.counts_above(late_ns).0;
    let newest = newest.filter(|outlier| outlier.latency_ns > late_ns);
    let newest = newest.filter(|outlier| known.newest_ns.is_none_or(|known_ns| outlier.at_ns > known_ns));
    let count = late.saturating_sub(known.late).max(u64::from(newest.is_some()));
    known.late = late;
    known.newest_ns = newest.map(|outlier| outlier.at_ns).or(known.newest_ns);
    // Wake-ups that are late but not among the latest are known by their number alone.
    let latency_ns = newest.map_or(late_ns, |outlier| outlier.latency_ns);
    let cause = match newest {
        Some(_) => String::new(),
        None => "later than --late, but not among the latest wake-ups of the run".to_owned(),
    };
    (count > 0).then(|| Occasion { thread: label.to_owned(), latency_ns, cause, count, run: PathBuf::new() })
}

impl Listener for LateWakeUps<'_> {
    fn progress(&mut self, progress: &RunProgress<'_>) {
        self.inner.progress(progress);
        self.respond();
    }

    fn message(&mut self, text: &str) {
        self.inner.message(text);
    }

    fn remark(&mut self, text: &str) {
        self.inner.remark(text);
    }

    fn threads(&mut self, tids: &[u32], granted: &[Granted]) {
        self.inner.threads(tids, granted);
    }

    fn sample(&mut self, thread: usize, sample: Sample) {
        self.inner.sample(thread, sample);
    }

    fn interrupted(&mut self) {
        self.inner.interrupted();
    }

    fn wants_end(&mut self) -> bool {
        self.response.has_stopped() || self.inner.wants_end()
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.inner.descriptors()
    }

    fn requests(&mut self) -> Vec<UserRequest> {
        self.inner.requests()
    }

    fn wants_live(&self) -> bool {
        true
    }

    fn live(&mut self, state: &LiveState<'_>) {
        for series in &state.series {
            self.look(
                state.progress.number,
                &series.label,
                &series.histogram,
                series.newest_outlier.as_ref(),
            );
        }
        self.respond();
        if self.inner.wants_live() {
            self.inner.live(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::histogram::Bin;

    /// A series with one bin of 64 us for each latency that differs, the last latency being that of the newest outlier.
    fn series(latencies: &[i64]) -> (Histogram, Outlier) {
        const WIDTH: i64 = 64_000;
        let mut counts = std::collections::BTreeMap::new();
        latencies.iter().for_each(|ns| *counts.entry(ns / WIDTH).or_default() += 1);
        let bin = |(number, count): (i64, u64)| Bin {
            lower_ns: number * WIDTH,
            upper_ns: (number + 1) * WIDTH,
            count,
        };
        let (at_ns, latency_ns) = (latencies.len() as u64, latencies[latencies.len() - 1]);
        let histogram = Histogram::from_bins(counts.into_iter().map(bin).collect()).unwrap();
        let (around, overlaps, moment) = (Vec::new(), None, None);
        (histogram, Outlier { at_ns, cycle: 0, latency_ns, around, overlaps, moment })
    }

    fn found(known: &mut Known, latencies: &[i64]) -> Option<(u64, i64)> {
        let (histogram, newest) = series(latencies);
        let found = late(known, "cpu 0", &histogram, Some(&newest), 1_000_000);
        found.map(|occasion| (occasion.count, occasion.latency_ns))
    }

    #[test]
    fn new_late_wake_ups_are_counted_once() {
        let mut known = Known::default();
        assert_eq!(found(&mut known, &[5000]), None);
        assert_eq!(found(&mut known, &[5000, 3_000_000, 2_000_000]), Some((2, 2_000_000)));
        assert_eq!(found(&mut known, &[5000, 3_000_000, 2_000_000]), None);
    }

    #[test]
    fn a_wake_up_just_above_the_limit_is_found_by_its_exact_latency() {
        assert_eq!(found(&mut Known::default(), &[1_000_001]), Some((1, 1_000_001)));
        assert_eq!(found(&mut Known::default(), &[1_000_000]), None);
    }
}
