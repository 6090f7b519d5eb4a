//! Programs that tardy chooses are not taken from the current directory, nor for root from PATH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, Printed};
use crate::probe_program::{as_a_user, copy_of_tardy, is_root};

/// Programs that root's commands run.
const PLANTED: [&str; 9] =
    ["nft", "tc", "iptables", "cc", "sh", "make", "apt-config", "qemu-system-x86_64", "qemu-system-aarch64"];

/// Writes a shell script that every user may execute.
fn write_script(file: &Path, commands: &str) {
    fs::write(file, format!("#!/bin/sh\n{commands}\n")).unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Plants programs in a directory, each of which leaves a file there when it is run.
fn plant(directory: &Path) {
    let trace = directory.join("it-was-run");
    for name in PLANTED {
        write_script(&directory.join(name), &format!("echo {name} >> {}", trace.display()));
    }
}

/// A bench with planted programs, a file in place of a kernel, and the beginning of a static program for a guest.
fn planted_bench() -> Bench {
    let bench = Bench::new();
    plant(&bench.path("."));
    fs::write(bench.path("image"), "x").unwrap();
    let mut header = [0; 64];
    // elf(5): 64 bits, little-endian, version 1; an executable for x86-64, version 1; the length of the header and of a
    // program header.
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    for (at, value) in [(16, 2), (18, 62), (20, 1), (32, 64), (52, 64), (54, 56)] {
        header[at] = value;
    }
    fs::write(bench.path("guest"), header).unwrap();
    bench
}

fn traces(directory: &Path) -> String {
    fs::read_to_string(directory.join("it-was-run")).unwrap_or_default()
}

/// Commands that run programs, with a PATH that each test chooses.
const COMMANDS: [&[&str]; 3] = [
    &["tsn", "test", "tsn-two-flows", "--netns", "--without-shaper", "--for", "100ms", "-q"],
    &["run", "-q", "--duration", "300ms", "--load", "compile", "-o", "c.run.json", "--force"],
    &["lab", "run", "lab-quick", "--kernel", "./image", "--guest-tardy", "./guest", "--dry-run"],
];

#[test]
fn the_current_directory_provides_no_program_if_path_is_not_set() {
    let bench = planted_bench();
    for words in COMMANDS {
        let _ = bench.command(words).env_remove("PATH").output().unwrap();
        assert_eq!(traces(&bench.path(".")), "", "{words:?}");
        let _ = bench.command(words).env("PATH", ":.:relative").output().unwrap();
        assert_eq!(traces(&bench.path(".")), "", "{words:?}");
    }
}

#[test]
fn path_provides_no_program_to_root() {
    if !is_root() {
        println!("skipped: this user's programs come from PATH");
        return;
    }
    let bench = planted_bench();
    for words in COMMANDS {
        let _ = bench.command(words).env("PATH", bench.path("")).output().unwrap();
        assert_eq!(traces(&bench.path(".")), "", "{words:?}");
    }
}

#[test]
fn the_compiler_of_another_user_comes_from_path() {
    if !is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let bench = Bench::new();
    let tardy = copy_of_tardy(&bench, None).unwrap();
    plant(&bench.path("."));
    let mut command = as_a_user(&bench, Path::new("env"), 64);
    command.arg(format!("PATH={}", bench.path("").display())).arg(tardy);
    command.args(["run", "-q", "--duration", "1s", "--load", "compile", "-o", "d.run.json"]);
    let _ = command.output().unwrap();
    assert!(traces(&bench.path(".")).contains("cc"), "{}", traces(&bench.path(".")));
}

#[test]
fn a_load_that_is_a_command_is_found_by_the_users_path() {
    let bench = Bench::new();
    fs::create_dir(bench.path("own")).unwrap();
    write_script(&bench.path("own/program-of-the-user"), "exec sleep 3600");
    let words = ["run", "-q", "--duration", "300ms", "--load", "cmd:program-of-the-user", "-o", "e.run.json"];
    let path = format!("{}:/usr/bin:/bin", bench.path("own").display());
    Printed::from(bench.command(&words).env("PATH", path).output().unwrap()).exits(0);
    let run = bench.json("e.run.json").to_string();
    assert!(run.contains("program-of-the-user") && !run.contains("exit status 127"), "{run}");
}

#[test]
fn a_shell_without_a_path_does_not_begin_with_the_current_directory() {
    let bench = Bench::new();
    write_script(&bench.path("sleep"), "echo sleep >> it-was-run");
    let words = ["run", "-q", "--duration", "300ms", "--load", "cmd:sleep 3600", "-o", "f.run.json"];
    let mut command: Command = bench.command(&words);
    Printed::from(command.env_remove("PATH").output().unwrap()).exits(0);
    assert_eq!(traces(&bench.path(".")), "");
}
