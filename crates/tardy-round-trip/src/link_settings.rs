//! Settings of a link that cost latency: interrupt coalescing, energy-efficient Ethernet, power saving, affinities of interrupts.
//!
//! What a device does not report is not mentioned: a virtual link has none of these.

use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::links::{self, Coalescing};

/// A setting, and what changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// What it is and what it costs.
    pub found: String,
    /// The command that changes it.
    pub command: String,
}

impl Advice {
    /// As a remark.
    pub fn text(&self) -> String {
        format!("{}; change it with: {}", self.found, self.command)
    }
}

/// The settings of `link` that cost latency for a thread on `cpu`.
pub fn advice(files: &KernelFiles, link: &str, cpu: u32) -> Vec<Advice> {
    let mut advice = Vec::new();
    advice.extend(links::coalescing(link).ok().and_then(|coalescing| of_coalescing(link, &coalescing)));
    if links::is_energy_efficient(link).unwrap_or(false) {
        advice.push(Advice {
            found: format!(
                "{link} uses energy-efficient Ethernet, which takes microseconds to wake the link"
            ),
            command: format!("ethtool --set-eee {link} eee off"),
        });
    }
    advice.extend(of_power(files, link));
    advice.extend(of_interrupts(files, link, cpu));
    advice
}

fn of_coalescing(link: &str, coalescing: &Coalescing) -> Option<Advice> {
    let Coalescing { receive_us, receive_frames, is_adaptive } = *coalescing;
    let delays = is_adaptive || receive_us > 0 || receive_frames > 1;
    let how = match is_adaptive {
        true => "adapts the delay of its receive interrupts to the traffic".to_owned(),
        false => format!("delays its receive interrupts by up to {receive_us} us or {receive_frames} frames"),
    };
    delays.then(|| Advice {
        found: format!("{link} {how} (interrupt coalescing)"),
        command: format!("ethtool -C {link} adaptive-rx off rx-usecs 0 rx-frames 1"),
    })
}

/// Runtime power management of the device: `auto` lets it sleep.
fn of_power(files: &KernelFiles, link: &str) -> Option<Advice> {
    let control = format!("/sys/class/net/{link}/device/power/control");
    let is_automatic = files.text(&control).is_ok_and(|text| text.trim() == "auto");
    let may_sleep = files
        .text(&format!("/sys/class/net/{link}/device/power/runtime_status"))
        .is_ok_and(|text| text.trim() != "unsupported");
    (is_automatic && may_sleep).then(|| Advice {
        found: format!("the device of {link} may sleep when it is idle (runtime power management)"),
        command: format!("echo on > {control}"),
    })
}

/// Interrupts of the device that other CPUs handle.
fn of_interrupts(files: &KernelFiles, link: &str, cpu: u32) -> Option<Advice> {
    let irqs = files.names(&format!("/sys/class/net/{link}/device/msi_irqs")).unwrap_or_default();
    let mut irqs: Vec<u32> = irqs.iter().filter_map(|name| name.parse().ok()).collect();
    irqs.sort_unstable();
    let elsewhere = |irq: &u32| {
        let allowed = files.text(&format!("/proc/irq/{irq}/effective_affinity_list")).ok()?;
        let cpus = tardy_record::cpu_list::parse(&allowed)?;
        (!cpus.is_empty() && !cpus.contains(&cpu)).then_some(*irq)
    };
    let found: Vec<u32> = irqs.iter().filter_map(elsewhere).collect();
    let first = *found.first()?;
    (found.len() == irqs.len()).then(|| Advice {
        found: format!(
            "no interrupt of {link} is handled by CPU {cpu}, on which the thread waits, so that one CPU wakes another"
        ),
        command: format!("echo {cpu} > /proc/irq/{first}/smp_affinity_list"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn coalescing_is_named_if_it_delays() {
        let of = |receive_us, receive_frames, is_adaptive| {
            of_coalescing("eth0", &Coalescing { receive_us, receive_frames, is_adaptive })
        };
        assert_eq!(of(0, 1, false), None);
        assert_eq!(of(0, 0, false), None);
        assert!(of(50, 0, false).unwrap().found.contains("by up to 50 us"));
        assert!(of(0, 1, true).unwrap().found.contains("adapts"));
    }

    #[test]
    fn power_saving_and_interrupts_on_other_cpus_are_found_in_kernel_files() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let files = KernelFiles::under(directory.path());
        assert!(of_power(&files, "eth0").is_none() && of_interrupts(&files, "eth0", 1).is_none());
        write("sys/class/net/eth0/device/power/control", "auto\n");
        write("sys/class/net/eth0/device/power/runtime_status", "active\n");
        for irq in ["40", "41"] {
            write(&format!("sys/class/net/eth0/device/msi_irqs/{irq}"), "msix\n");
        }
        write("proc/irq/40/effective_affinity_list", "0\n");
        write("proc/irq/41/effective_affinity_list", "2-3\n");
        let power = of_power(&files, "eth0").unwrap();
        assert_eq!(power.command, "echo on > /sys/class/net/eth0/device/power/control");
        assert!(of_interrupts(&files, "eth0", 1).unwrap().command.contains("/proc/irq/40/"));
        assert!(of_interrupts(&files, "eth0", 3).is_none(), "one queue is enough");
        write("sys/class/net/eth0/device/power/control", "on\n");
        assert!(of_power(&files, "eth0").is_none());
    }
}
