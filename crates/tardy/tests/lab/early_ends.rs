//! Guests that end early.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::guests::{self, Turn};

/// Process ids of emulators whose guest's command line has `mark` in it.
fn emulators(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        if words.starts_with("qemu-system") && words.contains(mark) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

/// Whether `condition` becomes true in time. It always does unless something is broken.
fn soon(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn ends_its_emulator(signal: &str) {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mark = format!("tardy.test={}-{signal}", std::process::id());
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--kernel", &format!("debian:6.12-rt,append='{mark}'"), "-o"]).arg(results.path());
    let turn = Turn::on_one(1);
    let mut tardy = turn.pinned(&lab).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    assert!(soon(|| emulators(&mark).len() == 1), "no emulator was started");
    let kill =
        std::process::Command::new("kill").args([&format!("-{signal}"), &tardy.id().to_string()]).status();
    assert!(kill.unwrap().success());
    tardy.wait().unwrap();
    assert!(soon(|| emulators(&mark).is_empty()), "an emulator is left: {:?}", emulators(&mark));
}

#[test]
fn no_emulator_outlives_a_tardy_that_was_killed() {
    ends_its_emulator("KILL");
}

#[test]
fn no_emulator_outlives_a_tardy_that_was_interrupted() {
    ends_its_emulator("INT");
}

/// The kernel finds neither a first program nor a root file system, and panics.
#[test]
fn a_panic_is_reported_with_the_consoles_last_lines() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--kernel", "debian:6.12,append='rdinit=/nothing'", "-o"]).arg(results.path());
    let shown = guests::text_of(&guests::expect_alone(&lab, 1));
    assert!(shown.contains("the guest's kernel panicked"), "{shown}");
    assert!(shown.contains("Kernel panic - not syncing"), "{shown}");
    let files = std::fs::read_dir(results.path()).unwrap().map(|entry| entry.unwrap().path());
    let console = files.into_iter().find(|path| path.to_string_lossy().ends_with(".console.log"));
    assert!(std::fs::read_to_string(console.unwrap()).unwrap().contains("Kernel panic - not syncing"));
}

/// The error is the guest's tardy's, and `--quiet` does not suppress it.
#[test]
fn an_error_in_a_guest_is_reported_with_quiet() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    // The standard kernel does not have this tracer, which only the guest can find out.
    lab.args(["lab-quick", "--quiet", "--kernel", "debian:6.12", "--probe", "timerlat", "-o"])
        .arg(results.path());
    let shown = guests::text_of(&guests::expect_alone(&lab, 1));
    assert!(shown.contains("CONFIG_TIMERLAT_TRACER"), "{shown}");
}

/// A kernel that waits for ever before it boots.
#[test]
fn a_guest_that_hangs_is_ended() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    // 1000 s of waiting in a loop after every message of the boot (boot_delay, in ms).
    let hanging = "debian:6.12,append='boot_delay=10000 lpj=1000000'";
    lab.args(["lab-quick", "--kernel", hanging, "--patience", "2s", "-o"]).arg(results.path());
    let shown = guests::text_of(&guests::expect_alone(&lab, 1));
    assert!(shown.contains("it hangs, or needs longer (--patience)"), "{shown}");
}

#[test]
fn too_little_memory_is_an_error() {
    let Some(guests) = guests::directory() else { return };
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["lab-quick", "--kernel", "debian:6.12", "--memory", "64", "-o"]).arg(results.path());
    let shown = guests::text_of(&guests::expect_alone(&lab, 1));
    assert!(shown.contains("64 MiB: too little memory; use --memory"), "{shown}");
}
