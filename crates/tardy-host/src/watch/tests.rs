//! The watchers on a directory that represents a machine.

use std::cell::Cell;
use std::fs;
use std::rc::Rc;

use proptest::prelude::*;
use tardy_record::environment::{EnvSeries, Environment, SERIES_COUNT};
use tardy_sys::kernel_files::KernelFiles;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A directory that represents a machine. The clock of its watchers advances by 1 us at each reading.
struct Fake {
    root: tempfile::TempDir,
}

impl Fake {
    fn new(files: &[(&str, &str)]) -> Self {
        let fake = Self { root: tempfile::tempdir().unwrap() };
        for (path, content) in files {
            fake.write(path, content);
        }
        fake
    }

    fn write(&self, path: &str, content: &str) {
        let full = self.root.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }

    fn watch(&self, measured: &[u32]) -> Watchers {
        let time = Rc::new(Cell::new(0u64));
        let clock = move || {
            time.set(time.get() + 1000);
            time.get()
        };
        let options = WatchOptions { measured_cpus: measured.to_vec(), ..WatchOptions::default() };
        Watchers::new(&KernelFiles::under(self.root.path()), &options, clock)
    }
}

fn find<'a>(environment: &'a Environment, name: &str, of: &str) -> &'a EnvSeries {
    environment
        .series
        .iter()
        .find(|series| series.name == name && series.of == of)
        .unwrap_or_else(|| panic!("no {name} {of} in {environment:#?}"))
}

fn left_out<'a>(environment: &'a Environment, name: &str) -> &'a str {
    let cost = environment.watchers.iter().find(|cost| cost.name == name).unwrap();
    cost.left_out.as_deref().unwrap_or_default()
}

fn interrupts(dwc: u64, mmc: u64) -> String {
    format!(
        "           CPU0       CPU1\n 39: {dwc:10} 7  ARMCTRL-level   9 Edge      dwc_otg, dwc_otg_hcd:usb1\n \
         40: 0 {mmc}  ARMCTRL-level  10 Edge  mmc0\nLOC: 5 5  Local timer interrupts\nErr: 0\n"
    )
}

#[test]
fn interrupts_are_counted_by_source_and_cpu() {
    let fake = Fake::new(&[("proc/interrupts", &interrupts(1000, 50))]);
    let mut watchers = fake.watch(&[0, 1]);
    watchers.read(0, Occasion::Tick);
    fake.write("proc/interrupts", &interrupts(9000, 50));
    watchers.read(SECOND, Occasion::Tick);
    fake.write("proc/interrupts", &interrupts(25_000, 50));
    watchers.read(3 * SECOND, Occasion::Tick);
    let environment = watchers.finish();
    let series = find(&environment, "interrupts", "39 dwc_otg, dwc_otg_hcd:usb1");
    assert_eq!((series.cpu, &series.values[..]), (Some(0), &[8000.0, 8000.0][..]));
    assert_eq!(series.at_ns, [SECOND, 3 * SECOND]);
    assert_eq!(environment.series.len(), 1);
    assert_eq!(environment.interrupts.len(), 1);
    assert_eq!(environment.interrupts[0].per_cpu, [(0, 24_000)].into());
    assert_eq!(environment.interrupts[0].description, "ARMCTRL-level  9 Edge  dwc_otg, dwc_otg_hcd:usb1");
}

/// Watchers that share a measured CPU, on which each reading takes `takes_ns`.
fn sharing(fake: &Fake, takes_ns: u64) -> Watchers {
    let time = Cell::new(0);
    let clock = move || time.replace(time.get() + takes_ns);
    let options = WatchOptions { measured_cpus: vec![0], on_a_measured_cpu: true, ..WatchOptions::default() };
    Watchers::new(&KernelFiles::under(fake.root.path()), &options, clock)
}

