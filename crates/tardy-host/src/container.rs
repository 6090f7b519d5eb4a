//! What a container does not grant to tardy, and the flags that grant it, in the words of podman, Docker and Kubernetes.
//!
//! Everything is read from kernel files, so that it is the same under every container engine, with cgroup v1 and v2.

use serde::Serialize;
use tardy_sys::kernel_files::KernelFiles;

use crate::cgroups::{MOUNTS, ancestors, paths};

/// The options that grant the kernel's trace, and the fields of a pod.
pub const TRACE: [&str; 2] = [
    "--privileged -v /sys/kernel/tracing:/sys/kernel/tracing",
    "securityContext.privileged: true, and a hostPath volume of /sys/kernel/tracing",
];
const CAP_IPC_LOCK: u32 = 14;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SYS_NICE: u32 = 23;
/// The memory that measuring locks at most, in bytes, as docs/install.md states it.
const LOCKED_BYTES: u64 = 8 << 20;

/// Something that this container lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// What is missing.
    pub what: &'static str,
    /// What tardy does without.
    pub without: &'static str,
    /// The options of `podman run` and `docker run` that grant it.
    pub option: String,
    /// The field of a Kubernetes pod that grants it.
    pub kubernetes: String,
}

/// The name of the container that this process runs in, such as `docker`; `None` if it runs in none, or that is unknown.
pub fn name(files: &KernelFiles) -> Option<String> {
    crate::facts::container(files).get().filter(|name| *name != "none").cloned()
}

