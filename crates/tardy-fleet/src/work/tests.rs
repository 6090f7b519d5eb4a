//! The steps of a host against this machine's own shell, with faults at chosen steps and a clock that pauses move.

use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::state::{FleetState, open_when_free};

/// A complete run.
const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tardy/tests/run_files/columns.run.json");

/// A run that tardy measured with its own threads.
const RUN_OF_TARDY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rt.run.json");

/// What happens to a script.
enum Fault {
    /// It does not reach the host.
    Lost,
    /// It runs, and its answer is lost.
    AnswerLost,
    /// ssh cannot log in.
    Refused,
    /// The host answers this instead.
    Answers(i32, &'static str, &'static str),
}

/// The step of a script, by something that only its script has.
fn step_of(script: &str) -> &'static str {
    let marks = [
        ("say ready", "probe"),
        ("say copied", "copy"),
        ("say tried", "prepare"),
        ("say started", "start"),
        ("say alive", "poll"),
        ("kill -s", "stop"),
        ("say removed", "remove"),
        ("tail -c", "log"),
        ("cat \"$r/run.run.json\"", "fetch"),
    ];
    marks.iter().find(|(mark, _)| script.contains(mark)).unwrap_or_else(|| panic!("{script}")).1
}

/// The fault of a step, which is called for the `n`th script of this step, from 1.
type Faults<'a> = Box<dyn Fn(&str, usize) -> Option<Fault> + Sync + 'a>;

/// A transport to this machine's shell.
struct Shell<'a> {
    fault: Faults<'a>,
    steps: Mutex<Vec<&'static str>>,
    now: Mutex<Duration>,
    /// After how much time the fleet is interrupted.
    interrupted_at: Duration,
}

impl<'a> Shell<'a> {
    fn new(fault: impl Fn(&str, usize) -> Option<Fault> + Sync + 'a) -> Self {
        Self {
            fault: Box::new(fault),
            steps: Mutex::default(),
            now: Mutex::default(),
            interrupted_at: Duration::MAX,
        }
    }

    fn count(&self, step: &str) -> usize {
        self.steps.lock().unwrap().iter().filter(|one| **one == step).count()
    }
}

impl Transport for Shell<'_> {
    fn run(&self, _: &Host, order: Order<'_>, output: &mut dyn Write) -> Result<End, TransportError> {
        let step = step_of(order.script);
        self.steps.lock().unwrap().push(step);
        let fault = (self.fault)(step, self.count(step));
        let lost = || Err(TransportError::Lost("the connection is \x1b[2Jdead".to_owned()));
        match fault {
            Some(Fault::Lost) => return lost(),
            Some(Fault::Refused) => {
                return Err(TransportError::Refused("Permission denied (publickey).".to_owned()));
            }
            Some(Fault::Answers(status, text, errors)) => {
                output.write_all(text.as_bytes())?;
                return Ok(End { status, errors: errors.to_owned() });
            }
            Some(Fault::AnswerLost) | None => {}
        }
        let input = order.input.map_or_else(Stdio::null, |path| std::fs::File::open(path).unwrap().into());
        let done = Command::new("sh").args(["-c", order.script]).stdin(input).output()?;
        if matches!(fault, Some(Fault::AnswerLost)) {
            return lost();
        }
        if done.stdout.len() as u64 > order.output_max {
            return Err(TransportError::TooMuch(order.output_max));
        }
        output.write_all(&done.stdout)?;
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        Ok(End { status: done.status.code().unwrap(), errors })
    }

    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn pause(&self, time: Duration) -> bool {
        // The run on "the host" is a real process, which needs a moment.
        std::thread::sleep(Duration::from_millis(2));
        let mut now = self.now.lock().unwrap();
        *now += time;
        *now < self.interrupted_at
    }
}

/// A host below a temporary directory, and a fleet's directory.
struct Scene {
    directory: tempfile::TempDir,
    host: Host,
}