#[test]
fn on_a_measured_cpu_cheap_watchers_are_read_every_second_and_the_others_every_ten() {
    let files = [("proc/interrupts", interrupts(0, 0)), ("proc/stat", "ctxt 0\n".to_owned())];
    let fake = Fake::new(&files.each_ref().map(|(path, content)| (*path, content.as_str())));
    for (takes_ns, expected) in [(1000, 22), (CHEAP_NS, 4)] {
        let mut watchers = sharing(&fake, takes_ns);
        watchers.read_before(SECOND);
        for second in 2..=21 {
            watchers.read(second * SECOND, Occasion::Tick);
        }
        watchers.read(22 * SECOND, Occasion::Boundary);
        let environment = watchers.snapshot();
        let cost = environment.watchers.iter().find(|cost| cost.name == "interrupts").unwrap();
        assert_eq!(cost.readings, expected, "{takes_ns} ns");
        assert_eq!(left_out(&environment, "interrupts").contains("read every 10 s only"), expected == 4);
    }
}

#[test]
fn a_change_over_a_long_time_does_not_explain_a_wake_up_at_its_end() {
    let fake = Fake::new(&[("proc/stat", "ctxt 0\n")]);
    let mut watchers = fake.watch(&[0]);
    for second in 0..10 {
        fake.write("proc/stat", &format!("ctxt {}\n", 500 * second));
        watchers.read(second * SECOND, Occasion::Tick);
    }
    fake.write("proc/stat", "ctxt 2000000\n");
    watchers.read(70 * SECOND, Occasion::Boundary);
    assert_eq!(watchers.recent_changes(), []);
}

#[test]
fn a_steady_counter_is_not_unusual_over_a_longer_interval() {
    let fake = Fake::new(&[("proc/stat", "ctxt 0\n")]);
    let mut watchers = fake.watch(&[0]);
    let mut at_ns = 0;
    for (round, interval_ns) in [SECOND; 9].into_iter().chain([2 * SECOND]).enumerate() {
        at_ns += interval_ns;
        // 500 per second.
        fake.write("proc/stat", &format!("ctxt {}\n", at_ns / 2_000_000));
        watchers.read(at_ns, Occasion::Tick);
        assert_eq!(watchers.recent_changes(), [], "round {round}");
    }
    fake.write("proc/stat", &format!("ctxt {}\n", at_ns / 2_000_000 + 40_000));
    watchers.read(at_ns + 2 * SECOND, Occasion::Tick);
    let changes = watchers.recent_changes();
    let (by, usual, unit) = (changes[0].by, changes[0].usual, changes[0].unit.as_str());
    assert_eq!((by, usual, unit), (20_000.0, 500.0, "per second"));
}

/// In the second round, other watchers delay the reading of the file by 2 s. Tasks wait all the time.
#[test]
fn pressure_is_measured_over_the_time_between_the_readings_of_its_file() {
    let fake = Fake::new(&[]);
    let write =
        |total_us: u64| fake.write("proc/pressure/cpu", &format!("some avg10=0.00 total={total_us}\n"));
    write(0);
    let (round_ns, delay_ns) = (Rc::new(Cell::new(Some(0))), Rc::new(Cell::new(0)));
    let (beginning, delay) = (Rc::clone(&round_ns), Rc::clone(&delay_ns));
    // The first reading of the clock is the beginning of the round.
    let began_ns = Cell::new(0);
    let clock = move || match beginning.take() {
        Some(now_ns) => {
            began_ns.set(now_ns);
            now_ns
        }
        None => began_ns.get() + delay.get(),
    };
    let options = WatchOptions { measured_cpus: vec![0], ..WatchOptions::default() };
    let mut watchers = Watchers::new(&KernelFiles::under(fake.root.path()), &options, clock);
    // The kernel takes the last total a little after the time of the reading.
    for (now_ns, late_ns, total_us) in
        [(0, 0, 0), (SECOND, 2 * SECOND, 3_000_000), (4 * SECOND, 0, 4_000_100)]
    {
        write(total_us);
        round_ns.set(Some(now_ns));
        delay_ns.set(late_ns);
        watchers.read(now_ns, Occasion::Tick);
    }
    assert_eq!(find(&watchers.finish(), "pressure", "cpu some").values, [100.0, 100.0]);
}

