//! What other commands of tardy ask about archives: hidden commands, which `tardy_command::archives` and
//! `tardy_command::additions` start.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tardy_command::Exit;
use tardy_command::additions::{ADD, Content, OPENED};
use tardy_command::archives::{FIND, STORED};

use crate::archive::StoreAddition;
use crate::stores;

/// The largest file that is added, in bytes: an archive takes none that is larger.
const CONTENT_MAX: usize = 1 << 30;

/// Runs the hidden command `words`.
pub(crate) fn answer(words: &[&str]) -> Result<Exit> {
    match words {
        [command, path] if *command == FIND => find(Path::new(path)),
        [command, path] if *command == STORED => stored(Path::new(path)),
        [command, path] if *command == ADD => add(Path::new(path)),
        _ => bail!("'{}' is not a hidden command of tardy-archive", words.join(" ")),
    }
}

/// The paths and entries of the runs that the query of standard input finds.
fn find(path: &Path) -> Result<Exit> {
    let query = serde_json::from_reader(io::stdin().lock()).context("the question is not one")?;
    print(&stores::find(path, &query)?)?;
    Ok(Exit::Done)
}

/// The name of a stored run as JSON in one line, and its content.
fn stored(path: &Path) -> Result<Exit> {
    let Some(stored) = stores::stored_at(path)? else {
        bail!("{} is not a run of an archive", path.display())
    };
    print(&stored.name)?;
    write(&stored.content)?;
    Ok(Exit::Done)
}

/// Adds run files: for each, standard input has a line that describes it and its content. At the end, standard output has what became of
/// each.
fn add(path: &Path) -> Result<Exit> {
    let mut addition = StoreAddition::to(path)?;
    print(&OPENED)?;
    let mut input = io::stdin().lock();
    let mut line = String::new();
    while input.read_line(&mut line).context("the runs cannot be read")? > 0 {
        let Content { label, name, bytes } =
            serde_json::from_str(&line).context("what is to be added has no description")?;
        line.clear();
        if bytes > CONTENT_MAX {
            addition.results.failed(label, format!("{bytes} bytes are more than a run file has"));
            io::copy(&mut (&mut input).take(bytes as u64), &mut io::sink())
                .context("the runs cannot be read")?;
            continue;
        }
        let mut content = vec![0; bytes];
        input.read_exact(&mut content).context("the runs cannot be read")?;
        addition.content(label, &name, content)?;
    }
    print(&addition.results()?.all)?;
    Ok(Exit::Done)
}

fn print(value: &impl Serialize) -> Result<()> {
    write((serde_json::to_string(value)? + "\n").as_bytes())
}

fn write(bytes: &[u8]) -> Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush()).context("the answer cannot be written")
}
