//! Faults of a program by the hundred: `tardy exec` names the fault that the program makes, both of two, and none if it makes none.
//!
//! The guest has one CPU and nothing else to do, so the truth is known. Phase, place, length and work vary with a seed.

use std::collections::BTreeMap;

use tardy_lab::kernel::KernelSpec;
use tardy_record::{Run, file};

use crate::own_modules::{self, KERNELS};
use crate::scripted::{Scene, boot};
use crate::{c_program, guests};

const CONTROL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/control.c");
const CONTROL_IN_RUST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/control.rs");
/// The name of the scene that shares a boot.
const NAME: &str = "program-faults";
/// Runs of each fault in the shared boot, a second each.
const FEW: u32 = 1;
/// Runs of the fault of a long test.
const HUNDRED: u32 = 100;
/// Of 100 runs with a fault, so many must name it; of 100 without, so many may name one.
const NAMED_MIN: usize = 95;
const ACCUSED_MAX: usize = 2;
/// How many lines of a scene that ended early are shown.
const QUOTED_LINES: usize = 20;
/// The faults of the program in Rust have this before their names.
const IN_RUST: &str = "rust:";

/// A fault of the program, and what the run must name.
struct Fault {
    name: &'static str,
    priority: u32,
    /// Kinds of causes, each with a part of its text.
    expected: &'static [(&'static str, &'static str)],
    /// Further kinds that are true of it.
    allowed: &'static [&'static str],
}

const fn fault(name: &'static str, expected: &'static [(&'static str, &'static str)]) -> Fault {
    Fault { name, priority: 80, expected, allowed: &[] }
}

const FAULTS: [Fault; 20] = [
    fault("none", &[]),
    fault("page-fault", &[("page_fault", "page faults")]),
    fault("mutex", &[("mutex", "task ")]),
    fault("inversion", &[("mutex", "kept from running")]),
    fault("pipe", &[("system_call", "write")]),
    fault("terminal", &[("system_call", "write")]),
    fault("fsync", &[("system_call", "pwrite64")]),
    fault("allocate", &[("system_call", "(memory allocation)")]),
    fault("work", &[("own_work", "")]),
    fault("preempt", &[("higher_priority", "'rival'")]),
    Fault { priority: 0, ..fault("busy", &[("no_priority", "'busy'")]) },
    // Both work until they are stopped.
    Fault { priority: 0, allowed: &["own_work"], ..fault("quota", &[("throttled", "cgroup /quota")]) },
    fault("work+pipe", &[("own_work", ""), ("system_call", "write")]),
    fault("page-fault+preempt", &[("page_fault", "page faults"), ("higher_priority", "'rival'")]),
    fault("mutex+allocate", &[("mutex", "task "), ("system_call", "(memory allocation)")]),
    fault("rust:none", &[]),
    fault("rust:page-fault", &[("page_fault", "page faults")]),
    fault("rust:pipe", &[("system_call", "write")]),
    Fault { priority: 0, ..fault("rust:busy", &[("no_priority", "'busy'")]) },
    // The last one, because the limit stays.
    Fault { allowed: &["own_work"], ..fault(LIMIT.0, &[("throttled", "'")]) },
];

/// A fault, and what it needs: ordinary tasks that were ready for 2 ms have the CPU for the next 2 ms, until the guest ends (since
/// Linux 6.12, which refuses less than it has while real-time tasks are limited otherwise).
const LIMIT: (&str, &str) = (
    "limit",
    "echo -1 > /proc/sys/kernel/sched_rt_runtime_us && cd /sys/kernel/debug/sched/fair_server/cpu0 || exit\n\
     echo 2000000 > runtime && echo 4000000 > period && cd - > /dev/null || exit\n",
);

/// A run without a fault, and the program's own log of it.
const LOGGED: [&str; 2] = ["program-log.run.json", "program.log"];