/// What this container lacks, in the order of how much depends on it. Meaningful in a container only.
pub fn lacking(files: &KernelFiles) -> Vec<Lacking> {
    let status = files.text("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // In a user namespace of its own, the kernel ignores capabilities for what concerns the whole machine.
    let is_rootless = !is_first_user_namespace(files);
    let has = |capability: u32| effective.is_none_or(|mask| mask >> capability & 1 == 1);
    let has_of_machine = |capability: u32| has(capability) && !is_rootless;
    let capability =
        |name: &str| (format!("--cap-add {name}"), format!("securityContext.capabilities.add: [{name}]"));
    let mut lacking = Vec::new();
    let mut add = |what, without, (option, kubernetes): (String, String)| {
        lacking.push(Lacking { what, without, option, kubernetes });
    };
    if is_rootless {
        add(
            "the host's user namespace",
            "the kernel ignores SYS_NICE, SYS_ADMIN and NET_RAW for the host",
            ("sudo podman run, or Docker without rootless mode".to_owned(), "hostUsers: true".to_owned()),
        );
    }
    if !is_rootless && !has(CAP_SYS_NICE) {
        add("real-time policies", "measures as SCHED_OTHER", capability("SYS_NICE"));
    }
    if !has_of_machine(CAP_IPC_LOCK) && lockable_bytes(files).is_some_and(|bytes| bytes < LOCKED_BYTES) {
        let (_, kubernetes) = capability("IPC_LOCK");
        add("locked memory", "page faults count as latency", ("--ulimit memlock=-1".to_owned(), kubernetes));
    }
    if group_runtime(files) == Some(0) {
        add(
            "real-time runtime of the cgroup",
            "the kernel refuses every real-time policy",
            (
                "--cpu-rt-runtime 400000".to_owned(),
                "none; set cpu.rt_runtime_us of kubepods on the node".to_owned(),
            ),
        );
    }
    if !files.exists("/dev/cpu_dma_latency") {
        add(
            "/dev/cpu_dma_latency",
            "measures with deep idle states",
            (
                "--device /dev/cpu_dma_latency".to_owned(),
                "a hostPath volume of /dev/cpu_dma_latency, and securityContext.privileged: true".to_owned(),
            ),
        );
    }
    if !has_of_machine(CAP_SYS_ADMIN) || !has_trace(files) {
        add(
            "the kernel's trace",
            "no causes, no tracers, no attach and watch",
            (TRACE[0].to_owned(), TRACE[1].to_owned()),
        );
    }
    if !sees_host(files) {
        add(
            "processes of the host",
            "attach, watch and check PID find those of this container only",
            ("--pid=host".to_owned(), "hostPID: true".to_owned()),
        );
    }
    if !has(CAP_NET_RAW) {
        add(
            "raw network frames",
            "round-trip and reflect have UDP only",
            (
                format!("--network=host {}", capability("NET_RAW").0),
                format!("hostNetwork: true, and {}", capability("NET_RAW").1),
            ),
        );
    }
    if has_quota(files) {
        add(
            "CPU time without a quota",
            "the kernel stops all threads when it is used up",
            ("no --cpus and no --cpu-quota".to_owned(), "no resources.limits.cpu".to_owned()),
        );
    }
    lacking
}

/// What the container `name` lacks, for the terminal; empty if it lacks nothing.
pub fn text(name: &str, lacking: &[Lacking]) -> String {
    let line = |one: &Lacking| {
        let Lacking { what, without, option, kubernetes } = one;
        format!("  {what} (without: {without})\n    podman, Docker: {option}\n    Kubernetes: {kubernetes}\n")
    };
    let lines: String = lacking.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\nThis container ({name}) lacks:\n{lines}") }
}

fn is_first_user_namespace(files: &KernelFiles) -> bool {
    let map = files.text("/proc/self/uid_map").unwrap_or_default();
    let words: Vec<&str> = map.split_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

/// The limit of locked memory, in bytes; `None` if there is none or it is unknown.
fn lockable_bytes(files: &KernelFiles) -> Option<u64> {
    let limits = files.text("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn has_trace(files: &KernelFiles) -> bool {
    ["/sys/kernel/tracing/trace", "/sys/kernel/debug/tracing/trace"].iter().any(|path| files.exists(path))
}

/// Whether /proc lists kthreadd, the parent of kernel threads.
fn sees_host(files: &KernelFiles) -> bool {
    files.text("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd")
}

/// The values of `file` of the cgroups of this process and of those above it that have it.
fn of_groups(files: &KernelFiles, file: &str) -> Vec<String> {
    let groups = paths(&files.text("/proc/self/cgroup").unwrap_or_default());
    // A container engine may show the own cgroup as the root of the mount.
    let places = groups.iter().flat_map(|path| ancestors(path)).chain([String::new()]);
    let text = |path: String| MOUNTS.iter().find_map(|at| files.text(&format!("{at}{path}/{file}")).ok());
    places.filter_map(text).collect()
}

/// The real-time runtime of the nearest cgroup v1 that has one, in us.
fn group_runtime(files: &KernelFiles) -> Option<i64> {
    of_groups(files, "cpu.rt_runtime_us").iter().filter_map(|text| text.trim().parse().ok()).min()
}

/// Whether a cgroup of this process has a CPU quota: `cpu.max` of v2, `cpu.cfs_quota_us` of v1.
fn has_quota(files: &KernelFiles) -> bool {
    let limits =
        |text: &String| text.split_whitespace().next().is_some_and(|first| first != "max" && first != "-1");
    of_groups(files, "cpu.max").iter().any(limits) || of_groups(files, "cpu.cfs_quota_us").iter().any(limits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Kernel files of a container with Docker's default capabilities, which include NET_RAW.
    const DOCKER: [(&str, &str); 4] = [
        ("proc/self/status", "Name:\ttardy\nCapEff:\t00000000a80425fb\n"),
        ("proc/self/uid_map", "         0          0 4294967295\n"),
        (
            "proc/self/limits",
            "Max locked memory         65536                65536                bytes     \n",
        ),
        ("proc/self/cgroup", "0::/\n"),
    ];

    fn of(paths: &[&[(&str, &str)]]) -> Vec<Lacking> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in paths.iter().copied().flatten() {
            let full = root.path().join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
        lacking(&KernelFiles::under(root.path()))
    }

    fn options(lacking: &[Lacking]) -> Vec<&str> {
        lacking.iter().map(|one| one.option.as_str()).collect()
    }

    #[test]
    fn dockers_default_lacks_what_its_options_grant() {
        let plain = of(&[&DOCKER]);
        let all = [
            "--cap-add SYS_NICE",
            "--ulimit memlock=-1",
            "--device /dev/cpu_dma_latency",
            TRACE[0],
            "--pid=host",
        ];
        assert_eq!(options(&plain), all);
        assert_eq!(plain[0].kubernetes, "securityContext.capabilities.add: [SYS_NICE]");
        let granted = [
            ("proc/self/status", "CapEff:\t000001ffffffffff\n"),
            ("dev/cpu_dma_latency", ""),
            ("sys/kernel/tracing/trace", ""),
            ("proc/2/comm", "kthreadd\n"),
        ];
        assert_eq!(of(&[&DOCKER, &granted]), []);
    }

    #[test]
    fn limits_of_cgroups_are_found_in_both_versions() {
        let v2 = [("sys/fs/cgroup/cpu.max", "50000 100000\n")];
        assert!(options(&of(&[&DOCKER, &v2])).contains(&"no --cpus and no --cpu-quota"));
        let unlimited = [("sys/fs/cgroup/cpu.max", "max 100000\n")];
        assert!(!options(&of(&[&DOCKER, &unlimited])).contains(&"no --cpus and no --cpu-quota"));
        let v1 = [
            ("proc/self/cgroup", "4:cpu,cpuacct:/docker/0f\n2:memory:/docker/0f\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/0f/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/docker/0f/cpu.rt_runtime_us", "0\n"),
        ];
        let lacking = of(&[&DOCKER, &v1]);
        for option in ["no --cpus and no --cpu-quota", "--cpu-rt-runtime 400000"] {
            assert!(options(&lacking).contains(&option), "{lacking:?}");
        }
    }

    #[test]
    fn a_rootless_container_lacks_the_hosts_user_namespace_first() {
        let map =
            [("proc/self/uid_map", "0 100000 65536\n"), ("proc/self/status", "CapEff:\t000001ffffffffff\n")];
        let lacking = of(&[&DOCKER, &map]);
        assert_eq!(lacking[0].what, "the host's user namespace");
        assert!(!options(&lacking).contains(&"--cap-add SYS_NICE"), "it would not help: {lacking:?}");
    }

    #[test]
    fn without_net_raw_only_udp_is_left() {
        let status = [("proc/self/status", "CapEff:\t0000000000800000\n")];
        let lacking = of(&[&DOCKER, &status]);
        assert!(lacking.iter().any(|one| one.option == "--network=host --cap-add NET_RAW"), "{lacking:?}");
    }
}
