//! Programs beside `tardy`: found, started, and missing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A directory with `bin/tardy` alone.
struct Installation {
    directory: tempfile::TempDir,
    tardy: PathBuf,
}

impl Installation {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tardy = directory.path().join("bin/tardy");
        fs::create_dir(directory.path().join("bin")).unwrap();
        // By another process: a child that another test starts meanwhile would inherit the file open for writing.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_tardy")).arg(&tardy).status();
        assert!(copied.unwrap().success(), "cp {}", tardy.display());
        Self { directory, tardy }
    }

    /// Installs a script.
    fn script(&self, path: &str, commands: &str) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut install = Command::new("install")
            .args(["-m", "755", "/dev/stdin"])
            .arg(path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        install.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{commands}\n").as_bytes()).unwrap();
        assert!(install.wait().unwrap().success());
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(&self.tardy).args(arguments).current_dir(self.directory.path()).output().unwrap()
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refusal(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[test]
fn an_unknown_command_is_the_program_of_its_name() {
    let installed = Installation::new();
    let refusal = installed.refusal(2, &["hello"]);
    assert!(refusal.contains("unrecognized subcommand 'hello'"), "{refusal}");
    installed.script("libexec/tardy/tardy-hello", "echo \"$TARDY_BUILD $TARDY_PROGRAM $*\"; exit 7");
    let output = installed.run(&["hello", "--loud", "a b"]);
    assert_eq!(output.status.code(), Some(7));
    let version = installed.printed(&["--version"]);
    let build = version.trim().strip_prefix("tardy ").unwrap();
    let tardy = installed.tardy.canonicalize().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("{build} {} --loud a b\n", tardy.display())
    );
    // A command of tardy is never another program.
    installed.script("bin/tardy-show", "exit 7");
    installed.refusal(1, &["show", "nowhere.run.json"]);
}

#[test]
fn a_missing_program_is_named_with_how_to_get_it() {
    let installed = Installation::new();
    for arguments in [&["archive", "verify", "archive"][..], &["push", "http://localhost", "a.run.json"]] {
        let refusal = installed.refusal(1, arguments);
        assert!(refusal.contains("this needs the program tardy-archive"), "{refusal}");
        assert!(refusal.contains("make all"), "{refusal}");
    }
    let all = "Not installed: tardy-archive (archive, serve, push, fleet) and tardy-lab (lab).";
    assert!(installed.printed(&["--help"]).contains(all));
    installed.script("bin/tardy-archive", "exit 7");
    assert!(installed.printed(&["-h"]).contains("Not installed: tardy-lab (lab)."));
    installed.script("libexec/tardy/tardy-lab", "exit 7");
    assert!(!installed.printed(&["--help"]).contains("ot installed"));
}

#[test]
fn an_archive_is_read_as_a_directory_without_its_program() {
    let installed = Installation::new();
    let tardy = Path::new(env!("CARGO_BIN_EXE_tardy"));
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_files/cyclictest-json.run.json");
    let archive = installed.directory.path().join("archive");
    let added = Command::new(tardy).args(["archive", "add"]).arg(&archive).arg(&run).output().unwrap();
    assert!(added.status.success(), "{added:?}");
    let listed = installed.printed(&["list", archive.to_str().unwrap()]);
    let with_program = Command::new(tardy).arg("list").arg(&archive).output().unwrap();
    assert!(listed.contains("cyclictest"), "{listed}");
    assert_eq!(listed.lines().count(), String::from_utf8(with_program.stdout).unwrap().lines().count());
    // Where it would be added to, nothing is measured before the program is known to be missing.
    let refusal = installed.refusal(1, &["run", "--duration", "1h", "--keep", archive.to_str().unwrap()]);
    assert!(refusal.contains("this needs the program tardy-archive"), "{refusal}");
}