/// Prints each cause of a cycle of the loop that missed its deadline: the number of the cycle, the kind and the text. The fault may come so
/// regularly that a thread which takes part in it has a period too: it has another label.
const CAUSES: &str = r#"
/"label":/ { is_loop = /"control(-in-rust)?"/ }
/"missed":/ { cycle++; missed = /true/ }
/"why":/ { split($0, part, "\""); why = part[4] }
/"what":/ { split($0, part, "\""); if (missed && is_loop) print "cause", run, cycle, why, part[4] }
"#;

/// Runs the program with each fault and these seeds. Without a compiler, no scene.
fn scene_of(faults: &[Fault], seeds: std::ops::Range<u32>) -> Option<Scene> {
    let program = c_program::compiled_with(CONTROL, &["-pthread"])?;
    let in_rust = c_program::compiled_from_rust(CONTROL_IN_RUST)?;
    let mut script = "mount -t cgroup2 none /sys/fs/cgroup && cd /sys/fs/cgroup || exit\n\
         echo +cpu > cgroup.subtree_control && mkdir quota && echo '1000 5000' > quota/cpu.max || exit\n\
         mkdir -p /dev/pts && mount -t devpts devpts /dev/pts || exit\n\
         mount -t debugfs debugfs /sys/kernel/debug || exit\n\
         cd /tmp || exit\n"
        .to_owned();
    let [run, log] = LOGGED.map(|file| format!("/lab/results/{file}"));
    script += &format!(
        "mkdir -p /lab/results && tardy exec --quiet -o {run} --warmup 100ms -- \
         $FILES/control absolute none 1000 700 80 {log} 1 > /dev/null || exit\n"
    );
    let seeds: Vec<String> = seeds.map(|seed| seed.to_string()).collect();
    for Fault { name, priority, .. } in faults {
        let (name, priority) = (*name, *priority);
        let cgroup = if name == "quota" { "CONTROL_CGROUP=/sys/fs/cgroup/quota " } else { "" };
        let command = match name.strip_prefix(IN_RUST) {
            None => format!("$FILES/control absolute {name} 1000 700 {priority} - $seed"),
            Some(fault) if priority == 0 => format!("$FILES/control-in-rust {fault} 1000 700 $seed"),
            Some(fault) => {
                format!("chrt -f {priority} $FILES/control-in-rust {fault} 1000 700 $seed")
            }
        };
        let limit = if name == LIMIT.0 { LIMIT.1 } else { "" };
        script += &format!(
            "{limit}for seed in {}; do\n\
             {cgroup}tardy exec --quiet --json --force -o faults.run.json --warmup 100ms -- \
             {command} > faults.json || {{ tardy show faults.run.json; exit 1; }}\n\
             echo \"run {name} $seed\"\n\
             awk -v run=\"{name} $seed\" -f $FILES/causes.awk faults.json\n\
             done\n",
            seeds.join(" ")
        );
    }
    script += "rmdir /sys/fs/cgroup/quota && umount /sys/fs/cgroup /sys/kernel/debug /dev/pts\n";
    let files = vec![("causes.awk".to_owned(), CAUSES.to_owned())];
    let programs = vec![("control".to_owned(), program), ("control-in-rust".to_owned(), in_rust)];
    let tools = vec![("util-linux", "/usr/bin/chrt")];
    Some(Scene { name: NAME, script, tools, files, programs, ..Scene::default() })
}

/// The scene for the shared boot.
pub(crate) fn scene() -> Option<Scene> {
    scene_of(&FAULTS, 1..FEW + 1)
}

/// How the runs of one fault ended.
#[derive(Default)]
struct Tally {
    runs: usize,
    named: usize,
    accused: usize,
    /// What a run has that is wrong.
    remarks: Vec<String>,
}

/// The causes of one cycle: kind and text.
type Causes = Vec<(String, String)>;

