//! The programs that tardy starts, and the reader of other programs' output.

use anyhow::{Context, Result};
use tardy_formats::ImportOptions;
use tardy_host::co_kernel::LATMUS_PLOT;
use tardy_measure::{ProbeProgram, Programs};
use tardy_record::Run;

/// `tardy-probe`, built by build.rs.
static TARDY_PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tardy-probe"));

/// This executable and the probe that it contains.
pub(crate) fn of_tardy() -> Result<Programs> {
    let own = std::env::current_exe()
        .context("cannot find the path of this program, which runs the loads and the probe")?;
    let probe = ProbeProgram::new(TARDY_PROBE, own.clone());
    Ok(Programs { own, probe, read_output })
}

fn read_output(format: &str, name: &str, output: &[u8]) -> Result<Run, String> {
    let importer = tardy_formats::detect::by_name(format).ok_or("its format has no importer")?;
    let options = ImportOptions::default();
    let imported = tardy_formats::import_bytes(plot_in(format, output), name, Some(importer), &options);
    imported.map(|imported| imported.run).map_err(|error| error.to_string())
}

/// The part of the output that is imported: all of it, or for `latmus -g` the plot, which begins with a comment line.
fn plot_in<'a>(format: &str, output: &'a [u8]) -> &'a [u8] {
    if format != LATMUS_PLOT {
        return output;
    }
    let begins = |at: &usize| output[*at] == b'#' && (*at == 0 || output[*at - 1] == b'\n');
    (0..output.len()).find(begins).map_or(output, |at| &output[at..])
}
