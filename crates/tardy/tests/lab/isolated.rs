//! Every command that measures, on an isolated CPU: by `isolcpus=`, by that with `nohz_full=` and `rcu_nocbs=`, and by a partition of
//! cpusets (`isolated.sh`). Four emulated CPUs in the host's time: what works, not how long it takes.

use tardy_record::Run;
use tardy_record::plan::Policy;

use crate::c_program;
use crate::scripted::{Printed, Scene, SharedBoot};

const KERNEL: &str = "debian:6.12-rt";
const NAME: &str = "isolated";
const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/timer_loop.c");
/// The isolated CPU of the four.
const CPU: u32 = 3;

/// A way to isolate [`CPU`]: its name in the script, and the guest that has it.
struct Way {
    name: &'static str,
    boot: SharedBoot,
}

static WAYS: [Way; 3] = [
    Way {
        name: "isolcpus",
        boot: SharedBoot::with_cpus(4, KERNEL, "mitigations=off isolcpus=3", scenes_of::<0>),
    },
    Way {
        name: "tickless",
        boot: SharedBoot::with_cpus(
            4,
            KERNEL,
            "mitigations=off isolcpus=managed_irq,domain,3 nohz_full=3 rcu_nocbs=3 irqaffinity=0-2",
            scenes_of::<1>,
        ),
    },
    Way { name: "partition", boot: SharedBoot::with_cpus(4, KERNEL, "mitigations=off", scenes_of::<2>) },
];

fn scenes_of<const WAY: usize>() -> Vec<Scene> {
    let Some(program) = c_program::compiled(LOOP) else { return Vec::new() };
    vec![Scene {
        name: NAME,
        script: format!("WAY={}\n{}", WAYS[WAY].name, include_str!("isolated.sh")),
        own_modules: true,
        tools: vec![
            ("rt-tests", "/usr/bin/cyclictest"),
            ("iproute2", "/sbin/ip"),
            ("util-linux", "/usr/bin/taskset"),
        ],
        programs: vec![("timer_loop".to_owned(), program)],
        ..Scene::default()
    }]
}

/// The CPUs of a run's series, without those that are the machine's.
fn cpus(run: &Run) -> Vec<u32> {
    run.plan.measured_cpus()
}

fn measured(printed: &Printed, name: &str) -> Run {
    printed.run(&format!("{name}.run.json"))
}

fn checks(way: &Way) {
    let Some(printed) = way.boot.scene(NAME) else { return };
    let (text, name) = (printed.text(), way.name);
    println!("{text}");
    let partition = name == "partition";
    assert!(printed.part("setup").text().contains(if partition {
        "partition isolated"
    } else {
        "shell 0-2"
    }));

    // Each measurement succeeds, and says on which CPU.
    let of_cpu =
        ["named", "deadline", "noise", "kernel", "causes", "reaction", "stimulus", "wiggle", "round-trip"];
    for run in of_cpu.into_iter().chain(["cyclictest"]).chain(partition.then_some("cgroup")) {
        assert!(text.contains(&format!("status {run} 0")), "{run} failed");
        let run = measured(printed, run);
        assert_eq!(cpus(&run), [CPU], "{}", run.plan.phases[0].label);
        assert_ne!(run.plan.housekeeping_cpu, CPU);
        assert_eq!(run.plan.placement.housekeeping_cpus, if partition { vec![] } else { vec![0, 1, 2] });
        assert_eq!(run.plan.placement.cgroup_of(CPU), partition.then_some("/sys/fs/cgroup/rt"));
    }
    let of_timer = measured(printed, "named");
    let timer = of_timer.series[0].timer().unwrap();
    assert_eq!((timer.cpu, timer.policy, timer.pinned), (CPU, Policy::Fifo, true));
    assert!(of_timer.series[0].tally.recorded > 0);
    assert!(measured(printed, "deadline").series[0].timer().unwrap().pinned);
    let isolated = |fact: &tardy_record::facts::Fact<String>| fact.get().cloned();
    let facts = &of_timer.facts.cpu;
    let tickless = if name == "tickless" { "3" } else { "none" };
    assert_eq!(isolated(&facts.isolated).as_deref(), Some("3"));
    assert_eq!(isolated(&facts.nohz_full).as_deref(), Some(tickless));
    assert_eq!(isolated(&facts.rcu_nocbs).as_deref(), Some(tickless));

    // `all` is every CPU online, and the names are what they say.
    assert_eq!(cpus(&measured(printed, "all")), [0, 1, 2, 3]);
    let run = printed.part("run").text();
    for planned in [
        "isolated: CPU 3 measured",
        "housekeeping: CPU 0-2 measured",
        "narrowed: CPU 0 measured",
        "narrowed: CPU 1-3 not measured: tardy was started",
    ] {
        assert!(run.contains(&format!("planned {planned}")), "{planned}");
    }
    if partition {
        assert!(
            run.contains("status missing-cgroup 2") && run.contains("/sys/fs/cgroup/nowhere is not a cgroup")
        );
    }

    // Loads and the supervisor stay on the housekeeping CPUs.
    let load = printed.part("load");
    let places: Vec<&str> = load.all("allowed").collect();
    assert!(places.iter().any(|place| place.starts_with("tardy-cpu 0-2")), "{places:?}");
    assert!(places.iter().all(|place| !place.ends_with('3')), "{places:?}");
    assert_eq!(load.all("probe").collect::<Vec<_>>(), ["3"]);

    // As many threads as rt-tests starts with the same options.
    let threads = printed.part("cyclictest").text();
    for line in threads.lines().filter_map(|line| line.strip_prefix("rt-tests ")) {
        assert!(threads.contains(&format!("tardy {line}")), "{line}");
    }
    assert!(
        threads.contains("tardy '-a 3': status 0 threads 1")
            && threads.contains("tardy '-S': status 0 threads 3")
    );

    // A program on that CPU is watched and checked.
    for command in ["attach", "watch"] {
        assert!(text.contains(&format!("status {command} 0")), "{command}");
    }
    let attached = measured(printed, "attach");
    assert!(attached.series[0].tally.recorded > 0);
    assert_eq!(printed.part("end").number("left"), 0, "a trace instance is left");
}

#[test]
fn a_cpu_isolated_by_isolcpus_is_measured_by_every_command() {
    checks(&WAYS[0]);
}

#[test]
fn a_tickless_cpu_is_measured_by_every_command() {
    checks(&WAYS[1]);
}

#[test]
fn a_cpu_of_an_isolated_partition_is_measured_by_every_command() {
    checks(&WAYS[2]);
}
