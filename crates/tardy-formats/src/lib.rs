//! Other tools' files.
//!
//! Importing goes in three steps: [`archive`] takes compressions off, [`detect`] finds out which format a file is in, and
//! the importer of that format gives what is there, from which a run is made that says what the file did not. All input is
//! hostile: lines, documents, expansions and counts are bounded, and what contradicts itself is an error that names the
//! place, or a run that is marked invalid with the reason.
//!
//! The road not taken: one reader that guesses columns, as plot scripts do. Every format here has a trap that such a reader
//! falls into (docs/formats.md lists them), and a wrong number is worse than none.

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

/// A file that was imported.
#[derive(Debug)]
pub struct ImportedRun {
    /// The run that it makes.
    pub run: Run,
    /// The format that it was in.
    pub format: &'static str,
    /// Which of the options were of use.
    pub used: Used,
    /// Where a capture says the unit of its times, and which it is, as a sentence; absent where it does not.
    pub time_unit_said: Option<String>,
}

/// Imports what `content` holds, which is of the file called `name`, in `format` or the one that its content has.
///
/// # Errors
/// Where it cannot be read, is in no known format, or makes no sense; the error says where.
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
    let (used, time_unit_said) = (imported.used, imported.time_unit_said.take());
    let run = run::of(imported, format.name, name)?;
    Ok(ImportedRun { run, format: format.name, used, time_unit_said })
}

/// The unit that a file beside `path` tells, for a format that leaves it to another file: jitterdebugger's samples have
/// theirs in the results beside them.
pub fn unit_beside(path: &std::path::Path) -> Option<Unit> {
    if path.file_name()? != "samples.raw" {
        return None;
    }
    let mut file = std::fs::File::open(path.with_file_name("results.json")).ok()?;
    let document = json::parse(&json::whole(&mut file).ok()?).ok()?;
    let root = json::Object::root(&document).ok()?;
    import::jitterdebugger::unit(&root.object("sysinfo").ok()??).ok()
}

/// The same of bytes in memory.
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
