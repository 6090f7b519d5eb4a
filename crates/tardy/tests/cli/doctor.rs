//! `tardy check --measure` on a directory of kernel files: what it tries and prints, and that it restores every
//! setting, however it ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tardy_sys::child::{send, signal};
use tardy_sys::scheduling;

use crate::bench::{Bench, Printed, wait_until};

/// Every change of a setting that must be restored. The tenth change, `idle`, is a file that the probe keeps open.
const CHANGES: [&str; 9] = [
    "governor",
    "throttling",
    "fair-server",
    "interrupts",
    "irq-threads-up",
    "irq-threads-down",
    "ktimers-up",
    "ktimers-down",
    "timer-migration",
];

/// A machine on which every change can be tried.
struct Tree {
    bench: Bench,
}

impl Tree {
    /// A machine with the CPUs that the fake probe measures.
    fn new() -> Self {
        Self::of_cpus(2)
    }

    /// A machine that a real probe can measure: this machine's CPUs and one more.
    fn as_large_as_this() -> Self {
        Self::of_cpus(scheduling::affinity().unwrap().last().unwrap() + 2)
    }

    fn of_cpus(cpus: u32) -> Self {
        let tree = Self { bench: Bench::new() };
        let all = format!("0-{}\n", cpus - 1);
        tree.write("sys/devices/system/cpu/online", &all);
        for cpu in 0..cpus {
            let place = format!("sys/devices/system/cpu/cpu{cpu}");
            tree.write(&format!("{place}/cpufreq/scaling_governor"), "ondemand\n");
            tree.write(&format!("{place}/cpufreq/scaling_available_governors"), "ondemand performance\n");
            tree.write(&format!("{place}/cpuidle/state0/latency"), "0\n");
            tree.write(&format!("{place}/cpuidle/state1/latency"), "130\n");
            tree.write(&format!("{place}/cpuidle/state1/disable"), "0\n");
            tree.write(&format!("sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"), "50000000\n");
        }
        fs::create_dir_all(tree.root().join("dev")).unwrap();
        fs::write(tree.root().join("dev/cpu_dma_latency"), 2_000_000_000_i32.to_ne_bytes()).unwrap();
        tree.write("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
        tree.write("proc/sys/kernel/timer_migration", "1\n");
        tree.write("proc/irq/24/smp_affinity_list", &all);
        tree.write("proc/irq/default_smp_affinity", "f\n");
        for (pid, name, priority) in
            [(39, "irq/39-dwc_otg", 50), (40, "irq/40-eth", 95), (41, "ktimers/0", 1), (42, "ktimers/1", 95)]
        {
            let stat = format!(
                "{pid} ({name}) S 2 0 0 0 -1 2129984 0 0 0 0 7 350 0 0 -51 0 1 0 88 0 0 4294967295 0 0 0 0 0 0 0 \
                 2147483647 0 0 0 0 17 0 {priority} 1 0 0 0\n"
            );
            tree.write(&format!("proc/{pid}/stat"), &stat);
        }
        tree.may_do_anything(true);
        tree.write("proc/self/uid_map", "0 0 4294967295\n");
        tree
    }

    fn may_do_anything(&self, yes: bool) {
        let mask = if yes { "000001ffffffffff" } else { "0000000000000000" };
        self.write("proc/self/status", &format!("Name:\ttardy\nCapEff:\t{mask}\n"));
    }

    fn root(&self) -> PathBuf {
        self.bench.path("machine")
    }

    fn write(&self, path: &str, text: &str) {
        let full = self.root().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, text).unwrap();
    }

