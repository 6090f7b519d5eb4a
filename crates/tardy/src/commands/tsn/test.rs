//! `tardy tsn test`: sends the flows through the switch and records their arrivals.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, bail};
use tardy_host::facts;
use tardy_measure::SwitchTest;
use tardy_measure::engine::result_file::is_same_place;
use tardy_measure::engine::{Listener, Outcome, Request, RunProgress};
use tardy_recipe::plan::checked_loads;
use tardy_switch::experiment::{self, ObservedFrame, Test};
use tardy_sys::kernel_files::KernelFiles;

use super::frames::{Frames, List};
use super::switch_file::{self, SwitchFile};
use crate::commands::{origin, output, programs, show};
use crate::exit::Exit;
use tardy_args::TsnTestArgs;

/// Tests the switch, writes the run file and shows it.
pub(super) fn run(arguments: &TsnTestArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    if file.network.flows.is_empty() {
        bail!("{} has no [[flow]], so there is nothing to send; see docs/tsn.md", file.name);
    }
    let request = request(arguments, &file)?;
    let path = &request.output;
    if arguments.frames.as_ref().is_some_and(|frames| is_same_place(frames, path)) {
        bail!("{} is also the run file; choose another --frames", path.display());
    }
    let network = file.network.clone();
    let frames =
        |place| Frames::to(place, arguments.force, (&arguments.switch.file, &network), List::Observed);
    let mut frames = arguments.frames.as_deref().map(frames).transpose()?;
    let mut messages = Messages { quiet: arguments.quiet };
    let Outcome { run, trouble, .. } = {
        let add = |shaped: bool, frame: &ObservedFrame| {
            frames.iter_mut().for_each(|frames| frames.add_observed(shaped, frame));
        };
        let test = SwitchTest { test: test(arguments, file), frames: RefCell::new(Box::new(add)) };
        tardy_measure::test_switch(&request, &test, &mut messages)?
    };
    frames.map_or(Ok(()), Frames::finish)?;
    let run = output::redacted(run, arguments.redaction)?;
    show::print(&run, arguments.json)?;
    output::report(&format!("run file {}", path.display()));
    match trouble {
        Some(trouble) => bail!("{trouble}"),
        None => Ok(Exit::of_measured(&run)),
    }
}

fn request(arguments: &TsnTestArgs, file: &SwitchFile) -> Result<Request> {
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
        measures_in_process: true,
        redacts: arguments.redaction.redact,
        ..Request::new(plan, facts, origin, output, programs::of_tardy()?)
    })
}

fn test(arguments: &TsnTestArgs, file: SwitchFile) -> Test {
    Test {
        network: file.network,
        file_name: file.name,
        file: file.text,
        namespaces: arguments.netns,
        keep_frames: arguments.frames.is_some(),
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
