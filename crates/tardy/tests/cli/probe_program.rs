//! The probe's own program: small, started from memory, with the capabilities of tardy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, Printed};
use tardy_sys::{processes, scheduling};

/// The kernel's default limit of memory that an unprivileged process may lock, since Linux 5.16.
const DEFAULT_LIMIT_KB: u64 = 8 * 1024;
/// Another user than root, without a name, so that no account is needed.
const USER: &str = "64321";

/// A copy of tardy that every user may execute, with `capabilities` if there are any. `None` if the file system refuses.
pub(crate) fn copy_of_tardy(bench: &Bench, capabilities: Option<&str>) -> Option<PathBuf> {
    let copy = bench.path("tardy");
    // By another process: a child that another test starts meanwhile would inherit the file open for writing, which then cannot be executed.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_tardy")).arg(&copy).status();
    assert!(copied.unwrap().success(), "cp {}", copy.display());
    fs::set_permissions(bench.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    match capabilities {
        Some(capabilities) => {
            let set = Command::new("setcap").arg(capabilities).arg(&copy).output();
            set.is_ok_and(|set| set.status.success()).then_some(copy)
        }
        None => Some(copy),
    }
}

/// A bench with a tardy whose file has `capabilities`; `None` if this user cannot make one.
pub(crate) fn capable_tardy(capabilities: &str) -> Option<(Bench, PathBuf)> {
    if !is_root() {
        println!("skipped: only root can set capabilities");
        return None;
    }
    let bench = Bench::new();
    let Some(tardy) = copy_of_tardy(&bench, Some(capabilities)) else {
        println!("skipped: setcap is missing, or the file system keeps no capabilities");
        return None;
    };
    Some((bench, tardy))
}

/// `program`, started as a user without privileges, who may lock `limit_kb` of memory.
pub(crate) fn as_a_user(bench: &Bench, program: &Path, limit_kb: u64) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -r 0; ulimit -l {limit_kb}; exec \"$@\""), "sh"]);
    command.args(["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program);
    command.current_dir(bench.path("")).env("NO_COLOR", "1");
    command
}

/// At most two of the CPUs that this process may use, as a list.
pub(crate) fn two_cpus() -> String {
    let cpus = scheduling::affinity().unwrap();
    cpus.iter().take(2).map(ToString::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|owner| std::os::unix::fs::MetadataExt::uid(&owner) == 0)
}

/// A run that is measuring, and the process of its probe.
struct Measuring {
    tardy: Child,
    probe: u32,
}

impl Measuring {
    fn start(mut command: Command) -> Self {
        command.args(["run", "-q", "--duration", "1h", "--cpus", &two_cpus(), "-o", "b.run.json"]);
        let mut tardy = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // A measuring thread exists once the probe has locked its memory.
        let probe = loop {
            let pids = processes::all().unwrap();
            let probe = pids.into_iter().find(|pid| {
                processes::ProcessState::of(*pid).is_some_and(|state| state.parent == tardy.id())
                    && processes::threads_of(*pid).len() > 1
            });
            assert!(tardy.try_wait().unwrap().is_none(), "tardy has ended");
            match probe {
                Some(probe) => break probe,
                None => std::thread::yield_now(),
            }
        };
        Self { tardy, probe }
    }

    fn assert_program_is_in_memory(&self) {
        let program = fs::read_link(format!("/proc/{}/exe", self.probe)).unwrap();
        assert!(program.to_string_lossy().contains("memfd:tardy-probe"), "{}", program.display());
    }

    /// A number of kB of the probe's `/proc/PID/status`.
    fn status_kb(&self, key: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.probe)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim_start_matches(':').trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.tardy.kill();
        let _ = self.tardy.wait();
    }
}

#[test]
fn the_probe_is_a_program_in_memory_and_its_memory_is_within_the_default_limit() {
    let bench = Bench::new();
    let measuring = Measuring::start(bench.command(&[]));
    measuring.assert_program_is_in_memory();
    assert_eq!(processes::command_of(measuring.probe).as_deref(), Some("tardy-probe"));
    let locked = measuring.status_kb("VmLck");
    assert!(locked <= DEFAULT_LIMIT_KB, "{locked} kB are locked");
}

#[test]
fn an_unprivileged_user_locks_the_probes_memory_within_the_default_limit() {
    if !is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let bench = Bench::new();
    let tardy = copy_of_tardy(&bench, None).unwrap();
    let mut command = as_a_user(&bench, &tardy, DEFAULT_LIMIT_KB);
    command.args(["run", "--duration", "300ms", "--cpus", &two_cpus(), "-o", "a.run.json"]);
    let printed = Printed::from(command.output().unwrap()).exits(0);
    assert!(!printed.out.contains("memory could not be locked"), "{}", printed.out);
    let remarks = bench.json("a.run.json").to_string();
    assert!(!remarks.contains("memory could not be locked"), "{remarks}");
}

#[test]
fn capabilities_of_tardys_file_reach_the_probe() {
    let Some((bench, tardy)) = capable_tardy("cap_sys_nice,cap_ipc_lock+ep") else { return };
    let mut command = as_a_user(&bench, &tardy, 0);
    command.args([
        "run",
        "--duration",
        "300ms",
        "--cpus",
        &two_cpus(),
        "--priority",
        "80",
        "-o",
        "a.run.json",
    ]);
    Printed::from(command.output().unwrap()).exits(0);
    let run = bench.json("a.run.json");
    let kind = &run["series"][0]["kind"];
    assert_eq!((&kind["policy"], &kind["priority"]), (&"fifo".into(), &80.into()), "{kind}");
    let text = run.to_string();
    assert!(!text.contains("memory could not be locked") && !text.contains("was refused"), "{text}");
    let measuring = Measuring::start(as_a_user(&bench, &tardy, 0));
    measuring.assert_program_is_in_memory();
}
