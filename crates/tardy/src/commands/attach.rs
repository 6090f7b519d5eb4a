//! `tardy attach`: watches a running program.

mod from_proc;

use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::session::{Listener, Request, Session, Status, Watched};
use tardy_attach::targets::Target;
use tardy_host::facts::{self, SystemAnswers};
use tardy_host::trace::remove_left_behind;
use tardy_host::trace::tracefs::Tracefs;
use tardy_measure::engine::checkpoint;
use tardy_measure::engine::result_file::ResultFile;
use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::run::Origin;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;

use super::run::default_output;
use tardy_args::{AttachArgs, WatchFlags};
use tardy_command::{Exit, messages::Messages, origin, output, requirements, show_run};

/// How long cycles are counted by default.
const DURATION_NS: u64 = 60_000_000_000;

/// Watches the program until the time has passed or it has ended.
pub(crate) fn run(arguments: &AttachArgs) -> Result<Exit> {
    let target = target(arguments.program.as_deref(), arguments.thread.as_deref())?;
    let duration_ns = arguments.duration.map_or(DURATION_NS, |duration| duration.ns());
    let started = SystemTime::now();
    let origin = origin::of_this_command(started, None);
    let request = request(&origin.id, target, Some(duration_ns), &arguments.watch);
    if request.target.threads().is_empty() {
        bail!(request.target.absent());
    }
    let tracefs = match tracefs() {
        Ok(tracefs) => tracefs,
        Err(error) => {
            let why = tardy_command::message(&error);
            return from_proc::run(&request.target, duration_ns, &why, arguments.watch.json);
        }
    };
    // Before anything is made that a signal would leave behind.
    let signals = EndSignals::catch()?;
    let file = RunFile::claim(&arguments.watch, started, &request, origin)?;
    let mut session = Session::set_up(request, &tracefs).map_err(|reason| anyhow!(reason))?;
    let mut progress = Progress::new(Line::new(arguments.watch.quiet), file);
    let watched = session.watch(&signals, &mut || false, &mut progress);
    progress.close().present(watched.map_err(|reason| anyhow!(reason))?, &arguments.watch)
}

/// What the user named.
pub(super) fn target(program: Option<&str>, thread: Option<&str>) -> Result<Target> {
    match (program, thread) {
        (_, Some(thread)) => Ok(Target::Thread(thread.to_owned())),
        (Some(program), None) => Ok(Target::of(program)),
        (None, None) => bail!("name a program by its pid or its name, or a thread by --thread"),
    }
}

/// tracefs, mounted for this process alone if it is not mounted, without what a killed process of this user has left there.
pub(super) fn tracefs() -> Result<Tracefs> {
    let files = KernelFiles::real();
    Tracefs::mount_if_missing(&files);
    let tracefs = Tracefs::find(&files).map_err(|reason| anyhow!(reason))?;
    remove_left_behind(&files).iter().for_each(|message| output::report(message));
    Ok(tracefs)
}

/// What is watched, with the options of the command line.
pub(super) fn request(id: &str, target: Target, duration_ns: Option<u64>, flags: &WatchFlags) -> Request {
    Request {
        id: id.to_owned(),
        named: target.text(),
        target,
        warmup_ns: flags.observe.warmup.ns(),
        duration_ns,
        deadline_ns: flags.deadline.map(|deadline| deadline.ns()),
        limit_ns: flags.limit.map(|limit| limit.ns()),
        buffer_kib: flags.observe.buffer,
        late_ns: None,
        places: flags.observe.places,
    }
}

/// The run file, which has the numbers so far while the program is watched.
pub(super) struct RunFile {
    file: checkpoint::RunFile,
    request: Request,
    origin: Origin,
    facts: Facts,
    /// What the last checkpoint cost, in ns.
    took_ns: u64,
}

