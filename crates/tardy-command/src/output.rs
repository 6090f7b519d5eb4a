//! Writing results and reading runs, for all commands.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_analyse::name;
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_plot::numbers::{harmless, harmless_lines};
use tardy_record::Run;
use tardy_redact::redact;
use tardy_share::link;

use crate::charset::Charset;
use crate::exit::Exit;
use crate::{opened, published};
use tardy_args::RedactionFlag;

/// Opens runs in the given order, each as [`open_run`] does.
pub fn open_runs(paths: &[impl AsRef<Path>], flag: RedactionFlag) -> Result<Vec<Run>> {
    paths.iter().map(|path| open_run(path.as_ref(), flag)).collect()
}

/// Opens a run to be shown. Remarks go to standard error. A run without a name is named after its file, except if it is
/// redacted.
pub fn open_run(path: &Path, flag: RedactionFlag) -> Result<Run> {
    let mut run = redacted(open(path)?, flag)?;
    if !flag.redact {
        name_after_file(&mut run, path);
    }
    Ok(run)
}

/// Names a run without a name after its regular file. A run of the lab is named after its kernel instead.
pub fn name_after_file(run: &mut Run, path: &Path) {
    if path.is_file() {
        name::after_file(run, &path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default());
    }
}

/// The name of a run file without its ending.
pub fn stem(path: &Path) -> String {
    name::stem(&path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default()).to_owned()
}

fn open(path: &Path) -> Result<Run> {
    if let Some(result) = published::named(path) {
        let id = &result?.id;
        bail!(
            "published:{id} is a published result, without a distribution. 'tardy show published:{id}' shows its figures; \
             'tardy compare RUN published:{id}' and 'tardy report RUN published:{id}' show it next to a run"
        );
    }
    if path.to_str().is_some_and(link::is_of_runs) {
        bail!("a link is opened by 'tardy show LINK' and by the page; other commands need a run file");
    }
    if path.is_dir() {
        let directory = path.display();
        bail!("{directory} is a directory; name a run file in it ('tardy list {directory}' lists them)");
    }
    let opened = opened::open(path)?;
    if let Some(remark) = opened.remark {
        report(&format!("{}: {remark}", path.display()));
    }
    Ok(opened.run)
}

/// `run` without what identifies its machine, if `flag` is set. What was removed goes to standard error.
pub fn redacted(run: Run, flag: RedactionFlag) -> Result<Run> {
    if !flag.redact {
        return Ok(run);
    }
    let redacted = redact(&run).context("the run cannot be redacted")?;
    let fields = redacted.changed.iter().map(|(field, count)| format!("{field}: {count}"));
    match redacted.changed.is_empty() {
        true => report("redacted: nothing is left to remove"),
        false => report(&format!("redacted {}", fields.collect::<Vec<_>>().join(", "))),
    }
    Ok(redacted.run)
}

/// Writes text for a person to standard output, in the terminal's characters. A closed pipe (`| head`) is not a failure.
pub fn print(text: &str) -> Result<()> {
    print_data(&charset(io::stdout().is_terminal()).encode(text))
}

/// Writes text for a program to standard output, exactly. A closed pipe is not a failure.
pub fn print_data(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// The same for content that is not text.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Writes text with contents of a run to standard output: exactly, unless it is a terminal, which such contents must not
/// control.
pub fn print_content(text: &str) -> Result<()> {
    match io::stdout().is_terminal() {
        true => print_data(&harmless_lines(text)),
        false => print_data(text),
    }
}

/// Writes `value` to standard output as indented JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print_content(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// Prints the formats of another tool's files: their names for an option, and what they are.
pub fn list_formats(formats: impl Iterator<Item = (&'static str, &'static str)>, json: bool) -> Result<Exit> {
    let formats: Vec<FormatName> = formats.map(|(name, about)| FormatName { name, about }).collect();
    if json {
        print_json(&formats)?;
        return Ok(Exit::Done);
    }
    let width = formats.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let lines: String =
        formats.iter().map(|format| format!("{:width$}  {}\n", format.name, format.about)).collect();
    print(&lines)?;
    Ok(Exit::Done)
}

/// A format in a list.
#[derive(serde::Serialize)]
struct FormatName {
    name: &'static str,
    about: &'static str,
}

/// Claims the path of a result. It must not be one of `inputs`, the files that the result is computed from.
pub fn claim(path: &Path, inputs: &[PathBuf], force: bool) -> Result<ResultFile> {
    if let Some(input) = inputs.iter().find(|input| is_same_place(input, path)) {
        bail!("{} is one of the runs; choose another -o", input.display());
    }
    Ok(ResultFile::claim(path, force)?)
}

/// The message of an error and of its causes. Omits a cause that the message already contains.
pub fn message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !message.contains(&cause) {
            message = if message.is_empty() { cause } else { format!("{message}: {cause}") };
        }
    }
    message
}

/// Writes a message to standard error, without characters that would control the terminal.
pub fn report(text: &str) {
    print_line(&message_line(text));
}

/// A message as standard error shows it, without the end of the line.
pub fn message_line(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(harmless).collect();
    charset(io::stderr().is_terminal()).encode(&format!("tardy: {}", lines.join("\n"))).into_owned()
}

fn charset(is_terminal: bool) -> Charset {
    if is_terminal { Charset::of_terminal() } else { Charset::of_file() }
}

/// Writes a line to standard error. A closed standard error is not a failure.
pub fn print_line(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether standard output is a terminal that shows colours.
pub fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() && !Charset::of_terminal().is_dumb()
}

/// Columns of standard output; 80 if it is not a terminal, so that a summary in a file is readable everywhere.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
}