#[test]
fn counters_follow_a_cpu_that_goes_offline_and_back() {
    let fake = Fake::new(&[("proc/softirqs", " CPU0 CPU1 CPU2\nTIMER: 10 20 30\n")]);
    let mut watchers = fake.watch(&[0]);
    watchers.read(0, Occasion::Tick);
    fake.write("proc/softirqs", " CPU0 CPU2\nTIMER: 11 32\n");
    watchers.read(SECOND, Occasion::Tick);
    fake.write("proc/softirqs", " CPU0 CPU1 CPU2\nTIMER: 11 25 32\nHI: 3 0 0\n");
    watchers.read(2 * SECOND, Occasion::Tick);
    let environment = watchers.snapshot();
    assert_eq!(environment.softirqs[0].per_cpu, [(0, 1), (1, 5), (2, 2)].into());
    assert_eq!(environment.softirqs[1].per_cpu, [(0, 3)].into(), "a source that appears counts from zero");
}

#[test]
fn a_burst_is_reported_with_an_outlier_and_usual_activity_is_not() {
    let fake = Fake::new(&[("proc/interrupts", &interrupts(0, 0)), ("proc/stat", "ctxt 0\n")]);
    let mut watchers = fake.watch(&[0]);
    for second in 0..10 {
        fake.write("proc/interrupts", &interrupts(8000 * second, 0));
        fake.write("proc/stat", &format!("ctxt {}\n", 500 * second));
        watchers.read(second * SECOND, Occasion::Tick);
        assert_eq!(watchers.recent_changes(), [], "second {second}");
    }
    fake.write("proc/interrupts", &interrupts(8000 * 10, 700));
    fake.write("proc/stat", "ctxt 20000\n");
    watchers.read(10 * SECOND, Occasion::Tick);
    let changes = watchers.recent_changes();
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert_eq!(changes[0].what, "context switches");
    assert_eq!(
        (changes[1].what.as_str(), changes[1].by, changes[1].usual),
        ("irq 40 mmc0, cpu 1", 700.0, 0.0)
    );
}

#[test]
fn a_busy_kernel_thread_is_named() {
    let stat = |pid: u32, name: &str, flags: u64| {
        format!(
            "{pid} ({name}) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 -51 0 1 0 88 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 50 1"
        )
    };
    let fake = Fake::new(&[
        ("proc/2/comm", "kthreadd\n"),
        ("proc/2/task/2/children", "39 40 "),
        ("proc/39/stat", &stat(39, "irq/39-dwc_otg", 0x0020_8040)),
        ("proc/39/schedstat", "1000000000 5 5\n"),
        ("proc/40/stat", &stat(40, "kworker/0:1", 0x0420_8060)),
    ]);
    let mut watchers = fake.watch(&[0]);
    for second in 0..5u64 {
        let ran = 1_000_000_000 + second * 312_000_000;
        fake.write("proc/39/schedstat", &format!("{ran} 5 5\n"));
        watchers.read(second * SECOND, Occasion::Tick);
    }
    let environment = watchers.finish();
    assert_eq!(environment.kernel_threads.len(), 1, "the other did not run");
    let thread = &environment.kernel_threads[0];
    assert_eq!((thread.name.as_str(), thread.pid, thread.cpu_ns), ("irq/39-dwc_otg", 39, 4 * 312_000_000));
    assert!((thread.share - 0.312).abs() < 1e-9);
    assert_eq!(find(&environment, "kernel thread", "irq/39-dwc_otg").values, [31.2, 31.2]);
}

