//! Commands that are programs of their own, `tardy-NAME`: tardy's, and those that others have written.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tardy_command::executables;

/// Programs of tardy, and the commands that each of them runs.
const PROGRAMS: [(&str, &str); 2] = [("archive", "archive, serve, push, fleet"), ("lab", "lab")];

/// The first of `words`, if it is not a command of tardy, as `error` says, and the program `tardy-WORD` is installed.
pub(crate) fn named<'w>(error: &clap::Error, words: &[&'w str]) -> Option<&'w str> {
    let name = *words.first()?;
    let is_unknown = error.kind() == ErrorKind::InvalidSubcommand
        && matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(unknown)) if unknown == name);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_unknown && is_name && executables::is_installed(name)).then_some(name)
}

/// What the list of commands, which `words` may ask for, says about those whose program is not installed.
pub(crate) fn missing(words: &[&str]) -> Option<String> {
    // Without a word, clap prints the list. Other commands need not look for programs.
    if !matches!(words.first(), None | Some(&("-h" | "--help" | "help"))) {
        return None;
    }
    let missing: Vec<String> = PROGRAMS
        .iter()
        .filter(|(name, _)| !executables::is_installed(name))
        .map(|(name, commands)| format!("tardy-{name} ({commands})"))
        .collect();
    let all = missing.join(" and ");
    (!all.is_empty()).then(|| {
        format!("Not installed: {all}.\nPackages of tardy contain all programs, and in a clone 'make all' builds them.")
    })
}
