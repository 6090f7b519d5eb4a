//! Man pages and completions, generated from the definition of the arguments.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use tardy_sys::files::{self, Directory, Existing, PrivateDirectory};

use super::output;
use crate::args::Cli;
use crate::exit::Exit;

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tardy", &mut text);
    output::print_data(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// Writes man pages and completions into `directory`.
pub(crate) fn all(directory: &Path) -> Result<Exit> {
    let there = || directory.display().to_string();
    files::make_directories(directory).with_context(there)?;
    let directory = Directory::named(directory).with_context(there)?;
    // The libraries that write them would follow links in the user's directory.
    let made = PrivateDirectory::create("tardy-generate-").context("cannot create a temporary directory")?;
    clap_mangen::generate_to(Cli::command(), made.path()).context("cannot write the man pages")?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "tardy", made.path())
            .context("cannot write the completions")?;
    }
    for name in made.directory().names()? {
        let mut content = made.directory().open_own(&name)?;
        let copy = |file: &mut File| io::copy(&mut content, file).map(drop);
        directory
            .replace(&name, 0o666, Existing::Replaced, copy)
            .with_context(|| format!("cannot write {}", name.display()))?;
    }
    Ok(Exit::Done)
}