#[test]
fn sensors_that_would_interrupt_a_measured_cpu_are_skipped_and_named() {
    let fake = Fake::new(&[
        ("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"),
        ("sys/class/thermal/thermal_zone0/temp", "50000\n"),
        ("sys/class/thermal/thermal_zone1/type", "pch_cannonlake\n"),
        ("sys/class/thermal/thermal_zone1/temp", "48312\n"),
        ("sys/class/hwmon/hwmon0/name", "coretemp\n"),
        ("sys/class/hwmon/hwmon0/temp1_input", "51000\n"),
        ("sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n"),
        ("sys/class/hwmon/hwmon0/temp2_input", "52000\n"),
        ("sys/class/hwmon/hwmon0/temp2_label", "Core 0\n"),
        ("sys/class/hwmon/hwmon0/temp3_input", "53000\n"),
        ("sys/class/hwmon/hwmon0/temp3_label", "Core 1\n"),
        ("sys/class/hwmon/hwmon1/name", "amdgpu\n"),
        ("sys/class/hwmon/hwmon1/temp1_input", "60000\n"),
        ("sys/class/hwmon/hwmon1/temp1_label", "edge\n"),
        ("sys/class/hwmon/hwmon2/name", "pch-cannonlake\n"),
        ("sys/class/hwmon/hwmon2/temp1_input", "48312\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
        ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n"),
    ]);
    let mut watchers = fake.watch(&[1]);
    watchers.read(0, Occasion::Tick);
    let environment = watchers.finish();
    let labels: Vec<&str> = environment.series.iter().map(|series| series.of.as_str()).collect();
    assert_eq!(labels, ["pch_cannonlake", "coretemp Core 0", "amdgpu edge"]);
    assert_eq!(find(&environment, "temperature", "pch_cannonlake").values, [48.31]);
    let said = left_out(&environment, "temperature");
    for sensor in ["x86_pkg_temp", "coretemp Package id 0", "coretemp Core 1"] {
        assert!(said.contains(&format!("{sensor}: reading it would interrupt")), "{said}");
    }
}

#[test]
fn frequencies_are_skipped_if_reading_interrupts_a_measured_cpu() {
    let files = |release: &str| {
        Fake::new(&[
            ("proc/cpuinfo", "vendor_id\t: GenuineIntel\n"),
            ("proc/sys/kernel/osrelease", release),
            ("sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "0\n"),
            ("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "2400000\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/affected_cpus", "1 2\n"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", "800000\n"),
        ])
    };
    let seen = |release: &str| {
        let mut watchers = files(release).watch(&[1]);
        watchers.read(0, Occasion::Tick);
        watchers.finish()
    };
    let old = seen("5.10.0\n");
    assert_eq!(old.series.len(), 1);
    assert!(left_out(&old, "frequency").starts_with("CPU 1-2: "), "{}", left_out(&old, "frequency"));
    let new = seen("6.1.0\n");
    assert_eq!(find(&new, "frequency", "CPUs 1-2").values, [800.0]);
}

#[test]
fn throttling_is_read_on_raspberry_pi_and_intel() {
    let fake = Fake::new(&[
        ("sys/devices/platform/soc/soc:firmware/get_throttled", "50000\n"),
        ("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n"),
    ]);
    let mut watchers = fake.watch(&[0]);
    watchers.read(0, Occasion::Tick);
    fake.write("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
    fake.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "5\n");
    watchers.read(SECOND, Occasion::Tick);
    let environment = watchers.finish();
    assert_eq!(find(&environment, "throttling", "under-voltage").values, [1.0]);
    assert_eq!(find(&environment, "throttling", "throttled").values, [1.0]);
    assert_eq!(find(&environment, "throttling", "core").values, [2.0]);
    assert_eq!(environment.series.len(), 3);
}

#[test]
fn steal_pressure_and_faults_are_shares_and_rates() {
    let fake = Fake::new(&[]);
    let write = |steal: u64, total: u64, faults: u64| {
        fake.write("proc/stat", &format!("cpu 1 1\ncpu0 1 2 3 4 5 6 7 {steal} 0 0\nctxt 5\nprocesses 2\n"));
        fake.write("proc/pressure/cpu", &format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n"));
        fake.write("proc/vmstat", &format!("nr_free_pages 1\npgfault {faults}\npgmajfault 0\n"));
    };
    write(0, 0, 0);
    let mut watchers = fake.watch(&[0]);
    watchers.read(0, Occasion::Tick);
    write(25, 100_000, 1000);
    watchers.read(SECOND, Occasion::Tick);
    let environment = watchers.finish();
    assert_eq!(find(&environment, "steal", "").values, [25.0]);
    assert_eq!(find(&environment, "pressure", "cpu some").values, [10.0]);
    assert_eq!(find(&environment, "page faults", "").values, [1000.0]);
    assert!(left_out(&environment, "pressure").contains("/proc/pressure/irq: absent"));
}

#[test]
fn missing_files_and_the_cost_of_reading_are_reported() {
    let mut watchers = Fake::new(&[]).watch(&[]);
    for second in 0..20 {
        watchers.read(second * SECOND, Occasion::Tick);
    }
    watchers.read(3, Occasion::Tick);
    let environment = watchers.finish();
    assert_eq!(environment.series, []);
    assert_eq!(environment.watchers.len(), 14);
    for cost in &environment.watchers {
        // The clocks are system calls, which no file is needed for.
        assert!(cost.left_out.is_some() || cost.name == "clocks", "{cost:?}");
        assert_eq!((cost.readings, cost.total_ns, cost.longest_ns), (20, 20_000, 1000));
    }
}

#[test]
fn many_cpus_and_sources_stay_within_bounds() {
    let header: String = (0..256).map(|cpu| format!("CPU{cpu} ")).collect();
    let table = |count: u64| {
        let line: String = (0..256).map(|_| format!("{count} ")).collect();
        let lines: String =
            (0..40).map(|source| format!("{source}: {line} chip edge  dev{source}\n")).collect();
        format!("{header}\n{lines}")
    };
    let fake = Fake::new(&[("proc/interrupts", &table(0))]);
    let mut watchers = fake.watch(&[200]);
    for second in 0..30 {
        fake.write("proc/interrupts", &table(second * 3));
        watchers.read(second * SECOND, Occasion::Tick);
    }
    let environment = watchers.finish();
    assert!(environment.series.len() <= SERIES_COUNT);
    let of_measured = environment.series.iter().filter(|series| series.cpu == Some(200)).count();
    assert_eq!(of_measured, 40, "sources on the measured CPU come first");
    assert_eq!(environment.series_left_out, 40 * 256 - environment.series.len() as u64);
    assert_eq!(environment.interrupts.iter().map(|total| total.per_cpu.len()).sum::<usize>(), 40 * 256);
}

/// Every file that any watcher reads.
const FILES: [&str; 19] = [
    "proc/interrupts",
    "proc/softirqs",
    "proc/stat",
    "proc/vmstat",
    "proc/cpuinfo",
    "proc/pressure/cpu",
    "proc/2/comm",
    "proc/2/task/2/children",
    "proc/39/stat",
    "proc/39/schedstat",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/sched_rt_runtime_us",
    "dev/kmsg",
    "sys/class/thermal/thermal_zone0/temp",
    "sys/class/hwmon/hwmon0/temp1_input",
    "sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
    "sys/devices/platform/soc/soc:firmware/get_throttled",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn no_content_causes_a_panic(
        contents in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,40}",
                "[ \n:CPU0-9a-z=()-]{0,100}",
                "([0-9]{1,22},[0-9]{1,22},5,-;sched: RT throttling activated\n){0,3}",
                "CPU0 CPU1\n([A-Z0-9]{1,3}: [0-9]{1,25} [0-9]{1,25}\n){0,5}",
            ],
            7,
        ),
    ) {
        let fake = Fake::new(&[]);
        let write = |round: usize| {
            for (index, file) in FILES.iter().enumerate() {
                fake.write(file, &contents[(round * FILES.len() + index) % contents.len()]);
            }
        };
        write(0);
        let mut watchers = fake.watch(&[0]);
        for round in 0..3 {
            write(round);
            watchers.read(round as u64 * SECOND, Occasion::Tick);
            let _ = watchers.recent_changes();
        }
        let environment = watchers.finish();
        let text = serde_json::to_string(&environment).unwrap();
        let back: Environment = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.series.len(), environment.series.len());
    }
}

