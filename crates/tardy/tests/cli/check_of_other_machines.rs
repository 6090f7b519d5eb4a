//! `tardy check` on other machines' kernel files: its text is compared with snapshots.
//!
//! `INSTA_UPDATE=always cargo test -p tardy --test cli check_of` accepts changes.

use std::path::Path;

use serde_json::Value;
use std::process::Command;

fn check(machine: &str, form: Option<&str>) -> (i32, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tardy-host/tests/kernels").join(machine);
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.arg("check").arg("--kernel-root").arg(root);
    command.args(form);
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// The full text without the last section, which describes the tardy under test.
fn text_of(machine: &str) -> String {
    let (code, text) = check(machine, Some("--full"));
    let (text, _tardy) = text.split_once("\nTARDY\n").unwrap();
    format!("exit {code}\n{text}")
}

#[test]
fn the_text_for_each_machine_matches_its_snapshot() {
    for machine in [
        "at91-2.6.38-xenomai",
        "bare",
        "contradicting",
        "debian-6.12",
        "debian-6.12-rt",
        "firecracker-6.18",
        "rpi1-3.2-misnamed",
        "rpi3-4.9",
        "rpi3-4.9-rt",
    ] {
        insta::assert_snapshot!(machine, text_of(machine));
    }
}

#[test]
fn only_a_ready_machine_exits_0_and_the_json_agrees() {
    for (machine, ready) in
        [("debian-6.12-rt", true), ("rpi3-4.9-rt", true), ("debian-6.12", false), ("bare", false)]
    {
        let (code, text) = check(machine, Some("--json"));
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["readiness"]["ready"], ready, "{machine}");
        assert_eq!(code, if ready { 0 } else { 3 }, "{machine}");
    }
}

#[test]
fn the_short_text_of_an_untuned_machine_fits_two_screens() {
    let (_, text) = check("debian-6.12", None);
    assert!(text.lines().count() <= 100, "{text}");
    insta::assert_snapshot!("debian-6.12-short", text);
}

#[test]
fn lines_fit_eighty_columns_except_what_is_pasted() {
    let (_, short) = check("debian-6.12", None);
    let text = text_of("debian-6.12") + &short;
    for line in text.lines().filter(|line| !line.contains(":  ") && !line.starts_with("Status: ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
