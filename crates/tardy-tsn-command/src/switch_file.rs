//! Switch files, and the built-in ones.

use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};

use tardy_plot::numbers::first_few;
use tardy_synthesis::instance::InputError;
use tardy_tsn::file::{self, FileError};
use tardy_tsn::network::Network;
use thiserror::Error;

/// The built-in switch files, by name.
const BUILT_IN: [(&str, &str); 1] = [("tsn-two-flows", include_str!("../../../recipes/tsn-two-flows.toml"))];

/// A switch file.
pub struct SwitchFile {
    /// Its name in messages.
    pub name: String,
    /// Its content.
    pub text: String,
    /// The parsed content.
    pub network: Network,
}

/// Why a switch file cannot be used.
#[derive(Debug, Error)]
pub enum SwitchFileError {
    /// No built-in switch has this name.
    #[error("no switch '{name}'; expected {known}, or the path of a switch file such as ./{name}.toml")]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The file cannot be read.
    #[error("{path}: cannot read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is longer than any switch file.
    #[error("{path}: longer than {} MiB, too long for a switch file or a table", file::SIZE_MAX >> 20)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The content is not a switch file.
    #[error("{place}: not a switch file:\n{}docs/tsn.md lists every key", in_lines(.place, .wrong))]
    Wrong {
        /// The file's name.
        place: String,
        /// Each mistake, with its line.
        wrong: FileError,
    },
    /// There is nothing that a schedule could be computed for.
    #[error("{place}{}: {}", .wrong.line.map(|line| format!(":{line}")).unwrap_or_default(), .wrong.what)]
    Unschedulable {
        /// The file's name.
        place: String,
        /// Why, and in which line.
        wrong: InputError,
    },
    /// The schedule to keep is of another network.
    #[error(
        "{old} has the schedule of another network than {new}: {}; give --keep a file of the same switches and cables",
        first_few(.differences, "; ")
    )]
    OtherNetwork {
        /// The file with the schedule.
        old: String,
        /// The file of the network.
        new: String,
        /// What differs.
        differences: Vec<String>,
    },
}

/// Lines of the form `FILE:LINE: problem`, which editors understand.
fn in_lines(place: &str, error: &FileError) -> String {
    let mut lines = String::new();
    for problem in &error.problems {
        let also = if problem.also_on.is_empty() {
            String::new()
        } else {
            let others: Vec<String> = problem.also_on.iter().map(ToString::to_string).collect();
            format!(" (and on {})", others.join(", "))
        };
        let _ = writeln!(lines, "{place}:{}: {}{also}", problem.line, problem.what);
    }
    lines
}

/// The names of the built-in switch files.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Whether `name` is a built-in switch file or the path of one, and not a recipe. `false` if the file cannot be read; the
/// reason is reported when it is opened.
pub fn describes_a_switch(name: &str) -> bool {
    if !(name.contains('/') || name.ends_with(".toml")) {
        return built_in().any(|known| known == name);
    }
    let table = text_of(Path::new(name)).ok().and_then(|text| text.parse::<toml::Table>().ok());
    table.is_some_and(|table| table.contains_key("switch"))
}

/// Finds a switch file by its name or its path. A name with a slash or with the ending .toml is a path.
///
/// # Errors
/// If there is none, or it cannot be read or is wrong.
pub fn find(name: &str) -> Result<SwitchFile, SwitchFileError> {
    if name.contains('/') || name.ends_with(".toml") {
        return parsed(name.to_owned(), text_of(Path::new(name))?);
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => parsed((*name).to_owned(), (*text).to_owned()),
        None => {
            let known = BUILT_IN.map(|(name, _)| name).join(", ");
            Err(SwitchFileError::Unknown { name: name.to_owned(), known })
        }
    }
}

/// Reads a file of at most [`file::SIZE_MAX`] bytes. A longer one is an error, even if its reported length is shorter.
pub(crate) fn text_of(path: &Path) -> Result<String, SwitchFileError> {
    let fail = |source| SwitchFileError::Io { path: path.to_owned(), source };
    let mut text = String::new();
    let file = tardy_sys::files::open_to_read(path).map_err(fail)?;
    file.take(file::SIZE_MAX + 1).read_to_string(&mut text).map_err(fail)?;
    if text.len() as u64 > file::SIZE_MAX {
        return Err(SwitchFileError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

fn parsed(name: String, text: String) -> Result<SwitchFile, SwitchFileError> {
    match file::parse(&text) {
        Ok(network) => Ok(SwitchFile { name, text, network }),
        Err(wrong) => Err(SwitchFileError::Wrong { place: name, wrong }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_file_of_the_repository_is_built_in_and_parses() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        let mut seen = 0;
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if name.starts_with("tsn-") {
                find(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
                seen += 1;
            }
        }
        assert_eq!(seen, BUILT_IN.len());
    }

    #[test]
    fn the_help_names_every_built_in_switch() {
        use clap::CommandFactory;
        let mut cli = tardy_args::Cli::command();
        let check = cli.find_subcommand_mut("tsn").unwrap().find_subcommand_mut("check").unwrap();
        let help = check.render_long_help().to_string();
        for (name, _) in BUILT_IN {
            assert!(help.contains(name), "{name}");
        }
    }
}