#[test]
fn a_measured_cpu_that_goes_offline_is_a_reason_once() {
    let fake = Fake::new(&[("sys/devices/system/cpu/online", "0-3\n")]);
    let mut watchers = fake.watch(&[1, 2]);
    watchers.read(0, Occasion::Tick);
    assert_eq!(watchers.take_reasons(), [""; 0]);
    fake.write("sys/devices/system/cpu/online", "0,2\n");
    watchers.read(SECOND, Occasion::Tick);
    assert_eq!(watchers.take_reasons(), [Reason::CpuOffline { cpu: 1, at_ns: SECOND }]);
    watchers.read(2 * SECOND, Occasion::Tick);
    assert_eq!(watchers.take_reasons(), [""; 0]);
}

#[test]
fn another_clock_source_is_a_reason() {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let fake = Fake::new(&[(path, "tsc\n")]);
    let mut watchers = fake.watch(&[0]);
    watchers.read(0, Occasion::Tick);
    fake.write(path, "hpet\n");
    watchers.read(SECOND, Occasion::Tick);
    let reasons = watchers.take_reasons();
    assert_eq!(reasons, ["the kernel's clock source changed from tsc to hpet, noticed at 1.0 s"]);
}

#[test]
fn throttling_and_a_changed_governor_are_remarks_and_throttling_is_on_the_timeline() {
    let stat = |times: u32, us: u32| format!("nr_periods 9\nnr_throttled {times}\nthrottled_usec {us}\n");
    let thermal = "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
    let governor = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    let fake = Fake::new(&[
        ("proc/self/cgroup", "0::/user.slice/run.scope\n"),
        ("sys/fs/cgroup/user.slice/cpu.stat", &stat(5, 0)),
        (thermal, "7\n"),
        (governor, "performance\n"),
    ]);
    let mut watchers = fake.watch(&[1]);
    watchers.read(0, Occasion::Tick);
    fake.write("sys/fs/cgroup/user.slice/cpu.stat", &stat(8, 250_000));
    fake.write(thermal, "9\n");
    fake.write(governor, "powersave\n");
    watchers.read(SECOND, Occasion::Tick);
    assert_eq!(
        watchers.take_remarks(),
        [
            "the governor of cpu 1 changed from performance to powersave at 1.0 s",
            "the core of cpu 1 was throttled 2 times for its temperature",
            "the CPU quota of cgroup /user.slice was used up 3 times, which stopped its threads for 0.25 s altogether",
        ]
    );
    assert_eq!(watchers.take_remarks(), [""; 0]);
    assert_eq!(find(&watchers.snapshot(), "throttled by quota", "/user.slice").values, [250.0]);
}

