//! Writing results, and reading runs, for all commands.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tardy_measure::run::recover;
use tardy_record::Run;

/// Opens runs in the order given. What was found out on the way goes to standard error.
pub(super) fn open_runs(paths: &[impl AsRef<Path>]) -> Result<Vec<Run>> {
    paths.iter().map(|path| open_run(path.as_ref())).collect()
}

/// Opens a run. What was found out on the way goes to standard error.
pub(super) fn open_run(path: &Path) -> Result<Run> {
    let opened = recover::open(path)?;
    if let Some(remark) = opened.remark {
        eprintln!("tardy: {}: {remark}", path.display());
    }
    Ok(opened.run)
}

/// Writes to standard output. A reader that has gone (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Writes `value` to standard output as JSON that a person can read.
pub(super) fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Writes a result file whole or not at all.
pub(super) fn write_file(path: &Path, text: &str) -> Result<()> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    let temporary = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written
        .inspect_err(|_| drop(std::fs::remove_file(&temporary)))
        .with_context(|| format!("{} cannot be written; choose another place with -o", path.display()))
}

/// Whether standard output is a terminal that shows colours.
pub(super) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// How many columns standard output has; 80 where it is no terminal, so that a summary in a file reads everywhere.
pub(super) fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}
