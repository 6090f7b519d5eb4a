//! The live view on a terminal of its own, made by script(1): keys, signals, and a reader that stops.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::bench::{Bench, wait_until};

/// Begins and ends the view: the alternate screen.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A shell command on a terminal. What the terminal shows is collected.
pub(crate) struct OnTerminal {
    script: Child,
    shown: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    directory: PathBuf,
}

impl OnTerminal {
    pub(crate) fn start(bench: &Bench, command: &str, term: &str, locale: &str) -> Self {
        let directory = bench.path("");
        // These signals are ignored in whatever a script has started with `&`.
        let mut script = Command::new("env");
        script
            .args(["--default-signal=INT,QUIT", "script", "-qefc", command, "/dev/null"])
            .current_dir(&directory)
            .env_remove("NO_COLOR");
        script.env("TARDY", env!("CARGO_BIN_EXE_tardy")).env("SHELL", "/bin/bash");
        script.env("TERM", term).env("LC_ALL", locale);
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script starts");
        let mut out = script.stdout.take().expect("it is piped");
        let shown = Arc::new(Mutex::new(Vec::new()));
        let collected = Arc::clone(&shown);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the terminal is an error on some kernels.
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                collected.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { script, shown, reader: Some(reader), directory }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        let keyboard = self.script.stdin.as_mut().expect("it is piped");
        keyboard.write_all(keys.as_bytes()).and_then(|()| keyboard.flush()).expect("the terminal is open");
    }

    /// Waits until the run file `name` fulfils `condition`.
    fn wait_for(&self, name: &str, condition: impl Fn(&Value) -> bool) {
        wait_until(&format!("{name} is as expected"), || {
            let text = std::fs::read_to_string(self.directory.join(name)).unwrap_or_default();
            serde_json::from_str(&text).is_ok_and(|run| condition(&run))
        });
    }

    pub(crate) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until the view has been entered `times` times and a frame is complete.
    fn wait_for_frame(&self, times: usize) {
        wait_until("a frame is shown", || {
            let shown = self.so_far();
            shown.matches(ENTER).count() == times
                && shown.rsplit_once(ENTER).is_some_and(|(_, frame)| frame.contains("\x1b[J"))
        });
    }

