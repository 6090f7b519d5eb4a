//! Small C programs that guests run next to tardy.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::guests;

/// Runs `cc` on the C file `from`, or on `input` if that is `-`. The program at `to` needs no library.
fn compile(from: &str, input: &str, to: &Path) -> std::io::Result<Output> {
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-static", "-Wall", "-Wextra", "-x", "c", from, "-o"]).arg(to);
    let mut child = compiler.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().expect("it is a pipe").write_all(input.as_bytes())?;
    child.wait_with_output()
}

/// The C program `source` for a guest. `None`, with the reason printed, if no compiler here makes such programs.
pub(crate) fn compiled(source: &str) -> Option<Vec<u8>> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!(
            "skipped: the guest is an x86-64 machine, and this one's compiler makes programs for another"
        );
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("program");
    match compile("-", "int main(void) { return 0; }\n", &path) {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            eprintln!("skipped: cc makes no static program: {}", guests::text_of(&output));
            return None;
        }
        Err(error) => {
            eprintln!("skipped: cc: {error}; `scripts/install-packages build` installs it");
            return None;
        }
    }
    let output = compile(source, "", &path).unwrap();
    assert!(output.status.success(), "{}", guests::text_of(&output));
    Some(std::fs::read(&path).unwrap())
}
