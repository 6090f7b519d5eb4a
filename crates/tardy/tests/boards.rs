//! The binaries for 32-bit boards, run as a whole: probe, map of counters, supervisor, run file, summary.
//!
//! `make test-boards` builds all of tardy for ARMv5TE: what compiles and links there does so on ARMv7 too. Of ARMv7, whose 64-bit
//! atomics are instructions, it builds what measures and what analyses: the guests' program, and an example of tardy-analyse. `make test`
//! builds these two for ARMv5TE only; a rule of `xtask` finds 64-bit atomics anywhere else.
//!
//! qemu-user emulates the board's processor. A program starts itself as its probe, so the kernel must know how to run a
//! program for another processor. That is set in the binfmt_misc of a separate user namespace; the machine's own is not
//! changed. `make test-boards` builds the binaries and sets their directory. Without that, or if the kernel lacks such
//! namespaces, each test prints why it is skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tardy_analyse::findings::{self, Options};
use tardy_analyse::tail::Depth;
use tardy_record::Run;
use tardy_record::run::State;

/// Exit status of the script below if there is no such namespace.
const NO_NAMESPACE: i32 = 77;

/// Makes the namespace run 32-bit Arm programs, then executes `$@`. The magic is the first 20 bytes of an ELF file: 32 bits,
/// lowest byte first, type 2 or 3, machine 40. `F` opens the emulator now.
const SCRIPT: &str = r#"
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 77
magic='\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":tardy-board:M::$magic:$mask:$EMULATOR:F" >/proc/sys/fs/binfmt_misc/register || exit 77
exec "$@"
"#;

/// The recipe that `tardy run quick` runs.
const QUICK: &str = include_str!("../../../recipes/quick.toml");

/// The program `name` on the processor `cpu`. `None`, with the reason printed, if it cannot run here.
fn board(name: &str, cpu: &str) -> Option<Command> {
    let Some(directory) = std::env::var_os("TARDY_BOARDS").map(PathBuf::from) else {
        eprintln!(
            "skipped: TARDY_BOARDS is not set; `make test-boards` builds the boards' programs and sets it"
        );
        return None;
    };
    let program = directory.join(name);
    if !program.exists() {
        eprintln!(
            "skipped: no {}: `make test-boards` builds it, or prints why it cannot be built here",
            program.display()
        );
        return None;
    }
    let emulator =
        ["/usr/bin/qemu-arm-static", "/usr/bin/qemu-arm"].into_iter().find(|path| Path::new(path).exists());
    let Some(emulator) = emulator else {
        eprintln!("skipped: there is no qemu-arm-static here (Debian's qemu-user-static has it)");
        return None;
    };
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "board"]).arg(program);
    command.env("EMULATOR", emulator).env("QEMU_CPU", cpu);
    Some(command)
}

/// The output of `command`. `None`, with the reason printed, if there is no such namespace.
fn output(mut command: Command) -> Option<Output> {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NO_NAMESPACE) || error.starts_with("unshare:") {
        eprintln!("skipped: no user namespace with its own binfmt_misc (Linux 6.7 and later): {error}");
        return None;
    }
    assert!(output.status.success(), "{}{error}", String::from_utf8_lossy(&output.stdout));
    Some(output)
}

