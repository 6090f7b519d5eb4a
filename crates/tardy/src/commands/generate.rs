//! Man pages and completions, generated from the definition of the arguments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::Shell;

use super::output;
use crate::args::Cli;
use crate::exit::Exit;

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tardy", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// Writes man pages and completions into `directory`.
pub(crate) fn all(directory: &Path) -> Result<Exit> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    clap_mangen::generate_to(Cli::command(), directory).context("cannot write the man pages")?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut Cli::command(), "tardy", directory)
            .context("cannot write the completions")?;
    }
    Ok(Exit::Done)
}
