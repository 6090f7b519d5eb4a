//! `tardy fleet` over real sshds, each in its own network, PID and mount namespace, which are the hosts. It needs root, and prints
//! why it is skipped otherwise.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::bench::{Bench, Printed, Running, wait_until};

/// After how long without an answer a host of the tests is given up.
const TIMEOUT: &str = "3s";

/// Runs a program to its end. Returns its standard output, or its error.
fn run(words: &[&str]) -> Result<String, String> {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", words[0]))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{words:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// A network namespace. Dropping it removes it.
struct Namespace(String);

impl Namespace {
    fn new(name: &str) -> Result<Self, String> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tardy-{}-{number}-{name}", std::process::id());
        run(&["ip", "netns", "add", &name])?;
        let one = Self(name);
        run(&["ip", "-n", &one.0, "link", "set", "lo", "up"])?;
        Ok(one)
    }

    fn ip(&self, words: &[&str]) -> Result<String, String> {
        run(&[&["ip", "-n", &self.0], words].concat())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = run(&["ip", "netns", "del", &self.0]);
    }
}

/// A host: an sshd, whose processes and /var/tmp are its own.
struct Host {
    // Dropped first: it ends all processes of the host.
    sshd: Running,
    namespace: Namespace,
    address: String,
}

impl Host {
    /// Host `number` with `size` of room in /var/tmp, connected with `fleet`.
    fn new(bench: &Bench, fleet: &Namespace, number: usize, size: &str) -> Result<Self, String> {
        let namespace = Namespace::new(&format!("host{number}"))?;
        let (here, there) = (format!("10.99.{number}.1/24"), format!("10.99.{number}.2"));
        let device = format!("host{number}");
        fleet.ip(&["link", "add", &device, "type", "veth", "peer", "name", "eth0", "netns", &namespace.0])?;
        fleet.ip(&["addr", "add", &here, "dev", &device])?;
        fleet.ip(&["link", "set", &device, "up"])?;
        namespace.ip(&["addr", "add", &format!("{there}/24"), "dev", "eth0"])?;
        namespace.ip(&["link", "set", "eth0", "up"])?;
        let keys = bench.path("keys").display().to_string();
        // sshd needs /run/sshd, and refuses a root whose password is locked. What a developer's .bashrc does, a host does not do.
        let script = format!(
            "mount -t tmpfs none /run && mkdir /run/sshd && mount -t tmpfs -o size={size} none /var/tmp && \
             for start in ~/.bashrc /etc/bash.bashrc; do [ ! -e $start ] || mount --bind /dev/null $start || exit 1; done && \
             mount --bind {keys}/shadow /etc/shadow && exec /usr/sbin/sshd -D -e -f /dev/null -h {keys}/host \
             -o UsePAM=no -o UseDNS=no -o StrictModes=no -o AuthorizedKeysFile={keys}/user.pub -o PidFile=none \
             -o PermitRootLogin=prohibit-password -o ListenAddress={there}"
        );
        let words = [
            "netns",
            "exec",
            &namespace.0,
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ];
        let mut command = Command::new("ip");
        command.args(words).args(["sh", "-c", &script]).stdin(Stdio::null());
        let sshd = Running::of(command);
        Ok(Self { sshd, namespace, address: there })
    }

    /// The processes of the host, as this machine numbers them.
    fn processes(&self) -> Vec<u32> {
        let pids = run(&["ip", "netns", "pids", &self.namespace.0]).unwrap();
        pids.lines().map(|pid| pid.trim().parse().unwrap()).collect()
    }

    /// /var/tmp of the host, through one of its processes.
    fn var_tmp(&self) -> PathBuf {
        let own = self.sshd.id();
        let inside = |pid: &u32| {
            let mounts = fs::read_to_string(format!("/proc/{pid}/mounts")).unwrap_or_default();
            *pid != own && mounts.contains(" /var/tmp tmpfs")
        };
        let pid = self.processes().into_iter().find(inside).expect("a process of the host");
        format!("/proc/{pid}/root/var/tmp").into()
    }

    /// Stops all processes, also those that are started until then.
    fn stop(&self) {
        let own = self.sshd.id();
        wait_until("the stop of a host", || {
            let all: Vec<u32> = self.processes().into_iter().filter(|pid| *pid != own).collect();
            all.iter().for_each(|pid| signal("-STOP", *pid));
            all.iter().all(|pid| is_stopped_or_gone(*pid))
        });
    }

    fn go_on(&self) {
        self.processes().into_iter().for_each(|pid| signal("-CONT", pid));
    }

    fn is_listening(&self) -> bool {
        let listening = run(&["ip", "netns", "exec", &self.namespace.0, "cat", "/proc/net/tcp"]).unwrap();
        // Port 22, state LISTEN.
        listening.lines().any(|line| line.contains(":0016 00000000:0000 0A"))
    }
}

/// Sends a signal to a process that may have ended.
fn signal(signal: &str, pid: u32) {
    let _ = run(&["kill", signal, &pid.to_string()]);
}

