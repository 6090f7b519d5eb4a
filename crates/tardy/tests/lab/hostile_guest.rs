//! A hostile guest does nothing on the host: on arm64 a program that makes semihosting requests, on x86-64, which has no such
//! requests, a plugin in the emulator's process.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use tardy_init::messages::Message;
use tardy_lab::machine::{self, CONSOLE, Machine, Pace, Setup};
use tardy_lab::session::{self, Confinement, Installed, Session, SessionError};
use tempfile::TempDir;

use crate::c_program;
use crate::guests::{self, Turn};
use crate::semihosting_program::{Request, program};

const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/hostile_plugin.c");
/// The first version of QEMU that expects version 2 of its interface for plugins.
const VERSION_OF_SECOND_INTERFACE: u32 = 9;

/// Files of the host that a guest attacks.
struct Victims(TempDir);

impl Victims {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, mode| {
            let path = place.path().join(name);
            std::fs::write(&path, "#!/bin/sh\ntouch \"$(dirname \"$0\")\"/ran\n").unwrap();
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        write("victim", 0o644);
        write("secret", 0o600);
        write("command", 0o755);
        Self(place)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// The names and lengths of the files.
    fn listing(&self) -> Vec<(String, u64)> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(Result::unwrap);
        let mut files: Vec<(String, u64)> = entries
            .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().unwrap().len()))
            .collect();
        files.sort();
        files
    }
}

/// What a guest reported, and how it ended.
struct Ended {
    outputs: Vec<String>,
    result: Result<(), SessionError>,
    /// The names in the emulator's directory.
    left: Vec<String>,
}

impl Ended {
    fn denied(&self) -> String {
        match &self.result {
            Err(error @ SessionError::Denied { .. }) => error.to_string(),
            other => panic!("{:?}, {other:?}", self.outputs),
        }
    }

    /// Asserts that the guest neither removed the console nor created a file in the emulator's directory.
    fn assert_nothing_was_placed(&self, confinement: &Confinement) {
        let has = |name: &str| self.left.iter().any(|left| left == name);
        assert!(has(CONSOLE) && !has("planted"), "{confinement}: {:?}", self.left);
    }
}

/// Runs an emulator whose directory contains `files`.
fn run(
    machine: Machine,
    emulator: &Installed,
    confinement: &Confinement,
    arguments: &[String],
    files: &[(&str, &[u8])],
) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(directory.path().join(name), content).unwrap();
    }
    let turn = Turn::on_one(1);
    let session = Session {
        machine,
        emulator,
        confinement,
        arguments,
        directory: directory.path(),
        core: Some(turn.core()),
        patience: Duration::from_secs(60),
        cancel: None,
        observer: None,
    };
    let mut outputs = Vec::new();
    let result = session.run(&mut |message: &Message| match message {
        Message::Output { text } => outputs.push(text.clone()),
        other => panic!("{other:?}"),
    });
    let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
    let left = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    Ended { outputs, result: result.map(drop), left }
}

/// Each way in which this machine can confine the emulator: with one of the layers that restrict files, and with all.
fn confinements(machine: Machine) -> Vec<Confinement> {
    let all = session::confinement(machine, Pace::default(), false);
    let all = match all {
        Ok(all) => all,
        Err(error) => {
            eprintln!("skipped: {error}");
            return Vec::new();
        }
    };
    let Confinement::Confined { landlock, user, kvm } = all.clone() else { panic!("{all}") };
    let mut ways = vec![all];
    if landlock.is_some() && user.is_some() {
        ways.push(Confinement::Confined { landlock, user: None, kvm });
        ways.push(Confinement::Confined { landlock: None, user, kvm });
    }
    ways
}

fn semihosting_requests(victims: &Victims) -> Vec<u8> {
    let [victim, moved] = ["victim", "moved"].map(|name| victims.path(name));
    program(&[
        ("read", Request::Read(&victims.path("secret"))),
        ("create", Request::Write(&victims.path("new"))),
        ("write", Request::Write(&victim)),
        ("rename", Request::Rename(&victim, &moved)),
        ("remove", Request::Remove(&moved)),
        ("input", Request::Write("initramfs")),
        ("own", Request::Write("planted")),
        ("console", Request::Remove(CONSOLE)),
        ("system", Request::System(&victims.path("command"))),
    ])
}

