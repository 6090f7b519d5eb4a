//! A tardy whose file has capabilities, in the hands of a user without privileges: only the probe gets any of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tardy_sys::processes::{self, ProcessState};

use crate::bench::{Bench, Printed, Running, wait_until};
use crate::probe_program::{as_a_user, capable_tardy, copy_of_tardy, is_root, two_cpus};

const CAPABILITIES: &str = "cap_sys_nice,cap_ipc_lock,cap_sys_admin+ep";
/// CAP_IPC_LOCK and CAP_SYS_NICE as /proc/PID/status shows them.
const OF_THE_PROBE: u64 = 1 << 14 | 1 << 23;
/// The memory in kB that the user may lock without CAP_IPC_LOCK.
const LOCKABLE_KB: u64 = 0;

fn run_as_a_user(bench: &Bench, tardy: &Path, words: &[&str]) -> Printed {
    Printed::from(as_a_user(bench, tardy, LOCKABLE_KB).args(words).output().unwrap())
}

/// The sets of capabilities of a process that are not empty, except the bounding set.
fn sets_of(pid: u32) -> Vec<(String, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let sets = status.lines().filter_map(|line| line.strip_prefix("Cap")?.split_once(':'));
    sets.map(|(set, mask)| (set.to_owned(), u64::from_str_radix(mask.trim(), 16).unwrap()))
        .filter(|(set, mask)| set != "Bnd" && *mask != 0)
        .collect()
}

fn children_of(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| ProcessState::of(*pid).is_some_and(|state| state.parent == parent);
    processes::all().unwrap().into_iter().filter(is_child).collect()
}

/// All descendants of a process.
fn descendants_of(pid: u32) -> Vec<u32> {
    children_of(pid).into_iter().flat_map(|child| [vec![child], descendants_of(child)].concat()).collect()
}

fn names_of(pids: &[u32]) -> Vec<String> {
    pids.iter().filter_map(|pid| processes::command_of(*pid)).collect()
}

fn environment_of(pid: u32) -> String {
    String::from_utf8_lossy(&processes::environment_of(pid).unwrap()).into_owned()
}

#[test]
fn the_probe_gets_two_capabilities_and_the_loads_none() {
    let Some((bench, tardy)) = capable_tardy(CAPABILITIES) else { return };
    let mut command = as_a_user(&bench, &tardy, LOCKABLE_KB);
    command.args(["run", "-q", "--duration", "1h", "--cpus", &two_cpus(), "--load", "cpu"]);
    command.args(["--load", "cmd:sleep 3600", "-o", "a.run.json"]).stderr(Stdio::null());
    let supervisor = Running::of(command);
    let mut found = Vec::new();
    wait_until("a probe that measures, and the loads", || {
        found = descendants_of(supervisor.id());
        let names = names_of(&found);
        let measures = |pid: &u32| {
            processes::command_of(*pid).is_some_and(|name| name == "tardy-probe")
                && processes::threads_of(*pid).len() > 1
        };
        found.iter().any(measures)
            && ["sleep", "tardy-cpu"].iter().all(|name| names.contains(&(*name).to_owned()))
    });
    for pid in found {
        match processes::command_of(pid).unwrap().as_str() {
            "tardy-probe" => {
                for (set, mask) in sets_of(pid) {
                    assert_eq!(mask, OF_THE_PROBE, "{set} of the probe");
                }
                assert!(!sets_of(pid).is_empty());
                let environment = environment_of(pid);
                assert!(!environment.contains("PATH"), "{environment}");
            }
            name => assert_eq!(sets_of(pid), [], "{name}"),
        }
    }
}

#[test]
fn hidden_commands_and_restore_refuse_the_capabilities_of_tardys_file() {
    let Some((bench, tardy)) = capable_tardy(CAPABILITIES) else { return };
    let pid = std::process::id().to_string();
    let order = ["__load", "0", "--parent=1", "--counters=0", "--seed=0", "--port=0", "--", "cpu"];
    for words in [
        &["__probe"][..],
        &["__timerlat", &pid, "0", "99", "/dev/zero"],
        &order,
        &["__pins", "[]"],
        &["__guest"],
        &["__thread-cost", "1", "1", "true"],
        &["__generate", "made"],
        &["restore"],
    ] {
        let printed = run_as_a_user(&bench, &tardy, words).exits(1);
        assert!(printed.err.contains("privileges of its file"), "{words:?}: {}", printed.err);
    }
    assert!(!bench.path("made").exists());
}

