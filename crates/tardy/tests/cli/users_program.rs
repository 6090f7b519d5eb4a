//! What happens to tardy does not happen to the program that `tardy exec` started, nor to one that `tardy attach` or `watch` watch.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, Printed, Running, send, wait_until};
use crate::full_disk::on_a_small_disk;
use crate::levels::can_trace;
use crate::live::OnTerminal;

const CONTROLLER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/controller.c");

/// The words of `tardy exec` on the program.
const EXEC: [&str; 8] = ["exec", "--quiet", "--warmup", "300ms", "-o", "a.run.json", "--", "./controller"];

/// A directory with the program, which ends by itself once [`Program::end`] is called; `None`, with the reason on standard error, if
/// this machine cannot trace or has no C compiler.
struct Program {
    bench: Bench,
}

impl Program {
    fn build() -> Option<Self> {
        if !can_trace() {
            return None;
        }
        let bench = Bench::new();
        let built =
            Command::new("cc").args(["-O1", "-o"]).arg(bench.path("controller")).arg(CONTROLLER).status();
        match built {
            Ok(status) => assert!(status.success(), "{CONTROLLER} does not compile"),
            Err(error) => {
                eprintln!("skipped: cc: {error}");
                return None;
            }
        }
        Some(Self { bench })
    }

    fn exec(&self) -> Running {
        self.bench.start(&[&EXEC[..], &["log", "end"]].concat())
    }

    /// Starts it without tardy.
    fn start(&self) -> Child {
        let mut command = Command::new(self.bench.path("controller"));
        let child = command.args(["log", "end"]).current_dir(self.bench.path(".")).spawn().unwrap();
        self.wait_for("started");
        child
    }

    fn log(&self) -> Vec<String> {
        fs::read_to_string(self.bench.path("log")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn wait_for(&self, line: &str) {
        wait_until(line, || self.log().iter().any(|known| known == line));
    }

    /// Waits until cycles are in the run file, which tardy writes while it watches.
    fn wait_for_cycles(&self) {
        let path = self.bench.path("a.run.json");
        wait_until("cycles", || fs::read_to_string(&path).is_ok_and(|text| text.contains("\"recorded\":")));
    }

    fn end(&self) {
        fs::write(self.bench.path("end"), "").unwrap();
    }

    /// Its log from start to end, once it has ended.
    fn whole_log(&self) -> Vec<String> {
        self.end();
        self.wait_for("ended");
        self.log()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A failed test leaves no program behind.
        self.end();
    }
}

#[test]
fn a_full_disk_does_not_end_the_program() {
    let Some(program) = Program::build() else { return };
    let script = "$TARDY exec --quiet --warmup 300ms -o disk/a.run.json -- ./controller log end 2>err & \
                  until grep -q started log; do sleep 0.05; done; dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; \
                  until grep -q 'Watching goes on' err || ! kill -0 $!; do sleep 0.05; done; touch end; wait $!";
    let Some(printed) = on_a_small_disk(&program.bench, "1m", script) else { return };
    let err = fs::read_to_string(program.bench.path("err")).unwrap();
    assert_eq!(printed.code, Some(1), "{printed:?}{err}");
    assert_eq!(program.log(), ["started", "ended"], "{err}");
    assert!(printed.out.contains("recorded"), "the numbers are shown all the same: {}", printed.out);
    assert_eq!(err.matches("No space left").count(), 2, "once while it is watched, and at the end: {err}");
    is_rescued(&program.bench, &err);
}

/// The run is in another place, which the message names.
fn is_rescued(bench: &Bench, err: &str) {
    let rescued = err.split("The whole run is in ").nth(1).unwrap_or_else(|| panic!("{err}"));
    let rescued = rescued.split(' ').next().unwrap();
    assert!(bench.run(&["show", rescued]).exits(0).out.contains("recorded"));
    fs::remove_file(rescued).unwrap();
}

#[test]
fn a_full_disk_does_not_lose_what_attach_saw() {
    let Some(program) = Program::build() else { return };
    let mut running = program.start();
    // Once the first checkpoint is written, the disk is filled.
    let script = format!(
        "$TARDY attach {} --quiet --warmup 300ms --duration 1000s -o disk/a.run.json & \
         until test -s disk/a.run.json || ! kill -0 $!; do sleep 0.05; done; \
         dd if=/dev/zero of=disk/rest bs=4k 2>/dev/null; kill -TERM $!; wait $!",
        running.id()
    );
    let printed = on_a_small_disk(&program.bench, "1m", &script);
    assert_eq!(program.whole_log(), ["started", "ended"]);
    assert!(running.wait().unwrap().success());
    let Some(printed) = printed else { return };
    assert_eq!(printed.code, Some(1), "{printed:?}");
    assert!(printed.out.contains("recorded"), "{}", printed.out);
    is_rescued(&program.bench, &printed.err);
}

#[test]
fn a_directory_that_vanishes_does_not_end_the_watching() {
    let Some(program) = Program::build() else { return };
    let mut running = program.start();
    let (bench, pid) = (&program.bench, running.id().to_string());
    let mut command =
        bench.command(&["watch", &pid, "--quiet", "--warmup", "300ms", "--every", "1s", "-o", "runs"]);
    command.stdout(Stdio::piped()).stderr(fs::File::create(bench.path("err")).unwrap());
    let mut watching = command.spawn().unwrap();
    let err = || fs::read_to_string(bench.path("err")).unwrap();
    let runs = || {
        let entries = fs::read_dir(bench.path("runs")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".run.json")).count()
    };
    wait_until("a run", || runs() > 0);
    fs::remove_dir_all(bench.path("runs")).unwrap();
    wait_until("the message", || {
        err().contains("cannot be written") || watching.try_wait().unwrap().is_some()
    });
    fs::create_dir_all(bench.path("runs")).unwrap();
    wait_until("a run in the new directory", || runs() > 1);
    send("-INT", watching.id());
    let printed = Printed::from(watching.wait_with_output().unwrap());
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, err());
    assert!(printed.out.contains("recorded"), "{}", printed.out);
    assert!(err().contains("not all runs were kept"), "{}", err());
    assert_eq!(program.whole_log(), ["started", "ended"]);
    assert!(running.wait().unwrap().success());
}