impl Scene {
    /// With a program for the host that is a script: `run` is what it does for `tardy run`, with `$out` as the run file.
    fn new(run: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("program");
        let log = directory.path().join("calls");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo tardy 0.1 of a test; exit 0; fi\n\
             echo \"$@\" >>{}\nfor out; do :; done\nrun={RUN}\n{run}\n",
            log.display()
        );
        std::fs::write(&program, text).unwrap();
        let on_host = directory.path().join("on host");
        std::fs::create_dir(&on_host).unwrap();
        let text = format!("[[host]]\nname = \"a\"\ndirectory = \"{}\"\n", on_host.display());
        let mut host = crate::hosts::parse(&text, Path::new("/")).unwrap().remove(0);
        host.binary = Some(program);
        Self { directory, host }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What is on the host below its directory.
    fn left(&self) -> Vec<String> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.host.directory).unwrap() {
            let path = entry.unwrap().path();
            all.push(path.file_name().unwrap().to_string_lossy().into_owned());
            if path.is_dir() {
                let below = std::fs::read_dir(path).unwrap();
                all.extend(below.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()));
            }
        }
        all
    }

    /// How often the run was started.
    fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn take_through(&self, transport: &Shell<'_>) -> HostState {
        self.take_through_with(transport, None)
    }

    fn take_through_with(&self, transport: &Shell<'_>, run_timeout: Option<Duration>) -> HostState {
        let words = ["quick".to_owned(), "--name".to_owned(), "it's $HOME".to_owned()];
        let fresh = FleetState { words: words.to_vec(), ..FleetState::default() };
        let resume = self.path("fleet/fleet.json").exists();
        let state = open_when_free(&self.path("fleet"), fresh, resume).unwrap();
        let work = Work {
            transport,
            binaries: &Binaries::new(Vec::new(), PathBuf::new()),
            state: &state,
            recipe_file: Path::new("/dev/null"),
            words: &words,
            timeout: Duration::from_secs(60),
            run_timeout,
            judge: &|run| (0, run.plan.limit_ns.is_some()),
            changed: &|| (),
        };
        take_through(&work, &self.host);
        state.of("a")
    }
}

const WRITES: &str = "cp \"$run\" \"$out\"";

fn error(state: &HostState) -> &str {
    assert_eq!((state.step, state.run.as_ref()), (Step::Failed, None), "{state:?}");
    state.error.as_deref().unwrap()
}

/// Sends a run whose threads were refused their policy.
#[test]
fn a_run_without_its_policy_is_a_failure_and_stays() {
    let mut run = tardy_record::file::from_text(&std::fs::read(RUN_OF_TARDY).unwrap()).unwrap();
    assert_eq!(tardy_record::validity::refused_policy(&run), None);
    for series in &mut run.series {
        if let tardy_record::series::SeriesKind::Timer(timer) = &mut series.kind {
            (timer.policy, timer.priority) = (tardy_record::plan::Policy::Other, 0);
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), tardy_record::file::to_text(&run)).unwrap();
    let scene = Scene::new(&format!("cp '{}' \"$out\"", file.path().display()));
    let state = scene.take_through(&Shell::new(|_, _| None));
    assert_eq!((state.step, state.run.as_deref()), (Step::Failed, Some("a.run.json")), "{state:?}");
    assert!(state.error.unwrap().contains("SCHED_FIFO was refused on the host"));
    assert_eq!(scene.left(), Vec::<String>::new());
}

#[test]
fn a_run_comes_back_and_nothing_is_left_on_the_host() {
    let scene = Scene::new(&format!("{WRITES}; exit 3"));
    let shell = Shell::new(|_, _| None);
    let state = scene.take_through(&shell);
    assert_eq!((state.step, state.exit_status, state.judged), (Step::Done, Some(3), Some(0)), "{state:?}");
    assert_eq!(state.run.as_deref(), Some("a.run.json"));
    assert_eq!(state.version.as_deref(), Some("tardy 0.1 of a test"));
    assert_eq!(std::fs::read(scene.path("fleet/a.run.json")).unwrap(), std::fs::read(RUN).unwrap());
    assert_eq!(scene.calls(), ["run quick --name it's $HOME -o run.run.json"]);
    assert_eq!(scene.left(), [] as [String; 0]);
    let again = Shell::new(|step, _| panic!("{step}: a host that is done is not repeated"));
    assert_eq!(scene.take_through(&again), state);
}

