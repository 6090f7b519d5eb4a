//! `tardy export`: runs as other tools' files.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tardy_formats::{EXPORTS, ExportFormat, ExportOptions, Unit, export, what_is_lost};
use tardy_record::units::parse_duration_ns;

use super::output;
use crate::args::ExportArgs;
use crate::exit::Exit;
use crate::resolve::wrong;

/// Writes a run in another format.
pub(crate) fn run(arguments: &ExportArgs) -> Result<Exit> {
    if arguments.list {
        return list();
    }
    let (Some(path), Some(name)) = (&arguments.run, &arguments.to) else { bail!("no run, or no --to") };
    let format = named(name)?;
    refuse_unused(arguments, format)?;
    if format.several_files && arguments.output.is_none() {
        return Err(wrong("to", format!("{name} is more than one file; say -o NAME")).into());
    }
    let run = output::open_run(path)?;
    let options = ExportOptions {
        unit: arguments.unit.map_or(Unit::Us, Into::into),
        limit_ns: arguments.limit.as_deref().map(parse_duration_ns).transpose()?,
    };
    if !run.validity.valid {
        output::tell(&format!(
            "{}: this run is invalid, and {name} may have no place to say so",
            path.display()
        ));
    }
    let parts = export(&run, format, &options).with_context(|| path.display().to_string())?;
    for lost in what_is_lost(&run, format) {
        output::tell(&format!("{}: {name}: {lost}", path.display()));
    }
    match &arguments.output {
        None => parts.iter().try_for_each(|(_, text)| output::print(text))?,
        Some(output) => {
            let place = |suffix: &str| PathBuf::from(format!("{}{suffix}", output.display()));
            let files = parts.iter().map(|(suffix, _)| {
                super::output::claim(&place(suffix), std::slice::from_ref(path), arguments.force)
            });
            let files = files.collect::<Result<Vec<_>>>()?;
            for (file, (_, text)) in files.iter().zip(&parts) {
                file.write(text.as_bytes())?;
                super::output::tell(&format!("{name} {}", file.path().display()));
            }
        }
    }
    Ok(Exit::of_run(&run))
}

fn list() -> Result<Exit> {
    let width = EXPORTS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let lines: String =
        EXPORTS.iter().map(|format| format!("{:width$}  {}\n", format.name, format.about)).collect();
    output::print(&lines)?;
    Ok(Exit::Done)
}

fn named(name: &str) -> Result<&'static ExportFormat> {
    EXPORTS.iter().find(|format| format.name == name).ok_or_else(|| {
        let names: Vec<&str> = EXPORTS.iter().map(|format| format.name).collect();
        wrong("to", format!("{name}: there is no such format; it is one of {}", names.join(", "))).into()
    })
}

/// An option that changes nothing was meant for something else.
fn refuse_unused(arguments: &ExportArgs, format: &ExportFormat) -> Result<()> {
    if arguments.unit.is_some() && !format.name.starts_with("cyclictest") {
        return Err(wrong("unit", format!("{} says its unit itself; leave it out", format.name)).into());
    }
    if arguments.limit.is_some() && format.name != "junit" {
        return Err(wrong("limit", format!("{} judges nothing; leave it out", format.name)).into());
    }
    Ok(())
}
