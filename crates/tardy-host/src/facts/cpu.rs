//! Processors and their idle states.

use std::collections::BTreeMap;

use tardy_record::cpu_list;
use tardy_record::facts::{Clock, Cpu, Fact, IdleState, Kernel};
use tardy_record::per_cpu::PerCpu;
use tardy_sys::kernel_files::KernelFiles;

use super::look::{Look, not_from};
use super::{hypervisor, parameters};
use crate::cpus::{self, listed};

const CPUS: &str = "/sys/devices/system/cpu";
const CPUINFO: &str = "/proc/cpuinfo";

/// Collects the facts about processors.
pub(super) fn collect(files: &KernelFiles, kernel: &Kernel, clock: &Clock) -> Cpu {
    let cpuinfo = files.text(CPUINFO).unwrap_or_default();
    let online = online(files, &cpuinfo);
    let first = online.get().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
    let nohz_full = kept_apart(files, kernel, "nohz_full", "nohz_full");
    Cpu {
        model: model(&cpuinfo),
        microcode: field_fact(&cpuinfo, "microcode"),
        topology: topology(files),
        smt: multithreading(files),
        governor: files.per_cpu_fact(CPUS, "cpu", &format!("{CPUS}/cpu*/cpufreq/scaling_governor"), |cpu| {
            files.text(&format!("{cpu}/cpufreq/scaling_governor")).ok()
        }),
        frequency_driver: frequency_driver(files, first),
        frequency_khz: files.per_cpu_fact(
            CPUS,
            "cpu",
            &format!("{CPUS}/cpu*/cpufreq/scaling_{{min,max}}_freq"),
            |cpu| {
                let limit = |which: &str| files.number(&format!("{cpu}/cpufreq/scaling_{which}_freq")).ok();
                Some((limit("min")?, limit("max")?))
            },
        ),
        idle_states: idle_states(files, first),
        idle_driver: idle_driver(files),
        mitigations: mitigations(files),
        isolated: isolated(files, kernel),
        rcu_nocbs: rcu_nocbs(files, kernel, &nohz_full),
        nohz_full,
        irq_affinity: irq_affinity(files),
        hypervisor: hypervisor::find(files, clock),
        online,
    }
}

/// The value of the first line `name : value` of /proc/cpuinfo.
fn field<'text>(cpuinfo: &'text str, name: &str) -> Option<&'text str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then_some(value.trim())
    })
}

fn field_fact(cpuinfo: &str, name: &str) -> Fact<String> {
    match field(cpuinfo, name) {
        Some(value) => Fact::known(value.to_owned(), CPUINFO),
        None => Fact::unknown(format!("{CPUINFO}: no {name}")),
    }
}

/// The CPU model. x86 and old ARM kernels report a name; newer ARM kernels report numbers (MIDR_EL1), and [`arm_parts`]
/// has the names of common ones.
fn model(cpuinfo: &str) -> Fact<String> {
    const NAMES: [&str; 6] = ["model name", "cpu model", "Processor", "uarch", "cpu", "isa"];
    let parts = arm_parts(cpuinfo);
    if let (false, None) = (parts.is_empty(), field(cpuinfo, "model name")) {
        return Fact::known(parts.join(" + "), format!("CPU implementer and part in {CPUINFO}"));
    }
    match NAMES.iter().find_map(|name| field(cpuinfo, name)) {
        Some(name) => Fact::known(name.to_owned(), CPUINFO),
        None => Fact::unknown(format!("{CPUINFO}: no model")),
    }
}

/// The distinct ARM core types, in the order of their first CPU.
fn arm_parts(cpuinfo: &str) -> Vec<String> {
    const ARM: [(&str, &str); 20] = [
        ("0x926", "ARM926"),
        ("0xb76", "ARM1176"),
        ("0xc05", "Cortex-A5"),
        ("0xc07", "Cortex-A7"),
        ("0xc08", "Cortex-A8"),
        ("0xc09", "Cortex-A9"),
        ("0xc0e", "Cortex-A17"),
        ("0xc0f", "Cortex-A15"),
        ("0xd03", "Cortex-A53"),
        ("0xd04", "Cortex-A35"),
        ("0xd05", "Cortex-A55"),
        ("0xd07", "Cortex-A57"),
        ("0xd08", "Cortex-A72"),
        ("0xd09", "Cortex-A73"),
        ("0xd0a", "Cortex-A75"),
        ("0xd0b", "Cortex-A76"),
        ("0xd0c", "Neoverse-N1"),
        ("0xd41", "Cortex-A78"),
        ("0xd46", "Cortex-A510"),
        ("0xd4c", "Cortex-X1C"),
    ];
    let mut parts: Vec<String> = Vec::new();
    let mut implementer = "";
    for (key, value) in cpuinfo.lines().filter_map(|line| line.split_once(':')) {
        match (key.trim(), value.trim()) {
            ("CPU implementer", value) => implementer = value,
            ("CPU part", part) => {
                let known = ARM.iter().find(|(number, _)| implementer == "0x41" && *number == part);
                let name = known.map_or_else(
                    || format!("implementer {implementer} part {part}"),
                    |(_, name)| (*name).to_owned(),
                );
                if !parts.contains(&name) {
                    parts.push(name);
                }
            }
            _ => {}
        }
    }
    parts
}

