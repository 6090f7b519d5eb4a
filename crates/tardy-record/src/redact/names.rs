//! Names of phases, series, flows and tasks. A generated name stays. Another one becomes a kind with a number, the same for
//! each occurrence of the name in a run.

use super::REDACTED;

/// The built-in recipes, whose names stay.
pub const RECIPES: [&str; 18] = [
    "quick",
    "noise",
    "osadl",
    "rpi3-4.9",
    "rpi3-4.14",
    "rpi1-loaded",
    "rpi1-wiggle",
    "at91-timers",
    "at91-gpio",
    "at91-xenomai",
    "lab-doload",
    "lab-quick",
    "lab-full",
    "lab-rpi3",
    "lab-rpi1",
    "lab-at91-timers",
    "lab-at91-gpio",
    "lab-at91-levels",
];

/// The parts of labels that tardy, its recipes and its importers generate, apart from those with a number.
const LABELS: [&str; 64] = [
    // Wake methods.
    "clock_nanosleep",
    "nanosleep",
    "timerfd",
    "timer_settime",
    "setitimer",
    "busy",
    "deadline",
    // Probes, levels and ways to answer.
    "timer",
    "kernel",
    "timerlat",
    "osnoise",
    "hwlat",
    "noise",
    "gpio-reaction",
    "gpio-wiggle",
    "events",
    "sysfs",
    "timer IRQ",
    "kernel thread",
    "user thread",
    "wake-up",
    "wire",
    "irq",
    "plain",
    "shaped",
    "unshaped",
    // Phases of the built-in recipes, and loads.
    "idle",
    "loaded",
    "compiles",
    "Python",
    "none",
    "doload",
    "scheduler",
    "network",
    "copy",
    "listing",
    "cpu",
    "memory",
    "io",
    "fork",
    "timers",
    "signals",
    "compile",
    "ipi",
    "net",
    "ping-flood",
    "ping-flood-in",
    "stress-ng",
    "hackbench",
    "iperf3",
    // What importers name after tools.
    "cyclic",
    "cyclictest",
    "cyclicdeadline",
    "ssdd",
    "pmqtest",
    "signaltest",
    "svsematest",
    "sigwaittest",
    "columns",
    "HdrHistogram",
    "oslat",
    "hwlatdetect",
    "jitterdebugger",
    "rt-migrate-test",
];

/// Nouns that stand before a number in generated labels.
const NUMBERED: [&str; 5] = ["cpu", "thread", "round", "pair", "CPU"];

/// Beginnings of the names of kernel threads and of tardy's tasks.
const KERNEL_TASKS: [&str; 24] = [
    "swapper/",
    "ksoftirqd/",
    "kworker/",
    "migration/",
    "irq/",
    "irq_work/",
    "ktimers/",
    "ktimersoftd/",
    "rcu_",
    "rcuc/",
    "rcuog/",
    "rcuop/",
    "rcub/",
    "rcuos/",
    "cpuhp/",
    "idle_inject/",
    "posixcputmr/",
    "timerlatu/",
    "timerlat/",
    "osnoise/",
    "backlog_napi/",
    "kcompactd",
    "kswapd",
    "kdamond",
];
const KERNEL_TASK_NAMES: [&str; 8] =
    ["kthreadd", "khugepaged", "kauditd", "oom_reaper", "hwlatd", "tardy", "tardy-probe", "tardy-guest"];

/// Whether every part of a label, separated by commas, is one that tardy, its recipes or its importers generate.
pub fn is_known_label(label: &str) -> bool {
    label.split(", ").all(|part| {
        LABELS.contains(&part)
            || part
                .split_once(' ')
                .is_some_and(|(noun, number)| NUMBERED.contains(&noun) && is_number(number))
            || part.strip_suffix(" us").is_some_and(is_number)
    })
}

fn is_number(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of a built-in recipe, or the origin of a run without one.
pub(super) fn recipe(name: &str) -> String {
    let is_known = RECIPES.contains(&name) || matches!(name, "none" | "import");
    if is_known { name.to_owned() } else { REDACTED.to_owned() }
}

/// The names found so far, in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Names {
    phases: Vec<String>,
    names: Vec<String>,
    tasks: Vec<String>,
}

impl Names {
    pub(super) fn phase(&mut self, label: &str) -> String {
        if is_known_label(label) { label.to_owned() } else { numbered(&mut self.phases, "phase", label) }
    }

    pub(super) fn name(&mut self, name: &str) -> String {
        if is_known_label(name) { name.to_owned() } else { numbered(&mut self.names, "name", name) }
    }

    pub(super) fn task(&mut self, name: &str) -> String {
        let is_kernels = KERNEL_TASK_NAMES.contains(&name)
            || KERNEL_TASKS.iter().any(|beginning| name.starts_with(beginning));
        if is_kernels {
            return super::identifiers::without(name);
        }
        numbered(&mut self.tasks, "task", name)
    }
}

fn numbered(known: &mut Vec<String>, kind: &str, name: &str) -> String {
    let index = known.iter().position(|other| other == name).unwrap_or_else(|| {
        known.push(name.to_owned());
        known.len() - 1
    });
    format!("{kind} {}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_stay_and_others_are_numbered() {
        let mut names = Names::default();
        assert_eq!(names.phase("20 us, compiles, timerfd, round 2"), "20 us, compiles, timerfd, round 2");
        assert_eq!(names.phase("the pump of plant 7"), "phase 1");
        assert_eq!(names.phase("another"), "phase 2");
        assert_eq!(names.phase("the pump of plant 7"), "phase 1");
        assert_eq!(names.name("cpu 0, kernel thread"), "cpu 0, kernel thread");
        assert_eq!(names.name("cpu 0 of plant 7"), "name 1");
        assert_eq!(names.task("kworker/0:1-events"), "kworker/0:1-events");
        assert_eq!(names.task("plc-runtime"), "task 1");
        assert_eq!(recipe("rpi3-4.9"), "rpi3-4.9");
        assert_eq!(recipe("plant-7"), REDACTED);
    }

    #[test]
    fn redacted_names_keep_their_numbers() {
        let mut names = Names::default();
        for name in ["phase 1", "phase 2", "phase 1"] {
            assert_eq!(names.phase(name), name);
        }
    }
}
