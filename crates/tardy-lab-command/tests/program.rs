//! `tardy-lab` as `tardy` starts it.

use std::process::{Command, Output};

fn run(arguments: &[&str], build: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-lab"));
    command.args(arguments).env_remove(tardy_identity::VARIABLE).env_remove("TARDY_PROGRAM");
    command.envs(build.map(|build| (tardy_identity::VARIABLE, build)));
    command.output().unwrap()
}

fn refusal(arguments: &[&str], build: Option<&str>) -> String {
    let output = run(arguments, build);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_tardy_of_another_build_is_refused() {
    let refusal = refusal(&["lab", "kernels"], Some("0.0.1 (another)"));
    assert!(refusal.contains("the tardy that started it is build 0.0.1 (another)"), "{refusal}");
}

#[test]
fn it_runs_its_own_commands_only() {
    assert!(refusal(&["check"], None).contains("other commands are tardy's own"));
}