fn online(files: &KernelFiles, cpuinfo: &str) -> Fact<Vec<u32>> {
    let path = format!("{CPUS}/online");
    if let Some(cpus) = listed(files, &path).filter(|cpus| !cpus.is_empty()) {
        return Fact::known(cpus, path);
    }
    let listed: Vec<u32> = cpuinfo
        .lines()
        .filter_map(|line| line.strip_prefix("processor")?.split_once(':')?.1.trim().parse().ok())
        .collect();
    if listed.is_empty() {
        Fact::unknown(format!("{path}, {CPUINFO}: no CPUs"))
    } else {
        Fact::known(listed, CPUINFO)
    }
}

fn topology(files: &KernelFiles) -> Fact<PerCpu<String>> {
    files.per_cpu_fact(CPUS, "cpu", &format!("{CPUS}/cpu*/topology"), |cpu| {
        let id = |which: &str| files.text(&format!("{cpu}/topology/{which}")).ok();
        Some(format!("{}:{}", id("physical_package_id")?, id("core_id")?))
    })
}

fn multithreading(files: &KernelFiles) -> Fact<String> {
    let control = files.text_fact(&[&format!("{CPUS}/smt/control")]);
    if control.get().is_some() {
        return control;
    }
    let how = format!("{CPUS}/cpu*/topology/thread_siblings_list");
    let siblings = files.per_cpu_fact(CPUS, "cpu", &how, |cpu| {
        cpu_list::parse(&files.text(&format!("{cpu}/topology/thread_siblings_list")).ok()?)
    });
    match siblings.get() {
        Some(siblings) if siblings.0.values().any(|cpus| cpus.len() > 1) => Fact::known("on".to_owned(), how),
        Some(_) => Fact::known("off".to_owned(), how),
        None => Fact::unknown(format!("{}; {}", control.how, siblings.how)),
    }
}

fn frequency_driver(files: &KernelFiles, cpu: u32) -> Fact<String> {
    let path = format!("{CPUS}/cpu{cpu}/cpufreq/scaling_driver");
    match files.text(&path) {
        Ok(driver) => Fact::known(driver, path),
        Err(error) if error.is_absent() && files.exists(&format!("{CPUS}/online")) => {
            Fact::known("none".to_owned(), format!("no {path}"))
        }
        Err(error) => Fact::unknown(not_from(&path, &error)),
    }
}

fn idle_driver(files: &KernelFiles) -> Fact<String> {
    let path = format!("{CPUS}/cpuidle/current_driver");
    match files.text(&path) {
        Ok(driver) if !driver.is_empty() => Fact::known(driver, path),
        Err(error) if error.is_absent() && files.exists(&format!("{CPUS}/online")) => {
            Fact::known("none".to_owned(), format!("no {path}"))
        }
        Ok(_) => Fact::unknown(format!("{path}: empty")),
        Err(error) => Fact::unknown(not_from(&path, &error)),
    }
}

fn idle_states(files: &KernelFiles, cpu: u32) -> Fact<Vec<IdleState>> {
    let parent = format!("{CPUS}/cpu{cpu}/cpuidle");
    let names = match files.names(&parent) {
        Ok(names) => names,
        Err(error) if error.is_absent() && files.exists(&format!("{CPUS}/online")) => {
            return Fact::known(Vec::new(), format!("no {parent}"));
        }
        Err(error) => return Fact::unknown(not_from(&parent, &error)),
    };
    let state = |name: &String| {
        let text = |field: &str| files.text(&format!("{parent}/{name}/{field}")).ok();
        Some(IdleState {
            name: text("name")?,
            latency_us: text("latency")?.parse().ok()?,
            disabled: text("disable").is_some_and(|disabled| disabled != "0"),
        })
    };
    Fact::known(names.iter().filter_map(state).collect(), format!("{parent}/state*"))
}

fn mitigations(files: &KernelFiles) -> Fact<BTreeMap<String, String>> {
    let parent = format!("{CPUS}/vulnerabilities");
    match files.names(&parent) {
        Ok(names) => {
            let state =
                |name: String| files.text(&format!("{parent}/{name}")).ok().map(|state| (name, state));
            Fact::known(names.into_iter().filter_map(state).collect(), parent.clone())
        }
        Err(error) => Fact::unknown(not_from(&parent, &error)),
    }
}

