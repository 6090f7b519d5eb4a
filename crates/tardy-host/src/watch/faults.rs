//! Page faults of the whole system, from /proc/vmstat.

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use super::number::{increase, lines, whole, words};
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

/// Watches page faults.
pub(super) struct Faults {
    file: Result<Polled, String>,
    counters: [Counter; 2],
}

/// One kind of fault.
struct Counter {
    /// Its line in the file.
    key: &'static [u8],
    name: &'static str,
    /// Changes by fewer faults than this are not reported with an outlier.
    grain: f64,
    last: Option<u64>,
    series: Slot,
}

impl Faults {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let counter = |key, name, grain| Counter { key, name, grain, last: None, series: Slot::Unused };
        Self {
            file: Polled::open(files, "/proc/vmstat"),
            counters: [
                counter(b"pgfault", "page faults", 100.0),
                counter(b"pgmajfault", "major page faults", 2.0),
            ],
        }
    }
}

impl Watcher for Faults {
    fn name(&self) -> &'static str {
        "page faults"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let Some(Read { content, seconds }) = self.file.as_mut().ok().and_then(|file| file.read(round.room))
        else {
            return;
        };
        let round = &round.over(seconds);
        // Each counter occurs once; the rest of the two hundred lines is skipped.
        let mut missing = self.counters.len();
        for line in lines(content) {
            if !line.starts_with(b"pg") {
                continue;
            }
            let mut words = words(line);
            let key = words.next().unwrap_or_default();
            let Some(counter) = self.counters.iter_mut().find(|counter| counter.key == key) else { continue };
            if let Some(now) = words.next().and_then(whole) {
                counter.take(now, round, readings);
            }
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
    }

    fn left_out(&self) -> Option<String> {
        self.file.as_ref().err().cloned()
    }
}

impl Counter {
    fn take(&mut self, now: u64, round: &Round<'_>, readings: &mut Readings) {
        let (Some(by), Some(seconds)) = (increase(&mut self.last, now), round.seconds) else { return };
        let (name, grain) = (self.name, self.grain);
        let rate = by as f64 / seconds;
        readings.put(&mut self.series, &mut Quota(1), rate, rate, || Head {
            name,
            of: String::new(),
            cpu: None,
            unit: "1/s",
            merge: Merge::Mean,
            change: name.to_owned(),
            change_unit: "faults/s",
            grain,
        });
    }
}
