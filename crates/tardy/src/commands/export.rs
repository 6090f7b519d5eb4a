//! `tardy export`: converts a run to another tool's format.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tardy_formats::{EXPORTS, ExportContent, ExportFormat, ExportOptions, Unit, export, what_is_lost};
use tardy_recipe::wrong;

use tardy_args::ExportArgs;
use tardy_command::{Exit, output};

/// Writes a run in another format.
pub(crate) fn run(arguments: &ExportArgs) -> Result<Exit> {
    if arguments.list {
        return output::list_formats(
            EXPORTS.iter().map(|format| (format.name, format.about)),
            arguments.json,
        );
    }
    let (Some(path), Some(format)) = (&arguments.run, arguments.to) else { bail!("no run, or no --to") };
    let name = format.name;
    refuse_unused(arguments, format)?;
    if format.several_files && arguments.output.is_none() {
        return Err(wrong("to", format!("{name} consists of several files; name them with -o NAME")).into());
    }
    if format.content == ExportContent::TraceBytes
        && arguments.output.is_none()
        && std::io::stdout().is_terminal()
    {
        return Err(wrong("to", format!("{name} is not text; name its file with -o FILE")).into());
    }
    let run = output::open_run(path, arguments.redaction)?;
    let options = ExportOptions {
        unit: arguments.unit.map_or(Unit::Us, Into::into),
        limit_ns: arguments.limit.map(|limit| limit.ns()),
        outlier: arguments.outlier.unwrap_or(1),
    };
    if !run.validity.valid {
        output::report(&format!("{}: this run is invalid, which {name} may not show", path.display()));
    }
    let parts = export(&run, format, &options).with_context(|| path.display().to_string())?;
    for lost in what_is_lost(&run, format) {
        output::report(&format!("{}: {name}: {lost}", path.display()));
    }
    match &arguments.output {
        None => parts.iter().try_for_each(|(_, content)| match std::str::from_utf8(content) {
            Ok(text) if format.content != ExportContent::TraceBytes => output::print_content(text),
            _ => output::print_bytes(content),
        })?,
        Some(output) => {
            let place = |suffix: &str| PathBuf::from(format!("{}{suffix}", output.display()));
            let files = parts.iter().map(|(suffix, _)| {
                tardy_command::output::claim(&place(suffix), std::slice::from_ref(path), arguments.force)
            });
            let files = files.collect::<Result<Vec<_>>>()?;
            for (file, (_, content)) in files.iter().zip(&parts) {
                file.write(content)?;
                tardy_command::output::report(&format!("{name} {}", file.path().display()));
            }
        }
    }
    if format.name != "junit" {
        return Ok(Exit::of_run(&run));
    }
    let mut judged = run;
    judged.plan.limit_ns = options.limit_ns.or(judged.plan.limit_ns);
    Ok(Exit::of_verdict(&judged))
}

/// Refuses options that the format does not use.
fn refuse_unused(arguments: &ExportArgs, format: &ExportFormat) -> Result<()> {
    if arguments.unit.is_some() && !format.name.starts_with("cyclictest") {
        return Err(wrong("unit", format!("{} has a fixed unit; remove --unit", format.name)).into());
    }
    if arguments.outlier.is_some() && format.content == ExportContent::Counts {
        return Err(wrong("outlier", format!("{} holds no trace; remove --outlier", format.name)).into());
    }
    if arguments.limit.is_some() && format.name != "junit" {
        return Err(wrong("limit", format!("{} has no verdict; remove --limit", format.name)).into());
    }
    Ok(())
}
