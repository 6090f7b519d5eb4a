//! Readiness of machines whose facts are given directly.

use super::*;
use tardy_record::facts::{Fact, FairServer, IdleState, Preemption, UnownedParameter};
use tardy_record::per_cpu::PerCpu;

/// A machine without problems.
pub(super) fn ready() -> Facts {
    let mut facts = Facts::default();
    facts.kernel.release = Fact::known("6.12.43-rt".into(), "uname -r");
    facts.kernel.real_time = Fact::known(true, "uname -v");
    facts.kernel.preemption = Fact::known(Preemption::Rt, "uname -v");
    facts.clock.high_resolution = Fact::known(true, "/proc/timer_list");
    facts.clock.source = Fact::known("tsc".into(), "/sys");
    facts.scheduling.allowed_priority = Fact::known(99, "CAP_SYS_NICE");
    facts.scheduling.fair_server =
        Fact::known(PerCpu::from_iter([(0, FairServer { runtime_ns: 0, period_ns: 1 })]), "/sys");
    facts
}

fn finding<'a>(readiness: &'a Readiness, what: &str) -> &'a Finding {
    readiness
        .findings
        .iter()
        .find(|finding| finding.what.contains(what))
        .unwrap_or_else(|| panic!("no '{what}' in {readiness:#?}"))
}

#[test]
fn a_machine_that_is_ready_has_no_findings() {
    let readiness = judge(&ready(), &Tuning::default());
    assert!(readiness.ready, "{readiness:#?}");
    assert_eq!(readiness.findings, []);
}

#[test]
fn a_machine_without_facts_is_not_ready_and_has_one_finding() {
    let readiness = judge(&Facts::default(), &Tuning::default());
    assert!(!readiness.ready);
    assert_eq!(readiness.findings.len(), 1, "{readiness:#?}");
    assert_eq!(readiness.findings[0].severity, Severity::Blocks);
}

#[test]
fn a_kernel_without_preempt_rt_is_the_first_finding_and_blocks() {
    let mut facts = ready();
    facts.kernel.real_time = Fact::known(false, "uname -v");
    facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc");
    let readiness = judge(&facts, &Tuning::default());
    assert!(!readiness.ready);
    assert!(readiness.findings[0].what.contains("PREEMPT_RT"), "{readiness:#?}");
    assert_eq!(readiness.findings[0].remedy, Remedy::kernel_option("CONFIG_PREEMPT_RT=y"));
}

#[test]
fn a_distribution_with_an_rt_kernel_gets_its_command() {
    let mut facts = ready();
    facts.kernel.real_time = Fact::known(false, "uname -v");
    facts.kernel.machine = Fact::known("aarch64".into(), "uname -m");
    for (distribution, command) in [
        ("Debian GNU/Linux 13 (trixie)", "apt install linux-image-rt-arm64"),
        ("Ubuntu 24.04.1 LTS", "pro enable realtime-kernel"),
    ] {
        facts.machine.distribution = Fact::known(distribution.into(), "/etc/os-release");
        assert_eq!(judge(&facts, &Tuning::default()).findings[0].remedy, Remedy::command(command));
    }
    facts.machine.board = Fact::known("Raspberry Pi 4 Model B Rev 1.4".into(), "/proc/device-tree/model");
    assert_eq!(judge(&facts, &Tuning::default()).findings[0].remedy.kind, RemedyKind::KernelOption);
}

#[test]
fn remedies_for_a_missing_priority_are_in_order() {
    let mut facts = ready();
    facts.scheduling.allowed_priority = Fact::known(0, "RLIMIT_RTPRIO");
    let readiness = judge(&facts, &Tuning::default());
    let finding = finding(&readiness, "real-time priority");
    assert!(!readiness.ready);
    assert!(finding.remedy.text.contains("chmod 0750 /path/to/tardy && setcap cap_sys_nice,cap_ipc_lock+ep"));
    assert!(finding.alternatives[0].text.contains("ulimit -r"));
    assert!(finding.alternatives[1].text.contains("limits.d"));
}

