//! Formats of other tools, by name (`import --as`, `export --to`).

use tardy_formats::{EXPORTS, ExportFormat, FORMATS, Format, detect};

/// The importer of this name.
///
/// # Errors
/// A message with the names that exist.
pub fn import_format(name: &str) -> Result<&'static Format, String> {
    detect::by_name(name).ok_or_else(|| unknown(name, FORMATS.iter().map(|format| format.name)))
}

/// The export of this name.
///
/// # Errors
/// A message with the names that exist.
pub fn export_format(name: &str) -> Result<&'static ExportFormat, String> {
    let found = EXPORTS.iter().find(|format| format.name == name);
    found.ok_or_else(|| unknown(name, EXPORTS.iter().map(|format| format.name)))
}

fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    format!("unknown format {name}; expected one of {}", known.collect::<Vec<_>>().join(", "))
}
