//! Latency by level: `--probe kernel` on the real kernel if this process may trace, the fake probe, and `tardy restore`
//! after a kill.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tardy_host::trace::tracefs::{Offer, Tracefs};
use tardy_sys::kernel_files::KernelFiles;

use crate::bench::{Bench, Printed, Running, wait_until};

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy-host/tests/kernels/rpi3-4.9-rt");

/// Whether this process may make trace instances; if not, prints why a test is skipped. tracefs is mounted for the test's thread and
/// the programs that it starts, if it is not mounted.
pub(crate) fn can_trace() -> bool {
    Tracefs::mount_if_missing(&KernelFiles::real());
    let offer = Offer::of(&KernelFiles::real());
    // Tests of other threads try at the same time.
    let name = format!("tardy-try-{}-{:?}", std::process::id(), std::thread::current().id());
    let instances = Path::new("/sys/kernel/tracing/instances").join(name);
    let may = offer.events.and_then(|()| fs::create_dir(&instances).map_err(|error| error.to_string()));
    let _ = fs::remove_dir(&instances);
    may.inspect_err(|reason| eprintln!("skipped: {reason}")).is_ok()
}

fn instance_of(run: &Value) -> String {
    format!("/sys/kernel/tracing/instances/tardy-{}", run["origin"]["id"].as_str().unwrap())
}

#[test]
fn levels_of_the_same_cycles_follow_each_other() {
    if !can_trace() {
        return;
    }
    let bench = Bench::new();
    let arguments =
        ["run", "--probe", "kernel", "--duration", "3s", "--interval", "1ms", "--quiet", "-o", "a.run.json"];
    let printed = bench.run(&arguments).exits(0);
    assert!(printed.out.contains("Latency by level"), "{}", printed.out);
    let run = bench.json("a.run.json");
    let traced =
        run["phases"].as_array().unwrap().iter().position(|phase| phase["label"] == "events").unwrap();
    let series: Vec<&Value> =
        run["series"].as_array().unwrap().iter().filter(|one| one["phase"] == traced).collect();
    let cpus: Vec<&Value> = series.iter().filter(|one| one["level"] == "user-thread").copied().collect();
    assert_eq!(series.len(), cpus.len() * 4);
    for user in cpus {
        let cpu = &user["kind"]["cpu"];
        let level = |name: &str| {
            *series.iter().find(|one| one["level"] == name && &one["kind"]["cpu"] == cpu).expect("all levels")
        };
        let levels = ["irq", "wakeup", "kernel-thread", "user-thread"].map(level);
        let tally = |one: &Value, key: &str| one["tally"][key].as_u64().unwrap();
        for one in levels {
            let sum = tally(one, "recorded") + tally(one, "missed") + tally(one, "dropped");
            assert_eq!(sum, tally(one, "attempted"), "{}", one["label"]);
            assert_eq!(
                tally(one, "recorded") + tally(one, "dropped"),
                tally(user, "recorded"),
                "{}",
                one["label"]
            );
        }
        if tally(levels[0], "dropped") > 0 {
            continue;
        }
        for pair in levels.windows(2) {
            for key in ["min_ns", "max_ns", "sum_ns"] {
                let (lower, higher) = (pair[0][key].as_i64().unwrap(), pair[1][key].as_i64().unwrap());
                assert!(lower <= higher, "{key}: {} and {}", pair[0]["label"], pair[1]["label"]);
            }
            let (lower, higher) = (tally(pair[0], "attempted"), tally(pair[1], "attempted"));
            assert!(lower <= higher, "{} and {}", pair[0]["label"], pair[1]["label"]);
        }
    }
    assert!(!Path::new(&instance_of(&run)).exists(), "the instance is gone");
}

#[test]
fn restore_removes_the_trace_instance_of_a_killed_run() {
    if !can_trace() {
        return;
    }
    let bench = Bench::new();
    let arguments = [
        "run",
        "--probe",
        "kernel",
        "--loops",
        "3600000",
        "--interval",
        "1ms",
        "--warmup",
        "0s",
        "--scale",
        "1",
        "--quiet",
        "-o",
        "a.run.json",
    ];
    let mut supervisor = Running::of(bench.command_with_own_journal(&arguments));
    let restore = || Printed::from(bench.command_with_own_journal(&["restore"]).output().unwrap()).exits(0);
    let path = bench.path("a.run.json");
    wait_until("the run file", || path.exists());
    let instance = instance_of(&bench.json("a.run.json"));
    wait_until("the trace instance", || {
        fs::read_to_string(format!("{instance}/tracing_on")).is_ok_and(|on| on.trim() == "1")
    });
    let alive = restore();
    assert!(alive.err.contains(&format!("not restored: trace instance {instance}")), "{}", alive.err);
    assert!(Path::new(&instance).exists());
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(Path::new(&instance).exists(), "no process was left to remove it");
    let restored = restore();
    assert!(restored.err.contains(&format!("restored: trace instance {instance}")), "{}", restored.err);
    assert!(!Path::new(&instance).exists());
    assert!(!restore().err.contains(&instance), "it is restored only once");
    bench.run(&["show", "a.run.json"]).exits(0);
}

#[test]
fn sources_stand_side_by_side() {
    let bench = Bench::new();
    let printed = bench.run(&fake("kernel", "a.run.json")).exits(3);
    let table = printed.out.split("\n\n").skip_while(|block| !block.starts_with("Latency by level"));
    insta::assert_snapshot!(table.take(2).collect::<Vec<_>>().join("\n\n"));
    bench.run(&["report", "a.run.json", "-o", "a.html"]).exits(0);
    let report = fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(report.contains("Latency by level") && report.contains("timer IRQ"));
    bench.run(&fake("kernel", "b.run.json")).exits(3);
    let compared = bench.run(&["compare", "a.run.json", "b.run.json"]).exits(0).out;
    for row in ["timer IRQ, events", "wake-up, events", "kernel thread, events", "timer IRQ, timerlat"] {
        assert!(compared.contains(row), "{row} in {compared}");
    }
}

#[test]
fn osnoise_is_shown_as_noise_without_a_verdict() {
    let bench = Bench::new();
    let printed = bench.run(&fake("osnoise", "a.run.json")).exits(0).out;
    assert!(printed.contains("osnoise every 1s"), "{printed}");
    assert!(printed.contains("the noisiest lost"), "{printed}");
    assert!(printed.contains("No verdict on the limit of 100us: noise is"), "{printed}");
}

fn fake<'a>(probe: &'a str, output: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--fake", "7", "--kernel-root", KERNEL, "--quiet", "--duration", "20s"];
    arguments.extend(["--interval", "1ms", "--limit", "100us", "--probe", probe, "-o", output]);
    arguments
}
