//! Names of phases, series, flows and tasks. A generated name stays. Another one becomes a kind with a number, the same for
//! each occurrence of the name in a run.

use tardy_record::run::REDACTED;
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
const LABELS: [&str; 65] = [
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
    "program",
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

/// The words of the ids of published results, separated by hyphens.
const RESULT_WORDS: [&str; 30] = [
    "4.14", "4.4", "4.9", "20us", "30us", "9263", "busy", "flows", "g20", "g45", "gpio", "idle", "irq",
    "kernel", "loaded", "n", "none", "python", "rpi1", "rpi3", "rt", "s", "sn", "standard", "switch", "tsn",
    "two", "user", "wiggle", "xenomai",
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

/// Whether an id has only words of the ids of published results. A recipe of the user may list any text.
pub fn is_known_result(id: &str) -> bool {
    id.split('-').all(|word| RESULT_WORDS.contains(&word))
}

fn is_number(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The name of a built-in recipe, or the origin of a run without one.
pub(super) fn recipe(name: &str) -> String {
    let is_known = RECIPES.contains(&name) || matches!(name, "none" | "import");
    if is_known { name.to_owned() } else { REDACTED.to_owned() }
}

/// Beginnings of names of kernel threads and work queues that a name follows which users give: to volumes of DRBD, lock
/// spaces and file systems of clusters, and interfaces of WireGuard.
const NAMED_BY_USERS: [&str; 5] = ["drbd_", "dlm_", "gfs2_", "wg-crypt-", "wg-kex-"];
/// The end of the names of NFS's threads, which begin with the address of the server.
const OF_A_SERVER: &str = "-manager";

/// A text with the name of a kernel thread or of a cgroup, without the names that users give. The path of a cgroup names
/// users, services and containers.
pub(super) fn kernel_thread(text: &str) -> String {
    if text.starts_with('/') {
        return REDACTED.to_owned();
    }
    if text.starts_with("cgroup /") {
        return format!("cgroup {REDACTED}");
    }
    let word = |word: &str| {
        let server = word.trim_end_matches(',').strip_suffix(OF_A_SERVER);
        if let Some(server) = server.filter(|server| !server.is_empty()) {
            return word.replacen(server, REDACTED, 1);
        }
        let begin = NAMED_BY_USERS.iter().find_map(|kind| word.find(kind).map(|at| at + kind.len()));
        let Some(begin) = begin else { return word.to_owned() };
        let end = if word.ends_with(',') { "," } else { "" };
        format!("{}{REDACTED}{end}", &word[..begin])
    };
    super::identifiers::without(&text.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

/// The id of a published result, if it is one.
pub(super) fn published(id: &str) -> String {
    if is_known_result(id) { id.to_owned() } else { REDACTED.to_owned() }
}

/// The names found so far, in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Names {
    /// The labels of all phases of the run.
    labels: Vec<String>,
    phases: Vec<String>,
    names: Vec<String>,
    tasks: Vec<String>,
}

impl Names {
    /// No names, and the labels of the run's phases.
    pub(super) fn of_phases(labels: Vec<String>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// The label of a phase at the beginning of `text`, and the text after the apostrophe that follows it.
    pub(super) fn split_label<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let ends = |label: &str| text.strip_prefix(label).is_some_and(|rest| rest.starts_with('\''));
        let known = self.labels.iter().filter(|label| ends(label)).map(String::len).max();
        let end = known.or_else(|| text.find('\'').filter(|end| is_known_label(&text[..*end])))?;
        Some((&text[..end], &text[end + 1..]))
    }

    pub(super) fn phase(&mut self, label: &str) -> String {
        let is_kept = is_known_label(label) || matches!(label, "" | "unknown" | REDACTED);
        if is_kept { label.to_owned() } else { numbered(&mut self.phases, "phase", label) }
    }

    pub(super) fn name(&mut self, name: &str) -> String {
        if is_known_label(name) { name.to_owned() } else { numbered(&mut self.names, "name", name) }
    }

    pub(super) fn task(&mut self, name: &str) -> String {
        let is_kernels = KERNEL_TASK_NAMES.contains(&name)
            || KERNEL_TASKS.iter().any(|beginning| name.starts_with(beginning));
        if is_kernels {
            return kernel_thread(name);
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
        assert_eq!(published("rpi3-4.9-rt-idle"), "rpi3-4.9-rt-idle");
        assert_eq!(published("plant-7"), REDACTED);
    }

    #[test]
    fn what_users_name_is_removed_from_names_of_kernel_threads() {
        for (text, expected) in [
            ("kernel thread rcuc/0", "kernel thread rcuc/0"),
            ("irq 39 dwc_otg, cpu 0", "irq 39 dwc_otg, cpu 0"),
            ("10.0.0.2-manager", "redacted-manager"),
            ("kernel thread fd00::1-manager", "kernel thread redacted-manager"),
            ("drbd_w_plant7", "drbd_redacted"),
            ("kworker/0:1-wg-crypt-plant7", "kworker/0:1-wg-crypt-redacted"),
            ("napi/enxb827eb012345-8193", "napi/redacted-8193"),
            ("/system.slice/plant 7.service", "redacted"),
            ("cgroup /user.slice/user-1000.slice throttled", "cgroup redacted"),
        ] {
            assert_eq!(kernel_thread(text), expected);
            assert_eq!(kernel_thread(expected), expected, "redacting twice is the same");
        }
        assert_eq!(Names::default().task("kworker/u8:2-wg-kex-plant7"), "kworker/u8:2-wg-kex-redacted");
    }

    #[test]
    fn redacted_names_keep_their_numbers() {
        let mut names = Names::default();
        for name in ["phase 1", "phase 2", "phase 1"] {
            assert_eq!(names.phase(name), name);
        }
    }
}