    /// Every kernel file with its contents, without trailing white space. tardy's own files are left out.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut directories = vec![self.root()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true if entry.path() == self.root().join("run") => {}
                    true => directories.push(entry.path()),
                    false => {
                        let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
                        found.insert(entry.path(), text.trim_end().to_owned());
                    }
                }
            }
        }
        found
    }

    fn journal(&self) -> Vec<PathBuf> {
        let directory = self.root().join("run/tardy/journal");
        fs::read_dir(directory)
            .map_or_else(|_| Vec::new(), |all| all.map(|one| one.unwrap().path()).collect())
    }

    fn arguments<'a>(&self, root: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["check", "--measure", "--kernel-root", root], more].concat()
    }

    fn check(&self, more: &[&str]) -> Printed {
        let root = self.root();
        self.bench.run(&self.arguments(root.to_str().unwrap(), more))
    }

    fn restore(&self) -> Printed {
        self.bench.run(&["restore", "--kernel-root", self.root().to_str().unwrap()])
    }

    /// A `check --measure` in the middle of a trial of `change`. The trial lasts an hour unless it is ended.
    fn in_the_middle_of(&self, change: &str) -> Child {
        let seed = (1..100).map(|seed: u32| seed.to_string()).find(|seed| {
            let planned = self.check(&["--only", change, "--dry-run", "--json", "--seed", seed]).exits(0);
            serde_json::from_str::<Value>(&planned.out).unwrap()["order"][0][0] == change
        });
        let (before, root) = (self.files(), self.root());
        let seed = seed.unwrap_or_else(|| panic!("{change} comes first with no seed, or cannot be tried"));
        let more =
            ["--only", change, "--duration", "1h", "--interval", "1ms", "--rounds", "1", "--seed", &seed];
        let mut command = self.bench.command(&self.arguments(root.to_str().unwrap(), &more));
        let doctor = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the change is made", || self.files() != before);
        wait_until("the trial has begun", || self.map().is_some());
        doctor
    }

    /// The map of counters of the current trial's probe.
    fn map(&self) -> Option<PathBuf> {
        let trials = fs::read_dir(self.root().join("run/tardy/trials")).ok()?;
        let files = trials.flatten().map(|entry| entry.path());
        let run = files.into_iter().find(|path| path.to_string_lossy().ends_with(".run.json"))?;
        let run: Value = serde_json::from_str(&fs::read_to_string(run).ok()?).ok()?;
        let map = PathBuf::from(format!("/dev/shm/tardy-{}-0.map", run["origin"]["id"].as_str()?));
        map.exists().then_some(map)
    }
}

