//! `tardy exec`: starts a program and watches it from its first cycle.
//!
//! The program is the user's: nothing that goes wrong in tardy ends it. It is ended only when the time of `--duration` is over, and
//! gets the SIGTERM that tardy gets.

use std::os::fd::AsRawFd;
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::program::Program;
use tardy_attach::session::{Listener, Request, Session, Status, Watched};
use tardy_attach::targets::Target;
use tardy_sys::child::{self, signal};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::{EndSignals, wait_readable};

use super::attach::{self, Line, Progress, RunFile};
use tardy_args::ExecArgs;
use tardy_command::{Exit, origin, output};

/// How often a program is looked at that is not watched any longer.
const LOOK_NS: u64 = 50_000_000;

/// Starts the command and watches it until it ends, or for the given time.
pub(crate) fn run(arguments: &ExecArgs) -> Result<Exit> {
    let Some((program, words)) = arguments.command.split_first() else { bail!("name a command after --") };
    let started = SystemTime::now();
    let origin = origin::of_this_command(started, None);
    let duration_ns = arguments.duration.map(|duration| duration.ns());
    let tracefs = attach::tracefs()?;
    let named = arguments.command.join(" ");
    let request =
        Request { named, ..attach::request(&origin.id, Target::Pid(0), duration_ns, &arguments.watch) };
    // Before anything is made that a signal would leave behind.
    let signals = EndSignals::catch()?;
    let file = RunFile::claim(&arguments.watch, started, &request, origin)?;
    let mut session = Session::set_up(request, &tracefs).map_err(|reason| anyhow!(reason))?;
    if signals.take().is_some() {
        bail!("interrupted before the program was started");
    }
    let marker = session.marker();
    let start = || {
        let program = Program::start(program, words, Some(&marker), &signals)?;
        let pid = program.pid();
        Ok((program, pid))
    };
    let mut program = session.start_program(start).map_err(|reason| anyhow!(reason))?;
    let progress = Progress::new(Line::new(arguments.watch.quiet), file);
    let until_ns = duration_ns.map(|ns| monotonic_ns().saturating_add(ns));
    let mut watch = Watch { progress, pid: program.pid(), signals: 0, is_left: false };
    let watched = session.watch(&signals, &mut || program.has_ended(), &mut watch);
    watch.wait_for(&mut program, &signals, &watched, until_ns)?;
    let (is_left, file) = (watch.is_left, watch.progress.close());
    if is_left {
        output::report(&format!("the program (process {}) runs on", program.pid()));
    } else if let Some(end) = program.end().map_err(|reason| anyhow!(reason))? {
        output::report(&end);
    }
    // An instance with an open trace_marker could not be removed.
    drop(session);
    file.present(watched.map_err(|reason| anyhow!(reason))?, &arguments.watch)
}

/// Watching of a program that was started here.
struct Watch {
    progress: Progress,
    pid: u32,
    /// How many signals asked tardy to end.
    signals: usize,
    /// Whether tardy ends before the program.
    is_left: bool,
}

impl Watch {
    /// Waits for the end of a program that is not watched any longer, because of an error or because its time is over. The user
    /// decides when it ends: by `--duration`, or by Ctrl-C, after which that time does not count.
    fn wait_for(
        &mut self,
        program: &mut Program,
        signals: &EndSignals,
        watched: &Result<Watched, String>,
        until_ns: Option<u64>,
    ) -> Result<()> {
        let error = match watched {
            Ok(Watched { failure, .. }) => failure.as_ref(),
            Err(error) => Some(error),
        };
        if let Some(error) = error.filter(|_| !program.has_ended()) {
            self.progress
                .line
                .message(&format!("{error}. The program is not watched any longer, and runs on"));
        }
        let until_ns = if error.is_some() { until_ns.unwrap_or(u64::MAX) } else { 0 };
        while !self.is_left && (self.signals > 0 || monotonic_ns() < until_ns) && !program.has_ended() {
            wait_readable(&[signals.as_raw_fd()], LOOK_NS)?;
            if let Some(signal) = signals.take() {
                self.wants_end_by(signal);
            }
        }
        Ok(())
    }
}

impl Listener for Watch {
    fn progress(&mut self, status: &Status) {
        self.progress.progress(status);
    }

    fn wants_checkpoint(&mut self, now_ns: u64) -> bool {
        self.progress.wants_checkpoint(now_ns)
    }

    fn checkpoint(&mut self, watched: Watched) {
        self.progress.checkpoint(watched);
    }

    /// The terminal sends its SIGINT to the program too, which may take its time to end. A closed terminal has no user who waits.
    fn wants_end_by(&mut self, signal: i32) -> bool {
        self.signals += 1;
        self.is_left = self.signals > 1 || signal == signal::HANG_UP;
        if self.is_left {
            return true;
        }
        let again = if signal == signal::TERMINATE {
            // It may have ended just now.
            let _ = child::send(self.pid, signal::TERMINATE);
            "SIGTERM"
        } else {
            "Ctrl-C"
        };
        self.progress
            .line
            .message(&format!("waiting for the program to end; a second {again} ends tardy alone"));
        false
    }
}
