//! Reports that commands write.

use anyhow::Result;
use tardy_measure::engine::result_file::ResultFile;
use tardy_present::report::{self, Chapter};
use tardy_record::Run;

use crate::{output, published};

/// Writes the report of `runs` and prints its path.
///
/// # Errors
/// If it cannot be written.
pub fn write(runs: &[Run], file: &ResultFile) -> Result<()> {
    let runs: Vec<&Run> = runs.iter().collect();
    finish(&report::html(&runs, &published::options()), file)
}

/// Writes one report of several experiments, one chapter each, and prints its path.
///
/// # Errors
/// If it cannot be written.
pub fn write_chapters(chapters: &[Chapter<'_>], file: &ResultFile) -> Result<()> {
    finish(&report::html_of_chapters(chapters, &published::options()), file)
}

/// Writes a page and prints its path.
///
/// # Errors
/// If it cannot be written.
pub fn finish(page: &str, file: &ResultFile) -> Result<()> {
    file.write(page.as_bytes())?;
    output::report(&format!("report {}", file.path().display()));
    Ok(())
}
