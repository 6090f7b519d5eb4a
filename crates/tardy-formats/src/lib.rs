//! Imports the files of other measurement tools as runs, and exports runs to their formats.
//!
//! An import has three steps: [`tardy_unpack`] decompresses the file, [`detect`] recognises the format, and the importer of
//! that format parses the content, from which a run is made. Values that the file does not contain are unknown in the
//! run. All input is untrusted: lines, documents, expansions and counts are bounded. A contradiction in a file is an
//! error that names the place, or makes the run invalid with a reason.
//!
//! Rejected alternative: one reader that guesses the columns, as plot scripts do. It would read wrong numbers from
//! every format here; docs/formats.md lists the reasons.

mod capture;
mod command_line;
mod counting_thread;
mod csv_records;
pub mod cyclictest;
mod dates;
pub mod detect;
mod error;
mod export;
mod hdr;
mod import;
mod imported;
pub mod lines;
mod run;
pub mod skipped;

use std::io::Read;

use tardy_record::Run;

pub use detect::{FORMATS, Format};
pub use error::{ExportError, ImportError};
pub use export::{EXPORTS, ExportContent, ExportFormat, ExportOptions, Part, export, what_is_lost};
pub use import::ImportOptions;
pub use imported::{TimeUnit, Unit, Used};
use tardy_unpack::{Content, json};

/// An imported file.
#[derive(Debug)]
pub struct ImportedRun {
    /// The run made from the file.
    pub run: Run,
    /// The file's format.
    pub format: &'static str,
    /// The options that had an effect.
    pub used: Used,
    /// If a capture states the unit of its times: the place and the unit, as a sentence.
    pub time_unit_stated: Option<String>,
}

/// Imports `content` of the file `name` as `format`. If that is `None`, the format is recognised by the content.
///
/// # Errors
/// If the content cannot be read, has an unknown format or contradicts itself. The error names the place.
pub fn import(
    content: &mut Content<'_>,
    name: &str,
    format: Option<&'static Format>,
    options: &ImportOptions,
) -> Result<ImportedRun, ImportError> {
    let cut_off = |error: ImportError, how: Option<String>| match how {
        Some(how) => ImportError::CutOff { how, error: Box::new(error) },
        None => error,
    };
    if content.head().iter().all(u8::is_ascii_whitespace) {
        return Err(cut_off(ImportError::Empty, content.cut_off()));
    }
    let format = format.or_else(|| detect::of(content.head()));
    let unknown = || content.wrapping().map_or(ImportError::NoFormat, ImportError::Wrapped);
    let format = format.ok_or_else(|| cut_off(unknown(), content.cut_off()))?;
    let mut imported = (format.import)(content as &mut dyn Read, options)
        .map_err(|error| cut_off(error, content.cut_off()))?;
    if let Some(how) = content.cut_off() {
        imported.cut_short = true;
        imported.remarks.push(how);
    }
    let (used, time_unit_stated) = (imported.used, imported.time_unit_stated.take());
    let run = run::of(imported, format.name, name)?;
    Ok(ImportedRun { run, format: format.name, used, time_unit_stated })
}

/// The unit of the values in the file `path`, if another file in the same directory states it: results.json has the
/// unit of jitterdebugger's samples.raw.
pub fn unit_beside(path: &std::path::Path) -> Option<Unit> {
    if path.file_name()? != "samples.raw" {
        return None;
    }
    unit_of_results(&mut std::fs::File::open(path.with_file_name("results.json")).ok()?)
}

/// The unit that jitterdebugger's results.json states; `None` if the content is something else.
pub fn unit_of_results(content: &mut dyn Read) -> Option<Unit> {
    let mut root = json::parse(content).ok()?;
    import::jitterdebugger::unit(&root.object("sysinfo").ok()??).ok()
}

/// Imports bytes in memory.
///
/// # Errors
/// As [`import()`].
pub fn import_bytes(
    bytes: &[u8],
    name: &str,
    format: Option<&'static Format>,
    options: &ImportOptions,
) -> Result<ImportedRun, ImportError> {
    import(&mut Content::open(bytes)?, name, format, options)
}