/// The complete run in `file`. Reading checks that nothing is lost: recorded + missed + dropped = attempted.
fn complete(file: &Path) -> Run {
    let run = tardy_record::file::from_text(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(run.progress.state, State::Complete);
    assert!(!run.series.is_empty());
    for series in &run.series {
        assert!(series.tally.recorded > 0, "{} has recorded nothing", series.label);
        assert_eq!(series.measured.total(), series.tally.recorded, "{}", series.label);
    }
    run
}

/// Measures with all of tardy on the board for a second, and reads the run file on the host.
fn tardy_measures_a_second(name: &str, cpu: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("board.run.json");
    let Some(mut command) = board(name, cpu) else { return };
    // Slow enough for an emulated processor on a busy machine.
    command
        .args(["run", "quick", "--load", "none", "--duration", "1s", "--interval", "5ms", "--output"])
        .arg(&file);
    if output(command).is_none() {
        return;
    }
    complete(&file);
    let mut there = board(name, cpu).unwrap();
    there.args(["show", "--json"]).arg(&file);
    let mut here = Command::new(env!("CARGO_BIN_EXE_tardy"));
    here.args(["show", "--json"]).arg(&file);
    let here = serde_json::from_slice(&here.output().unwrap().stdout).expect("JSON on standard output");
    assert_same_findings(here, &output(there).unwrap());
}

/// The same with the programs that measure and analyse.
fn parts_measure_a_second(guest: &str, analysis: &str, cpu: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let [recipe, file] = ["board.toml", "board.run.json"].map(|name| scratch.path().join(name));
    let changes = [
        ("\"1m\"", "\"1s\""),
        ("\"200us\"", "\"5ms\""),
        ("[\"doload\"]", "[\"none\"]"),
        // A user's recipe that names a policy requires it, which the user namespace may not give.
        ("policy = \"fifo\"\npriority = 90\n", ""),
    ];
    let slow = changes.iter().fold(QUICK.to_owned(), |text, (usual, slow)| {
        assert!(text.contains(usual), "{usual} is not in recipes/quick.toml");
        text.replace(usual, slow)
    });
    std::fs::write(&recipe, slow).unwrap();
    let Some(mut command) = board(guest, cpu) else { return };
    command.arg("run").arg(&recipe).arg("-o").arg(&file);
    if output(command).is_none() {
        return;
    }
    let run = complete(&file);
    let mut there = board(analysis, cpu).unwrap();
    there.arg(&file);
    let here = findings::of(&run, &Options { tails: Depth::Diagnostics, ..Options::default() });
    assert_same_findings(serde_json::to_value(&here).unwrap(), &output(there).unwrap());
}

/// Both programs read the same 64-bit numbers from the file, and compute the same from them.
fn assert_same_findings(mut here: Value, there: &Output) {
    let mut there: Value = serde_json::from_slice(&there.stdout).expect("JSON on standard output");
    let fits = [&mut here, &mut there].map(|findings| findings["tails"].take());
    assert_eq!(there, here);
    assert_close(&fits[0], &fits[1], "tails");
}

/// Holds that two fits are the same, except for the last digits of numbers: logarithms and exponentials are those of each
/// processor's C library, and a search for a maximum multiplies their rounding. Seen up to 1e-7.
fn assert_close(here: &Value, there: &Value, place: &str) {
    match (here, there) {
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
            for (name, value) in one {
                assert_close(value, &there[name], &format!("{place}.{name}"));
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (value, other)) in one.iter().zip(other).enumerate() {
                assert_close(value, other, &format!("{place}[{index}]"));
            }
        }
        (Value::Number(one), Value::Number(other)) if !(one.is_u64() && other.is_u64() && one == other) => {
            let [one, other] = [one, other].map(|number| number.as_f64().unwrap());
            let scale = one.abs().max(other.abs());
            assert!((one - other).abs() <= 1e-5 * scale, "{place}: {one} here, {other} there");
        }
        _ => assert_eq!(here, there, "{place}"),
    }
}

#[test]
fn an_at91sam9_measures_a_second() {
    tardy_measures_a_second("tardy-armv5te", "arm926");
}

#[test]
fn parts_on_an_at91sam9_measure_a_second() {
    parts_measure_a_second("tardy-guest-armv5te", "findings-armv5te", "arm926");
}

#[test]
fn the_first_raspberry_pi_measures_a_second() {
    tardy_measures_a_second("tardy-armv5te", "arm1176");
}

#[test]
fn an_armv7_board_measures_a_second() {
    parts_measure_a_second("tardy-guest-armv7", "findings-armv7", "cortex-a7");
}