#[test]
fn a_cgroup_whose_series_is_omitted_counts_once() {
    let path = "/a/b/c/d/e/f/g/h/i";
    let groups: Vec<&str> =
        path.match_indices('/').skip(1).map(|(at, _)| &path[..at]).chain([path]).collect();
    let fake = Fake::new(&[("proc/self/cgroup", &format!("0::{path}\n"))]);
    let throttle = |times: u64| {
        for group in &groups {
            fake.write(
                &format!("sys/fs/cgroup{group}/cpu.stat"),
                &format!("nr_throttled {times}\nthrottled_usec {times}\n"),
            );
        }
    };
    throttle(0);
    let mut watchers = fake.watch(&[0]);
    for second in 0..4 {
        throttle(second);
        watchers.read(second * SECOND, Occasion::Tick);
    }
    let environment = watchers.snapshot();
    assert_eq!((environment.series.len(), environment.series_left_out), (8, 1));
    assert_eq!(watchers.take_remarks().len(), 9, "remarks are not limited");
}

const RT_LIMIT: &str = "proc/sys/kernel/sched_rt_runtime_us";
const BOOTED: &str = "5,0,0,-;Linux version\n SUBSYSTEM=none\n";
/// A message that a program wrote to the log.
const WRITTEN: &str = "12,1,900000,-;sched: RT throttling activated\n";
const THROTTLED: &str = "4,2,1500000,-;sched: RT throttling activated\n";