#[test]
fn the_program_gets_the_terminals_ctrl_c_alone_and_tardy_ends_with_it() {
    let Some(program) = Program::build() else { return };
    let words = [&EXEC[..], &["log", "end"]].concat().join(" ");
    let mut terminal = OnTerminal::start(&program.bench, &format!("$TARDY {words}"), "xterm", "C.UTF-8");
    program.wait_for_cycles();
    terminal.press("\x03");
    program.wait_for("INT");
    wait_until("the message", || terminal.so_far().contains("a second Ctrl-C ends tardy alone"));
    assert_eq!(program.log(), ["started", "INT"]);
    assert_eq!(program.whole_log(), ["started", "INT", "ended"]);
    let shown = terminal.shown();
    assert!(shown.contains("recorded") && shown.contains("run file a.run.json"), "{shown}");
    assert_eq!(program.bench.json("a.run.json")["progress"]["state"], "complete");
}

#[test]
fn a_second_ctrl_c_ends_tardy_and_not_the_program() {
    let Some(program) = Program::build() else { return };
    let words = [&EXEC[..], &["log", "end"]].concat().join(" ");
    let mut terminal = OnTerminal::start(&program.bench, &format!("$TARDY {words}"), "xterm", "C.UTF-8");
    program.wait_for_cycles();
    terminal.press("\x03");
    wait_until("the message", || terminal.so_far().contains("a second Ctrl-C ends tardy alone"));
    terminal.press("\x03");
    let shown = terminal.shown();
    assert!(shown.contains("recorded") && shown.contains("runs on"), "{shown}");
    assert_eq!(program.bench.json("a.run.json")["progress"]["state"], "interrupted");
    let log = program.whole_log();
    assert_eq!(log.iter().filter(|line| *line == "INT").count(), 2, "{log:?}");
    // The terminal was closed after tardy's end.
    assert!(log.iter().all(|line| ["started", "INT", "HUP", "ended"].contains(&line.as_str())), "{log:?}");
    program.bench.run(&["restore"]);
}

#[test]
fn tardy_passes_the_request_to_end_on_and_waits() {
    let Some(program) = Program::build() else { return };
    let tardy = program.exec();
    program.wait_for_cycles();
    tardy.signal("-TERM");
    program.wait_for("TERM");
    assert_eq!(program.whole_log(), ["started", "TERM", "ended"]);
    assert!(tardy.printed().exits(0).out.contains("recorded"));
}

#[test]
fn a_closed_terminal_ends_tardy_and_the_program_decides_for_itself() {
    let Some(program) = Program::build() else { return };
    let mut tardy = program.exec();
    program.wait_for_cycles();
    tardy.signal("-HUP");
    tardy.wait().unwrap();
    // The program has tardy's standard error, which is only closed by its end.
    assert_eq!(program.whole_log(), ["started", "ended"]);
    assert!(tardy.printed().exits(1).err.contains("runs on"));
    program.bench.run(&["restore"]);
}

#[test]
fn a_killed_tardy_leaves_the_program_alone() {
    let Some(program) = Program::build() else { return };
    let mut tardy = program.exec();
    program.wait_for_cycles();
    send("-KILL", tardy.id());
    tardy.wait().unwrap();
    assert_eq!(program.whole_log(), ["started", "ended"]);
    program.bench.run(&["restore"]);
}

#[test]
fn nobody_who_reads_the_output_is_no_trouble_of_the_programs() {
    let Some(program) = Program::build() else { return };
    let words = [&EXEC[..], &["log", "end"]].concat();
    for out in ["pipe", "full"] {
        for file in ["log", "end", "a.run.json"] {
            let _ = fs::remove_file(program.bench.path(file));
        }
        let mut command = program.bench.command(&words);
        command.stderr(Stdio::piped());
        let mut tardy = match out {
            "pipe" => command.stdout(Stdio::piped()).spawn().unwrap(),
            _ => {
                let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
                command.stdout(full).spawn().unwrap()
            }
        };
        drop(tardy.stdout.take());
        program.wait_for_cycles();
        assert_eq!(program.whole_log(), ["started", "ended"], "{out}");
        let printed = Printed::from(tardy.wait_with_output().unwrap());
        assert!(printed.err.contains("run file a.run.json"), "{out}: {}", printed.err);
        assert_eq!(printed.code, Some(if out == "pipe" { 0 } else { 1 }), "{out}: {}", printed.err);
        assert!(Path::new(&program.bench.path("a.run.json")).exists(), "{out}");
    }
}

#[test]
fn a_program_without_cycles_is_not_ended_by_the_error() {
    let Some(program) = Program::build() else { return };
    let script = "until test -e end; do sleep 0.3; done; echo ended >log";
    let arguments = ["exec", "--quiet", "--warmup", "100ms", "--", "sh", "-c", script];
    let tardy = program.bench.start(&arguments);
    // The shell's children are the program's too, and none of them waits twice.
    program.end();
    program.wait_for("ended");
    assert!(tardy.printed().exits(1).err.contains("waits periodically"));
}
