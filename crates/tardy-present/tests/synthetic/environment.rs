//! Generates the loads and the environment of runs.

use tardy_record::environment::{EnvSeries, Environment, Merge, SourceTotal, ThreadTime, WatcherCost};
use tardy_record::load::{Death, LoadPart, LoadResult};

use super::{Random, SECOND};

/// The four parts of doload over `seconds`; `dead` replaces the name and adds the death of a part.
pub(crate) fn doload(seconds: u64, phase: usize, dead: Option<(String, &str)>) -> Vec<LoadResult> {
    let mut random = Random(4711);
    let parts = [
        ("scheduler", "messages", 81_000.0, false),
        ("network", "bytes", 11.2e6, true),
        ("copy", "bytes", 1.93e9, false),
        ("listing", "entries", 14_500.0, false),
    ];
    let mut parts: Vec<LoadPart> = parts
        .into_iter()
        .map(|(name, unit, rate, bursty)| {
            let mut part = LoadPart {
                name: name.into(),
                unit: unit.into(),
                burst_every_ns: bursty.then_some(7 * SECOND),
                ..LoadPart::default()
            };
            let mut done = 0.0f64;
            for second in 0..=seconds {
                part.push(SECOND + second * SECOND, done as u64, true);
                let burst = if bursty && second % 7 > 1 { 0.0 } else { 1.0 };
                done += rate * burst * (0.9 + 0.2 * random.share());
            }
            part
        })
        .collect();
    let mut spec = "doload".to_owned();
    let mut remarks = vec!["no network-card interrupts: the listener ran over loopback".to_owned()];
    if let Some((name, how)) = dead {
        spec = name;
        remarks.push(how.to_owned());
        parts.truncate(1);
        parts[0].unit = String::new();
        parts[0].deaths.push(Death { at_ns: 5 * SECOND, how: format!("exit status 1: {how}") });
    }
    vec![LoadResult { spec, first_phase: phase, last_phase: phase, parts, remarks }]
}

/// An environment with readings of temperature, frequency, interrupts and others once per second.
pub(crate) fn environment(seconds: u64) -> Environment {
    let mut random = Random(99);
    let mut series = Vec::new();
    let mut add =
        |name: &str, of: &str, cpu: Option<u32>, unit: &str, merge, value: &mut dyn FnMut(f64) -> f64| {
            let mut one = EnvSeries {
                name: name.into(),
                of: of.into(),
                cpu,
                unit: unit.into(),
                merge,
                at_ns: vec![],
                values: vec![],
            };
            for second in 0..=seconds {
                one.push(SECOND + second * SECOND, value(second as f64));
            }
            series.push(one);
        };
    add("temperature", "cpu-thermal", None, "°C", Merge::Max, &mut |t| {
        (47.0 + 9.0 * (1.0 - libm::exp(-t / 18.0))).round()
    });
    add("temperature", "gpu-thermal", None, "°C", Merge::Max, &mut |t| {
        (45.0 + 6.0 * (1.0 - libm::exp(-t / 25.0))).round()
    });
    for cpu in 0..2 {
        add("frequency", "", Some(cpu), "MHz", Merge::Min, &mut |t| {
            if t < 3.0 || (t as u64).is_multiple_of(23) { 600.0 } else { 1200.0 }
        });
    }
    for cpu in 0..2 {
        add("interrupts", "", Some(cpu), "1/s", Merge::Mean, &mut |_| {
            8_200.0 + 400.0 * random.normal() + f64::from(cpu) * 900.0
        });
    }
    add("steal", "", Some(0), "%", Merge::Mean, &mut |_| 0.0);
    add("pressure", "cpu", None, "%", Merge::Mean, &mut |t| 31.0 + 9.0 * libm::sin(t / 9.0));
    add("pressure", "io", None, "%", Merge::Mean, &mut |t| (12.0 * libm::sin(t / 5.0)).max(0.0));
    let thread = |name: &str, pid, share: f64| ThreadTime {
        name: name.into(),
        pid,
        cpu_ns: (share * (seconds * SECOND) as f64) as u64,
        share,
    };
    let source = |source: &str, description: &str, counts: [u64; 2]| SourceTotal {
        source: source.into(),
        description: description.into(),
        per_cpu: [(0, counts[0]), (1, counts[1])].into(),
    };
    let watcher = |name: &str, longest_ns, left_out: Option<&str>| WatcherCost {
        name: name.into(),
        readings: seconds,
        total_ns: longest_ns / 3 * seconds,
        longest_ns,
        left_out: left_out.map(str::to_owned),
    };
    Environment {
        series,
        series_left_out: 0,
        interrupts: vec![
            source("39", "bcm2836-armctrl 32 Edge dwc_otg", [8_003 * seconds, 0]),
            source("IPI0", "Rescheduling interrupts", [812 * seconds, 997 * seconds]),
        ],
        softirqs: vec![
            source("NET_RX", "", [310 * seconds, 12 * seconds]),
            source("TIMER", "", [250 * seconds, 250 * seconds]),
        ],
        kernel_threads: vec![
            thread("irq/39-dwc_otg", 77, 0.29),
            thread("ksoftirqd/1", 22, 0.021),
            thread("kworker/0:1-events", 9, 0.004),
        ],
        watchers: vec![
            watcher("temperature", 812_000, None),
            watcher("interrupts", 1_240_000, None),
            watcher("coretemp", 0, Some("its readings interrupt the measured CPU")),
        ],
    }
}