#[test]
fn a_program_that_stays_is_copied_once() {
    let mut scene = Scene::new(WRITES);
    scene.host.leave_program = true;
    let shell = Shell::new(|_, _| None);
    assert_eq!(scene.take_through(&shell).step, Step::Done);
    let left = scene.left();
    assert!(left.len() == 2 && left[1].starts_with("tardy-") && left[1].len() == 6 + 64, "{left:?}");
    std::fs::remove_dir_all(scene.path("fleet")).unwrap();
    assert_eq!(scene.take_through(&shell).step, Step::Done);
    assert_eq!((shell.count("copy"), shell.count("start")), (1, 2));
    // A file that was changed there is replaced.
    let program = Path::new(&scene.host.directory).join(&left[0]).join(&left[1]);
    std::fs::write(&program, "#!/bin/sh\nexit 9\n").unwrap();
    std::fs::remove_dir_all(scene.path("fleet")).unwrap();
    assert_eq!(scene.take_through(&shell).step, Step::Done);
    assert_eq!(shell.count("copy"), 2);
}

#[test]
fn every_step_survives_lost_connections_and_no_run_is_started_twice() {
    let scene = Scene::new(WRITES);
    let shell = Shell::new(|_, count| match count {
        1 => Some(Fault::Lost),
        2 => Some(Fault::AnswerLost),
        _ => None,
    });
    let state = scene.take_through(&shell);
    assert_eq!(state.step, Step::Done, "{state:?}");
    assert_eq!(scene.calls().len(), 1);
    assert_eq!(scene.left(), [] as [String; 0]);
}

#[test]
fn a_run_whose_connection_dies_goes_on_and_is_collected_later() {
    let scene =
        Scene::new(&format!("echo >begun; while [ ! -e ../../../go ]; do sleep 0.01; done; {WRITES}"));
    let cut = Shell::new(|step, count| (step == "poll" && count > 2).then_some(Fault::Lost));
    let state = scene.take_through(&cut);
    let message = error(&state);
    assert!(message.contains("no answer for 1m") && message.contains("--resume collects it"), "{message}");
    assert!(!message.contains('\x1b'), "{message}");
    assert!(state.is_on_host);
    std::fs::write(scene.path("go"), "").unwrap();
    let back = Shell::new(|_, _| None);
    let state = scene.take_through(&back);
    assert_eq!((state.step, state.error.as_ref()), (Step::Done, None), "{state:?}");
    assert_eq!((scene.calls().len(), back.count("start"), back.count("copy")), (1, 0, 0));
    assert_eq!(scene.left(), [] as [String; 0]);
}

#[test]
fn an_interrupted_fleet_leaves_the_run_and_continues() {
    let scene = Scene::new(&format!("while [ ! -e ../../../go ]; do sleep 0.01; done; {WRITES}"));
    let interrupted = Shell { interrupted_at: Duration::from_secs(5), ..Shell::new(|_, _| None) };
    let state = scene.take_through(&interrupted);
    assert_eq!((state.step, state.is_on_host), (Step::Measuring, true), "{state:?}");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(scene.take_through(&Shell::new(|_, _| None)).step, Step::Done);
    assert_eq!(scene.calls().len(), 1);
}

#[test]
fn a_host_that_refuses_the_key_is_not_asked_again() {
    let scene = Scene::new(WRITES);
    let shell = Shell::new(|_, _| Some(Fault::Refused));
    let state = scene.take_through(&shell);
    assert!(error(&state).contains("ssh cannot log in: Permission denied"), "{state:?}");
    assert_eq!(shell.count("probe"), 1);
}

#[test]
fn a_host_that_never_answers_is_given_up_after_the_time_out() {
    let scene = Scene::new(WRITES);
    let shell = Shell::new(|_, _| Some(Fault::Lost));
    let state = scene.take_through(&shell);
    assert!(error(&state).contains("no answer for 1m while probing"), "{state:?}");
    assert!(!state.is_on_host && shell.now() == Duration::from_secs(60), "{:?}", shell.now());
}

#[test]
fn places_that_cannot_be_used_are_reported() {
    let mut scene = Scene::new(WRITES);
    let shell = Shell::new(|_, _| None);
    let there = scene.host.directory.clone();
    scene.host.directory = "/nonexistent/x".to_owned();
    let state = scene.take_through(&shell);
    assert!(error(&state).contains("there is no directory /nonexistent/x"), "{state:?}");
    scene.host.directory = there.clone();
    let own = Path::new(&there).join(format!("tardy-fleet-{}", files_caller()));
    symlink("/tmp", &own).unwrap();
    let state = scene.take_through(&shell);
    assert!(error(&state).contains("belongs to another user or is a link"), "{state:?}");
    std::fs::remove_file(own).unwrap();
    scene.host.directory = "/proc".to_owned();
    let state = scene.take_through(&shell);
    assert!(error(&state).contains("cannot make a directory in /proc"), "{state:?}");
    assert_eq!(scene.calls().len(), 0);
}

