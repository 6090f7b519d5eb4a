//! `tardy lab kernels`: what is here, and what the distribution offers.

use anyhow::Result;

use crate::args::LabKernelsArgs;
use crate::exit::Exit;

/// Lists kernels.
pub(super) fn run(_arguments: &LabKernelsArgs) -> Result<Exit> {
    anyhow::bail!("not yet")
}
