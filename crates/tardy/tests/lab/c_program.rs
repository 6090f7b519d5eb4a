//! Small programs in C and Rust that guests run next to tardy, and libraries that emulators load.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::guests;

/// Runs `cc` with `flags` on the C file `from`, or on `input` if that is `-`.
fn compile(flags: &[&str], from: &str, input: &str, to: &Path) -> std::io::Result<Output> {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra"]).args(flags).args(["-x", "c", from, "-o"]).arg(to);
    let mut child = compiler.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().expect("it is a pipe").write_all(input.as_bytes())?;
    child.wait_with_output()
}

/// Whether a compiler here makes programs with `flags`. Prints the reason if not.
fn can_compile(flags: &[&str], path: &Path) -> bool {
    match compile(flags, "-", "int main(void) { return 0; }\n", path) {
        Ok(output) if output.status.success() => return true,
        Ok(output) => eprintln!("skipped: cc {}: {}", flags.join(" "), guests::text_of(&output)),
        Err(error) => eprintln!("skipped: cc: {error}; `scripts/install-packages build` installs it"),
    }
    false
}

/// Whether programs of this machine's compilers run in the guest. Prints the reason if not.
fn can_run_in_guest() -> bool {
    if !cfg!(target_arch = "x86_64") {
        eprintln!(
            "skipped: the guest is an x86-64 machine, and this one's compilers make programs for another"
        );
        return false;
    }
    true
}

/// The C file `source` compiled with `flags`. `None`, with the reason printed, if no compiler here can do that.
fn built(source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("program");
    if !can_compile(flags, &path) {
        return None;
    }
    let output = compile(flags, source, "", &path).unwrap();
    assert!(output.status.success(), "{}", guests::text_of(&output));
    Some(std::fs::read(&path).unwrap())
}

/// The C program `source` for a guest. It needs no library. `None`, with the reason printed, if no compiler here makes such
/// programs.
pub(crate) fn compiled(source: &str) -> Option<Vec<u8>> {
    compiled_with(source, &[])
}

/// The same with further flags of the compiler.
pub(crate) fn compiled_with(source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    if !can_run_in_guest() {
        return None;
    }
    built(source, &[&["-static"], flags].concat())
}

/// The Rust program `source` for a guest, as [`compiled`]. It uses the standard library only.
pub(crate) fn compiled_from_rust(source: &str) -> Option<Vec<u8>> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("program");
    // rustc links with cc.
    if !can_run_in_guest() || !can_compile(&["-static"], &path) {
        return None;
    }
    let mut compiler = Command::new("rustc");
    compiler.args(["--edition", "2024", "-O", "-C", "target-feature=+crt-static", source, "-o"]).arg(&path);
    match compiler.output() {
        Ok(output) => assert!(output.status.success(), "{}", guests::text_of(&output)),
        Err(error) => {
            eprintln!("skipped: rustc: {error}; `scripts/with-rust` runs a command with it");
            return None;
        }
    }
    Some(std::fs::read(&path).unwrap())
}

/// The C file `source` as a library for programs of this machine, with `definition` defined. `None` as above.
pub(crate) fn library(source: &str, definition: &str) -> Option<Vec<u8>> {
    built(source, &["-shared", "-fPIC", "-D", definition])
}
