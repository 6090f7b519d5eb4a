//! CPU frequencies, from cpufreq.
//!
//! On x86 before Linux 6.0, reading a frequency interrupts the CPU to read its cycle counters (APERF and MPERF);
//! measured CPUs are skipped there. Since 6.0 the tick maintains the numbers.

use tardy_record::cpu_list;
use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use crate::facts::major_minor;

use super::number::signed;
use super::polled::Polled;
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// Watches frequencies.
pub(super) struct Frequency {
    domains: Vec<Domain>,
    skipped: Vec<u32>,
    quota: Quota,
}

/// CPUs that share a frequency.
struct Domain {
    cpus: Vec<u32>,
    file: Polled,
    last_mhz: Option<f64>,
    series: Slot,
}

impl Frequency {
    pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> Self {
        let interrupts = reading_interrupts(files);
        let (mut domains, mut skipped) = (Vec::new(), Vec::new());
        for directory in directories(files) {
            let Some(cpus) = cpus_of(files, &directory) else { continue };
            if interrupts && cpus.iter().any(|cpu| measured.contains(cpu)) {
                skipped.extend(cpus);
            } else if let Ok(file) = Polled::open(files, &format!("{directory}/scaling_cur_freq")) {
                domains.push(Domain { cpus, file, last_mhz: None, series: Slot::Unused });
            }
        }
        Self { domains, skipped, quota: Quota(64) }
    }
}

/// Whether reading a CPU's frequency interrupts that CPU.
fn reading_interrupts(files: &KernelFiles) -> bool {
    let x86 = files.text("/proc/cpuinfo").is_ok_and(|text| text.contains("vendor_id"));
    let old = files.text("/proc/sys/kernel/osrelease").ok().and_then(|release| major_minor(&release));
    x86 && old.is_none_or(|version| version < (6, 0))
}

/// One directory per domain; before Linux 4.3 one per CPU.
fn directories(files: &KernelFiles) -> Vec<String> {
    let under = |parent: &str, prefix: &str, rest: &str| -> Vec<String> {
        let names = files.names(parent).unwrap_or_default();
        let numbered =
            |name: &&String| name.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok());
        names.iter().filter(numbered).map(|name| format!("{parent}/{name}{rest}")).collect()
    };
    let policies = under(POLICIES, "policy", "");
    if policies.is_empty() { under("/sys/devices/system/cpu", "cpu", "/cpufreq") } else { policies }
}

fn cpus_of(files: &KernelFiles, directory: &str) -> Option<Vec<u32>> {
    let text = files.text(&format!("{directory}/affected_cpus")).ok()?;
    let cpus: Vec<u32> = text.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect();
    (!cpus.is_empty()).then_some(cpus)
}

impl Watcher for Frequency {
    fn name(&self) -> &'static str {
        "frequency"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        for domain in &mut self.domains {
            domain.read(round, readings, &mut self.quota);
        }
    }

    fn left_out(&self) -> Option<String> {
        if !self.skipped.is_empty() {
            let cpus = cpu_list::format(&self.skipped);
            return Some(format!(
                "CPU {cpus}: reading the frequency would interrupt a measured CPU on this kernel"
            ));
        }
        self.domains.is_empty().then(|| format!("{POLICIES}: no frequencies"))
    }
}

impl Domain {
    fn read(&mut self, round: &Round<'_>, readings: &mut Readings, quota: &mut Quota) {
        let Some(khz) = self.file.read(round.room).and_then(|read| signed(read.content)) else { return };
        let mhz = khz as f64 / 1000.0;
        let by = self.last_mhz.replace(mhz).map_or(0.0, |before| mhz - before);
        let cpus = &self.cpus;
        readings.put(&mut self.series, quota, mhz, by, || head(cpus));
    }
}

fn head(cpus: &[u32]) -> Head {
    let list = cpu_list::format(cpus);
    Head {
        name: "frequency",
        change: format!("frequency, cpu {list}"),
        of: if cpus.len() > 1 { format!("CPUs {list}") } else { String::new() },
        cpu: cpus.first().copied(),
        unit: "MHz",
        merge: Merge::Min,
        change_unit: "MHz",
        grain: 50.0,
    }
}
