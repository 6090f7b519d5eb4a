//! What a run is asked to be, and how it comes out.

use std::path::PathBuf;

use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::plan::Plan;
use tardy_record::run::Origin;
use thiserror::Error;

use super::result_file::ResultFileError;
use super::sample_file::SampleFileError;

/// All that a run needs to know.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to do.
    pub plan: Plan,
    /// What is known of the machine.
    pub facts: Facts,
    /// Whose run it is.
    pub origin: Origin,
    /// Where the run file goes.
    pub output: PathBuf,
    /// Where every sample goes besides, if anywhere.
    pub samples: Option<PathBuf>,
    /// Whether the observer is told of every sample.
    pub tells_samples: bool,
    /// Whether files of these names may be replaced.
    pub force: bool,
    /// The program that serves as the probe: tardy itself.
    pub exe: PathBuf,
    /// Where kernel files are read: `/`, or a made-up tree.
    pub kernel_root: PathBuf,
    /// Invent the measurement from this seed.
    pub fake: Option<u64>,
}

/// How a run came out.
#[derive(Debug)]
pub struct Outcome {
    /// The run, sealed as far as possible.
    pub run: Run,
    /// What went wrong on the way, if anything did; the run holds what was measured until then.
    pub trouble: Option<String>,
}

/// Why there is no run at all.
#[derive(Debug, Error)]
pub enum RunError {
    /// The run file.
    #[error(transparent)]
    File(#[from] ResultFileError),
    /// The samples file.
    #[error(transparent)]
    Samples(#[from] SampleFileError),
    /// The measurement could not start.
    #[error("{0}")]
    Start(String),
}
