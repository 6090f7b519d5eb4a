//! Other tools' files.
//!
//! Importing has three steps: [`archive`] decompresses, [`detect`] recognises the format, and the importer of that format
//! returns the content, from which a run is made. The run names what the file does not contain. All input is hostile:
//! lines, documents, expansions and counts are bounded, and a contradiction is an error that names the place, or a run that
//! is marked invalid with the reason.
//!
//! The road not taken: one reader that guesses columns, as plot scripts do. Every format here has a trap for such a reader
//! (docs/formats.md lists them), and a wrong number is worse than none.

pub mod archive;
mod capture;
mod command_line;
mod csv_records;
pub mod cyclictest;
mod dates;
pub mod detect;
mod error;
mod export;
mod hdr;
mod import;
mod imported;
mod json;
pub mod lines;
mod read_more;
mod run;
pub mod skipped;
mod xml;
mod zip;

use std::io::Read;

use tardy_record::Run;

use archive::Content;
pub use detect::{FORMATS, Format};
pub use error::{ExportError, ImportError};
pub use export::{EXPORTS, ExportFormat, ExportOptions, Part, export, what_is_lost};
pub use import::ImportOptions;
pub use imported::{TimeUnit, Unit, Used};

/// An imported file.
#[derive(Debug)]
pub struct ImportedRun {
    /// The run made from it.
    pub run: Run,
    /// The file's format.
    pub format: &'static str,
    /// Which options had an effect.
    pub used: Used,
    /// Where a capture states the unit of its times and which unit it is, as a sentence. `None` if it does not.
    pub time_unit_stated: Option<String>,
}

/// Imports `content`, from the file `name`, as `format`. Without `format`, the content decides.
///
/// # Errors
/// If it cannot be read, its format is unknown or it is inconsistent. The error names the place.
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

/// The unit from another file next to `path`, for formats that keep it there: the unit of jitterdebugger's samples is in
/// results.json.
pub fn unit_beside(path: &std::path::Path) -> Option<Unit> {
    if path.file_name()? != "samples.raw" {
        return None;
    }
    let mut file = std::fs::File::open(path.with_file_name("results.json")).ok()?;
    let document = json::parse(&json::whole(&mut file).ok()?).ok()?;
    let root = json::Object::root(&document).ok()?;
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