const REQUESTS: [&str; 8] = ["read", "create", "write", "rename", "remove", "input", "own", "console"];

/// The outputs of requests that all ended with `status`.
fn all(names: &[&str], status: u32) -> Vec<String> {
    names.iter().map(|name| format!("{name} {status}")).collect()
}

fn attack_by_semihosting(victims: &Victims, emulator: &Installed, confinement: &Confinement) -> Ended {
    let machine = Machine::Virt;
    let setup = Setup { machine, pace: Pace::default(), memory_mib: 64, command_line: String::new() };
    let arguments = machine::emulator_arguments(&setup);
    let kernel = semihosting_requests(victims);
    run(machine, emulator, confinement, &arguments, &[("kernel", &kernel), ("initramfs", b"initramfs")])
}

#[test]
fn a_guest_cannot_use_semihosting_to_run_commands_and_change_files_of_the_host() {
    if guests::directory().is_none() {
        return;
    }
    let emulator = session::installed(Machine::Virt).unwrap();
    for confinement in confinements(Machine::Virt) {
        let victims = Victims::new();
        let before = victims.listing();
        let ended = attack_by_semihosting(&victims, &emulator, &confinement);
        assert_eq!(ended.outputs, all(&REQUESTS, 1), "{confinement}");
        let error = ended.denied();
        // An emulator of another version may start a process by a call that has no name here.
        let attempts = ["start a process on the host (system call ", "make the system call "];
        assert!(attempts.iter().any(|attempt| error.contains(attempt)), "{error}");
        assert_eq!(victims.listing(), before, "{confinement}");
        ended.assert_nothing_was_placed(&confinement);
    }
}

/// The guest of the test above does harm if nothing confines the emulator.
#[test]
fn a_guest_of_an_unconfined_emulator_runs_commands_on_the_host() {
    if guests::directory().is_none() {
        return;
    }
    let emulator = session::installed(Machine::Virt).unwrap();
    let victims = Victims::new();
    let ended = attack_by_semihosting(&victims, &emulator, &Confinement::Unconfined);
    assert!(ended.result.is_ok(), "{:?}", ended.result);
    let mut outputs = all(&REQUESTS, 0);
    outputs.push("system 0".to_owned());
    assert_eq!(ended.outputs, outputs);
    let names: Vec<String> = victims.listing().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["command", "new", "ran", "secret"]);
}

/// Runs the plugin, which does `how`. A listener at `port` is what it connects to.
fn attack_by_plugin(
    victims: &Victims,
    plugin: &[u8],
    (emulator, confinement): (&Installed, &Confinement),
    how: &str,
    port: u16,
) -> Ended {
    let place = victims.0.path().display();
    let arguments = [
        "-machine",
        "q35",
        "-nodefaults",
        "-display",
        "none",
        "-plugin",
        &format!("./plugin.so,how={how},place={place},port={port}"),
    ];
    let files: [(&str, &[u8]); 2] = [("plugin.so", plugin), ("kernel", b"kernel")];
    run(Machine::Pc, emulator, confinement, &arguments.map(str::to_owned), &files)
}

/// The plugin, for the interface of the emulator.
fn plugin(emulator: &Installed) -> Option<Vec<u8>> {
    let major: u32 = emulator.version.split('.').next()?.parse().ok()?;
    let interface = if major < VERSION_OF_SECOND_INTERFACE { 1 } else { 2 };
    c_program::library(PLUGIN, &format!("PLUGIN_VERSION={interface}"))
}

/// What the plugin tries that each way must refuse.
const ATTEMPTS: [&str; 8] = ["read", "create", "write", "remove", "rename", "input", "link", "console"];