#[test]
fn since_6_12_the_fair_server_is_reported_instead_of_throttling() {
    let mut facts = ready();
    facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc");
    facts.kernel.config = Fact::known(Default::default(), "/proc/config.gz");
    assert!(
        judge(&facts, &Tuning::default()).findings.is_empty(),
        "without RT_GROUP_SCHED the kernel ignores it"
    );
    facts.scheduling.fair_server = Fact::known(
        PerCpu::from_iter([(0, FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 })]),
        "/sys",
    );
    assert!(
        finding(&judge(&facts, &Tuning::default()), "fair server").remedy.text.contains("fair_server/cpu*")
    );
    facts.kernel.release = Fact::known("6.6.1-rt1".into(), "uname -r");
    assert_eq!(
        finding(&judge(&facts, &Tuning::default()), "throttled").remedy,
        Remedy::command("echo -1 > /proc/sys/kernel/sched_rt_runtime_us")
    );
}

#[test]
fn settings_that_delay_wake_ups_are_reported_with_a_remedy() {
    let mut facts = ready();
    facts.cpu.governor =
        Fact::known(PerCpu::from_iter([(0, "performance".into()), (1, "powersave".into())]), "/sys");
    let state = |name: &str, latency_us, disabled| IdleState { name: name.into(), latency_us, disabled };
    facts.cpu.idle_states =
        Fact::known(vec![state("POLL", 0, false), state("C6", 133, false), state("C10", 890, true)], "/sys");
    facts.cpu.smt = Fact::known("on".into(), "/sys");
    facts.cpu.hypervisor = Fact::known("KVM".into(), "DMI");
    facts.clock.source = Fact::known("hpet".into(), "/sys");
    let readiness = judge(&facts, &Tuning::default());
    assert!(readiness.ready, "these hurt but do not block");
    assert_eq!(finding(&readiness, "governor").remedy.text, "cpupower frequency-set -g performance");
    assert!(finding(&readiness, "CPU 1").what.contains("powersave"));
    assert!(finding(&readiness, "C6").what.contains("133 us"));
    assert!(finding(&readiness, "threads").remedy.text.ends_with("smt/control"));
    assert!(finding(&readiness, "hpet").remedy.text.contains("tsc=reliable"));
    assert_eq!(finding(&readiness, "KVM").remedy.kind, RemedyKind::HostCommand);
}

#[test]
fn an_unowned_boot_parameter_is_reported_with_the_intended_one() {
    let mut facts = ready();
    facts.kernel.unowned_parameters = Fact::known(
        vec![UnownedParameter {
            parameter: "dwg_otg.speed=1".into(),
            reason: "no module dwg_otg".into(),
            resembles: Some("dwc_otg.speed=1".into()),
        }],
        "/proc/cmdline",
    );
    let readiness = judge(&facts, &Tuning::default());
    assert!(readiness.ready);
    assert_eq!(finding(&readiness, "dwg_otg").remedy, Remedy::boot_parameter("dwc_otg.speed=1"));
}

#[test]
fn interrupts_on_isolated_cpus_are_reported() {
    let mut facts = ready();
    facts.cpu.online = Fact::known(vec![0, 1, 2, 3], "/sys");
    facts.cpu.isolated = Fact::known("2-3".into(), "/sys");
    facts.cpu.irq_affinity = Fact::known("0-3".into(), "/proc");
    assert_eq!(
        finding(&judge(&facts, &Tuning::default()), "isolated").remedy,
        Remedy::boot_parameter("irqaffinity=0-1")
    );
}

#[test]
fn the_fair_server_has_a_default_since_6_12() {
    let mut facts = ready();
    facts.scheduling.fair_server = Fact::unknown("debugfs: absent");
    assert_eq!(fair_share(&facts), Some((50_000_000, 1_000_000_000)));
    facts.kernel.release = Fact::known("6.11.9".into(), "uname -r");
    assert_eq!(fair_share(&facts), None);
}

#[test]
fn throttling_is_unknown_without_a_configuration_since_6_12() {
    let mut facts = ready();
    facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc");
    facts.kernel.config = Fact::unknown("/proc/config.gz: absent");
    assert_eq!(throttle(&facts), None);
    let checks = judge(&facts, &Tuning::default()).checks;
    let state = |name| checks.iter().find(|check| check.name == name).map(|check| check.state);
    assert_eq!(state("throttling"), Some(State::Unknown));
    assert_eq!(state("swap"), Some(State::Unknown));
}