/// CPUs isolated at boot or by a partition of cpusets.
fn isolated(files: &KernelFiles, kernel: &Kernel) -> Fact<String> {
    let at_boot = kept_apart(files, kernel, "isolated", "isolcpus");
    let partitions = cpus::partitions(files).into_iter().filter(|partition| partition.is_isolated);
    let in_partitions: Vec<u32> = partitions.flat_map(|partition| partition.cpus).collect();
    let Some(listed) = at_boot.get().and_then(|list| cpu_list::parse_kept_apart(list)) else {
        return at_boot;
    };
    if in_partitions.is_empty() {
        return at_boot;
    }
    let all = cpu_list::distinct(in_partitions.into_iter().chain(listed));
    // Without the names of the cgroups, which users and services choose.
    Fact::known(cpu_list::format(&all), format!("{}, cpuset.cpus.partition of cgroups", at_boot.how))
}

/// CPUs whose RCU callbacks are offloaded. The kernel offloads those of `rcu_nocbs=`, and of `nohz_full=` too (kernel/rcu/tree_nocb.h,
/// rcu_init_nohz).
fn rcu_nocbs(files: &KernelFiles, kernel: &Kernel, nohz_full: &Fact<String>) -> Fact<String> {
    let Some(line) = kernel.command_line.get() else { return Fact::unknown(kernel.command_line.how.clone()) };
    let Some(tickless) = nohz_full.get().and_then(|list| cpu_list::parse_kept_apart(list)) else {
        return nohz_full.clone();
    };
    let (words, _) = parameters::split(line);
    let asked = words.iter().rev().find_map(|word| word.strip_prefix("rcu_nocbs="));
    let online = || listed(files, &format!("{CPUS}/online"));
    let asked = match asked {
        None => Some(Vec::new()),
        Some("all") => online(),
        Some(list) => cpu_list::parse(list),
    };
    let how = "rcu_nocbs= on the command line, and CPUs without tick".to_owned();
    let Some(asked) = asked else { return Fact::unknown(format!("{how}: not understood")) };
    let all = cpu_list::distinct(tickless.into_iter().chain(asked));
    Fact::known(if all.is_empty() { "none".to_owned() } else { cpu_list::format(&all) }, how)
}

/// CPUs that the kernel keeps apart: as it reports them, otherwise as the command line requests them.
fn kept_apart(files: &KernelFiles, kernel: &Kernel, file: &str, parameter: &str) -> Fact<String> {
    let path = format!("{CPUS}/{file}");
    let none_if_empty = |list: &str| match list.trim() {
        // nohz_full prints its mask as a null pointer if the parameter is not set.
        "" | "(null)" => "none".to_owned(),
        list => list.to_owned(),
    };
    let error = match files.text(&path) {
        Ok(text) => return Fact::known(none_if_empty(&text), path),
        Err(error) => error,
    };
    match kernel.command_line.get() {
        Some(line) if error.is_absent() => {
            let (words, _) = parameters::split(line);
            match words.iter().rev().find_map(|word| word.strip_prefix(parameter)?.strip_prefix('=')) {
                Some(asked) => Fact::known(none_if_empty(asked), format!("{parameter}= on the command line")),
                None => {
                    Fact::known("none".to_owned(), format!("no {path}, no {parameter}= on the command line"))
                }
            }
        }
        _ => Fact::unknown(not_from(&path, &error)),
    }
}

fn irq_affinity(files: &KernelFiles) -> Fact<String> {
    const PATH: &str = "/proc/irq/default_smp_affinity";
    match files.text(PATH) {
        Ok(mask) => match cpu_list::parse_mask(&mask) {
            Some(cpus) => Fact::known(cpu_list::format(&cpus), PATH),
            None => Fact::unknown(format!("{PATH}: no mask")),
        },
        Err(error) => Fact::unknown(not_from(PATH, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arm_cores_are_named_by_their_numbers() {
        let big_little = "CPU implementer\t: 0x41\nCPU part\t: 0xd03\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd09\n\
            CPU implementer\t: 0x41\nCPU part\t: 0xd03\nCPU implementer\t: 0x51\nCPU part\t: 0x800\n";
        assert_eq!(model(big_little).get().unwrap(), "Cortex-A53 + Cortex-A73 + implementer 0x51 part 0x800");
        assert_eq!(
            model("model name\t: ARMv7 Processor rev 4 (v7l)\n").get().unwrap(),
            "ARMv7 Processor rev 4 (v7l)"
        );
        assert_eq!(model("").get(), None);
    }
}
