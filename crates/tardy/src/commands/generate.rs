//! Man pages and completions, generated from the definition of the arguments.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::Command;
use clap::builder::Resettable;
use clap_complete::Shell;
use tardy_sys::files::{self, Directory, Existing, PrivateDirectory};

use tardy_args::manual_sections;
use tardy_command::{Exit, identity, output};

/// Prints the completions for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut tardy_args::command(identity::get()), "tardy", &mut text);
    output::print_data(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

/// The man pages of all commands: file names and contents.
fn man_pages() -> Vec<(String, Vec<u8>)> {
    let mut root = tardy_args::command(identity::get()).disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    add_pages(&root, "", &["tardy(1)".to_owned()], &mut pages);
    pages
}

/// Adds the page of `command`, whose path without `tardy` is `path`, and those of its subcommands. `above` are the pages that each
/// of them refers to.
fn add_pages(command: &Command, path: &str, above: &[String], pages: &mut Vec<(String, Vec<u8>)>) {
    let name = |path: &str| format!("tardy {path}").trim().replace(' ', "-");
    let visible = || command.get_subcommands().filter(|one| !one.is_hide_set());
    let path_of = |one: &Command| format!("{path} {}", one.get_name()).trim().to_owned();
    let below: Vec<String> = visible().map(|one| format!("{}(1)", name(&path_of(one)))).collect();
    let own = format!("{}(1)", name(path));
    let neighbours: Vec<String> = above.iter().filter(|page| **page != own).chain(&below).cloned().collect();
    let mut page = Vec::new();
    // The text below the short help is of no use on a page.
    let man = clap_mangen::Man::new(
        command.clone().after_help(Resettable::Reset).after_long_help(Resettable::Reset),
    );
    man.render(&mut page).expect("a vector accepts every byte");
    page.extend(manual_sections(path, &neighbours).bytes());
    pages.push((format!("{}.1", name(path)), page));
    let above: Vec<String> = if path.is_empty() { above.to_vec() } else { [above, &[own]].concat() };
    visible().for_each(|one| add_pages(one, &path_of(one), &above, pages));
}

/// Writes man pages and completions into `directory`.
pub(crate) fn all(directory: &Path) -> Result<Exit> {
    let there = || directory.display().to_string();
    files::make_directories(directory).with_context(there)?;
    let directory = Directory::named(directory).with_context(there)?;
    // The libraries that write them would follow links in the user's directory.
    let made = PrivateDirectory::create("tardy-generate-").context("cannot create a temporary directory")?;
    for (name, page) in man_pages() {
        directory
            .replace(name.as_ref(), 0o666, Existing::Replaced, |file| file.write_all(&page))
            .with_context(|| format!("cannot write {name}"))?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut tardy_args::command(identity::get()), "tardy", made.path())
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
