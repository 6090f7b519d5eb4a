//! The program `tardy-probe`, which tardy contains.

use std::path::Path;

use tardy_measure::ProbeProgram;

/// `tardy-probe`, built by build.rs.
static TARDY_PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tardy-probe"));

/// The probe's program, where `exe` is tardy's.
pub(crate) fn for_the_probe(exe: &Path) -> ProbeProgram {
    ProbeProgram::new(TARDY_PROBE, exe.to_owned())
}
