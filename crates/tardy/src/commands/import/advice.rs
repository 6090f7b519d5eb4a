//! Messages of an import that advise the user.

use std::ffi::OsString;

use tardy_formats::ImportedRun;
use tardy_load::quoted;
use tardy_plot::numbers::{counted, first_few, with_unit};
use tardy_record::units::format_duration_ns;

/// A mean above this many intervals makes the unit doubtful: the tool would have been late all the time.
const INTERVALS_MAX: f64 = 10.0;

/// The message that files were not imported since their unit is unknown, with the command that imports them.
pub(super) fn units(files: &[String]) -> String {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    units_for(files, &arguments)
}

fn units_for(files: &[String], arguments: &[OsString]) -> String {
    let not = counted(
        files.len() as u64,
        "file does not state its unit and was not imported",
        "files do not state their unit and were not imported",
    );
    let words: Vec<String> = arguments.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    format!(
        "{not}: {}\nus is the tools' default, and ns the unit of cyclictest -N. If all are in us, this imports them:\n  tardy {} \
         --unit us\nIf some are in ns, add --unit 'PATTERN=ns' for these before it",
        first_few(files, ", "),
        words.join(" ")
    )
}

/// The message that symbolic links were not followed.
pub(super) fn links(links: &[String]) -> String {
    let not = counted(
        links.len() as u64,
        "symbolic link leads out of its directory and was not followed",
        "symbolic links lead out of their directory and were not followed",
    );
    format!("{not}: {}", first_few(links, ", "))
}

/// Files that are not those of a known tool.
pub(super) fn skipped(files: &[String]) -> String {
    let skipped = counted(files.len() as u64, "file skipped", "files skipped");
    format!("{skipped}: unknown format: {}", first_few(files, ", "))
}

/// A doubt about the unit, if the mean of a series is many times its interval.
pub(super) fn unlikely_unit(imported: &ImportedRun) -> Option<String> {
    imported.run.own_series().find_map(|series| {
        let interval_ns = series.foreign()?.interval_ns.get().filter(|ns| *ns > 0)?;
        let mean_ns = series.mean_ns()?;
        let times = mean_ns / interval_ns as f64;
        (times > INTERVALS_MAX).then(|| {
            format!(
                "the mean of {}, {}, is {times:.0} times the interval of {}; check the unit: read as ns, it would be {}",
                series.label,
                with_unit(mean_ns),
                format_duration_ns(interval_ns),
                with_unit(mean_ns / 1000.0)
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_contains_the_command_that_imports_the_rest() {
        let files: Vec<String> = (1..=7).map(|number| format!("old/{number}.txt")).collect();
        let arguments = ["import", "it's old", "-o", "runs"].map(OsString::from);
        let text = units_for(&files, &arguments);
        assert!(
            text.starts_with("7 files do not state their unit and were not imported: old/1.txt, "),
            "{text}"
        );
        assert!(text.contains("old/5.txt, and 2 more\n"), "{text}");
        assert!(text.contains(r"tardy import 'it'\''s old' -o runs --unit us"), "{text}");
    }
}