fn is_stopped_or_gone(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    matches!(state, None | Some('T' | 'Z'))
}

/// The network of the fleet with its hosts, or `None` with the reason printed.
fn hosts(bench: &Bench, sizes: &[&str]) -> Option<(Namespace, Vec<Host>)> {
    let fleet = allowed().and_then(|()| Namespace::new("fleet"));
    let fleet = match fleet {
        Ok(fleet) => fleet,
        Err(reason) => {
            println!("skipped: hosts in namespaces take root, iproute2 and openssh-server: {reason}");
            return None;
        }
    };
    keys(bench);
    let host = |(number, size): (usize, &&str)| Host::new(bench, &fleet, number, size).unwrap();
    let hosts: Vec<Host> = sizes.iter().enumerate().map(host).collect();
    wait_until("sshd", || hosts.iter().all(Host::is_listening));
    Some((fleet, hosts))
}

/// Whether this user may make hosts, and the programs are there.
fn allowed() -> Result<(), String> {
    run(&["test", "-x", "/usr/sbin/sshd"]).map_err(|_| "there is no /usr/sbin/sshd".to_owned())?;
    run(&[
        "unshare",
        "--mount",
        "--pid",
        "--net",
        "--fork",
        "--mount-proc",
        "mount",
        "-t",
        "tmpfs",
        "none",
        "/run",
    ])?;
    Ok(())
}

fn keys(bench: &Bench) {
    let directory = bench.path("keys");
    fs::create_dir(&directory).unwrap();
    for name in ["user", "host"] {
        let path = directory.join(name).display().to_string();
        run(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &path]).unwrap();
    }
    fs::write(directory.join("shadow"), "root:*:19000:0:99999:7:::\n").unwrap();
}

/// A program that passes everything to tardy, but waits for the file `go` of the bench before it measures, and counts runs in
/// `started`.
fn gated_program(bench: &Bench) {
    let (go, started) = (bench.path("go"), bench.path("started"));
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = run ]; then echo >>{}; while [ ! -e {} ]; do sleep 0.02; done; fi\nexec {} \"$@\"\n",
        started.display(),
        go.display(),
        env!("CARGO_BIN_EXE_tardy")
    );
    let path = bench.path("gated");
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn hosts_file(bench: &Bench, hosts: &[(&str, &Host, &str)]) {
    let mut text = "[defaults]\nuser = \"root\"\nidentity = \"keys/user\"\n\
                    options = [\"StrictHostKeyChecking=no\", \"UserKnownHostsFile=/dev/null\"]\n"
        .to_owned();
    for (name, host, more) in hosts {
        text += &format!("[[host]]\nname = \"{name}\"\naddress = \"{}\"\n{more}\n", host.address);
    }
    fs::write(bench.path("hosts.toml"), text).unwrap();
}

/// `tardy` in the fleet's namespace.
fn command(bench: &Bench, fleet: &Namespace, words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args([
        "netns",
        "exec",
        &fleet.0,
        env!("CARGO_BIN_EXE_tardy"),
        "fleet",
        "run",
        "--hosts",
        "hosts.toml",
    ]);
    command.args(["-o", "out", "--timeout", TIMEOUT]).args(words).args([
        "--",
        "--fake",
        "1",
        "--duration",
        "1s",
        "--limit",
        "1s",
    ]);
    command.current_dir(bench.path(".")).env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    command
}

/// What the state file has about a host.
fn state(bench: &Bench, host: &str, key: &str) -> Value {
    let text = fs::read_to_string(bench.path("out/fleet.json")).unwrap_or_default();
    serde_json::from_str(&text).map_or(Value::Null, |state: Value| state["hosts"][host][key].clone())
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).unwrap().next().is_none()
}

