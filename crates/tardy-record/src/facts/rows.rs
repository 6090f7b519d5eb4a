//! The facts as rows of text, for tables and for comparing two runs.

use std::fmt::Display;

use crate::per_cpu::PerCpu;

use super::{Clock, Cpu, Evidence, Fact, Facts, IdleState, Kernel, KernelThread, Machine, Scheduling};

/// One fact as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The section: `kernel`, `clock`, `cpu`, `scheduling`, `machine` or `tardy`.
    pub section: &'static str,
    /// The name of the fact. Section and name identify a row, and are the same in every run.
    pub name: &'static str,
    /// The value with its unit, or `unknown`.
    pub value: String,
    /// The source of the value, or the place that was searched.
    pub how: String,
}

impl Facts {
    /// Every fact as a row, in a fixed order. The kernel's configuration is one row: the number of known options.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(64);
        kernel_rows(&self.kernel, &mut Section { name: "kernel", rows: &mut rows });
        clock_rows(&self.clock, &mut Section { name: "clock", rows: &mut rows });
        cpu_rows(&self.cpu, &mut Section { name: "cpu", rows: &mut rows });
        scheduling_rows(&self.scheduling, &mut Section { name: "scheduling", rows: &mut rows });
        machine_rows(&self.machine, &mut Section { name: "machine", rows: &mut rows });
        let mut tardy = Section { name: "tardy", rows: &mut rows };
        tardy.row("version", self.tardy.version.clone(), "built in");
        tardy.row("build", self.tardy.build.clone(), "built in");
        rows
    }
}

/// Collects the rows of one section.
struct Section<'rows> {
    name: &'static str,
    rows: &'rows mut Vec<Row>,
}

impl Section<'_> {
    fn row(&mut self, name: &'static str, value: String, how: &str) {
        self.rows.push(Row { section: self.name, name, value, how: how.to_owned() });
    }

    /// A fact whose value is formatted by `text`.
    fn with<T>(&mut self, name: &'static str, fact: &Fact<T>, text: impl FnOnce(&T) -> String) {
        self.row(name, fact.get().map_or_else(|| "unknown".to_owned(), text), &fact.how);
    }

    /// A fact whose value is formatted by `Display`.
    fn plain<T: Display>(&mut self, name: &'static str, fact: &Fact<T>) {
        self.with(name, fact, T::to_string);
    }
}

fn kernel_rows(kernel: &Kernel, to: &mut Section<'_>) {
    to.plain("release", &kernel.release);
    to.plain("version", &kernel.version);
    to.plain("architecture", &kernel.machine);
    to.with("real-time (PREEMPT_RT)", &kernel.real_time, |is| yes_no(*is));
    to.with("preemption model", &kernel.preemption, |model| model.name().to_owned());
    to.with("preemption can change", &kernel.preempt_dynamic, |is| yes_no(*is));
    let evidence: Vec<String> = kernel.preemption_evidence.iter().map(Evidence::to_string).collect();
    to.row("evidence", or_none(&evidence, "; "), "each source looked at");
    to.row("contradictions", or_none(&kernel.contradictions, "; "), "the evidence compared");
    to.with("ticks per second", &kernel.hz, |hz| format!("{hz} Hz"));
    to.plain("command line", &kernel.command_line);
    to.with("unowned parameters", &kernel.unowned_parameters, |list| or_none(list, "; "));
    to.with("configuration", &kernel.config, |config| format!("{} options set", config.len()));
    to.plain("co-kernel", &kernel.co_kernel);
}

fn clock_rows(clock: &Clock, to: &mut Section<'_>) {
    to.plain("source", &clock.source);
    to.with("available sources", &clock.available, |list| list.join(" "));
    to.with("event devices", &clock.event_devices, |devices| devices.line(String::clone));
    to.with("high-resolution timers", &clock.high_resolution, |is| yes_no(*is));
    to.with("resolution", &clock.resolution_ns, |clocks| {
        clocks.iter().map(|(name, ns)| format!("{name} {ns} ns")).collect::<Vec<_>>().join(", ")
    });
    to.with("cost of a reading", &clock.read_cost_ns, |ns| format!("{ns} ns"));
}

fn cpu_rows(cpu: &Cpu, to: &mut Section<'_>) {
    to.plain("model", &cpu.model);
    to.plain("microcode", &cpu.microcode);
    to.with("online", &cpu.online, |cpus| crate::cpu_list::format(cpus));
    to.with("topology", &cpu.topology, topology);
    to.plain("multithreading", &cpu.smt);
    to.with("frequency governor", &cpu.governor, |governors| governors.line(String::clone));
    to.plain("frequency driver", &cpu.frequency_driver);
    to.with("frequency limits", &cpu.frequency_khz, |limits| {
        limits.line(|(low, high)| format!("{} to {} MHz", low / 1000, high / 1000))
    });
    to.with("idle states", &cpu.idle_states, |states| {
        let states: Vec<String> = states.iter().map(idle_state).collect();
        or_none(&states, ", ")
    });
    to.plain("idle driver", &cpu.idle_driver);
    to.with("mitigations", &cpu.mitigations, |flaws| {
        let active: Vec<String> = flaws
            .iter()
            .filter(|(_, state)| state.as_str() != "Not affected")
            .map(|(flaw, state)| format!("{flaw}: {state}"))
            .collect();
        or_none(&active, "; ")
    });
    to.plain("isolated CPUs", &cpu.isolated);
    to.plain("CPUs without tick", &cpu.nohz_full);
    // Runs of earlier versions do not have it.
    if cpu.rcu_nocbs != Fact::default() {
        to.plain("CPUs without RCU callbacks", &cpu.rcu_nocbs);
    }
    to.plain("interrupts go to CPUs", &cpu.irq_affinity);
    to.plain("hypervisor", &cpu.hypervisor);
}

