//! Each check of a setting on directories of kernel files: found, fine, and unknown, which is not fine. And the tables of
//! docs/checks.md against the program and against the names of other tools' checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::Bench;

/// A machine on which no check finds anything: path and content.
const READY: &[(&str, &str)] = &[
    (
        "boot/config-6.12.43-rt",
        "CONFIG_PREEMPT_RT=y\nCONFIG_CPU_ISOLATION=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_SECURITY_LOCKDOWN_LSM=y\n",
    ),
    ("lib/modules/6.12.43-rt/modules.builtin", "kernel/kernel/sched/core.ko\n"),
    ("lib/modules/6.12.43-rt/modules.dep", ""),
    (
        "proc/2/stat",
        "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 4294967295 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    ),
    ("proc/cmdline", "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 skew_tick=1\n"),
    ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu tsc\n"),
    ("proc/irq/default_smp_affinity", "3\n"),
    ("proc/self/cgroup", "0::/user.slice\n"),
    (
        "proc/self/mounts",
        "/dev/sda1 / ext4 rw,relatime 0 0\n/dev/sda2 /mnt ext4 ro 0 0\ntmpfs /tmp tmpfs rw 0 0\n",
    ),
    ("proc/self/status", "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"),
    ("proc/self/uid_map", "0 0 4294967295\n"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n"),
    ("proc/sys/kernel/nmi_watchdog", "0\n"),
    ("proc/sys/kernel/numa_balancing", "0\n"),
    ("proc/sys/kernel/osrelease", "6.12.43-rt\n"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/sys/kernel/soft_watchdog", "1\n"),
    ("proc/sys/kernel/timer_migration", "0\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n"),
    ("proc/sys/kernel/watchdog_cpumask", "0-1\n"),
    ("proc/sys/vm/stat_interval", "10\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/timer_list", "cpu: 0\n  .hres_active    : 1\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "performance\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
    ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
    ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("sys/devices/system/cpu/isolated", "2-3\n"),
    ("sys/devices/system/cpu/nohz_full", "2-3\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/smt/control", "off\n"),
    ("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n"),
    ("sys/devices/system/machinecheck/machinecheck0/check_interval", "0\n"),
    ("sys/devices/virtual/workqueue/cpumask", "3\n"),
    ("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
    ("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n"),
    ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n"),
    ("sys/kernel/irq/16/actions", "ahci\n"),
    ("sys/kernel/mm/ksm/run", "0\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/kernel/rcu_expedited", "0\n"),
    ("sys/kernel/rcu_normal", "1\n"),
    ("sys/kernel/realtime", "1\n"),
    ("sys/kernel/security/lockdown", "[none] integrity confidentiality\n"),
    ("sys/module/kernel/uevent", ""),
    ("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave powersupersave\n"),
];

/// A check; what to write so that it finds a problem; a part of the finding; the file without which it is unknown.
struct Case {
    check: &'static str,
    found: &'static [(&'static str, &'static str)],
    what: &'static str,
    needs: &'static str,
}

const fn case(
    check: &'static str,
    found: &'static [(&'static str, &'static str)],
    what: &'static str,
    needs: &'static str,
) -> Case {
    Case { check, found, what, needs }
}

const CASES: &[Case] = &[
    case(
        "transparent-huge-pages",
        &[("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")],
        "huge pages",
        "sys/kernel/mm/transparent_hugepage/enabled",
    ),
    case(
        "swap",
        &[("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n")],
        "/dev/sda2",
        "proc/swaps",
    ),
    case("ksm", &[("sys/kernel/mm/ksm/run", "1\n")], "KSM", "sys/kernel/mm/ksm/run"),
    case(
        "numa-balancing",
        &[("proc/sys/kernel/numa_balancing", "1\n")],
        "NUMA",
        "proc/sys/kernel/numa_balancing",
    ),
    case(
        "hard-lockup-detector",
        &[("proc/sys/kernel/nmi_watchdog", "1\n")],
        "nmi_watchdog",
        "proc/sys/kernel/nmi_watchdog",
    ),
    case(
        "soft-lockup-detector",
        &[("proc/sys/kernel/watchdog_cpumask", "0-3\n")],
        "soft lockup",
        "proc/sys/kernel/soft_watchdog",
    ),
    case(
        "machine-check-polling",
        &[("sys/devices/system/machinecheck/machinecheck0/check_interval", "300\n")],
        "every 300 s",
        "sys/devices/system/machinecheck/machinecheck0/check_interval",
    ),
    case(
        "tick",
        &[("sys/devices/system/cpu/nohz_full", "(null)\n")],
        "isolated CPUs: 2-3",
        "sys/devices/system/cpu/nohz_full",
    ),
    case(
        "rcu-callbacks",
        &[
            ("sys/devices/system/cpu/nohz_full", "2\n"),
            ("proc/cmdline", "isolcpus=managed_irq,domain,2-3 nohz_full=2 skew_tick=1\n"),
        ],
        "isolated CPUs: 2-3",
        "proc/cmdline",
    ),
    case(
        "workqueues",
        &[("sys/devices/virtual/workqueue/cpumask", "f\n")],
        "isolated CPUs: 2-3",
        "sys/devices/virtual/workqueue/cpumask",
    ),
    case(
        "interrupt-affinity",
        &[("proc/irq/default_smp_affinity", "f\n")],
        "isolated CPUs: 2-3",
        "proc/irq/default_smp_affinity",
    ),
    case(
        "isolation",
        &[("proc/cmdline", "isolcpus=2-3 nohz_full=2-3 skew_tick=1\n")],
        "isolcpus=2-3 leaves",
        "sys/devices/system/cpu/isolated",
    ),
    case(
        "irqbalance",
        &[(
            "proc/77/stat",
            "77 (irqbalance) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 4294967295 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        )],
        "irqbalance is running",
        "proc/2/stat",
    ),
    case(
        "shared-interrupts",
        &[("sys/kernel/irq/16/actions", "ahci,snd_hda_intel\n")],
        "16: ahci,snd_hda_intel",
        "sys/kernel/irq",
    ),
    case("skew-tick", &[("proc/cmdline", "isolcpus=managed_irq,domain,2-3\n")], "ticks", "proc/cmdline"),
    case(
        "energy-preference",
        &[("sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference", "balance_power\n")],
        "balance_power",
        "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
    ),
    case(
        "turbo",
        &[("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n")],
        "turbo",
        "sys/devices/system/cpu/intel_pstate/no_turbo",
    ),
    case(
        "pcie-power",
        &[("sys/module/pcie_aspm/parameters/policy", "default performance [powersave] powersupersave\n")],
        "powersave",
        "sys/module/pcie_aspm/parameters/policy",
    ),
    case("expedited-rcu", &[("sys/kernel/rcu_normal", "0\n")], "expedite", "sys/kernel/rcu_expedited"),
    case(
        "timer-migration",
        &[("proc/sys/kernel/timer_migration", "1\n")],
        "Timers of idle CPUs",
        "proc/sys/kernel/timer_migration",
    ),
    case("stat-interval", &[("proc/sys/vm/stat_interval", "1\n")], "every 1 s", "proc/sys/vm/stat_interval"),
    case(
        "cpu-quota",
        &[("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n")],
        "/user.slice may use 50 ms of CPU time in 100 ms",
        "sys/fs/cgroup/user.slice/cpu.max",
    ),
    case(
        "file-systems",
        &[("proc/self/mounts", "/dev/sda1 / ext4 rw,sync,relatime 0 0\nx /home/x fuse.sshfs rw 0 0\n")],
        "/ (sync), /home/x (fuse.sshfs)",
        "proc/self/mounts",
    ),
    case(
        "lockdown",
        &[("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")],
        "integrity",
        "sys/kernel/security/lockdown",
    ),
    case("container", &[("proc/self/cgroup", "0::/docker/0af\n")], "docker", "proc/self/cgroup"),
    case(
        "cgroup-runtime",
        &[
            ("boot/config-6.12.43-rt", "CONFIG_PREEMPT_RT=y\nCONFIG_RT_GROUP_SCHED=y\n"),
            ("sys/fs/cgroup/user.slice/cpu.weight", "100\n"),
        ],
        "no real-time runtime",
        "",
    ),
    case(
        "governor",
        &[("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")],
        "powersave",
        "sys/devices/system/cpu/cpu0/cpufreq",
    ),
    case(
        "smt",
        &[("sys/devices/system/cpu/smt/control", "on\n")],
        "hardware threads",
        "sys/devices/system/cpu/smt/control",
    ),
];

/// A copy of the machine that is ready, with other contents for some files.
fn machine(changes: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in READY.iter().chain(changes) {
        write(root.path(), path, content);
    }
    root
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Makes a file or a directory unreadable, also for root: each becomes the other.
fn make_unreadable(root: &Path, path: &str) {
    let path = root.join(path);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
        fs::write(path, "").unwrap();
    } else {
        fs::remove_file(&path).unwrap();
        fs::create_dir(path).unwrap();
    }
}

fn check(root: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.arg("check").arg("--kernel-root").arg(root).args(arguments);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn readiness(root: &Path) -> Value {
    serde_json::from_str::<Value>(&check(root, &["--json"])).unwrap()["readiness"].take()
}

/// State and detail of a check.
fn state<'a>(readiness: &'a Value, name: &str) -> (&'a str, &'a str) {
    let checks = readiness["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    (check["state"].as_str().unwrap(), check["detail"].as_str().unwrap())
}

#[test]
fn a_tuned_machine_is_ready_without_findings() {
    let root = machine(&[]);
    let readiness = readiness(root.path());
    assert_eq!(readiness["findings"].as_array().unwrap().len(), 0, "{:#}", readiness["findings"]);
    for case in CASES {
        assert_eq!(
            state(&readiness, case.check).0,
            "fine",
            "{}: {:?}",
            case.check,
            state(&readiness, case.check)
        );
    }
    assert_eq!(readiness["status"], "6.12.43-rt, PREEMPT_RT, performance, isolated 2-3: ready");
    let text = check(root.path(), &[]);
    assert!(text.contains("\nFine: preempt-rt, high-resolution-timers,"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn each_setting_is_found_with_its_reason_and_is_unknown_if_unreadable() {
    for case in CASES {
        let name = case.check;
        let readiness_found = readiness(machine(case.found).path());
        let findings = readiness_found["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == name);
        let finding = finding.unwrap_or_else(|| panic!("{name}: {:?}", state(&readiness_found, name)));
        assert!(finding["what"].as_str().unwrap().contains(case.what), "{name}: {finding}");
        assert_eq!(state(&readiness_found, name).0, "found");
        if !case.needs.is_empty() {
            let root = machine(&[]);
            make_unreadable(root.path(), case.needs);
            let readiness = readiness(root.path());
            assert_eq!(state(&readiness, name).0, "unknown", "{name}: {:?}", state(&readiness, name));
        }
    }
}

#[test]
fn an_absent_setting_is_fine_only_if_the_kernel_lists_its_others() {
    let root = machine(&[]);
    fs::remove_dir_all(root.path().join("sys/kernel/mm")).unwrap();
    assert_eq!(state(&readiness(root.path()), "ksm"), ("fine", "not built"));
    fs::remove_dir_all(root.path().join("sys/kernel")).unwrap();
    assert_eq!(state(&readiness(root.path()), "ksm").0, "unknown");
}

#[test]
fn the_fair_server_is_known_from_the_version_if_debugfs_is_not_readable() {
    let root = machine(&[]);
    make_unreadable(root.path(), "sys/kernel/debug/sched");
    let text = check(root.path(), &[]);
    assert!(text.contains("The fair server takes up to 50 ms in 1000 ms"), "{text}");
    assert!(text.contains("the default since Linux 6.12") && text.contains("lock up"), "{text}");
    write(root.path(), "proc/sys/kernel/osrelease", "6.6.1-rt\n");
    assert_eq!(state(&readiness(root.path()), "fair-server").0, "fine");
}

#[test]
fn advice_on_throttling_is_what_measure_can_try() {
    let groups = ("boot/config-6.12.43-rt", "CONFIG_PREEMPT_RT=y\nCONFIG_RT_GROUP_SCHED=y\n");
    let text = check(machine(&[groups]).path(), &[]);
    assert!(text.contains("throttled to 950000 us") && !text.contains("echo -1"), "{text}");
    assert!(text.contains("build the kernel with:  CONFIG_RT_GROUP_SCHED=n"), "{text}");
    let without = readiness(machine(&[]).path());
    assert_eq!(state(&without, "throttling").0, "not_applicable");
    let root = machine(&[]);
    make_unreadable(root.path(), "boot/config-6.12.43-rt");
    assert_eq!(state(&readiness(root.path()), "throttling").0, "unknown");
    let old = [("proc/sys/kernel/osrelease", "6.6.1-rt\n")];
    let text = check(machine(&old).path(), &[]);
    assert!(text.contains("echo -1 > /proc/sys/kernel/sched_rt_runtime_us\n        Risk: "), "{text}");
}

#[test]
fn advice_is_of_use_where_capabilities_of_a_file_are_not() {
    let without = ("proc/self/status", "CapEff:\t0\nCapBnd:\t0\n");
    let limits = ("proc/self/limits", "Max realtime priority 0 0\nMax locked memory 65536 65536 bytes\n");
    let text = check(machine(&[without, limits]).path(), &["--full"]);
    assert!(text.contains("--cap-add SYS_NICE") && !text.contains("setcap"), "{text}");
    let group = [
        ("boot/config-6.12.43-rt", "CONFIG_PREEMPT_RT=y\nCONFIG_RT_GROUP_SCHED=y\n"),
        ("sys/fs/cgroup/user.slice/cpu.weight", "100\n"),
    ];
    let text = check(machine(&group).path(), &[]);
    assert!(text.contains("echo $$ > /sys/fs/cgroup/cgroup.procs") && !text.contains("setcap"), "{text}");
    let in_a_namespace = [group[0], ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.weight", "100\n")];
    let text = check(machine(&in_a_namespace).path(), &[]);
    assert!(text.contains("on the host, as root:  echo PID > /sys/fs/cgroup/cgroup.procs"), "{text}");
    let v1 = [
        ("boot/config-6.12.43-rt", "CONFIG_PREEMPT_RT=y\nCONFIG_RT_GROUP_SCHED=y\n"),
        ("proc/self/mounts", "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"),
        ("proc/self/cgroup", "1:cpu:/a\n"),
        ("sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "0\n"),
    ];
    let text = check(machine(&v1).path(), &[]);
    assert!(text.contains("echo 950000 > /sys/fs/cgroup/cpu/a/cpu.rt_runtime_us"), "{text}");
    assert!(text.contains("echo $$ > /sys/fs/cgroup/cpu/cgroup.procs") && !text.contains("setcap"), "{text}");
}

#[test]
fn a_container_is_not_confused_with_an_image_that_boots_in_a_virtual_machine() {
    let root = machine(&[(".dockerenv", "")]);
    assert_eq!(state(&readiness(root.path()), "container").0, "fine", "its processes include kernel threads");
    fs::remove_dir_all(root.path().join("proc/2")).unwrap();
    let readiness = readiness(root.path());
    assert_eq!(state(&readiness, "container"), ("found", "This is a container (docker)"));
    assert_eq!(readiness["ready"], true, "a container is not a reason against real-time work");
}

#[test]
fn isolation_is_advised_by_cpuset_or_with_the_flags_of_isolcpus() {
    let none = [
        ("sys/devices/system/cpu/isolated", "\n"),
        ("sys/devices/system/cpu/nohz_full", "(null)\n"),
        ("proc/cmdline", "quiet\n"),
    ];
    let text = check(machine(&none).path(), &["--full"]);
    assert!(text.contains("boot with:  isolcpus=managed_irq,domain,3 irqaffinity=0-2"), "{text}");
    let root = machine(&none);
    write(root.path(), "sys/fs/cgroup/cpuset.cpus.isolated", "\n");
    let text = check(root.path(), &[]);
    assert!(text.contains("echo isolated > rt/cpuset.cpus.partition"), "{text}");
    write(root.path(), "sys/fs/cgroup/cpuset.cpus.isolated", "3\n");
    assert_eq!(state(&readiness(root.path()), "isolation"), ("fine", "CPU 3"));
}

/// The rows of the table under a heading of docs/checks.md.
fn rows<'d>(document: &'d str, heading: &str) -> Vec<Vec<&'d str>> {
    let (_, section) = document.split_once(&format!("\n## {heading}")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

#[test]
fn every_check_of_other_tools_is_made_or_has_a_reason_against_it() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(repository.join("docs/checks.md")).unwrap();
    let readiness = readiness(machine(&[]).path());
    let ours: Vec<&str> =
        readiness["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    let documented: Vec<&str> =
        rows(&document, "The checks").iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(documented, ours);
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/checks_of_others");
    for (heading, list) in [
        ("rtcqs 0.6.7", "rtcqs-0.6.7.txt"),
        ("tuned 2.20.0", "tuned-2.20.0.txt"),
        ("The kernel's documentation", "linux-doc.txt"),
    ] {
        let theirs = fs::read_to_string(lists.join(list)).unwrap();
        let rows = rows(&document, heading);
        let in_table: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(in_table, theirs.lines().collect(), "{heading}");
        assert_eq!(in_table.len(), rows.len(), "{heading}: a name has two rows");
        for row in &rows {
            let [name, checks, reason] = row[..] else { panic!("{row:?}") };
            if checks == "none" {
                assert!(!reason.is_empty(), "{heading}: {name} has no reason");
                continue;
            }
            for check in checks.split(", ").map(|check| check.trim_matches('`')) {
                assert!(ours.contains(&check), "{heading}: {name}: no check {check}");
            }
        }
    }
}

/// A container without an engine: its own processes and mounts, podman's mark, a read-only /sys, and no capabilities.
#[test]
fn a_container_learns_what_it_lacks_with_the_options_that_grant_it() {
    let bench = Bench::new();
    let tardy = env!("CARGO_BIN_EXE_tardy");
    let script = format!(
        "mount -t proc proc /proc && mount -t tmpfs none /run && touch /run/.containerenv && mount --bind /sys /sys && mount -o remount,ro,bind /sys && \
         echo ready && setpriv --bounding-set -all --inh-caps -all {tardy} check; \
         setpriv --bounding-set -all --inh-caps -all {tardy} attach 1 --duration 100ms --quiet"
    );
    let words = ["--mount", "--pid", "--fork", "sh", "-c", &script];
    let output = Command::new("unshare").args(words).current_dir(bench.path(".")).output();
    let Ok(output) = output else { return eprintln!("skipped: no unshare") };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !out.contains("ready") {
        return eprintln!("skipped: this user cannot make namespaces: {err}");
    }
    for text in [
        ") lacks:",
        "podman, Docker: --cap-add SYS_NICE",
        "Kubernetes: securityContext.capabilities.add: [SYS_NICE]",
        "podman, Docker: --privileged -v /sys/kernel/tracing:/sys/kernel/tracing",
        "Kubernetes: hostPID: true",
        "podman, Docker: --network=host --cap-add NET_RAW",
    ] {
        assert!(out.contains(text), "{text}: {out}{err}");
    }
    // The tests may run in another container themselves, whose mark is found first.
    for text in ["tracefs is not mounted in this container (", "start it with `--privileged -v"] {
        assert!(err.contains(text), "{err}");
    }
}
