//! The bodies of the fuzz targets. The targets with names of formats import bytes and check that the run can be written and read
//! again; the others are the modules.

pub mod guest;
pub mod http;
pub mod journal;
pub mod maps;
pub mod names;
pub mod netlink;
pub mod program;
pub mod run_file;
pub mod run_structure;

use tardy_formats::{ImportOptions, Unit, detect, import_bytes};
use tardy_record::file;

/// Imports `bytes` as `format`. The result may be an error, but not a run that contradicts itself.
pub fn import_as(format: &str, bytes: &[u8]) {
    let format = detect::by_name(format).expect("targets have the names of formats");
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    if let Ok(imported) = import_bytes(bytes, "fuzz", Some(format), &options) {
        let text = file::to_text(&imported.run);
        file::from_text(text.as_bytes()).expect("an imported run can be read again");
    }
}

/// Imports `bytes` in the detected format, with compressions and archives.
pub fn import_detected(bytes: &[u8]) {
    let options = ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() };
    let _ = import_bytes(bytes, "fuzz", None, &options);
    let mut tar = tardy_unpack::Tar::new(bytes);
    while let Ok(Some(_)) = tar.next_member() {}
}
