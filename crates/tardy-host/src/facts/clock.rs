//! Clocks and timers.

use std::collections::BTreeMap;

use tardy_record::facts::{Clock, Fact};
use tardy_record::per_cpu::PerCpu;
use tardy_sys::kernel_files::KernelFiles;

use super::SystemAnswers;
use super::look::{Look, not_from};

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
/// Lists all timers; readable by root only since about 4.9.
const TIMER_LIST: &str = "/proc/timer_list";

/// Collects the facts about clocks and timers.
pub(super) fn collect(files: &KernelFiles, answers: &SystemAnswers) -> Clock {
    let timers = files.text(TIMER_LIST).map_err(|error| not_from(TIMER_LIST, &error));
    let timers = timers.as_deref().map_err(String::as_str);
    let resolution_ns = resolution(answers, timers);
    let available = files.text_fact(&[&format!("{SOURCES}/available_clocksource")]);
    Clock {
        source: files.text_fact(&[&format!("{SOURCES}/current_clocksource")]),
        available: Fact {
            value: available.get().map(|text| text.split_whitespace().map(str::to_owned).collect()).into(),
            how: available.how.clone(),
        },
        event_devices: event_devices(files, timers),
        high_resolution: high_resolution(timers, &resolution_ns),
        resolution_ns,
        read_cost_ns: match answers.read_cost_ns {
            Some(ns) => Fact::known(ns, "smallest mean of 64 batches of 64 readings of CLOCK_MONOTONIC"),
            None => Fact::unknown("not measured"),
        },
    }
}

fn resolution(answers: &SystemAnswers, timers: Result<&str, &str>) -> Fact<BTreeMap<String, u64>> {
    if !answers.resolution_ns.is_empty() {
        return Fact::known(answers.resolution_ns.clone(), "clock_getres(2)");
    }
    let listed = |text: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(".resolution:")?.trim().split(' ').next()?.parse().ok())
    };
    match timers.map(listed) {
        Ok(Some(ns)) => Fact::known(BTreeMap::from([("monotonic".to_owned(), ns)]), TIMER_LIST),
        Ok(None) => Fact::unknown(format!("{TIMER_LIST}: no resolution")),
        Err(reason) => Fact::unknown(reason),
    }
}

fn high_resolution(timers: Result<&str, &str>, resolution: &Fact<BTreeMap<String, u64>>) -> Fact<bool> {
    let active: Vec<bool> = timers
        .unwrap_or_default()
        .lines()
        .filter_map(|line| {
            Some(line.trim().strip_prefix(".hres_active")?.trim_start_matches([' ', ':']) == "1")
        })
        .collect();
    if !active.is_empty() {
        return Fact::known(active.iter().all(|active| *active), format!("hres_active in {TIMER_LIST}"));
    }
    match resolution.get().and_then(|clocks| clocks.get("monotonic")) {
        // hrtimer_resolution is 1 ns once the kernel has switched to high resolution, and the tick's length before.
        Some(ns) => Fact::known(*ns == 1, format!("clock_getres: {ns} ns")),
        None => Fact::unknown(timers.err().unwrap_or("neither hres_active nor a resolution").to_owned()),
    }
}

fn event_devices(files: &KernelFiles, timers: Result<&str, &str>) -> Fact<PerCpu<String>> {
    let parent = "/sys/devices/system/clockevents";
    let from_sys =
        files.per_cpu_fact(parent, "clockevent", &format!("{parent}/clockevent*/current_device"), |cpu| {
            files.text(&format!("{cpu}/current_device")).ok().filter(|name| !name.is_empty())
        });
    if from_sys.get().is_some() {
        return from_sys;
    }
    let listed = listed_devices(timers.unwrap_or_default());
    if listed.0.is_empty() { from_sys } else { Fact::known(listed, TIMER_LIST) }
}

/// Parses `Per CPU device: N` followed by `Clock Event Device: name` (kernels before 3.10).
fn listed_devices(timers: &str) -> PerCpu<String> {
    let mut cpu = None;
    let mut devices = BTreeMap::new();
    for line in timers.lines() {
        if let Some(number) = line.strip_prefix("Per CPU device:") {
            cpu = number.trim().parse().ok();
        } else if let (Some(name), Some(cpu)) = (line.strip_prefix("Clock Event Device:"), cpu.take()) {
            devices.insert(cpu, name.trim().to_owned());
        }
    }
    PerCpu(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "cpu: 0\n clock 0:\n  .resolution: 1 nsecs\n  .hres_active    : 1\n\
        Tick Device: mode:     1\nBroadcast device\nClock Event Device: none\n\n\
        Tick Device: mode:     1\nPer CPU device: 0\nClock Event Device: stc\n max_delta_ns: 5\n";

    #[test]
    fn old_kernels_report_everything_in_one_file() {
        let resolution = resolution(&SystemAnswers::none(), Ok(LIST));
        assert_eq!(resolution.get().unwrap()["monotonic"], 1);
        assert_eq!(high_resolution(Ok(LIST), &resolution).get(), Some(&true));
        assert_eq!(listed_devices(LIST).0, BTreeMap::from([(0, "stc".to_owned())]));
    }

    #[test]
    fn a_resolution_of_one_tick_is_not_high() {
        let fact = Fact::known(BTreeMap::from([("monotonic".to_owned(), 4_000_000)]), "clock_getres(2)");
        assert_eq!(high_resolution(Err("absent"), &fact).get(), Some(&false));
        assert_eq!(high_resolution(Err("absent"), &Fact::unknown("")).get(), None);
    }
}
