//! Writing results, and reading runs, for all commands.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_measure::recovery;
use tardy_present::latency::harmless;
use tardy_record::Run;

use crate::published;

/// Opens runs in the order given. What was found out on the way goes to standard error.
pub(super) fn open_runs(paths: &[impl AsRef<Path>]) -> Result<Vec<Run>> {
    paths.iter().map(|path| open_run(path.as_ref())).collect()
}

/// Opens a run. What was found out on the way goes to standard error.
pub(super) fn open_run(path: &Path) -> Result<Run> {
    if let Some(result) = published::named(path) {
        let id = &result?.id;
        bail!(
            "published:{id} is a published result: it has figures and no distribution. 'tardy show published:{id}' shows \
             them, with --json for programs; 'tardy compare RUN published:{id}' and 'tardy report RUN published:{id}' set it \
             beside a run"
        );
    }
    let opened = recovery::open(path)?;
    if let Some(remark) = opened.remark {
        tell(&format!("{}: {remark}", path.display()));
    }
    Ok(opened.run)
}

/// Writes to standard output. A reader that has gone (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<()> {
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

/// Claims the place of a result that is made of the files `inputs`, which it never replaces.
pub(super) fn claim(path: &Path, inputs: &[PathBuf], force: bool) -> Result<ResultFile> {
    if let Some(input) = inputs.iter().find(|input| is_same_place(input, path)) {
        bail!("{} is one of the runs; choose another -o", input.display());
    }
    Ok(ResultFile::claim(path, force)?)
}

/// Tells a person something on standard error. Names from outside lose what would steer a terminal.
pub(crate) fn tell(text: &str) {
    let lines: Vec<String> = text.lines().map(harmless).collect();
    tell_plainly(&format!("tardy: {}", lines.join("\n")));
}

/// Writes a line to standard error. That nobody reads it any more is no failure, let alone a reason to break off.
pub(crate) fn tell_plainly(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether standard output is a terminal that shows colours.
pub(super) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// How many columns standard output has; 80 where it is no terminal, so that a summary in a file reads everywhere.
pub(super) fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}
