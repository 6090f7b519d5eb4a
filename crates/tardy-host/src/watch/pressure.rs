//! Pressure stall information: how long tasks waited for a resource (/proc/pressure, Linux 4.20 and later).

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use super::number::{increase, lines, whole, words};
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

/// Watches pressure.
pub(super) struct Pressure {
    resources: Vec<Resource>,
    reasons: Vec<String>,
    quota: Quota,
}

/// One file: how long `some` tasks waited, and how long all (`full`) waited at once.
struct Resource {
    name: &'static str,
    file: Polled,
    some: Waited,
    full: Waited,
}

/// A total in us, and its series.
#[derive(Default)]
struct Waited {
    last: Option<u64>,
    series: Slot,
}

impl Pressure {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let mut pressure = Self { resources: Vec::new(), reasons: Vec::new(), quota: Quota(8) };
        for name in ["cpu", "memory", "io", "irq"] {
            match Polled::open(files, &format!("/proc/pressure/{name}")) {
                Ok(file) => {
                    let (some, full) = (Waited::default(), Waited::default());
                    pressure.resources.push(Resource { name, file, some, full });
                }
                Err(reason) => pressure.reasons.push(reason),
            }
        }
        pressure
    }
}

impl Watcher for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        for resource in &mut self.resources {
            let Some(Read { content, seconds }) = resource.file.read(round.room) else { continue };
            let round = &round.over(seconds);
            for line in lines(content) {
                let Some(total) = words(line).find_map(|word| whole(word.strip_prefix(b"total=")?)) else {
                    continue;
                };
                let (waited, of) = if line.starts_with(b"full") {
                    (&mut resource.full, format!("{} full", resource.name))
                } else {
                    (&mut resource.some, format!("{} some", resource.name))
                };
                waited.take(total, of, round, readings, &mut self.quota);
            }
        }
    }

    fn left_out(&self) -> Option<String> {
        (!self.reasons.is_empty()).then(|| self.reasons.join("; "))
    }
}

impl Waited {
    fn take(
        &mut self,
        total_us: u64,
        of: String,
        round: &Round<'_>,
        readings: &mut Readings,
        quota: &mut Quota,
    ) {
        let (Some(by), Some(seconds)) = (increase(&mut self.last, total_us), round.seconds) else { return };
        if self.series.is_unused() && by == 0 {
            return;
        }
        // The kernel takes the total a little after the time of the reading, so that an interval may seem too short.
        let share = (by as f64 / 1e6 / seconds).min(1.0);
        readings.put(&mut self.series, quota, 100.0 * share, 1000.0 * share, || Head {
            name: "pressure",
            change: format!("pressure, {of}"),
            of,
            cpu: None,
            unit: "%",
            merge: Merge::Mean,
            change_unit: "ms/s",
            grain: 5.0,
        });
    }
}
