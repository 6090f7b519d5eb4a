//! What every fuzz target does: imports bytes in one format, and holds what comes of it to the run file's own checks.

use tardy_formats::{ImportOptions, Unit, detect, import_bytes};
use tardy_record::file;

/// Imports `bytes` as `format`; an error is as good as a run, a run that contradicts itself is not.
pub fn import_as(format: &str, bytes: &[u8]) {
    let format = detect::by_name(format).expect("targets are named for formats");
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    if let Ok(imported) = import_bytes(bytes, "fuzz", Some(format), &options) {
        let text = file::to_text(&imported.run);
        file::from_text(text.as_bytes()).expect("an imported run can be read again");
    }
}

/// Imports `bytes` as whatever they seem to be, compressions and archives included.
pub fn import_detected(bytes: &[u8]) {
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    let _ = import_bytes(bytes, "fuzz", None, &options);
    let mut tar = tardy_formats::archive::Tar::new(bytes);
    while let Ok(Some(_)) = tar.next_member() {}
}
