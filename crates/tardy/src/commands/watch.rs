//! `tardy watch`: watches a program for as long as it runs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::session::{Request, Session, Status};
use tardy_attach::targets::Target;
use tardy_host::facts::{self, SystemAnswers};
use tardy_record::run::Origin;
use tardy_sys::files;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;
use tardy_watch::watcher::{Place, Reporter, Watcher};

use super::attach::{self, Line};
use super::late;
use super::run::keep;
use tardy_args::WatchArgs;
use tardy_command::additions::Addition;
use tardy_command::{Exit, origin, output, show_run};

/// Watches until the program or the user ends it.
pub(crate) fn run(arguments: &WatchArgs) -> Result<Exit> {
    let target = attach::target(arguments.program.as_deref(), arguments.thread.as_deref())?;
    if target.threads().is_empty() {
        bail!(target.absent());
    }
    let tracefs = attach::tracefs()?;
    // An archive that cannot be used is noticed before anything is watched.
    arguments.keep.as_deref().map(Addition::to).transpose()?;
    let directory = arguments.output.clone().unwrap_or_else(|| PathBuf::from("."));
    files::make_directories(&directory)
        .map_err(|error| anyhow!("the directory {} cannot be made: {error}", directory.display()))?;
    let request = request(arguments, target);
    let place = Place {
        directory,
        every_ns: arguments.every.ns(),
        runs_max: arguments.runs.map(|runs| runs as usize),
        redacts: arguments.redaction.redact,
    };
    let facts = facts::collect(&KernelFiles::real(), &SystemAnswers::ask());
    let response = late::response(&arguments.late);
    let keep = arguments.keep.clone();
    let mut screen = Screen { line: Line::new(arguments.quiet), keep, all_are_kept: true };
    // Before anything is made that a signal would leave behind.
    let signals = EndSignals::catch()?;
    let mut watcher = Watcher::claim(&request, place, facts, origin_at, response, &mut screen)?;
    let mut session = Session::set_up(request, &tracefs).map_err(|reason| anyhow!(reason))?;
    let watched = session.watch(&signals, &mut || false, &mut watcher);
    // The kernel's buffers are not needed while the command ends.
    drop(session);
    let failure = watched.as_ref().ok().and_then(|watched| watched.failure.clone());
    let run = watched.map(|watched| watcher.finish(watched, &signals));
    let (ring, has_failed) = (watcher.ring().clone(), watcher.has_failed());
    let late_file = watcher.late_file().map(Path::to_owned);
    let Screen { line, all_are_kept, .. } = screen;
    line.close();
    let run = run.map_err(|reason| anyhow!(reason))?;
    match arguments.json {
        true => output::print_json(&ring)?,
        false => show_run(&output::redacted(run, arguments.redaction)?, false)?,
    }
    if let Some(path) = late_file {
        output::report(&format!("late cycles: {}, the last ones in {}", ring.late, path.display()));
    }
    if let Some(failure) = failure {
        bail!(failure);
    }
    match has_failed || !all_are_kept {
        true => bail!("not all runs were kept; see the messages above"),
        false => Ok(Exit::Done),
    }
}

fn origin_at(started: SystemTime) -> Origin {
    origin::of_this_command(started, None)
}

fn request(arguments: &WatchArgs, target: Target) -> Request {
    Request {
        id: origin_at(SystemTime::now()).id,
        named: target.text(),
        target,
        warmup_ns: arguments.observe.warmup.ns(),
        duration_ns: arguments.duration.map(|duration| duration.ns()),
        deadline_ns: arguments.deadline.map(|deadline| deadline.ns()),
        limit_ns: None,
        buffer_kib: arguments.observe.buffer,
        late_ns: arguments.late.late.map(|late| late.ns()),
        places: arguments.observe.places,
    }
}

/// The terminal, and the archive for complete runs.
struct Screen {
    line: Line,
    keep: Option<PathBuf>,
    all_are_kept: bool,
}

impl Reporter for Screen {
    fn status(&mut self, status: &Status) {
        self.line.show(status);
    }

    fn message(&mut self, text: &str) {
        self.line.message(text);
    }

    fn complete(&mut self, run_file: &Path) {
        self.line.message(&format!("run file {}", run_file.display()));
        if let Err(error) = keep(self.keep.as_deref(), run_file) {
            self.all_are_kept = false;
            self.line.message(&tardy_command::message(&error));
        }
    }
}
