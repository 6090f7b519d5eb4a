//! Whether a machine is ready for real-time work, and what prevents it.
//!
//! A pure function of the facts. Each finding states the problem, its effect, its severity, and a remedy: a command for
//! a root shell, a kernel option, or a boot parameter.
//!
//! Unknown facts are not findings, with one exception: whether the kernel is PREEMPT_RT.

mod clock;
mod cpu;
mod kernel;
mod scheduling;
pub(crate) use scheduling::{fair_share, throttle};

use schemars::JsonSchema;
use serde::Serialize;
use tardy_record::Knowable;
use tardy_record::facts::Facts;

/// The verdict on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Readiness {
    /// Whether this is a PREEMPT_RT kernel and nothing blocks real-time work on it.
    pub ready: bool,
    /// Whether this is a PREEMPT_RT kernel.
    pub real_time: Knowable<bool>,
    /// Whether this is a PREEMPT_RT kernel, as a sentence with the evidence.
    pub headline: String,
    /// The findings, the most severe first.
    pub findings: Vec<Finding>,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The problem, in a few words.
    pub what: String,
    /// Why it matters, in a sentence.
    pub why: String,
    /// The source of the fact.
    pub source: String,
    /// The remedy.
    pub remedy: Remedy,
    /// Alternative remedies, the better ones first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Remedy>,
}

/// Severity of a finding, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It prevents any real-time guarantee.
    Blocks,
    /// It delays wake-ups, at least under some loads.
    Hurts,
    /// Information, or a problem with little effect.
    Note,
}

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remedy {
    /// How to apply the text.
    pub kind: RemedyKind,
    /// The command, option or parameter itself.
    pub text: String,
}

/// What kind of change a remedy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemedyKind {
    /// Run it in a root shell; it lasts until the next boot, or permanently if it installs something.
    Command,
    /// Build the kernel with it.
    KernelOption,
    /// Add it to the kernel's command line and reboot.
    BootParameter,
    /// Remove it from the kernel's command line and reboot.
    RemoveBootParameter,
    /// Run it in a root shell of the host, not of this machine.
    HostCommand,
}

impl Remedy {
    fn command(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::Command, text: text.into() }
    }

    fn kernel_option(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::KernelOption, text: text.into() }
    }

    fn boot_parameter(text: impl Into<String>) -> Self {
        Self { kind: RemedyKind::BootParameter, text: text.into() }
    }
}

impl Finding {
    fn new(
        severity: Severity,
        what: impl Into<String>,
        why: &str,
        source: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        let (what, source) = (what.into(), source.into());
        Self { severity, what, why: why.to_owned(), source, remedy, alternatives: Vec::new() }
    }
}

/// Judges a machine by its facts.
pub fn judge(facts: &Facts) -> Readiness {
    let mut findings = Vec::new();
    kernel::judge(facts, &mut findings);
    clock::judge(facts, &mut findings);
    cpu::judge(facts, &mut findings);
    scheduling::judge(facts, &mut findings);
    findings.sort_by_key(|finding| finding.severity);
    let real_time = facts.kernel.real_time.value;
    let blocked = findings.iter().any(|finding| finding.severity == Severity::Blocks);
    Readiness {
        ready: real_time.get() == Some(true) && !blocked,
        real_time,
        headline: facts.headline(),
        findings,
    }
}

/// Major and minor version of the kernel, by its release.
fn version(facts: &Facts) -> Option<(u32, u32)> {
    let mut numbers = facts.kernel.release.get()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
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
        let readiness = judge(&ready());
        assert!(readiness.ready, "{readiness:#?}");
        assert_eq!(readiness.findings, []);
    }

    #[test]
    fn a_machine_without_facts_is_not_ready_and_has_one_finding() {
        let readiness = judge(&Facts::default());
        assert!(!readiness.ready);
        assert_eq!(readiness.findings.len(), 1, "{readiness:#?}");
        assert_eq!(readiness.findings[0].severity, Severity::Blocks);
    }

    #[test]
    fn a_kernel_without_preempt_rt_is_the_first_finding_and_blocks() {
        let mut facts = ready();
        facts.kernel.real_time = Fact::known(false, "uname -v");
        facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc");
        let readiness = judge(&facts);
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
            assert_eq!(judge(&facts).findings[0].remedy, Remedy::command(command));
        }
        facts.machine.board = Fact::known("Raspberry Pi 4 Model B Rev 1.4".into(), "/proc/device-tree/model");
        assert_eq!(judge(&facts).findings[0].remedy.kind, RemedyKind::KernelOption);
    }

    #[test]
    fn remedies_for_a_missing_priority_are_in_order() {
        let mut facts = ready();
        facts.scheduling.allowed_priority = Fact::known(0, "RLIMIT_RTPRIO");
        let readiness = judge(&facts);
        let finding = finding(&readiness, "real-time priority");
        assert!(!readiness.ready);
        assert!(
            finding.remedy.text.contains("chmod 0750 /path/to/tardy && setcap cap_sys_nice,cap_ipc_lock+ep")
        );
        assert!(finding.alternatives[0].text.contains("ulimit -r"));
        assert!(finding.alternatives[1].text.contains("limits.d"));
    }

    #[test]
    fn since_6_12_the_fair_server_is_reported_instead_of_throttling() {
        let mut facts = ready();
        facts.scheduling.rt_runtime_us = Fact::known(950_000, "/proc");
        facts.kernel.config = Fact::known(Default::default(), "/proc/config.gz");
        assert!(judge(&facts).findings.is_empty(), "without RT_GROUP_SCHED the kernel ignores it");
        facts.scheduling.fair_server = Fact::known(
            PerCpu::from_iter([(0, FairServer { runtime_ns: 50_000_000, period_ns: 1_000_000_000 })]),
            "/sys",
        );
        assert!(finding(&judge(&facts), "fair server").remedy.text.contains("fair_server/cpu*"));
        facts.kernel.release = Fact::known("6.6.1-rt1".into(), "uname -r");
        assert_eq!(
            finding(&judge(&facts), "throttled").remedy,
            Remedy::command("echo -1 > /proc/sys/kernel/sched_rt_runtime_us")
        );
    }

    #[test]
    fn settings_that_delay_wake_ups_are_reported_with_a_remedy() {
        let mut facts = ready();
        facts.cpu.governor =
            Fact::known(PerCpu::from_iter([(0, "performance".into()), (1, "powersave".into())]), "/sys");
        let state = |name: &str, latency_us, disabled| IdleState { name: name.into(), latency_us, disabled };
        facts.cpu.idle_states = Fact::known(
            vec![state("POLL", 0, false), state("C6", 133, false), state("C10", 890, true)],
            "/sys",
        );
        facts.cpu.smt = Fact::known("on".into(), "/sys");
        facts.cpu.hypervisor = Fact::known("KVM".into(), "DMI");
        facts.clock.source = Fact::known("hpet".into(), "/sys");
        let readiness = judge(&facts);
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
        let readiness = judge(&facts);
        assert!(readiness.ready);
        assert_eq!(finding(&readiness, "dwg_otg").remedy, Remedy::boot_parameter("dwc_otg.speed=1"));
    }

    #[test]
    fn interrupts_on_isolated_cpus_are_reported() {
        let mut facts = ready();
        facts.cpu.online = Fact::known(vec![0, 1, 2, 3], "/sys");
        facts.cpu.isolated = Fact::known("2-3".into(), "/sys");
        facts.cpu.irq_affinity = Fact::known("0-3".into(), "/proc");
        assert_eq!(finding(&judge(&facts), "isolated").remedy, Remedy::boot_parameter("irqaffinity=0-1"));
    }
}