/// The text without its line breaks.
fn unfolded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
#[test]
fn every_change_is_tried_measured_and_restored() {
    let tree = Tree::new();
    let before = tree.files();
    let trials = ["--fake", "7", "--duration", "1s", "--rounds", "12"];
    let printed = tree.check(&[&trials[..], &["--quiet"]].concat()).exits(0);
    assert_eq!(tree.files(), before);
    assert_eq!(tree.journal(), [] as [PathBuf; 0]);
    insta::assert_snapshot!("table", printed.out);
    assert!(printed.out.contains("No change made a difference"), "the fake is the same with every change");
    let trials = ["--fake", "7", "--duration", "1s", "--rounds", "2", "--json"];
    let answer: Value = serde_json::from_str(&tree.check(&trials).exits(0).out).unwrap();
    let trials = answer["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2 * 11, "{trials:?}");
    assert!(trials.iter().all(|trial| trial["worst_ns"].as_u64() > Some(0) && trial["left_out"].is_null()));
    assert_eq!(answer["diagnosis"]["effects"].as_array().unwrap().len(), 10);
    assert_eq!(answer["diagnosis"]["least_rounds"], 10);
}

#[test]
fn the_run_of_each_trial_can_be_kept_and_shows_its_change() {
    let tree = Tree::new();
    let arguments =
        ["--fake", "7", "--duration", "1s", "--rounds", "2", "--only", "governor,idle", "-o", "kept"];
    let printed = tree.check(&arguments).exits(0);
    let few = "at least 8 are needed to distinguish an effect from chance";
    assert!(unfolded(&printed.out).contains(few), "{}", printed.out);
    let governor = |name: &str| {
        let run = tree.bench.json(&format!("kept/round-002-{name}.run.json"));
        (run["facts"]["cpu"]["governor"]["value"]["1"].clone(), run)
    };
    assert_eq!(governor("baseline").0, "ondemand");
    assert_eq!(governor("governor").0, "performance");
    let (other, idle) = governor("idle");
    assert_eq!(other, "ondemand");
    assert_eq!(idle["plan"]["phases"][0]["probe"]["dma_latency_us"], 0);
    assert!(governor("governor").1["plan"]["phases"][0]["probe"]["dma_latency_us"].is_null());
    assert_eq!(fs::read_dir(tree.bench.path("kept")).unwrap().count(), 6);
    // They are runs like any other, and are only replaced with --force.
    tree.bench.run(&["show", "kept/round-001-governor.run.json"]).exits(0);
    let again = tree.check(&arguments).exits(1);
    assert!(again.err.contains("exists; use --force"), "{}", again.err);
    assert_eq!(tree.journal(), [] as [PathBuf; 0]);
}

#[test]
fn a_dry_run_lists_what_can_be_tried_and_changes_nothing() {
    let tree = Tree::new();
    let before = tree.files();
    let told = tree.check(&["--dry-run", "--fake", "1"]).exits(0).out;
    insta::assert_snapshot!("dry_run", told);
    tree.may_do_anything(false);
    tree.write("proc/sys/kernel/timer_migration", "0\n");
    tree.write("proc/sys/kernel/osrelease", "6.12.48-rt\n");
    let told = tree.check(&["--dry-run", "--fake", "1"]).exits(0).out;
    for line in [
        "  irq-threads-up    root could try: ",
        "  ktimers-down      root could try: ",
        "  timer-migration   already so: timer_migration is 0",
        "  throttling        not here: since Linux 6.12 the fair server replaces",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    let nothing = tree.check(&["--fake", "1", "--only", "timer-migration"]).exits(1);
    assert!(nothing.err.contains("no change can be tried here"), "{}", nothing.err);
    tree.may_do_anything(true);
    tree.write("proc/sys/kernel/timer_migration", "1\n");
    fs::remove_file(tree.root().join("proc/sys/kernel/osrelease")).unwrap();
    assert_eq!(tree.files(), before);
    assert!(!tree.root().join("run").exists(), "no directory for a journal was created");
}

/// The changes that an unprivileged user is offered, on the real machine.
#[test]
fn changes_that_need_root_are_not_offered_to_other_users() {
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|status| std::os::unix::fs::MetadataExt::uid(&status) == 0);
    let bench = Bench::new();
    let printed = bench.run(&["check", "--measure", "--dry-run", "--json"]).exits(0);
    let planned: Value = serde_json::from_str(&printed.out).unwrap();
    let path = Path::new("/proc/sys/kernel/timer_migration");
    let offers = planned["offers"].as_array().unwrap();
    assert_eq!(offers.len(), 10);
    let standing = &offers.iter().find(|offer| offer["change"] == "timer-migration").unwrap()["standing"];
    if is_root || !path.exists() {
        println!("skipped: only another user than root can be refused {}", path.display());
        return;
    }
    assert!(matches!(standing.as_str(), Some("not-permitted" | "already-so")), "{planned}");
}

#[test]
fn restore_restores_every_setting_after_a_kill() {
    let tree = Tree::as_large_as_this();
    let before = tree.files();
    for change in CHANGES {
        let mut doctor = tree.in_the_middle_of(change);
        let map = tree.map().unwrap();
        doctor.kill().unwrap();
        doctor.wait().unwrap();
        assert_ne!(tree.files(), before, "{change} was not in force");
        let refused = tree.check(&["--fake", "1", "--only", "governor", "--rounds", "1"]).exits(1);
        assert!(refused.err.contains("undo it with 'tardy restore' first"), "{change}: {}", refused.err);
        // The probe dies with it, and then no process uses the map.
        wait_until("the map's release", || !tardy_sys::shared_map::is_in_use(&map).unwrap());
        let restored = tree.restore().exits(0);
        assert!(restored.err.contains("restored: "), "{change}: {}", restored.err);
        assert!(!map.exists(), "{change}: {} is left", map.display());
        assert_eq!(tree.files(), before, "{change}");
        assert_eq!(tree.journal(), [] as [PathBuf; 0], "{change}");
        tree.check(&["--fake", "1", "--duration", "1s", "--rounds", "1", "--only", change]).exits(0);
        assert_eq!(tree.files(), before, "{change}");
    }
}

#[test]
fn ctrl_c_restores_everything_and_prints_the_results_so_far() {
    let tree = Tree::as_large_as_this();
    let before = tree.files();
    let doctor = tree.in_the_middle_of("fair-server");
    let second = tree.check(&["--fake", "1", "--rounds", "1", "--only", "governor"]).exits(1);
    assert!(second.err.contains("another 'tardy check --measure' is running"), "{}", second.err);
    let status = Command::new("kill").args(["-INT", &doctor.id().to_string()]).status().unwrap();
    assert!(status.success());
    let printed = Printed::from(doctor.wait_with_output().unwrap()).exits(0);
    assert!(unfolded(&printed.out).contains("The trials were interrupted."), "{}", printed.out);
    assert_eq!(tree.files(), before);
    assert_eq!(tree.journal(), [] as [PathBuf; 0]);
}

#[test]
fn a_setting_that_another_process_has_changed_is_not_restored() {
    let tree = Tree::as_large_as_this();
    let doctor = tree.in_the_middle_of("timer-migration");
    tree.write("proc/sys/kernel/timer_migration", "7\n");
    send(doctor.id(), signal::TERMINATE).unwrap();
    let printed = Printed::from(doctor.wait_with_output().unwrap()).exits(0);
    let told =
        "timer_migration was '1', tardy wrote '0', and now it is '7'; another process has changed it since";
    assert!(printed.err.contains(told), "{}", printed.err);
    assert_eq!(tree.files()[&tree.root().join("proc/sys/kernel/timer_migration")], "7");

    tree.write("proc/sys/kernel/timer_migration", "1\n");
    let mut doctor = tree.in_the_middle_of("timer-migration");
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    let map = tree.map().unwrap();
    tree.write("proc/sys/kernel/timer_migration", "7\n");
    let root = tree.root();
    let restored = tree.bench.run(&["restore", "--json", "--kernel-root", root.to_str().unwrap()]).exits(0);
    let answer: Value = serde_json::from_str(&restored.out).unwrap();
    let fate = &answer["entries"][0]["fate"];
    assert_eq!(fate["kind"], "left_alone", "{answer}");
    assert!(fate["what"].as_str().unwrap().contains("'7'"), "{answer}");
    assert_eq!(tree.files()[&tree.root().join("proc/sys/kernel/timer_migration")], "7");
    assert_eq!(tree.journal(), [] as [PathBuf; 0]);
    wait_until("the map's release", || !tardy_sys::shared_map::is_in_use(&map).unwrap_or(false));
    // If it was released by then, `restore` removed it.
    let _ = fs::remove_file(map);
}

/// A load preempts the probe while the governor is not `performance`. Run it by hand, since it takes a minute and needs
/// root and an otherwise idle machine: `cargo test -p tardy --test cli -- --ignored --nocapture known_effect`.
#[test]
#[ignore = "takes a minute; run by hand, as root, on an otherwise idle machine"]
fn a_known_effect_is_found_and_nothing_else() {
    let tree = Tree::as_large_as_this();
    let cpu = scheduling::affinity().unwrap().last().unwrap().to_string();
    let governor = tree.root().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"));
    let script = format!(
        "while :; do read g < {}; \
         if [ \"$g\" = ondemand ]; then i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; fi; sleep 0.01; done\n",
        governor.display()
    );
    fs::write(tree.bench.path("hog.sh"), script).unwrap();
    let load = format!("cmd:taskset -c {cpu} chrt -f 95 sh {}", tree.bench.path("hog.sh").display());
    let only = "governor,throttling,timer-migration";
    let printed = tree.check(&["--duration", "1s", "--cpus", &cpu, "--only", only, "--load", &load]).exits(0);
    println!("{}", printed.out);
    assert!(printed.out.contains("What helped: governor\n"), "{}", printed.out);
    assert!(!printed.out.contains("harms\n"), "{}", printed.out);
}