#[test]
fn a_fleet_survives_a_host_that_stops_one_that_is_full_and_one_whose_connection_dies() {
    let bench = Bench::new();
    let Some((fleet, all)) = hosts(&bench, &["1g", "1g", "1m", "1g"]) else { return };
    let [good, stopped, full, cut] = &all[..] else { unreachable!() };
    gated_program(&bench);
    let gated = "binary = \"gated\"";
    hosts_file(
        &bench,
        &[("good", good, ""), ("stopped", stopped, gated), ("full", full, gated), ("cut", cut, gated)],
    );
    fs::write(full.var_tmp().join("rest"), vec![0; 2 << 20]).unwrap_err();

    let first = Running::of(command(&bench, &fleet, &[]));
    let is_measuring = |host: &str| state(&bench, host, "step") == "measuring";
    wait_until("runs on both hosts", || is_measuring("stopped") && is_measuring("cut"));
    stopped.stop();
    cut.namespace.ip(&["link", "set", "eth0", "down"]).unwrap();
    let first = first.printed().exits(1);
    assert_eq!(state(&bench, "good", "step"), "done", "{}", first.err);
    assert!(first.out.contains("good     limit met  out/good.run.json"), "{}", first.out);
    let error = |host: &str| state(&bench, host, "error").as_str().unwrap_or_default().to_owned();
    let full_error = error("full");
    assert!(full_error.contains("/var/tmp on the host has 0 KiB free, and "), "{full_error}");
    for host in ["stopped", "cut"] {
        let error = error(host);
        assert!(
            error.contains("no answer for ") && error.contains("--resume collects it"),
            "{host}: {error}"
        );
    }
    assert!(first.out.contains("4 hosts: 1 done, 3 failed"), "{}", first.out);

    // The hosts are back, with their runs.
    stopped.go_on();
    cut.namespace.ip(&["link", "set", "eth0", "up"]).unwrap();
    fs::remove_file(full.var_tmp().join("rest")).unwrap();
    run(&[
        "nsenter",
        "--target",
        &inner(full).to_string(),
        "--mount",
        "mount",
        "-o",
        "remount,size=1g",
        "/var/tmp",
    ])
    .unwrap();
    fs::write(bench.path("go"), "").unwrap();
    let inode = || fs::metadata(bench.path("out/good.run.json")).unwrap().ino();
    let before = inode();
    let words = ["--resume", "--json", "--keep", "archive"];
    let second = Printed::from(command(&bench, &fleet, &words).output().unwrap()).exits(0);
    let results: Value = serde_json::from_str(&second.out).unwrap();
    for (result, name) in results.as_array().unwrap().iter().zip(["good", "stopped", "full", "cut"]) {
        let file = format!("out/{name}.run.json");
        assert_eq!(
            (&result["name"], &result["step"], &result["exit_status"]),
            (&name.into(), &"done".into(), &0.into())
        );
        assert_eq!(result["file"], file.as_str());
        assert_eq!(bench.json(&file)["progress"]["state"], "complete");
    }
    assert_eq!(inode(), before, "a host that is done is not repeated");
    assert_eq!(
        fs::read_to_string(bench.path("started")).unwrap().lines().count(),
        3,
        "no run was begun twice"
    );
    assert!(second.err.contains("archive archive: "), "{}", second.err);
    for host in &all {
        assert!(is_empty(&host.var_tmp()), "{}", host.address);
    }
}

/// A process of the host.
fn inner(host: &Host) -> u32 {
    let path = host.var_tmp();
    path.components().nth(2).unwrap().as_os_str().to_str().unwrap().parse().unwrap()
}

#[test]
fn an_interrupted_fleet_leaves_its_runs_on_the_hosts_and_collects_them_later() {
    let bench = Bench::new();
    let Some((fleet, all)) = hosts(&bench, &["1g"]) else { return };
    gated_program(&bench);
    hosts_file(&bench, &[("only", &all[0], "binary = \"gated\"")]);
    let first = Running::of(command(&bench, &fleet, &[]));
    wait_until("the run", || state(&bench, "only", "step") == "measuring");
    first.signal("-INT");
    let first = first.printed().exits(1);
    assert!(
        first
            .err
            .contains("interrupted; runs that were started go on: repeat the command with --resume -o out"),
        "{}",
        first.err
    );
    fs::write(bench.path("go"), "").unwrap();
    let again = Printed::from(command(&bench, &fleet, &[]).output().unwrap()).exits(1);
    assert!(again.err.contains("out has the state of a fleet; use --resume"), "{}", again.err);
    let second = Printed::from(command(&bench, &fleet, &["--resume"]).output().unwrap()).exits(0);
    assert!(second.out.contains("only  limit met"), "{}", second.out);
    assert_eq!(fs::read_to_string(bench.path("started")).unwrap().lines().count(), 1);
}

#[test]
fn mistakes_are_reported_before_a_host_is_contacted() {
    let bench = Bench::new();
    fs::write(bench.path("hosts.toml"), "[[host]]\nname = \"a\"\ntags = [\"rt\"]\n").unwrap();
    fs::write(bench.path("bad.toml"), "[[host]]\nname = \"a\"\ncolour = 1\n").unwrap();
    for (words, expected) in [
        (&["fleet", "run", "quick", "--hosts", "bad.toml"][..], "line 3"),
        (
            &["fleet", "run", "quick", "--hosts", "hosts.toml", "--only", "arm"],
            "'arm' is neither the name nor a tag",
        ),
        (&["fleet", "run", "quik", "--hosts", "hosts.toml"], "no recipe 'quik'"),
        (
            &["fleet", "run", "--hosts", "hosts.toml", "--", "--limt", "1ms"],
            "'tardy run' refuses them: unexpected argument '--limt'",
        ),
        (
            &["fleet", "run", "--hosts", "hosts.toml", "--", "-o", "x"],
            "--output: the run file is NAME.run.json",
        ),
        (&["fleet", "run", "--hosts", "hosts.toml", "--resume"], "--output"),
    ] {
        let printed = bench.run(words).exits(2);
        assert!(printed.err.contains(expected), "{words:?}: {}", printed.err);
    }
    let printed = bench.run(&["fleet", "run", "--hosts", "hosts.toml", "--resume", "-o", "x"]).exits(1);
    assert!(printed.err.contains("nothing to continue"), "{}", printed.err);
}
