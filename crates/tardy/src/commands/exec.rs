//! `tardy exec`: starts a program and watches it from its first cycle.

use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::program::Program;
use tardy_attach::session::{Request, Session};
use tardy_attach::targets::Target;
use tardy_sys::signals::EndSignals;

use super::attach::{self, Line, Progress, RunFile};
use tardy_args::ExecArgs;
use tardy_command::{Exit, origin, output};

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
    let file = RunFile::claim(&arguments.watch, started, &request, origin)?;
    let mut session = Session::set_up(request, &tracefs).map_err(|reason| anyhow!(reason))?;
    let marker = session.marker();
    let start = || {
        let program = Program::start(program, words, Some(&marker))?;
        let pid = program.pid();
        Ok((program, pid))
    };
    let mut program = session.start_program(start).map_err(|reason| anyhow!(reason))?;
    // After the start, so that the program does not inherit blocked signals.
    let signals = EndSignals::catch()?;
    let mut progress = Progress { line: Line::new(arguments.watch.quiet), file };
    let watched = session.watch(&signals, &mut || program.has_ended(), &mut progress);
    let file = progress.close();
    if let Some(end) = program.end().map_err(|reason| anyhow!(reason))? {
        output::report(&end);
    }
    // An instance with an open trace_marker could not be removed.
    drop(session);
    file.present(watched.map_err(|reason| anyhow!(reason))?, &arguments.watch)
}