impl Tally {
    /// Adds a run with the causes of its late cycles.
    fn add(&mut self, fault: &Fault, run: &str, cycles: &BTreeMap<u32, Causes>) {
        const BEFORE: &str = "previous_cycle";
        // tardy itself is an ordinary program, and delays one that has no priority. While the limit acts, a thread that is woken does
        // not preempt an ordinary one.
        let is_other = |(why, what): &(String, String)| {
            why == BEFORE
                || fault.priority == 0 && why == "no_priority" && what.starts_with("'tardy' ")
                || fault.name == LIMIT.0 && why == "preemption_off"
        };
        let faulty: Vec<&Causes> = cycles.values().filter(|causes| !causes.iter().all(is_other)).collect();
        let has = |causes: &Causes, (why, what): &(&str, &str)| {
            causes.iter().any(|(one, text)| one == why && text.contains(what))
        };
        let is_named = |causes: &&Causes| fault.expected.iter().all(|one| has(causes, one));
        let is_true = |cause: &(String, String)| {
            let why = cause.0.as_str();
            is_other(cause)
                || fault.expected.iter().any(|(one, _)| *one == why)
                || fault.allowed.contains(&why)
        };
        let is_accused = |causes: &&Causes| !causes.iter().all(is_true);
        let named = !faulty.is_empty() && faulty.iter().all(is_named);
        let accused = faulty.iter().any(is_accused);
        self.runs += 1;
        self.named += usize::from(named);
        self.accused += usize::from(accused);
        if accused || named == fault.expected.is_empty() {
            let wrong = faulty.iter().filter(|causes| is_accused(causes) || !is_named(causes));
            self.remarks.push(format!("{run}: {:?}", wrong.collect::<Vec<_>>()));
        }
    }
}

/// The tallies of these faults, in their order, from what the scene printed.
fn tallies(faults: &[Fault], text: &str) -> Vec<Tally> {
    let mut runs: BTreeMap<&str, BTreeMap<&str, BTreeMap<u32, Causes>>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        match words[..] {
            ["run", fault, seed] => {
                runs.entry(fault).or_default().entry(seed).or_default();
            }
            ["cause", fault, seed, cycle, why, what] => {
                let cycles = runs.entry(fault).or_default().entry(seed).or_default();
                let causes = cycles.entry(cycle.parse().unwrap()).or_default();
                causes.push((why.to_owned(), what.to_owned()));
            }
            _ => {}
        }
    }
    let tally = |fault: &Fault| {
        let mut tally = Tally::default();
        for (seed, cycles) in runs.get(fault.name).into_iter().flatten() {
            tally.add(fault, seed, cycles);
        }
        println!(
            "{}: named in {} of {}, accused falsely in {}",
            fault.name, tally.named, tally.runs, tally.accused
        );
        tally.remarks.iter().for_each(|remark| println!("    seed {remark}"));
        tally
    };
    faults.iter().map(tally).collect()
}

/// Asserts the shares, of `runs` runs of each fault.
fn are_named(faults: &[Fault], text: &str, runs: usize) {
    for (fault, tally) in faults.iter().zip(tallies(faults, text)) {
        let last: Vec<&str> = text.lines().rev().take(QUOTED_LINES).collect();
        assert_eq!(tally.runs, runs, "{}: the scene's last lines, from the end: {last:#?}", fault.name);
        // One run of a few may be wrong.
        let wrong_max = |share: usize| (runs * share / 100).max(1);
        if !fault.expected.is_empty() {
            assert!(runs - tally.named <= wrong_max(100 - NAMED_MIN), "{}: {:#?}", fault.name, tally.remarks);
        }
        assert!(tally.accused <= wrong_max(ACCUSED_MAX), "{}: {:#?}", fault.name, tally.remarks);
    }
}

#[test]
fn a_few_faults_are_named() {
    let Some(printed) = own_modules::on_real_time(NAME) else { return };
    are_named(&FAULTS, &printed.text(), FEW as usize);
}

