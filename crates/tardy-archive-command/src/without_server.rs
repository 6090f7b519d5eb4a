//! What stands for archives in a build without SQLite, such as one for a small board.

/// The commands of `tardy archive`.
pub(crate) mod archive {
    use anyhow::Result;
    use tardy_args::ArchiveCommand;
    use tardy_command::Exit;

    pub(crate) fn run(command: &ArchiveCommand) -> Result<Exit> {
        super::refuse(command.archive())
    }
}

/// `tardy serve`.
pub(crate) mod serve {
    use anyhow::Result;
    use tardy_args::ServeArgs;
    use tardy_command::Exit;

    pub(crate) fn run(arguments: &ServeArgs) -> Result<Exit> {
        super::refuse(&arguments.archive)
    }
}

/// The hidden commands.
pub(crate) mod service {
    use std::path::Path;

    use anyhow::Result;
    use tardy_command::Exit;

    pub(crate) fn answer(words: &[&str]) -> Result<Exit> {
        super::refuse(Path::new(words.last().copied().unwrap_or_default()))
    }
}

fn refuse<T>(archive: &std::path::Path) -> anyhow::Result<T> {
    anyhow::bail!(
        "this tardy-archive was built without the feature 'server', so it cannot use {}; use the packages for amd64 or arm64, and \
         'tardy push' on this machine",
        archive.display()
    )
}
