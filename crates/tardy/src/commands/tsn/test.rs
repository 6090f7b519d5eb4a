//! `tardy tsn test`: sends the flows through the switch and records their arrivals.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use tardy_host::facts;
use tardy_measure::run::result_file::{ResultFile, is_same_place};
use tardy_switch::experiment::{self, ObservedFrame, Request};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;

use super::frames::{Frames, List};
use super::switch_file;
use crate::args::TsnTestArgs;
use crate::commands::{origin, output, show};
use crate::exit::Exit;

/// Tests the switch, writes the run file and shows it.
pub(super) fn run(arguments: &TsnTestArgs) -> Result<Exit> {
    let file = switch_file::find(&arguments.switch.file)?;
    if file.network.flows.is_empty() {
        bail!("{} has no [[flow]], so there is nothing to send; see docs/tsn.md", file.name);
    }
    let started = SystemTime::now();
    let network = file.network.clone();
    let request = Request {
        duration_ns: arguments.duration.ns(),
        phases: phases(arguments),
        namespaces: arguments.netns,
        origin: origin::of_this_command(started, None),
        facts: facts::collect(&KernelFiles::real(), &facts::SystemAnswers::ask()),
        network: file.network,
        file_name: file.name,
        file: file.text,
        keep_frames: arguments.frames.is_some(),
    };
    let path = arguments.output.clone().unwrap_or_else(|| default_output(started));
    if arguments.frames.as_ref().is_some_and(|frames| is_same_place(frames, &path)) {
        bail!("{} is also the run file; choose another --frames", path.display());
    }
    let claimed = ResultFile::claim(&path, arguments.force)?;
    let frames =
        |place| Frames::to(place, arguments.force, (&arguments.switch.file, &network), List::Observed);
    let mut frames = arguments.frames.as_deref().map(frames).transpose()?;
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let has_come = Cell::new(false);
    let interrupted = || {
        has_come.set(has_come.get() || signals.take().is_some());
        has_come.get()
    };
    let mut notice = |text: &str| {
        if !arguments.quiet {
            output::report(text);
        }
    };
    let mut keep_frame = |shaped: bool, frame: &ObservedFrame| {
        frames.iter_mut().for_each(|frames| frames.add_observed(shaped, frame));
    };
    let run = experiment::conduct(&request, &mut notice, &mut keep_frame, &interrupted);
    let run = run.map_err(|reason| anyhow!(reason))?;
    claimed.write(tardy_record::file::to_text(&run).as_bytes())?;
    frames.map_or(Ok(()), Frames::finish)?;
    show::print(&run, arguments.json)?;
    output::report(&format!("run file {}", path.display()));
    Ok(Exit::of_run(&run))
}

/// With the shaper and then without, unless one of them is requested. An active switch is tested as it is: with its shaper,
/// unless a flag says otherwise.
fn phases(arguments: &TsnTestArgs) -> Vec<bool> {
    match (arguments.with_shaper, arguments.without_shaper) {
        (true, _) => vec![true],
        (_, true) => vec![false],
        _ if arguments.netns => vec![true, false],
        _ => vec![true],
    }
}

/// An unused name: another run may have started in the same second.
fn default_output(started: SystemTime) -> PathBuf {
    let stamp = origin::stamp(started);
    let numbered = (2..).map(|number| format!("tardy-tsn-{stamp}-{number}.run.json"));
    let mut names = std::iter::once(format!("tardy-tsn-{stamp}.run.json")).chain(numbered).map(PathBuf::from);
    names.find(|name| name.symlink_metadata().is_err()).expect("numbers do not end")
}