/// The times by which the program reads its clock later than the event of a wake-up's return, for the worst wake-ups of `run`. `log` has
/// due time and lateness of each cycle. Times in a run are from its start: they are found in the log by their distances.
fn after_return_ns(run: &Run, log: &str) -> Vec<i64> {
    let entries: Vec<[i64; 2]> = (log.lines())
        .map(|line| {
            let mut numbers = line.split(' ').map(|word| word.parse().unwrap());
            [numbers.next().unwrap(), numbers.next().unwrap()]
        })
        .collect();
    let late_ns: BTreeMap<i64, i64> = entries.iter().map(|[due_ns, late_ns]| (*due_ns, *late_ns)).collect();
    let worst: Vec<(i64, i64)> =
        (run.series[0].worst.iter()).map(|one| (one.at_ns as i64 - one.latency_ns, one.latency_ns)).collect();
    let first_ns = worst[0].0;
    let matched = |[due_ns, _]: &[i64; 2]| -> Option<Vec<i64>> {
        worst.iter().map(|(at_ns, ns)| Some(late_ns.get(&(due_ns + at_ns - first_ns))? - ns)).collect()
    };
    let spread = |all: &Vec<i64>| all.iter().max().unwrap() - all.iter().min().unwrap();
    entries.iter().filter_map(matched).min_by_key(spread).expect("the run's cycles are in the log")
}

#[test]
fn latencies_are_those_of_the_programs_own_log_but_for_the_way_back() {
    let Some(printed) = own_modules::on_real_time(NAME) else { return };
    let [run, log] = LOGGED.map(|name| {
        let file = printed.files.iter().find(|(known, _)| known == name);
        String::from_utf8(file.unwrap_or_else(|| panic!("no {name}")).1.clone()).unwrap()
    });
    let after_ns = after_return_ns(&file::from_text(run.as_bytes()).unwrap(), &log);
    println!("the program read its clock after the event by {after_ns:?} ns");
    // From the event it goes through the kernel to the program, which makes a call to read its clock, as `lab explain` shows.
    assert!(after_ns.len() >= 8 && after_ns.iter().all(|ns| (0..10_000).contains(ns)), "{after_ns:?}");
}

/// A hundred runs of one fault, in a boot of its own.
fn a_hundred(name: &str) {
    let Some(guests) = guests::directory() else { return };
    let faults: Vec<Fault> = FAULTS.into_iter().filter(|fault| fault.name == name).collect();
    let Some(scene) = scene_of(&faults, 1..HUNDRED + 1) else { return };
    let spec = KernelSpec::parse(KERNELS[1]).unwrap();
    let booted = boot(&spec, None, &[scene], &guests).unwrap_or_else(|error| panic!("{error}"));
    are_named(&faults, &booted.scenes()[0].text(), HUNDRED as usize);
}

/// A test of each fault's hundred runs, so that one can be repeated.
macro_rules! hundreds {
    ($($test:ident $fault:literal)*) => {
        const OF_HUNDREDS: &[&str] = &[$($fault),*];
        $(
            #[test]
            #[ignore = "three minutes"]
            fn $test() {
                a_hundred($fault);
            }
        )*
    };
}

hundreds! {
    long_hundred_none "none"
    long_hundred_page_fault "page-fault"
    long_hundred_mutex "mutex"
    long_hundred_inversion "inversion"
    long_hundred_pipe "pipe"
    long_hundred_terminal "terminal"
    long_hundred_fsync "fsync"
    long_hundred_allocate "allocate"
    long_hundred_work "work"
    long_hundred_preempt "preempt"
    long_hundred_busy "busy"
    long_hundred_quota "quota"
    long_hundred_work_and_pipe "work+pipe"
    long_hundred_page_fault_and_preempt "page-fault+preempt"
    long_hundred_mutex_and_allocate "mutex+allocate"
    long_hundred_rust_none "rust:none"
    long_hundred_rust_page_fault "rust:page-fault"
    long_hundred_rust_pipe "rust:pipe"
    long_hundred_rust_busy "rust:busy"
    long_hundred_limit "limit"
}

#[test]
fn each_fault_has_a_test_of_its_hundred_runs() {
    assert_eq!(OF_HUNDREDS, FAULTS.map(|fault| fault.name));
}
