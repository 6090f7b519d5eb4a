//! `tardy exec`: starts a program and watches it from its first cycle.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_attach::session::{Request, Session};
use tardy_attach::targets::Target;
use tardy_sys::child::{self, signal};
use tardy_sys::programs;
use tardy_sys::signals::EndSignals;

use super::attach::{self, Line, Place};
use super::{origin, output};
use crate::exit::Exit;
use tardy_args::ExecArgs;

/// Starts the command and watches it until it ends, or for the given time.
pub(crate) fn run(arguments: &ExecArgs) -> Result<Exit> {
    let Some((program, words)) = arguments.command.split_first() else { bail!("name a command after --") };
    let started = SystemTime::now();
    let origin = origin::of_this_command(started, None);
    let duration_ns = arguments.duration.map(|duration| duration.ns());
    let file = Place::claim(&arguments.watch, started)?;
    let tracefs = attach::tracefs()?;
    let named = arguments.command.join(" ");
    let request =
        Request { named, ..attach::request(&origin.id, Target::Pid(0), duration_ns, &arguments.watch) };
    let mut session = Session::set_up(request.clone(), &tracefs).map_err(|reason| anyhow!(reason))?;
    let start = || {
        let mut command = Command::new(program);
        command.env("PATH", programs::path_of_user()).args(words);
        let child = command.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
        let pid = child.id();
        Ok((Program { child }, pid))
    };
    let mut program = session.start_program(start).map_err(|reason| anyhow!(reason))?;
    // After the start, so that the program does not inherit blocked signals.
    let signals = EndSignals::catch()?;
    let mut progress = Line::new(arguments.watch.quiet);
    let watched = session.watch(&signals, &mut || program.has_ended(), &mut |status| progress.show(status));
    progress.close();
    program.end()?;
    let exit =
        file.present(&request, watched.map_err(|reason| anyhow!(reason))?, origin, &arguments.watch)?;
    Ok(exit)
}

/// The program that was started. Dropping this asks it to end.
struct Program {
    child: Child,
}

impl Program {
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the program to end if it still runs, waits for it, and reports how it ended unless it did as asked.
    fn end(&mut self) -> Result<()> {
        let was_asked = !self.has_ended();
        if was_asked {
            child::send(self.child.id(), signal::TERMINATE)?;
        }
        let status = self.child.wait()?;
        match (status.code(), status.signal()) {
            (Some(0), _) => {}
            (_, Some(number)) if was_asked && number == signal::TERMINATE => {}
            (Some(code), _) => output::report(&format!("the program ended with status {code}")),
            (None, Some(number)) => output::report(&format!("signal {number} ended the program")),
            (None, None) => {}
        }
        Ok(())
    }
}
