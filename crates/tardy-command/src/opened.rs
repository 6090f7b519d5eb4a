//! Opening a run file, as tardy wrote it or as an archive keeps it.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use tardy_analyse::name;
use tardy_measure::recovery::{self, Opened};
use tardy_record::file;
use tardy_sys::files;

use crate::archives;

/// A file is a run file if this key is near its beginning.
const KEY: &[u8] = b"\"schema_version\"";
/// How much of the beginning of a file is searched for [`KEY`], in bytes.
const BEGINNING: u64 = 256;
/// What stands for standard input among run files.
const STANDARD_INPUT: &str = "-";
/// The end of the name of a compressed run file.
const COMPRESSED: &str = ".run.json.gz";

/// Opens a run file. A killed run is completed from its map in memory; the file stays as it is. A run from an archive that has no name
/// is named after the file that was added.
///
/// # Errors
/// If the file cannot be read or does not contain a run.
pub fn open(path: &Path) -> Result<Opened> {
    let context = || path.display().to_string();
    let stored = match archives::stored_at(path)? {
        Some(stored) => stored,
        None if !is_compressed_run(path) => return Ok(recovery::open(path)?),
        None => tardy_archive::read_compressed(files::open_to_read(path).with_context(context)?)
            .with_context(|| format!("{}, which is compressed", path.display()))?,
    };
    let mut run = file::from_text(&stored.content).with_context(context)?;
    name::after_file(&mut run, &stored.name);
    Ok(Opened { run, remark: None })
}

/// Whether a file is a run file, by its beginning, or by its name if it is compressed.
///
/// # Errors
/// If it cannot be read.
pub fn is_run_file(path: &Path) -> std::io::Result<bool> {
    if is_compressed_run(path) {
        return Ok(true);
    }
    let mut beginning = Vec::new();
    files::open_to_read(path)?.take(BEGINNING).read_to_end(&mut beginning)?;
    let starts_object = beginning.trim_ascii_start().starts_with(b"{");
    Ok(starts_object && beginning.windows(KEY.len()).any(|bytes| bytes == KEY))
}

fn is_compressed_run(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(COMPRESSED)) && path.is_file()
}

/// The content of a run file, and its name. One that is compressed as in an archive is read as it was added.
pub fn content_of(path: &Path) -> Result<(String, Vec<u8>)> {
    let context = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    match path == Path::new(STANDARD_INPUT) {
        true => std::io::stdin().lock().read_to_end(&mut bytes),
        false => files::open_to_read(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    }
    .with_context(context)?;
    if tardy_archive::is_compressed(&bytes) {
        let stored = tardy_archive::read_compressed(bytes.as_slice()).with_context(context)?;
        return Ok((stored.name, stored.content));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((name, bytes))
}
