//! `tardy watch`: watches a program for as long as it runs.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::session::{Listener, Request, Session, Status, Watched};
use tardy_attach::targets::Target;
use tardy_host::facts::{self, SystemAnswers};
use tardy_record::run::Origin;
use tardy_sys::files;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;
use tardy_watch::response::{Choice, Response};
use tardy_watch::watcher::{Place, Watcher};

use super::archive::Addition;
use super::attach::{self, Line};
use super::{origin, output, show};
use crate::exit::Exit;
use tardy_args::{LateFlags, WatchArgs};

/// Watches until the program or the user ends it.
pub(crate) fn run(arguments: &WatchArgs) -> Result<Exit> {
    let target = match (&arguments.program, &arguments.thread) {
        (_, Some(thread)) => Target::Thread(thread.clone()),
        (Some(program), None) => Target::of(program),
        (None, None) => bail!("name a program by its pid or its name, or a thread by --thread"),
    };
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
    let response = response(&arguments.late);
    let watcher = Watcher::claim(&request, place, facts, origin_at, response)?;
    let mut session = Session::set_up(request, &tracefs).map_err(|reason| anyhow!(reason))?;
    let signals = EndSignals::catch()?;
    let keep = arguments.keep.clone();
    let mut screen = Screen { line: Line::new(arguments.quiet), watcher, keep, all_are_kept: true };
    let watched = session.watch(&signals, &mut || false, &mut screen);
    let watched = match watched {
        Ok(watched) => watched,
        Err(reason) => {
            screen.line.close();
            return Err(anyhow!(reason));
        }
    };
    // The kernel's buffers are not needed while the command ends.
    drop(session);
    let run = screen.watcher.finish(watched, &signals);
    screen.show_messages();
    let Screen { line, watcher, all_are_kept, .. } = screen;
    line.close();
    match arguments.json {
        true => output::print_json(watcher.ring())?,
        false => show::print(&output::redacted(run, arguments.redaction)?, false)?,
    }
    if let Some(path) = watcher.late_file() {
        output::report(&format!("late cycles: {}, the last ones in {}", watcher.ring().late, path.display()));
    }
    match watcher.has_failed() || !all_are_kept {
        true => bail!("not all runs were kept; see the messages above"),
        false => Ok(Exit::Done),
    }
}

fn origin_at(started: SystemTime) -> Origin {
    origin::of_this_command(started, None)
}

/// The response to late wake-ups that the user chose.
pub(super) fn response(flags: &LateFlags) -> Response {
    Response::new(&Choice {
        command: flags.on_late.clone(),
        distance_ns: flags.on_late_distance.ns(),
        limit_ns: flags.on_late_timeout.ns(),
        stops: flags.stop_on_late,
    })
}

fn request(arguments: &WatchArgs, target: Target) -> Request {
    Request {
        id: origin_at(SystemTime::now()).id,
        named: target.text(),
        target,
        warmup_ns: arguments.warmup.ns(),
        duration_ns: arguments.duration.map(|duration| duration.ns()),
        deadline_ns: arguments.deadline.map(|deadline| deadline.ns()),
        limit_ns: None,
        buffer_kib: arguments.buffer,
        late_ns: arguments.late.late.map(|late| late.ns()),
    }
}

/// The terminal, the archive, and the watcher behind them.
struct Screen {
    line: Line,
    watcher: Watcher,
    keep: Option<PathBuf>,
    all_are_kept: bool,
}

impl Screen {
    fn show_messages(&mut self) {
        for message in self.watcher.take_messages() {
            self.line.message(&message);
        }
        for path in self.watcher.take_sealed() {
            self.line.message(&format!("run file {}", path.display()));
            if let Some(archive) = &self.keep
                && let Err(error) = add(archive, &path)
            {
                self.all_are_kept = false;
                self.line.message(&crate::message(&error));
            }
        }
    }
}

fn add(archive: &Path, run_file: &Path) -> Result<()> {
    let mut addition = Addition::to(archive)?;
    addition.file(run_file)?;
    match addition.finish(false)? {
        true => Ok(()),
        false => bail!("the run is not in the archive; its run file is {}", run_file.display()),
    }
}

impl Listener for Screen {
    fn progress(&mut self, status: &Status) {
        self.watcher.progress(status);
        self.show_messages();
        self.line.show(status);
    }

    fn wants_checkpoint(&mut self, now_ns: u64) -> bool {
        self.watcher.wants_checkpoint(now_ns)
    }

    fn checkpoint(&mut self, watched: Watched) -> Result<(), String> {
        self.watcher.checkpoint(watched)
    }

    fn late(&mut self, cycles: Vec<tardy_attach::recorder::Seen>, more: u64) {
        self.watcher.late(cycles, more);
    }

    fn wants_next_run(&mut self, now_ns: u64) -> bool {
        self.watcher.wants_next_run(now_ns)
    }

    fn next_run(&mut self, watched: Watched) -> Result<(), String> {
        self.watcher.next_run(watched)
    }

    fn wants_end(&mut self) -> bool {
        self.watcher.wants_end()
    }
}
