//! The kernel's command line: parameters that matter to latency stay, and the values of all others are removed.

use super::identifiers;
use tardy_record::run::REDACTED;

/// Parameters that are kept with their values (Documentation/admin-guide/kernel-parameters.txt).
const KEPT: [&str; 77] = [
    "isolcpus",
    "nohz",
    "nohz_full",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "kthread_cpus",
    "managed_irq",
    "preempt",
    "threadirqs",
    "skew_tick",
    "tsc",
    "notsc",
    "clocksource",
    "hpet",
    "highres",
    "lapic",
    "nolapic",
    "noapic",
    "idle",
    "nohlt",
    "hlt",
    "processor.max_cstate",
    "intel_idle.max_cstate",
    "cpuidle.off",
    "cpuidle.governor",
    "cpuidle_haltpoll.force",
    "cpufreq.off",
    "cpufreq.default_governor",
    "intel_pstate",
    "amd_pstate",
    "mitigations",
    "spectre_v2",
    "spec_store_bypass_disable",
    "pti",
    "nopti",
    "mds",
    "l1tf",
    "tsx",
    "nosmt",
    "nosmp",
    "maxcpus",
    "nr_cpus",
    "possible_cpus",
    "acpi",
    "pcie_aspm",
    "iommu",
    "intel_iommu",
    "amd_iommu",
    "transparent_hugepage",
    "hugepages",
    "hugepagesz",
    "default_hugepagesz",
    "numa_balancing",
    "nmi_watchdog",
    "nowatchdog",
    "nosoftlockup",
    "softlockup_panic",
    "mce",
    "audit",
    "psi",
    "cgroup_disable",
    "quiet",
    "loglevel",
    "panic",
    "nokaslr",
    "randomize_kstack_offset",
    "cryptomgr.notests",
    "rodata",
    "initcall_blacklist",
    "no_timer_check",
    "selinux",
    "apparmor",
    "workqueue.power_efficient",
    "rcupdate.rcu_normal",
    "rcupdate.rcu_expedited",
    "rcutree.kthread_prio",
];
/// Beginnings of the parameters of modules whose settings affect latency.
const KEPT_MODULES: [&str; 4] = ["rcutree.", "dwc_otg.", "kvm.", "kvm-intel."];
/// The longest value that is kept.
const VALUE_MAX: usize = 128;
/// The longest name of a parameter.
const NAME_MAX: usize = 64;

/// The command line with the values of parameters outside the lists replaced. A word that is not a parameter with a value, and
/// everything that the kernel passes to the first program, is replaced.
pub(super) fn redacted(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in split(line) {
        if word == "--" {
            // Everything after it is for the first program.
            words.extend(["--".to_owned(), REDACTED.to_owned()]);
            break;
        }
        words.push(parameter(word));
    }
    words.join(" ")
}

fn parameter(word: &str) -> String {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    // The kernel takes `-` and `_` in names as the same.
    let plain = name.replace('-', "_");
    let is_kept = KEPT.iter().any(|known| known.replace('-', "_") == plain)
        || (KEPT_MODULES.iter().any(|module| plain.starts_with(&module.replace('-', "_"))) && is_name(name));
    match value {
        None if is_kept => word.to_owned(),
        Some(value) if is_kept && is_plain(value) => identifiers::without(word),
        Some(_) if is_name(name) => format!("{}={REDACTED}", identifiers::without(name)),
        _ => REDACTED.to_owned(),
    }
}

fn is_plain(value: &str) -> bool {
    value.len() <= VALUE_MAX && value.chars().all(|c| c.is_ascii_alphanumeric() || "_,.:+-/".contains(c))
}

fn is_name(name: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_of_a_name)
}

/// The words of the command line. Blanks between double quotes belong to the word, as in the kernel (lib/cmdline.c).
fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    line.split(move |c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_matter_to_latency_stay() {
        let line = "isolcpus=2,3 nohz_full=2-3 threadirqs intel-idle.max_cstate=0 dwc_otg.fiq_enable=0 quiet";
        assert_eq!(redacted(line), line);
    }

    #[test]
    fn what_identifies_the_machine_is_replaced() {
        for (line, expected) in [
            (
                "bcm2708.serial=0x1234abcd smsc95xx.macaddr=B8:27:EB:01:23:45 root=PARTUUID=6c586e13-02 rw",
                "bcm2708.serial=redacted smsc95xx.macaddr=redacted root=redacted redacted",
            ),
            ("ip=10.0.0.2::10.0.0.1:255.0.0.0:host cryptdevice=UUID=x:y", "ip=redacted cryptdevice=redacted"),
            ("a=\"secret word=b\" secret", "a=redacted redacted"),
            ("tsc=reliable -- --token=abc", "tsc=reliable -- redacted"),
            ("isolcpus=\"a b\"", "isolcpus=redacted"),
            ("kvm.x=b8:27:eb:01:23:45", "kvm.x=redacted"),
            ("é=1 \"unclosed secret", "redacted redacted"),
            ("", ""),
        ] {
            assert_eq!(redacted(line), expected, "{line}");
            assert_eq!(redacted(expected), expected, "redacting twice is the same");
        }
    }
}
