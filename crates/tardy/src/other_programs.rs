//! Commands that are programs of their own, `tardy-NAME`: tardy's, and those that others have written.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tardy_command::executables;

/// The commands that `tardy-archive` does.
const ARCHIVE: &str = "archive";

/// The first of `words`, if it is not a command of tardy, as `error` says, and the program `tardy-WORD` is installed.
pub(crate) fn named<'w>(error: &clap::Error, words: &[&'w str]) -> Option<&'w str> {
    let name = *words.first()?;
    let is_unknown = error.kind() == ErrorKind::InvalidSubcommand
        && matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(unknown)) if unknown == name);
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_unknown && is_name && executables::is_installed(name)).then_some(name)
}

/// What the list of commands says about those whose program is not installed.
pub(crate) fn missing() -> Option<String> {
    (!executables::is_installed(ARCHIVE)).then(|| {
        "The commands archive, serve, push and fleet need the program tardy-archive, which is not installed:\n\
         packages of tardy contain it, and in a clone 'make all' builds it."
            .to_owned()
    })
}