fn files_caller() -> u32 {
    tardy_sys::files::caller()
}

#[test]
fn a_full_disk_is_reported_before_the_copy_and_during_it() {
    let scene = Scene::new(WRITES);
    let small = Shell::new(|step, _| {
        let answer = "tardy-fleet:machine=x86_64\ntardy-fleet:free=12\ntardy-fleet:ready=yes\n";
        (step == "probe").then_some(Fault::Answers(0, answer, ""))
    });
    let state = scene.take_through(&small);
    assert!(error(&state).contains("has 12 KiB free, and 4097 KiB are needed"), "{state:?}");
    assert_eq!(small.count("copy"), 0);
    let filled = Shell::new(|step, _| {
        let errors = "cat: write error: No space left on device";
        (step == "copy").then_some(Fault::Answers(4, "tardy-fleet:free=0\n", errors))
    });
    let state = scene.take_through(&filled);
    let message = error(&state);
    assert!(message.contains("is full (cat: write error: No space left on device)"), "{message}");
    assert_eq!((filled.count("remove"), scene.left()), (1, Vec::new()));
}

#[test]
fn a_program_that_arrives_damaged_or_does_not_run_is_reported() {
    let scene = Scene::new(WRITES);
    let cut = Shell::new(|step, _| (step == "copy").then_some(Fault::Answers(5, "tardy-fleet:size=7\n", "")));
    let state = scene.take_through(&cut);
    assert!(error(&state).contains("cannot be copied to the host: 7 of "), "{state:?}");
    std::fs::write(scene.host.binary.as_ref().unwrap(), "#!/nonexistent/ld.so\n").unwrap();
    let state = scene.take_through(&Shell::new(|_, _| None));
    assert!(
        error(&state).contains("does not run on the host: ") && error(&state).contains("make dist"),
        "{state:?}"
    );
    assert_eq!(scene.left(), [] as [String; 0]);
}

#[test]
fn a_run_that_fails_reports_the_end_of_its_log() {
    let scene = Scene::new("printf 'one\\ntardy: CPU 9 is \\033[2Jmissing\\n' >&2; exit 2");
    let state = scene.take_through(&Shell::new(|_, _| None));
    let message = error(&state);
    assert!(
        message.contains("ended with exit status 2: one tardy: CPU 9 is \u{fffd}[2Jmissing"),
        "{message}"
    );
    assert_eq!((state.exit_status, scene.left()), (Some(2), Vec::new()));
}

#[test]
fn a_disk_that_fills_up_during_the_run_keeps_the_checkpoint() {
    let run = format!(
        "{WRITES}; echo 'tardy: run.run.json: No space left on device. The whole run is in /dev/shm/x' >&2; exit 1"
    );
    let scene = Scene::new(&run);
    let state = scene.take_through(&Shell::new(|_, _| None));
    let message = error(&state);
    assert!(message.contains("is full (tardy: run.run.json") && message.contains("/dev/shm/x"), "{message}");
    assert!(message.contains("is in a.partial.run.json"), "{message}");
    assert!(scene.path("fleet/a.partial.run.json").exists());
}

#[test]
fn a_run_file_that_cannot_be_used_is_reported_and_not_kept() {
    for (run, expected) in [
        ("echo '{\"schema_version\": 1, ' >\"$out\"", "truncated"),
        ("echo hello >\"$out\"", "not a run file"),
        (":", "No such file"),
    ] {
        let scene = Scene::new(run);
        let state = scene.take_through(&Shell::new(|_, _| None));
        assert!(error(&state).contains(expected), "{state:?}");
        let names = std::fs::read_dir(scene.path("fleet")).unwrap().count();
        assert_eq!(names, 2, "the state and its lock");
        assert_eq!((state.is_on_host, scene.left()), (false, Vec::new()));
    }
}

