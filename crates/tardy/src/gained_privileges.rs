//! What a tardy with file capabilities (setcap(8)) does not do for its caller.
//!
//! Such a program measures with its capabilities. The processes that a supervisor starts by hidden commands do not: they
//! would let the caller give any thread a real-time priority, and the author of a journal chooses the settings that
//! `restore` changes.

use anyhow::{Context, Result, bail};
use tardy_sys::privileges::{self, capabilities};

use tardy_args::Command;

/// How the name of a hidden command begins.
const HIDDEN: &str = "__";

/// Called before anything else. Ignores the caller's variables that choose files.
///
/// # Errors
/// If this program has the set-user-ID or set-group-ID bit, or `words` are a hidden command that must not have the
/// program's privileges.
pub(crate) fn prepare(words: &[&str]) -> Result<()> {
    if !privileges::were_gained() {
        return Ok(());
    }
    if privileges::acts_as_another() {
        bail!(
            "tardy must not have the set-user-ID or set-group-ID bit, because it would read and write files as another user or \
             group: remove the bits with 'chmod u-s,g-s', and see docs/security.md for the capabilities that measuring needs"
        );
    }
    privileges::distrust_environment().context("the caller's environment cannot be ignored")?;
    match words.first() {
        Some(word) if word.starts_with(HIDDEN) => refuse(word),
        _ => Ok(()),
    }
}

/// Gives up the privileges that `command` does not need.
///
/// # Errors
/// If `command` must not run with them.
pub(crate) fn limit_to(command: &Command) -> Result<()> {
    if !privileges::were_gained() {
        return Ok(());
    }
    match command {
        Command::Restore(_) => bail!(
            "'tardy restore' does not run with privileges of its file, because a journal decides what it changes: use \
             'sudo tardy restore' for the journal of root's runs, or 'setpriv --no-new-privs tardy restore' for your own"
        ),
        Command::Guest => refuse("__guest"),
        Command::ThreadCost { .. } => refuse("__thread-cost"),
        Command::Exec(_) => bail!(
            "'tardy exec' does not run with privileges of its file, which the program would not have: start the program, and use \
             'tardy attach'"
        ),
        Command::Generate { .. } => refuse("__generate"),
        Command::Check(_)
        | Command::Run(_)
        | Command::Attach(_)
        | Command::Watch(_)
        | Command::Reflect(_)
        | Command::Cyclictest { .. }
        | Command::Gpio(_)
        | Command::Tsn(_) => Ok(()),
        Command::Load(_)
        | Command::Show(_)
        | Command::Recover(_)
        | Command::Report(_)
        | Command::Plot(_)
        | Command::Compare(_)
        | Command::History(_)
        | Command::Duration(_)
        | Command::Gate(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::Share(_)
        | Command::List(_)
        | Command::Archive(_)
        | Command::Serve(_)
        | Command::Push(_)
        | Command::Fleet(_)
        | Command::Name(_)
        | Command::Lab(_)
        | Command::Schema
        | Command::Completions { .. } => give_up(),
    }
}

/// Gives up all privileges of this program's file.
pub(crate) fn give_up() -> Result<()> {
    if !privileges::were_gained() {
        return Ok(());
    }
    capabilities::give_up_all().context("the capabilities of this program cannot be given up")
}

fn refuse(command: &str) -> Result<()> {
    bail!(
        "'tardy {command}' is internal to tardy and does not run with privileges of its file (capabilities): \
         use 'tardy run' to measure, or a copy of tardy without them"
    )
}