/// `1 package, 4 cores, 8 CPUs`.
fn topology(cores: &PerCpu<String>) -> String {
    let distinct = |key: fn(&str) -> &str| {
        let mut keys: Vec<&str> = cores.0.values().map(|core| key(core)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len()
    };
    let plural =
        |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    let packages = distinct(|core| core.split(':').next().unwrap_or_default());
    let cpus = plural(cores.0.len(), "CPU");
    format!("{}, {}, {cpus}", plural(packages, "package"), plural(distinct(|core| core), "core"))
}

fn idle_state(state: &IdleState) -> String {
    let off = if state.disabled { ", off" } else { "" };
    format!("{} ({} us{off})", state.name, state.latency_us)
}

fn scheduling_rows(scheduling: &Scheduling, to: &mut Section<'_>) {
    to.with("real-time runtime", &scheduling.rt_runtime_us, |us| match us {
        -1 => "unlimited (-1)".to_owned(),
        us => format!("{us} us"),
    });
    to.with("real-time period", &scheduling.rt_period_us, |us| format!("{us} us"));
    to.with("fair server", &scheduling.fair_server, |servers| {
        servers.line(|server| match server.runtime_ns {
            0 => "off".to_owned(),
            runtime => format!("{} of {} ms", runtime / 1_000_000, server.period_ns / 1_000_000),
        })
    });
    to.with("cgroup's real-time runtime", &scheduling.cgroup_rt, |limit| match limit.as_str() {
        "none" => "no limit".to_owned(),
        us => format!("{us} us"),
    });
    to.plain("priority allowed", &scheduling.allowed_priority);
    to.with("memory that may be locked", &scheduling.lockable_memory, |limit| match limit.as_str() {
        "unlimited" => limit.clone(),
        kb => format!("{kb} kB"),
    });
    to.with("interrupt and timer threads", &scheduling.kernel_threads, |threads| threads_line(threads));
}

/// Threads grouped by policy and priority, the highest first: `fifo 50: irq/16-mmc0 irq/39-dwc_otg`.
fn threads_line(threads: &[KernelThread]) -> String {
    let mut groups: Vec<((u32, &str), Vec<&str>)> = Vec::new();
    for thread in threads {
        let key = (thread.priority, thread.policy.as_str());
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, names)) => names.push(&thread.name),
            None => groups.push((key, vec![&thread.name])),
        }
    }
    groups.sort_by(|a, b| b.0.cmp(&a.0));
    let lines: Vec<String> = groups
        .iter()
        .map(|((priority, policy), names)| match priority {
            0 => format!("{policy}: {}", names.join(" ")),
            _ => format!("{policy} {priority}: {}", names.join(" ")),
        })
        .collect();
    or_none(&lines, "; ")
}

fn machine_rows(machine: &Machine, to: &mut Section<'_>) {
    to.plain("board", &machine.board);
    to.plain("firmware", &machine.firmware);
    to.plain("distribution", &machine.distribution);
    to.with("memory", &machine.memory_kb, |kb| format!("{} MiB", kb / 1024));
}

fn yes_no(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

fn or_none<T: Display>(list: &[T], separator: &str) -> String {
    if list.is_empty() {
        return "none".to_owned();
    }
    list.iter().map(T::to_string).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_unique_name_and_unknown_is_stated() {
        let rows = Facts::default().rows();
        let mut names: Vec<_> = rows.iter().map(|row| (row.section, row.name)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows.len());
        assert!(rows.iter().filter(|row| row.value == "unknown").count() > 30);
    }

    #[test]
    fn threads_are_sorted_by_priority() {
        let thread = |name: &str, policy: &str, priority| KernelThread {
            name: name.into(),
            pid: 1,
            policy: policy.into(),
            priority,
        };
        let line = threads_line(&[
            thread("ksoftirqd/0", "other", 0),
            thread("irq/16-mmc0", "fifo", 50),
            thread("irq/39-dwc_otg", "fifo", 50),
            thread("ktimers/0", "fifo", 98),
        ]);
        assert_eq!(line, "fifo 98: ktimers/0; fifo 50: irq/16-mmc0 irq/39-dwc_otg; other: ksoftirqd/0");
    }
}
