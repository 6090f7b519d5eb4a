//! The binaries for 32-bit boards, run whole: probe, map of counters, house, run file, summary.
//!
//! An emulator of programs (qemu-user) stands for the board's processor. tardy starts itself again as its probe, so the
//! kernel must know what to do with a program for another processor: a binfmt_misc of a user namespace's own says so,
//! and the machine's is left alone. `make board-tests` builds the binaries and names their directory; without that, or
//! where the kernel has no such thing, each test says that it was skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tardy_record::run::State;

/// Exit status of the script below when there is no such namespace.
const NO_NAMESPACE: i32 = 77;

/// Makes 32-bit Arm programs run in a namespace of its own, then becomes `$@`. The magic is the first 20 bytes of an
/// ELF file: 32 bits, lowest byte first, type 2 or 3, machine 40. `F` opens the emulator now.
const SCRIPT: &str = r#"
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || exit 77
magic='\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":tardy-board:M::$magic:$mask:$EMULATOR:F" >/proc/sys/fs/binfmt_misc/register || exit 77
exec "$@"
"#;

/// The board's tardy, to be run on the processor `cpu`; `None`, with a word about it, where it cannot be tried.
fn board(name: &str, cpu: &str) -> Option<Command> {
    let Some(directory) = std::env::var_os("TARDY_BOARDS").map(PathBuf::from) else {
        eprintln!(
            "skipped: TARDY_BOARDS is not set; `make board-tests` builds the boards' tardys and sets it"
        );
        return None;
    };
    let program = directory.join(format!("tardy-{name}"));
    if !program.exists() {
        eprintln!(
            "skipped: no {}: it could not be built here, as `make board-tests` said",
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

/// Its output; `None`, with a word about it, where the kernel does not let a test say how programs are run.
fn output(mut command: Command) -> Option<Output> {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NO_NAMESPACE) || error.starts_with("unshare:") {
        eprintln!(
            "skipped: no user namespace with a binfmt_misc of its own (Linux 6.7 has the first): {error}"
        );
        return None;
    }
    assert!(output.status.success(), "{}{error}", String::from_utf8_lossy(&output.stdout));
    Some(output)
}

/// Measures on it for a second and looks at the run file, with the host's own eyes.
fn a_second_is_measured_whole(name: &str, cpu: &str) {
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
    // Reading it checks that nothing is lost: recorded + missed + dropped = attempted.
    let run = tardy_record::file::from_text(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(run.progress.state, State::Complete);
    assert!(!run.series.is_empty());
    for series in &run.series {
        assert!(series.tally.recorded > 0, "{} has recorded nothing", series.label);
        assert_eq!(series.measured.total(), series.tally.recorded, "{}", series.label);
    }
    // 64-bit numbers are written alike there and read alike here: both say the same of the run.
    let mut there = board(name, cpu).unwrap();
    there.args(["show", "--json"]).arg(&file);
    let mut here = Command::new(env!("CARGO_BIN_EXE_tardy"));
    here.args(["show", "--json"]).arg(&file);
    let here = here.output().unwrap();
    assert!(!here.stdout.is_empty());
    assert_eq!(output(there).unwrap().stdout, here.stdout);
}

#[test]
fn an_at91sam9_measures_a_second() {
    a_second_is_measured_whole("armv5te", "arm926");
}

#[test]
fn the_first_raspberry_pi_measures_a_second() {
    a_second_is_measured_whole("armv5te", "arm1176");
}

#[test]
fn an_armv7_board_measures_a_second() {
    a_second_is_measured_whole("armv7", "cortex-a7");
}
