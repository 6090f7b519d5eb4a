//! `tardy-archive` as other programs of tardy start it.

use std::process::{Command, Output, Stdio};

fn run(arguments: &[&str], build: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-archive"));
    command.args(arguments).env_remove(tardy_identity::VARIABLE).stdin(Stdio::null());
    command.envs(build.map(|build| (tardy_identity::VARIABLE, build)));
    command.output().unwrap()
}

fn refusal(arguments: &[&str], build: Option<&str>) -> String {
    let output = run(arguments, build);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_tardy_of_another_build_is_refused() {
    for arguments in [&["archive", "verify", "/nonexistent"][..], &["__find", "/nonexistent"]] {
        let refusal = refusal(arguments, Some("0.0.1 (another)"));
        assert!(refusal.contains("the tardy that started it is build 0.0.1 (another)"), "{refusal}");
    }
}

#[test]
fn it_runs_its_own_commands_only() {
    assert!(refusal(&["check"], None).contains("other commands are tardy's own"));
    assert!(refusal(&["__guest"], None).contains("is not a hidden command"));
    let refusal = refusal(&["__find", "/nonexistent"], None);
    assert!(!refusal.starts_with("tardy:"), "the command that asks adds its name: {refusal}");
}