    /// Waits for the end, and returns what was shown.
    pub(crate) fn shown(mut self) -> String {
        wait_until("the command ends", || {
            self.script.try_wait().expect("script can be waited for").is_some()
        });
        self.reader.take().expect("it is taken once").join().expect("the reader ends");
        self.so_far()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn marks(run: &Value) -> Vec<&str> {
    let events = run["events"].as_array().unwrap().iter();
    events.filter(|event| event["kind"] == "mark").map(|event| event["text"].as_str().unwrap()).collect()
}

/// The settings of the terminal before and after a command, and its exit status in the file `status`.
fn around(command: &str) -> String {
    format!("stty -g > before; {command}; echo $? > status; stty -g > after")
}

#[test]
fn q_ends_the_run_and_m_marks_moments() {
    let bench = Bench::new();
    let command = around("\"$TARDY\" run --duration 10m -o a.run.json");
    let mut terminal = OnTerminal::start(&bench, &command, "xterm", "C.UTF-8");
    terminal.wait_for_frame(1);
    terminal.press("mxM");
    terminal.press("q");
    let shown = terminal.shown();
    let run = bench.json("a.run.json");
    assert_eq!(run["progress"]["state"], "interrupted", "{shown}");
    assert_eq!(marks(&run), ["mark 1", "mark 2"]);
    assert_eq!(read(&bench.path("before")), read(&bench.path("after")));
    let status = read(&bench.path("status"));
    assert_eq!(status.trim(), if run["validity"]["valid"] == true { "1" } else { "5" }, "{shown}");
    let (frames, rest) = shown.rsplit_once(LEAVE).expect("the view leaves its screen");
    assert!(
        frames.contains(ENTER) && frames.contains("missed") && frames.contains("q\x1b[0m end"),
        "{shown}"
    );
    assert!(rest.contains("tardy: mark 2") && rest.contains("tardy: run file a.run.json"), "{rest}");
    // Where the line ends depends on the numbers in it.
    let unfolded = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unfolded.contains("for the live view) over the"), "{rest}");
    let costs = run["self_cost"].as_array().unwrap();
    let live = costs.iter().find(|cost| cost["thread"].as_str().unwrap().starts_with("live view, cpu "));
    assert!(live.is_some_and(|cost| cost["cpu_ns"].as_u64() > Some(0) && cost["cycles"].as_u64() > Some(0)));
    let report = bench.run(&["report", "a.run.json", "-o", "a.html"]);
    assert_eq!(report.code, Some(0), "{}", report.err);
    assert!(read(&bench.path("a.html")).contains("mark 2"));
}

#[test]
fn ctrl_z_restores_the_terminal_until_the_run_continues() {
    let bench = Bench::new();
    let job =
        "\"$TARDY\" run --duration 10m -o a.run.json; stty -g > stopped; jobs > jobs; fg; stty -g > after";
    let command = format!("stty -g > before; exec bash --norc -mc '{job}'");
    let mut terminal = OnTerminal::start(&bench, &command, "xterm", "C.UTF-8");
    terminal.wait_for_frame(1);
    terminal.press("\x1a");
    wait_until("the job stops", || bench.path("jobs").exists());
    assert_eq!(read(&bench.path("before")), read(&bench.path("stopped")));
    terminal.wait_for_frame(2);
    terminal.press("q");
    let shown = terminal.shown();
    assert_eq!(read(&bench.path("before")), read(&bench.path("after")), "{shown}");
    assert_eq!(shown.matches(ENTER).count(), 2, "the view is drawn again: {shown}");
    assert_eq!(shown.matches(LEAVE).count(), 2);
    assert_eq!(bench.json("a.run.json")["progress"]["state"], "interrupted");
}

#[test]
fn signals_that_end_the_run_restore_the_terminal() {
    for signal in ["INT", "TERM", "QUIT"] {
        let bench = Bench::new();
        let job = "\"$TARDY\" run --duration 10m -o a.run.json";
        let inner = format!("{job} & pid=$!; echo $pid > pid; fg");
        let command = format!("stty -g > before; bash --norc -mc '{inner}'; stty -g > after");
        let terminal = OnTerminal::start(&bench, &command, "xterm", "C.UTF-8");
        terminal.wait_for_frame(1);
        crate::bench::send(&format!("-{signal}"), read(&bench.path("pid")).trim().parse().unwrap());
        let shown = terminal.shown();
        assert_eq!(read(&bench.path("before")), read(&bench.path("after")), "{signal}: {shown}");
        assert!(shown.contains(ENTER), "{signal}: {shown}");
        assert_eq!(shown.matches(ENTER).count(), shown.matches(LEAVE).count(), "{signal}");
    }
}

#[test]
fn a_run_that_outlives_its_terminal_does_not_poll_it() {
    let bench = Bench::new();
    let job = "\"$TARDY\" run --duration 10m -o a.run.json";
    let command = format!("trap \"\" HUP; bash --norc -mc '{job} & echo $! > pid; fg'");
    let mut terminal = OnTerminal::start(&bench, &command, "xterm", "C.UTF-8");
    terminal.wait_for_frame(1);
    let pid: u32 = read(&bench.path("pid")).trim().parse().unwrap();
    let of_terminal = || {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
        let paths = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        paths.filter(|path| path.starts_with("/dev/pts")).count()
    };
    let with_view = of_terminal();
    terminal.script.kill().expect("script runs");
    wait_until("the view's descriptor is closed", || of_terminal() + 1 == with_view);
    crate::bench::send("-TERM", pid);
    terminal.wait_for("a.run.json", |run| run["progress"]["state"] == "interrupted");
}

#[test]
fn a_stopped_terminal_does_not_hold_the_run() {
    let bench = Bench::new();
    let command = around("\"$TARDY\" run --duration 4s -o a.run.json");
    let mut terminal = OnTerminal::start(&bench, &command, "xterm", "C.UTF-8");
    terminal.wait_for_frame(1);
    terminal.press("\x13");
    terminal.wait_for("a.run.json", |run| run["progress"]["state"] == "complete");
    assert!(!bench.path("status").exists(), "the summary waits for the terminal");
    terminal.press("\x11");
    let shown = terminal.shown();
    assert!(shown.contains("tardy: run file a.run.json"), "{shown}");
    assert_eq!(read(&bench.path("before")), read(&bench.path("after")));
}

#[test]
fn a_full_pipe_does_not_hold_the_run() {
    let bench = Bench::new();
    let (mut messages, mut full) = std::io::pipe().unwrap();
    full.write_all(&vec![b'.'; 65_536]).unwrap();
    let mut command = bench.command(&["run", "--duration", "1s", "-o", "a.run.json"]);
    let mut child = command.stdout(Stdio::null()).stderr(full).spawn().expect("tardy starts");
    drop(command);
    wait_until("the run is sealed", || {
        let text = std::fs::read_to_string(bench.path("a.run.json")).unwrap_or_default();
        serde_json::from_str::<Value>(&text).is_ok_and(|run| run["progress"]["state"] == "complete")
    });
    assert!(child.try_wait().unwrap().is_none(), "the last message waits for its reader");
    let mut text = String::new();
    messages.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("tardy: run file a.run.json\n"), "{}", text.trim_start_matches('.'));
    child.wait().unwrap();
}

#[test]
fn a_dumb_terminal_gets_one_line_and_ascii() {
    let bench = Bench::new();
    let command = "\"$TARDY\" run --duration 3s -o a.run.json";
    let shown = OnTerminal::start(&bench, command, "dumb", "C.UTF-8").shown();
    assert!(shown.contains(" of 3s  worst so far "), "{shown}");
    assert!(!shown.contains(ENTER) && shown.is_ascii(), "{shown}");
}

#[test]
fn a_terminal_without_utf_8_gets_ascii() {
    let bench = Bench::new();
    let command = "stty cols 40 rows 10; \"$TARDY\" run --duration 3s -o a.run.json";
    let shown = OnTerminal::start(&bench, command, "xterm", "C").shown();
    assert!(shown.contains(ENTER) && shown.is_ascii(), "{shown}");
}

#[test]
fn one_line_and_quiet_replace_the_view() {
    let bench = Bench::new();
    let command = "\"$TARDY\" run --duration 2s --one-line -o a.run.json; \"$TARDY\" run --duration 2s -q -o b.run.json";
    let shown = OnTerminal::start(&bench, command, "xterm", "C.UTF-8").shown();
    assert!(!shown.contains(ENTER) && shown.contains(" of 2s  worst so far "), "{shown}");
    let (_, quiet) = shown.split_once("run file a.run.json").expect("the first run ends");
    assert!(!quiet.contains("worst so far") && quiet.contains("run file b.run.json"), "{shown}");
}
