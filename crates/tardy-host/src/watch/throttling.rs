//! Throttling by the platform: x86 thermal throttle counters, and the flags of the Raspberry Pi's firmware.

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use super::number::{increase, whole};
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

const CPUS: &str = "/sys/devices/system/cpu";
/// The firmware's flags, if the kernel's driver shows them (one of two names, depending on the version).
const FIRMWARE: [&str; 2] = [
    "/sys/devices/platform/soc/soc:firmware/get_throttled",
    "/sys/devices/platform/soc/soc:firmware/raspberrypi-hwmon/get_throttled",
];
/// The meaning of the firmware's lowest bits, which show the present state; the same bits shifted left by 16 show
/// whether it has occurred since boot.
const FLAGS: [&str; 4] = ["under-voltage", "frequency capped", "throttled", "soft temperature limit"];

/// Watches throttling.
pub(super) struct Throttling {
    counters: Vec<Counter>,
    firmware: Option<(Polled, [Flag; FLAGS.len()])>,
    quota: Quota,
}

/// How often a core or package was throttled.
struct Counter {
    file: Polled,
    what: &'static str,
    cpu: u32,
    last: Option<u64>,
    /// How often since the last remark.
    since: u64,
    series: Slot,
}

/// One of the firmware's flags; its series begins when it is first set.
#[derive(Default)]
struct Flag {
    up: bool,
    series: Slot,
}

impl Throttling {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let mut counters = Vec::new();
        for name in files.names(CPUS).unwrap_or_default() {
            let Some(cpu) = name.strip_prefix("cpu").and_then(|number| number.parse().ok()) else { continue };
            for what in ["core", "package"] {
                let path = format!("{CPUS}/{name}/thermal_throttle/{what}_throttle_count");
                if let Ok(file) = Polled::open(files, &path) {
                    counters.push(Counter { file, what, cpu, last: None, since: 0, series: Slot::Unused });
                }
            }
        }
        let firmware = FIRMWARE.iter().find_map(|path| Polled::open(files, path).ok());
        Self { counters, firmware: firmware.map(|file| (file, Default::default())), quota: Quota(32) }
    }
}

impl Watcher for Throttling {
    fn name(&self) -> &'static str {
        "throttling"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        for counter in &mut self.counters {
            counter.read(round, readings, &mut self.quota);
        }
        if let Some((file, flags)) = &mut self.firmware {
            let bits = file.read(round.room).and_then(|read| hexadecimal(read.content)).unwrap_or(0);
            for (bit, flag) in flags.iter_mut().enumerate() {
                flag.take(FLAGS[bit], bits >> bit & 1 == 1, readings, &mut self.quota);
            }
        }
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.counters.iter_mut().filter_map(Counter::remark).collect()
    }

    fn left_out(&self) -> Option<String> {
        let none = self.counters.is_empty() && self.firmware.is_none();
        none.then(|| {
            format!("the platform does not report it ({CPUS}/cpu*/thermal_throttle, get_throttled: absent)")
        })
    }
}

impl Counter {
    fn remark(&mut self) -> Option<String> {
        let times = std::mem::take(&mut self.since);
        (times > 0).then(|| {
            format!("the {} of cpu {} was throttled {times} times for its temperature", self.what, self.cpu)
        })
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings, quota: &mut Quota) {
        let Some(Read { content, seconds }) = self.file.read(round.room) else { return };
        let Some(now) = whole(content.trim_ascii()) else { return };
        let (Some(by), Some(seconds)) = (increase(&mut self.last, now), seconds) else { return };
        self.since += by;
        if self.series.is_unused() && by == 0 {
            return;
        }
        let (what, cpu) = (self.what, self.cpu);
        let rate = by as f64 / seconds;
        readings.put(&mut self.series, quota, rate, rate, || Head {
            name: "throttling",
            of: what.to_owned(),
            cpu: Some(cpu),
            unit: "1/s",
            merge: Merge::Mean,
            change: format!("{what} throttled, cpu {cpu}"),
            change_unit: "times/s",
            grain: 0.2,
        });
    }
}

impl Flag {
    fn take(&mut self, name: &'static str, up: bool, readings: &mut Readings, quota: &mut Quota) {
        let [before, now] = [std::mem::replace(&mut self.up, up), up].map(|up| if up { 1.0 } else { 0.0 });
        if self.series.is_unused() && !up {
            return;
        }
        readings.put(&mut self.series, quota, now, now - before, || Head {
            name: "throttling",
            of: name.to_owned(),
            cpu: None,
            unit: "",
            merge: Merge::Max,
            change: format!("firmware: {name}"),
            change_unit: "",
            grain: 0.2,
        });
    }
}

/// `50005` or `0x50005`.
fn hexadecimal(content: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(content.trim_ascii()).ok()?;
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}