fn rt_throttling(release: &str, log: &str) -> Fake {
    Fake::new(&[
        ("proc/sys/kernel/osrelease", release),
        (RT_LIMIT, "950000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("dev/kmsg", log),
    ])
}

#[test]
fn rt_throttling_is_a_remark_with_its_time_and_is_on_the_timeline() {
    let fake = rt_throttling("6.1.0\n", BOOTED);
    let mut watchers = fake.watch(&[1]);
    watchers.read(SECOND, Occasion::Tick);
    fake.write("dev/kmsg", &format!("{BOOTED}{WRITTEN}"));
    watchers.read(2 * SECOND, Occasion::Tick);
    assert_eq!(watchers.take_remarks(), [""; 0]);
    assert_eq!(left_out(&watchers.snapshot(), "RT throttling"), "");
    fake.write("dev/kmsg", &format!("{BOOTED}{WRITTEN}{THROTTLED}"));
    watchers.read(3 * SECOND, Occasion::Tick);
    fake.write(RT_LIMIT, "-1\n");
    watchers.read(4 * SECOND, Occasion::Tick);
    let stopped = "the kernel stopped real-time threads between 2.0 s and 3.0 s because they exceeded their limit (RT \
                   throttling, sched_rt_runtime_us 950000 of 1000000); it reports only the first such stop since boot, so \
                   there may be more";
    let changed = "sched_rt_runtime_us changed from 950000 to -1 at 4.0 s";
    assert_eq!(watchers.take_remarks(), [stopped, changed]);
    let environment = watchers.finish();
    let series = find(&environment, "RT throttling reported", "");
    assert_eq!((&series.at_ns[..], &series.values[..]), (&[3 * SECOND, 4 * SECOND][..], &[1.0, 0.0][..]));
}

#[test]
fn rt_throttling_before_the_first_reading_of_a_run_is_a_remark() {
    let fake = rt_throttling("6.1.0\n", BOOTED);
    let mut watchers = fake.watch(&[1]);
    fake.write("dev/kmsg", &format!("{BOOTED}{THROTTLED}"));
    watchers.read(SECOND, Occasion::Tick);
    let remarks = watchers.take_remarks();
    assert!(remarks.len() == 1 && remarks[0].contains("between 0.0 s and 1.0 s"), "{remarks:?}");
}

/// The watcher claims nothing that it cannot know.
#[test]
fn what_is_unknown_about_rt_throttling_is_stated() {
    let left_out_of = |release: &str, log: &str| {
        let fake = rt_throttling(release, log);
        let mut watchers = fake.watch(&[1]);
        watchers.read(SECOND, Occasion::Tick);
        assert_eq!(watchers.take_remarks(), [""; 0], "{log}");
        left_out(&watchers.snapshot(), "RT throttling").to_owned()
    };
    let once = "the kernel reports only the first stop since boot, and has reported it";
    assert_eq!(left_out_of("6.1.0\n", BOOTED), "");
    assert_eq!(left_out_of("6.1.0\n", &format!("{BOOTED}{THROTTLED}")), once);
    assert_eq!(left_out_of("6.1.0\n", THROTTLED), once, "the beginning of the log is overwritten");
    assert!(left_out_of("6.1.0\n", "5,9,0,-;usb\n").contains("overwritten"));
    assert!(left_out_of("6.12.0\n", BOOTED).contains("fair server"));
    let old_is_not_read = left_out_of("6.12.0\n", &format!("{BOOTED}{THROTTLED}"));
    assert!(old_is_not_read.contains("reports only the first stop") && !old_is_not_read.contains(once));
}
