//! `tardy serve`: an archive as a server.

use anyhow::Result;
use tardy_args::ServeArgs;
use tardy_server::{Reading, Settings, start};

use crate::archive;
use tardy_command::{Exit, identity, output};

/// Serves until the process is asked to end.
pub(crate) fn run(arguments: &ServeArgs) -> Result<Exit> {
    let archive::ToServe { records, open, may_write } = archive::to_serve(&arguments.archive)?;
    let reading = match arguments.public || (arguments.listen.ip().is_loopback() && !arguments.private) {
        true => Reading::Anyone,
        false => Reading::Tokens,
    };
    let settings = Settings {
        archive: records,
        listen: arguments.listen,
        names: arguments.hosts.clone(),
        reading,
        may_write,
        made_by: identity::get().to_owned(),
    };
    let is_private = reading == Reading::Tokens && may_write && arguments.archive.is_dir();
    if is_private && archive::make_private(&arguments.archive)? {
        output::report(&format!(
            "the directory {} is now readable by its owner alone",
            arguments.archive.display()
        ));
    }
    let server = start(settings, open)?;
    let readers = match reading {
        Reading::Anyone => "anyone may read",
        Reading::Tokens => "reading needs a token",
    };
    output::report(&format!(
        "archive {} at http://{}/; {readers}; Ctrl-C ends it",
        arguments.archive.display(),
        server.address()
    ));
    server.wait_for_signal()?;
    Ok(Exit::Done)
}