impl RunFile {
    /// Claims the run file before anything is watched.
    pub(super) fn claim(
        flags: &WatchFlags,
        started: SystemTime,
        request: &Request,
        origin: Origin,
    ) -> Result<Self> {
        let path = flags.output.clone().unwrap_or_else(|| default_output(started));
        let file = ResultFile::claim(&path, flags.force)?;
        Ok(Self {
            file: checkpoint::RunFile::at(file, flags.redaction.redact),
            request: request.clone(),
            origin,
            facts: facts::collect(&KernelFiles::real(), &SystemAnswers::ask()),
            took_ns: 0,
        })
    }

    fn run(&self, watched: Watched) -> Run {
        tardy_attach::run::of(&self.request, watched, self.origin.clone(), self.facts.clone())
    }

    /// Writes the run, and prints it. A run that cannot be written is shown all the same.
    pub(super) fn present(mut self, watched: Watched, flags: &WatchFlags) -> Result<Exit> {
        let failure = watched.failure.clone();
        let run = output::redacted(self.run(watched), flags.redaction)?;
        let written = self.file.write(&run);
        let shown = show_run(&run, flags.json);
        failure.iter().for_each(|failure| output::report(failure));
        match &written {
            Ok(()) => output::report(&format!("run file {}", self.file.path().display())),
            Err(error) => output::report(&self.file.rescue(&run, error)),
        }
        shown?;
        let exit = if written.is_ok() { Exit::of_measured(&run) } else { Exit::CouldNot };
        requirements::after_measuring([&run], &flags.requirements.require, flags.json, exit)
    }
}

/// The terminal and the run file while a program is watched.
pub(super) struct Progress {
    pub(super) line: Line,
    file: RunFile,
    /// Why the last checkpoint could not be written; `None` if it was.
    unwritten: Option<String>,
}

impl Progress {
    /// At the begin of watching.
    pub(super) fn new(line: Line, file: RunFile) -> Self {
        Self { line, file, unwritten: None }
    }

    /// Ends the line on the terminal. Returns the run file.
    pub(super) fn close(self) -> RunFile {
        self.line.close();
        self.file
    }
}

impl Listener for Progress {
    fn progress(&mut self, status: &Status) {
        self.line.show(status);
    }

    fn wants_checkpoint(&mut self, now_ns: u64) -> bool {
        self.file.file.is_due(now_ns, false, self.file.took_ns)
    }

    fn checkpoint(&mut self, watched: Watched) {
        let begin_ns = monotonic_ns();
        let run = self.file.run(watched);
        let unwritten = self.file.file.write(&run).err().map(|error| error.to_string());
        if let Some(error) = unwritten.as_ref().filter(|_| unwritten != self.unwritten) {
            self.line.message(&format!("{error}. Watching goes on"));
        }
        self.unwritten = unwritten;
        self.file.took_ns = monotonic_ns() - begin_ns;
    }
}

/// One line of progress on a terminal.
pub(super) struct Line {
    shown: bool,
    is_open: bool,
    messages: Messages,
}

impl Line {
    pub(super) fn new(quiet: bool) -> Self {
        use std::io::IsTerminal;
        Self {
            shown: !quiet && std::io::stderr().is_terminal(),
            is_open: false,
            messages: Messages::on_standard_error(),
        }
    }

    /// Shows the present state, if the terminal accepts it.
    pub(super) fn show(&mut self, status: &Status) {
        self.messages.send();
        if !self.shown || self.messages.is_waiting() {
            return;
        }
        self.messages.write(&format!("\r\x1b[K{status}"));
        self.is_open = true;
    }

    /// Writes a message on a line of its own, once standard error accepts it.
    pub(super) fn message(&mut self, text: &str) {
        if std::mem::take(&mut self.is_open) {
            self.messages.write("\r\x1b[K");
        }
        self.messages.write(&(output::message_line(text) + "\n"));
    }

    /// Ends the line.
    pub(super) fn close(mut self) {
        if self.is_open {
            self.messages.write("\r\x1b[K");
        }
        self.messages.finish();
    }
}
