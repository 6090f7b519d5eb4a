//! Small C programs that guests run next to tardy, and libraries that emulators load.

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

/// The C file `source` compiled with `flags`. `None`, with the reason printed, if no compiler here can do that.
fn built(source: &str, flags: &[&str]) -> Option<Vec<u8>> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("program");
    match compile(flags, "-", "int main(void) { return 0; }\n", &path) {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            eprintln!("skipped: cc {}: {}", flags.join(" "), guests::text_of(&output));
            return None;
        }
        Err(error) => {
            eprintln!("skipped: cc: {error}; `scripts/install-packages build` installs it");
            return None;
        }
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
    if !cfg!(target_arch = "x86_64") {
        eprintln!(
            "skipped: the guest is an x86-64 machine, and this one's compiler makes programs for another"
        );
        return None;
    }
    built(source, &[&["-static"], flags].concat())
}

/// The C file `source` as a library for programs of this machine, with `definition` defined. `None` as above.
pub(crate) fn library(source: &str, definition: &str) -> Option<Vec<u8>> {
    built(source, &["-shared", "-fPIC", "-D", definition])
}