#[test]
fn a_guest_that_has_taken_over_the_emulator_cannot_reach_the_host() {
    if guests::directory().is_none() {
        return;
    }
    let emulator = session::installed(Machine::Pc).unwrap();
    let Some(plugin) = plugin(&emulator) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let victims = Victims::new();
    let before = victims.listing();
    for confinement in confinements(Machine::Pc) {
        let Confinement::Confined { landlock, user, .. } = &confinement else { panic!("{confinement}") };
        let attack = |how: &str| attack_by_plugin(&victims, &plugin, (&emulator, &confinement), how, port);
        let ended = attack("files");
        assert!(ended.result.is_ok(), "{confinement}: {:?}", ended.result);
        let refused = |name: &str, is_refused: bool| format!("{name} {}", u32::from(is_refused));
        let mut outputs = vec![
            refused("signal", user.is_some() || *landlock >= Some(6)),
            refused("connect", *landlock >= Some(4)),
        ];
        outputs.extend(all(&ATTEMPTS, 1));
        assert_eq!(ended.outputs, outputs, "{confinement}");
        ended.assert_nothing_was_placed(&confinement);
    }
    if let Some(confinement) = confinements(Machine::Pc).first() {
        for (how, call) in [("system", "clone"), ("execve", "execve"), ("setuid", "setuid")] {
            let ended = attack_by_plugin(&victims, &plugin, (&emulator, confinement), how, port);
            let error = ended.denied();
            // The kernel's log is not always readable.
            assert!(
                error.contains(&format!("(system call {call})")) || error.contains("make a system call"),
                "{error}"
            );
            assert_eq!(ended.outputs, Vec::<String>::new());
        }
        let filled = attack_by_plugin(&victims, &plugin, (&emulator, confinement), "fill", port);
        assert!(matches!(filled.result, Err(SessionError::ConsoleTooLong { .. })), "{:?}", filled.result);
    }
    assert_eq!(victims.listing(), before);
    // The same does harm if nothing confines the emulator.
    let unconfined =
        attack_by_plugin(&victims, &plugin, (&emulator, &Confinement::Unconfined), "files", port);
    let attempts: Vec<&str> = ["signal", "connect"].into_iter().chain(ATTEMPTS).collect();
    assert_eq!(unconfined.outputs, all(&attempts, 0));
}

/// A script in place of an emulator without a sandbox.
const WITHOUT_SANDBOX: &str = "#!/bin/sh
case \"$*\" in *-sandbox*) echo 'qemu: -sandbox support is not enabled' >&2; exit 1;; esac
echo 'QEMU emulator version 9.9 (a test)'
";

/// Runs `$@` with the program `$0` instead of the emulator.
const IN_PLACE_OF_THE_EMULATOR: &str = r#"mount --bind "$0" "$(command -v qemu-system-x86_64)" && exec "$@""#;

#[test]
fn guests_that_cannot_be_confined_are_refused_unless_unconfined() {
    let Some(guests) = guests::directory() else { return };
    let place = tempfile::tempdir().unwrap();
    let emulator = place.path().join("qemu-system-x86_64");
    std::fs::write(&emulator, WITHOUT_SANDBOX).unwrap();
    std::fs::set_permissions(&emulator, PermissionsExt::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let dry_run = |flags: &[&str]| {
        let mut lab = guests::lab(&guests, "x86_64", "run");
        lab.args(["lab-quick", "--kernel", "debian:6.12-rt", "--dry-run"]).args(flags);
        if !tardy_sys::privileges::is_root() {
            return lab.env("PATH", format!("{}:{path}", place.path().display())).output().unwrap();
        }
        // Root's programs are not looked for in PATH, so the script takes the emulator's place in a mount namespace.
        let mut replaced = Command::new("unshare");
        replaced.args(["--mount", "sh", "-c", IN_PLACE_OF_THE_EMULATOR]).arg(&emulator);
        replaced.arg(lab.get_program()).args(lab.get_args()).output().unwrap()
    };
    let refused = dry_run(&[]);
    let text = guests::text_of(&refused);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("guests cannot be confined here: "), "{text}");
    assert!(text.contains("has no sandbox (qemu: -sandbox support is not enabled)"), "{text}");
    assert!(text.contains("--unconfined"), "{text}");
    let unconfined = dry_run(&["--unconfined"]);
    let text = guests::text_of(&unconfined);
    assert_eq!(unconfined.status.code(), Some(0), "{text}");
    assert!(text.contains("\n  unconfined\n"), "{text}");
}
