//! `tardy archive export`: an archive as files of another format.

use anyhow::Result;
use tardy_args::ArchiveExportArgs;

use tardy_command::Exit;

/// Writes the archive.
#[cfg(feature = "warehouse")]
pub(super) fn run(arguments: &ArchiveExportArgs) -> Result<Exit> {
    use tardy_args::ArchiveFormat;
    use tardy_plot::numbers::counted;

    use crate::stores;
    use tardy_command::output;

    let archive = stores::to_read(&arguments.archive)?;
    let exported = match arguments.to {
        ArchiveFormat::Parquet => tardy_warehouse::export(archive.as_ref(), &arguments.output)?,
    };
    if arguments.json {
        output::print_json(&exported)?;
    } else {
        exported.unreadable.iter().for_each(|error| output::report(error));
        let count = |number: usize, one: &str, many: &str| counted(number as u64, one, many);
        let written = count(exported.days_written, "day", "days");
        let removed = match exported.days_removed {
            0 => String::new(),
            removed => format!(", {removed} removed"),
        };
        let runs = count(exported.runs, "run", "runs");
        output::report(&format!("export {}: {runs}, {written} written{removed}", arguments.output.display()));
    }
    Ok(if exported.unreadable.is_empty() { Exit::Done } else { Exit::CouldNot })
}

/// Refuses.
#[cfg(not(feature = "warehouse"))]
pub(super) fn run(arguments: &ArchiveExportArgs) -> Result<Exit> {
    anyhow::bail!(
        "this tardy-archive was built without the feature 'warehouse', so it cannot export {}; use one that has it",
        arguments.archive.display()
    )
}
