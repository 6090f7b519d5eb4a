//! Changes of the governor and of the frequency limits of the measured CPUs (Documentation/admin-guide/pm/cpufreq.rst).

use tardy_sys::kernel_files::KernelFiles;

use super::polled::{Polled, Read};
use super::readings::Readings;
use super::{Round, Watcher};

/// The files of a CPU, and what they hold.
const LIMITS: [(&str, &str); 3] = [
    ("scaling_governor", "governor"),
    ("scaling_min_freq", "lowest frequency"),
    ("scaling_max_freq", "highest frequency"),
];

/// Watches the governor and the limits.
pub(super) struct FrequencyLimits {
    limits: Vec<Limit>,
    remarks: Vec<String>,
}

/// One file of one CPU.
struct Limit {
    what: &'static str,
    cpu: u32,
    file: Polled,
    last: Option<String>,
}

impl FrequencyLimits {
    pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> Self {
        let limit = |cpu: u32| {
            LIMITS.iter().filter_map(move |(name, what)| {
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
                Some(Limit { what, cpu, file: Polled::open(files, &path).ok()?, last: None })
            })
        };
        Self { limits: measured.iter().copied().flat_map(limit).collect(), remarks: Vec::new() }
    }
}

impl Watcher for FrequencyLimits {
    fn name(&self) -> &'static str {
        "frequency limits"
    }

    fn read(&mut self, round: &Round<'_>, _readings: &mut Readings) {
        for limit in &mut self.limits {
            let Some(Read { content, .. }) = limit.file.read(round.room) else { continue };
            let now = String::from_utf8_lossy(content).trim().to_owned();
            let Some(before) = limit.last.replace(now.clone()).filter(|before| *before != now) else {
                continue;
            };
            let unit = if limit.what == "governor" { "" } else { " kHz" };
            self.remarks.push(format!(
                "the {} of cpu {} changed from {before}{unit} to {now}{unit} at {:.1} s",
                limit.what,
                limit.cpu,
                round.now_ns as f64 / 1e9
            ));
        }
    }

    fn left_out(&self) -> Option<String> {
        self.limits.is_empty().then(|| "/sys/devices/system/cpu/cpu*/cpufreq: no limits".to_owned())
    }

    fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}
