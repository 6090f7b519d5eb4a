//! What stands for the server in a build without it, such as one for a small board.

use anyhow::{Result, bail};
use tardy_args::ServeArgs;

use tardy_command::Exit;

/// Refuses.
pub(crate) fn run(arguments: &ServeArgs) -> Result<Exit> {
    bail!(
        "this tardy was built without the feature 'server', so it cannot serve {}; use the packages for amd64 or arm64, \
         and 'tardy push' on this machine",
        arguments.archive.display()
    )
}
