//! `tardy-picture` as `tardy plot` starts it.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\"><text x=\"1\" y=\"9\">5 us</text></svg>";

fn run(arguments: &[&str], build: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-picture"));
    command.args(arguments).env_remove(tardy_identity::VARIABLE);
    command.envs(build.map(|build| (tardy_identity::VARIABLE, build)));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(SVG.as_bytes());
    child.wait_with_output().unwrap()
}

fn refusal(arguments: &[&str], build: Option<&str>) -> String {
    let output = run(arguments, build);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_plot_becomes_png_or_pdf() {
    let png = run(&["png", "2"], None).stdout;
    assert_eq!((&png[1..4], &png[16..20]), (&b"PNG"[..], &80u32.to_be_bytes()[..]));
    assert!(run(&["pdf"], None).stdout.starts_with(b"%PDF-"));
}

#[test]
fn a_tardy_of_another_build_is_refused() {
    let version = String::from_utf8(run(&["--version"], None).stdout).unwrap();
    let own = version.trim().strip_prefix("tardy-picture ").unwrap();
    assert!(run(&["pdf"], Some(own)).status.success());
    let refusal = refusal(&["pdf"], Some("0.0.1 (another)"));
    assert!(refusal.contains(own) && refusal.contains("0.0.1 (another)"), "{refusal}");
}

#[test]
fn wrong_arguments_are_answered_with_what_is_right() {
    assert!(refusal(&["png", "0"], None).contains("'0' is not a scale"));
    assert!(refusal(&["png", "9999999"], None).contains("use a lower --scale or --width"));
    assert!(refusal(&[], None).contains("usage: tardy-picture png SCALE"));
}

#[test]
fn a_word_that_is_not_utf_8_is_answered_with_what_is_right() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-picture"));
    let output = command.arg(OsStr::from_bytes(b"p\xffg")).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("usage: tardy-picture"));
}
