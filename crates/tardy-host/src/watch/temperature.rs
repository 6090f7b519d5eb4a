//! Temperatures: thermal zones and hwmon sensors, including graphics processors.
//!
//! Reading some sensors disturbs the machine. Intel's are registers of the CPU (coretemp, x86_pkg_temp), which the
//! kernel reads by interrupting that CPU; ACPI's run firmware, which may stop every CPU; a disk's send a command to the
//! disk. The first two are skipped if they would disturb a measured CPU, the last are always skipped. A sensor that
//! once took longer than [`SLOW_NS`] is not read again.

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use super::number::signed;
use super::polled::Polled;
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

const ZONES: &str = "/sys/class/thermal";
const MONITORS: &str = "/sys/class/hwmon";
const CPUS: &str = "/sys/devices/system/cpu";
/// A sensor that takes longer than this is not read again, in ns.
const SLOW_NS: u64 = 5_000_000;

/// Watches temperatures.
pub(super) struct Temperature {
    sensors: Vec<Sensor>,
    skipped: Vec<String>,
    quota: Quota,
}

/// One sensor.
struct Sensor {
    label: String,
    file: Polled,
    last_c: Option<f64>,
    series: Slot,
}

impl Temperature {
    pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> Self {
        let mut found = Self { sensors: Vec::new(), skipped: Vec::new(), quota: Quota(48) };
        let types = found.add_zones(files, measured);
        found.add_monitors(files, measured, &types);
        found
    }

    /// Adds thermal zones, and returns their types.
    fn add_zones(&mut self, files: &KernelFiles, measured: &[u32]) -> Vec<String> {
        let mut types = Vec::new();
        for name in files.names(ZONES).unwrap_or_default() {
            if !name.starts_with("thermal_zone") {
                continue;
            }
            let kind = files.text(&format!("{ZONES}/{name}/type")).unwrap_or_else(|_| name.clone());
            let harm = match kind.as_str() {
                _ if measured.is_empty() => None,
                "x86_pkg_temp" => Some("reading it would interrupt a measured CPU"),
                "acpitz" => Some("reading it runs firmware, which may stop the measured CPUs"),
                _ => None,
            };
            self.add(files, &format!("{ZONES}/{name}/temp"), kind.clone(), harm);
            types.push(kind.replace('-', "_"));
        }
        types
    }

    /// Adds hwmon sensors, except those that repeat a thermal zone.
    fn add_monitors(&mut self, files: &KernelFiles, measured: &[u32], zone_types: &[String]) {
        for monitor in files.names(MONITORS).unwrap_or_default() {
            let directory = format!("{MONITORS}/{monitor}");
            let chip = files.text(&format!("{directory}/name")).unwrap_or_else(|_| monitor.clone());
            if zone_types.contains(&chip.replace('-', "_")) {
                continue;
            }
            let names = files.names(&directory).unwrap_or_default();
            let inputs = || {
                names.iter().filter_map(|name| name.strip_suffix("_input")).filter(|n| n.starts_with("temp"))
            };
            let label_of = |input: &str| files.text(&format!("{directory}/{input}_label")).ok();
            let package =
                inputs().find_map(|input| label_of(input)?.strip_prefix("Package id ")?.parse().ok());
            for input in inputs() {
                let label = label_of(input).unwrap_or_else(|| input.to_owned());
                let harm = match chip.as_str() {
                    "coretemp" if interrupts(files, measured, package.unwrap_or(0), &label) => {
                        Some("reading it would interrupt a measured CPU")
                    }
                    "nvme" | "drivetemp" => Some("reading it sends a command to the disk"),
                    "acpitz" if !measured.is_empty() => {
                        Some("reading it runs firmware, which may stop the measured CPUs")
                    }
                    _ => None,
                };
                self.add(files, &format!("{directory}/{input}_input"), format!("{chip} {label}"), harm);
            }
        }
    }

    fn add(&mut self, files: &KernelFiles, path: &str, label: String, harm: Option<&str>) {
        match (harm, Polled::open(files, path)) {
            (Some(harm), _) => self.skipped.push(format!("{label}: {harm}")),
            (None, Ok(file)) => {
                self.sensors.push(Sensor { label, file, last_c: None, series: Slot::Unused });
            }
            (None, Err(reason)) => self.skipped.push(reason),
        }
    }
}

/// Whether a coretemp sensor is read on a measured CPU: on a CPU of its core, or for `Package id N` on any CPU of the
/// package.
fn interrupts(files: &KernelFiles, measured: &[u32], package: u32, label: &str) -> bool {
    let core: Option<u32> = label.strip_prefix("Core ").and_then(|core| core.parse().ok());
    measured.iter().any(|cpu| {
        let id = |which: &str| files.number::<u32>(&format!("{CPUS}/cpu{cpu}/topology/{which}")).ok();
        let same_package = id("physical_package_id").is_none_or(|id| id == package);
        let same_core = core.is_none_or(|core| id("core_id").is_none_or(|id| id == core));
        same_package && same_core
    })
}

impl Watcher for Temperature {
    fn name(&self) -> &'static str {
        "temperature"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        let mut index = 0;
        while index < self.sensors.len() {
            let start = round.room.now_ns();
            self.sensors[index].read(round, readings, &mut self.quota);
            let took = round.room.now_ns().saturating_sub(start);
            if took > SLOW_NS {
                let slow = self.sensors.remove(index);
                let reason =
                    format!("{}: not read again, because a reading took {} ms", slow.label, took / 1_000_000);
                self.skipped.push(reason);
            } else {
                index += 1;
            }
        }
    }

    fn left_out(&self) -> Option<String> {
        if !self.skipped.is_empty() {
            return Some(self.skipped.join("; "));
        }
        self.sensors.is_empty().then(|| format!("{ZONES}, {MONITORS}: no sensors"))
    }
}

impl Sensor {
    fn read(&mut self, round: &Round<'_>, readings: &mut Readings, quota: &mut Quota) {
        let Some(thousandths) = self.file.read(round.room).and_then(|read| signed(read.content)) else {
            return;
        };
        let celsius = thousandths as f64 / 1000.0;
        let by = self.last_c.replace(celsius).map_or(0.0, |before| celsius - before);
        readings.put(&mut self.series, quota, celsius, by, || Head {
            name: "temperature",
            of: self.label.clone(),
            cpu: None,
            unit: "°C",
            merge: Merge::Max,
            change: format!("temperature, {}", self.label),
            change_unit: "°C",
            grain: 1.0,
        });
    }
}