#[test]
fn answers_of_a_hostile_host_are_bounded_and_harmless() {
    let scene = Scene::new(WRITES);
    let strange = Shell::new(|_, _| Some(Fault::Answers(0, "\x1b]0;title\x07", "\x1b[31mred")));
    let state = scene.take_through(&strange);
    assert!(error(&state).contains("\u{fffd}[31mred"), "{state:?}");
    let scene = Scene::new("head -c 300000 /dev/zero | tr '\\000' x >\"$out\"; exit 0");
    let shell = Shell::new(|step, _| (step == "poll").then_some(Fault::AnswerLost));
    assert!(error(&scene.take_through(&shell)).contains("no answer"));
}

/// The directory of the run on the host.
fn directory_of_run(scene: &Scene) -> PathBuf {
    let own = Path::new(&scene.host.directory).join(format!("tardy-fleet-{}", files_caller()));
    let mut below = std::fs::read_dir(own).unwrap().map(|entry| entry.unwrap().path());
    below.find(|path| path.is_dir()).unwrap()
}

#[test]
fn a_reboot_during_the_run_is_noticed_and_the_checkpoint_is_kept() {
    let scene = Scene::new(&format!("{WRITES}; echo >begun; exec sleep 1000"));
    let shell = Shell::new(|step, count| {
        if step == "poll" && count == 2 {
            let run = directory_of_run(&scene);
            while !run.join("begun").exists() {
                std::thread::yield_now();
            }
            let pid = std::fs::read_to_string(run.join("pid")).unwrap();
            kill(pid.trim());
            std::fs::write(run.join("boot"), "another").unwrap();
            // The shell of a host that loses its power does not write a status either.
            std::fs::write(run.join("status"), "---\n").unwrap();
        }
        None
    });
    let state = scene.take_through(&shell);
    let message = error(&state);
    assert!(
        message.contains("the host started again during the run; what it had recorded is in a.partial"),
        "{message}"
    );
    assert_eq!(scene.left(), [] as [String; 0]);
}

/// Ends the run's process group.
fn kill(pid: &str) {
    tardy_sys::child::send_to_group(pid.parse().unwrap(), tardy_sys::child::signal::KILL).unwrap();
}

#[test]
fn a_run_that_is_killed_is_noticed() {
    let scene = Scene::new("echo >begun; exec sleep 1000");
    let shell = Shell::new(|step, count| {
        if step == "poll" && count == 2 {
            let run = directory_of_run(&scene);
            while !run.join("begun").exists() {
                std::thread::yield_now();
            }
            let pid = std::fs::read_to_string(run.join("pid")).unwrap();
            kill(pid.trim());
            while Path::new("/proc").join(pid.trim()).join("cwd").read_link().is_ok() {
                std::thread::yield_now();
            }
        }
        None
    });
    let state = scene.take_through(&shell);
    assert!(
        error(&state).contains("the run's process is gone and left no exit status; --resume"),
        "{state:?}"
    );
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let scene =
        Scene::new(&format!("trap '{WRITES}; exit 1' TERM; echo >begun; while :; do sleep 0.01; done"));
    let shell = Shell::new(|step, _| {
        while step == "stop" && !directory_of_run(&scene).join("begun").exists() {
            std::thread::yield_now();
        }
        None
    });
    let state = scene.take_through_with(&shell, Some(Duration::from_secs(30)));
    assert!(error(&state).contains("had not ended after 30s and was stopped"), "{state:?}");
    assert_eq!((shell.count("stop"), scene.left()), (1, Vec::new()));
}

#[test]
fn a_host_whose_rests_cannot_be_removed_has_its_run_all_the_same() {
    let scene = Scene::new(WRITES);
    let state = scene.take_through(&Shell::new(|step, _| (step == "remove").then_some(Fault::Lost)));
    assert_eq!((state.step, state.is_on_host), (Step::Done, true), "{state:?}");
    assert!(state.remark.as_deref().unwrap().contains("is not removed"), "{state:?}");
    let state = scene.take_through(&Shell::new(|_, _| None));
    assert_eq!((state.is_on_host, state.remark, scene.left()), (false, None, Vec::new()));
}

#[test]
fn the_directory_on_the_host_is_private() {
    let scene = Scene::new(WRITES);
    let shell = Shell::new(|step, _| {
        if step == "fetch" {
            let run = directory_of_run(&scene);
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&run), mode(run.parent().unwrap())), (0o700, 0o700));
        }
        None
    });
    assert_eq!(scene.take_through(&shell).step, Step::Done);
}
