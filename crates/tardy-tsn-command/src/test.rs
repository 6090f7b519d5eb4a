//! `tardy tsn test`: sends the flows through the switch and records their arrivals.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_host::facts;
use tardy_measure::Programs;
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_measure::engine::{Listener, Outcome, Request, RunProgress};
use tardy_recipe::plan::checked_loads;
use tardy_switch::SwitchTest;
use tardy_switch::experiment::{self, ObservedFrame, Replacement, Test};
use tardy_sys::kernel_files::KernelFiles;

use super::frames::{Frames, List};
use crate::switch_file::{self, SwitchFile};
use tardy_args::TsnTestArgs;
use tardy_command::{Exit, origin, output, show_run};

/// Tests the switch, writes the run file and shows it.
pub(crate) fn run(arguments: &TsnTestArgs, programs: Programs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    if file.network.flows.is_empty() {
        bail!("{} has no [[flow]], so there is nothing to send; see docs/tsn.md", file.name);
    }
    let request = request(arguments, &file, programs)?;
    let path = &request.output;
    if arguments.frames.as_ref().is_some_and(|frames| is_same_place(frames, path)) {
        bail!("{} is also the run file; choose another --frames", path.display());
    }
    let network = file.network.clone();
    let frames =
        |place| Frames::to(place, arguments.force, (&arguments.switch.file, &network), List::Observed);
    let mut frames = arguments.frames.as_deref().map(frames).transpose()?;
    let next = arguments.replace.as_deref().map(|name| replacement(name, &file)).transpose()?;
    let intervals = arguments.intervals.as_deref();
    let intervals = intervals.map(|path| ResultFile::claim(path, arguments.force)).transpose()?;
    let mut messages = Messages { quiet: arguments.quiet };
    let (Outcome { run, trouble, .. }, followed) = {
        let add = |shaped: bool, frame: &ObservedFrame| {
            frames.iter_mut().for_each(|frames| frames.add_observed(shaped, frame));
        };
        let test = SwitchTest {
            test: test(arguments, file, next),
            frames: RefCell::new(Box::new(add)),
            followed: RefCell::default(),
        };
        (tardy_switch::test_switch(&request, &test, &mut messages)?, test.followed())
    };
    frames.map_or(Ok(()), Frames::finish)?;
    let run = output::redacted(run, arguments.redaction)?;
    show_run(&run, arguments.json)?;
    output::report(&format!("run file {}", path.display()));
    if let Some(trouble) = trouble {
        bail!("{trouble}");
    }
    if let Some(file) = intervals {
        let followed = followed.map_err(anyhow::Error::msg)?;
        output::report(&format!("intervals of {followed}"));
        file.write(followed.text(&arguments.switch.file).as_bytes())?;
        output::report(&format!("wrote {}", file.path().display()));
    }
    Ok(Exit::of_measured(&run))
}

/// The file that replaces `file` while the flows are sent.
fn replacement(name: &str, file: &SwitchFile) -> Result<Replacement> {
    let next = switch_file::find(name)?;
    Replacement::of(&file.network, next.network, next.text).map_err(|reason| {
        anyhow!("{}: {reason}; --replace changes the schedules of {}", next.name, file.name)
    })
}

fn request(arguments: &TsnTestArgs, file: &SwitchFile, programs: Programs) -> Result<Request> {
    let started = SystemTime::now();
    let duration_ns = arguments.duration.ns();
    let loads = checked_loads(&arguments.load)?;
    let mut plan = experiment::plan(&file.network, &file.name, duration_ns, &phases(arguments));
    plan.phases.iter_mut().for_each(|phase| phase.loads.clone_from(&loads));
    let facts = facts::collect(&KernelFiles::real(), &facts::SystemAnswers::ask());
    let origin = origin::of_this_command(started, None);
    let output = arguments.output.clone().unwrap_or_else(|| default_output(started));
    Ok(Request {
        force: arguments.force,
        ptp4l_log: arguments.ptp4l_log.clone(),
        measures_in_process: true,
        redacts: arguments.redaction.redact,
        ..Request::new(plan, facts, origin, output, programs)
    })
}

fn test(arguments: &TsnTestArgs, file: SwitchFile, replacement: Option<Replacement>) -> Test {
    Test {
        network: file.network,
        file_name: file.name,
        file: file.text,
        namespaces: arguments.netns,
        keep_frames: arguments.frames.is_some() || arguments.intervals.is_some(),
        follow: arguments.intervals.is_some(),
        replacement,
    }
}

/// Prints the messages of the test, unless `--quiet` is given.
struct Messages {
    quiet: bool,
}

impl Listener for Messages {
    fn progress(&mut self, _progress: &RunProgress<'_>) {}

    fn message(&mut self, text: &str) {
        if !self.quiet {
            output::report(text);
        }
    }
}

/// The phases to test; `true`: with the shaper. By default, `--netns` tests with and then without it, and an active switch is
/// tested only with it.
fn phases(arguments: &TsnTestArgs) -> Vec<bool> {
    match (arguments.with_shaper, arguments.without_shaper) {
        (true, _) => vec![true],
        (_, true) => vec![false],
        _ if arguments.netns => vec![true, false],
        _ => vec![true],
    }
}

/// The default run file, with a name that is unused: another run may have started in the same second.
fn default_output(started: SystemTime) -> PathBuf {
    let stamp = origin::stamp(started);
    let numbered = (2..).map(|number| format!("tardy-tsn-{stamp}-{number}.run.json"));
    let mut names = std::iter::once(format!("tardy-tsn-{stamp}.run.json")).chain(numbered).map(PathBuf::from);
    names.find(|name| name.symlink_metadata().is_err()).expect("the names are infinite")
}