#[test]
fn a_planted_journal_changes_nothing() {
    let Some((bench, tardy)) = capable_tardy(CAPABILITIES) else { return };
    let runtime = bench.path("runtime");
    fs::create_dir_all(runtime.join("tardy/journal")).unwrap();
    fs::write(runtime.join("tardy/journal/1-0.json"), "{}").unwrap();
    let mut command = as_a_user(&bench, &tardy, LOCKABLE_KB);
    let printed = Printed::from(command.arg("restore").env("XDG_RUNTIME_DIR", &runtime).output().unwrap());
    assert!(printed.exits(1).err.contains("sudo tardy restore"));
    assert!(runtime.join("tardy/journal/1-0.json").exists());
    // Executing it so that it gains nothing is what a copy without capabilities would do.
    let mut command = as_a_user(&bench, Path::new("setpriv"), LOCKABLE_KB);
    command.arg("--no-new-privs").arg(&tardy).arg("restore").env_remove("XDG_RUNTIME_DIR");
    let printed = Printed::from(command.output().unwrap());
    assert!(!printed.err.contains("privileges of its file"), "{}", printed.err);
}

#[test]
fn a_command_that_does_not_measure_gives_up_the_capabilities() {
    let Some((bench, tardy)) = capable_tardy(CAPABILITIES) else { return };
    let mut command = as_a_user(&bench, &tardy, LOCKABLE_KB);
    let running = Running::of({
        command.args(["load", "cmd:sleep 3600"]);
        command
    });
    wait_until("the command", || names_of(&descendants_of(running.id())).contains(&"sleep".to_owned()));
    assert_eq!(sets_of(running.id()), []);
    for pid in descendants_of(running.id()) {
        assert_eq!(sets_of(pid), []);
    }
}

#[test]
fn the_environment_chooses_no_directory_of_such_a_program() {
    let Some((bench, tardy)) = capable_tardy(CAPABILITIES) else { return };
    let mut command = as_a_user(&bench, &tardy, LOCKABLE_KB);
    command.args(["run", "-q", "--duration", "1h", "--cpus", &two_cpus(), "--load", "cmd:sleep 3600"]);
    command.args(["-o", "b.run.json"]);
    for name in ["TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TARDY_DEBIAN_MIRROR"] {
        command.env(name, "/chosen/by/the/user");
    }
    let running = Running::of(command);
    let mut load = None;
    wait_until("the command", || {
        let found = descendants_of(running.id());
        load = found.into_iter().find(|pid| processes::command_of(*pid).is_some_and(|name| name == "sleep"));
        load.is_some()
    });
    let environment = environment_of(load.unwrap());
    assert!(!environment.contains("/chosen/by"), "{environment}");
    assert!(environment.contains("XDG_RUNTIME_DIR=/run/user/"), "{environment}");
}

#[test]
fn a_set_user_id_or_set_group_id_tardy_refuses_everything() {
    if !is_root() {
        println!("skipped: only root can play another user");
        return;
    }
    let bench = Bench::new();
    let tardy = copy_of_tardy(&bench, None).unwrap();
    for mode in ["4755", "2755"] {
        assert!(Command::new("chmod").arg(mode).arg(&tardy).status().unwrap().success());
        let printed = run_as_a_user(&bench, &tardy, &["list", "--published"]);
        if printed.code == Some(0) {
            println!("skipped: this file system ignores the set-user-ID bit");
            return;
        }
        assert!(printed.exits(1).err.contains("chmod u-s,g-s"), "{mode}");
    }
}

/// Reads of other files return at once, so the thread would take its CPU for ever.
#[test]
fn timerlats_thread_refuses_a_file_that_is_not_timerlats() {
    let bench = Bench::new();
    let pid = std::process::id().to_string();
    let cpu = tardy_sys::scheduling::affinity().unwrap()[0].to_string();
    for file in ["/dev/zero", "/dev/null"] {
        let printed = bench.run(&["__timerlat", &pid, &cpu, "1", file]);
        assert_ne!(printed.code, Some(0), "{}", printed.out);
        let refused = ["is not timerlat_fd", "was refused", "could not be locked"];
        assert!(refused.iter().any(|reason| printed.out.contains(reason)), "{}", printed.out);
    }
    let printed = bench.run(&["__timerlat", "1", &cpu, "1", "/dev/zero"]);
    assert!(printed.out.contains("the supervisor is gone"), "{}", printed.out);
}
