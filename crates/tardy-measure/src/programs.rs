//! The programs that a measurement starts.

use std::path::PathBuf;

use tardy_record::Run;

use crate::probe_program::ProbeProgram;

/// Reads the output of another measuring program, in one of the formats that tardy imports, as a run. `name` names the
/// output in errors.
pub type OutputReader = fn(format: &str, name: &str, output: &[u8]) -> Result<Run, String>;

/// The programs that a measurement starts, and how the output of other programs is read.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Path of this executable, whose hidden commands are the loads and the pin guard.
    pub own: PathBuf,
    /// The program of the processes that measure.
    pub probe: ProbeProgram,
    /// Reads what a co-kernel's latency program prints.
    pub read_output: OutputReader,
}
