//! The request for a run, and the run's outcome.

use std::path::PathBuf;

use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::plan::Plan;
use tardy_record::run::Origin;
use tardy_record::stop_rule::Decision;
use tardy_sys::clock::Clock;
use thiserror::Error;

use crate::programs::Programs;

use super::result_file::ResultFileError;
use super::sample_file::SampleFileError;

/// Everything that a run needs.
#[derive(Clone, Debug)]
pub struct Request {
    /// The plan.
    pub plan: Plan,
    /// Facts about the machine.
    pub facts: Facts,
    /// The run's origin: its id, time and command.
    pub origin: Origin,
    /// Path of the run file.
    pub output: PathBuf,
    /// Path of the samples file, if one is written.
    pub samples: Option<PathBuf>,
    /// Whether the listener receives every sample.
    pub reports_samples: bool,
    /// The log of ptp4l or phc2sys that is followed during the run, if any.
    pub ptp4l_log: Option<PathBuf>,
    /// Whether existing files of these names may be replaced.
    pub force: bool,
    /// Decides, by the run so far, what phase of this index shows about the claim of [`Plan::until`]. It is needed if the plan has
    /// such a rule; `None` from a program that does not analyse runs.
    pub decide: Option<fn(&Run, usize) -> Decision>,
    /// The programs that the run starts.
    pub programs: Programs,
    /// Where kernel files are read: `/`, or a directory with synthetic ones.
    pub kernel_root: PathBuf,
    /// Seed of a synthetic measurement; `None` for a real one.
    pub fake: Option<u64>,
    /// Whether the run ends with an error, before anything is measured, if the kernel refuses the plan's scheduling policy.
    pub requires_policy: bool,
    /// Whether the run file is redacted ([`tardy_redact`]), at every checkpoint. The outcome's run is not.
    pub redacts: bool,
    /// Whether this is a guest of the lab, which ends with the run. Then the run file is not written while a phase measures, and
    /// memory is not released: both would take time of the CPU that is measured.
    pub is_in_guest: bool,
    /// The clock on a full second of which every phase starts; `None` if phases start at once.
    pub starts_on_second_of: Option<Clock>,
    /// Whether threads of this process measure. The process is then not confined to the plan's housekeeping CPU.
    pub measures_in_process: bool,
}

impl Request {
    /// A real run of `plan` on this machine, into the new file `output`, without samples.
    pub fn new(plan: Plan, facts: Facts, origin: Origin, output: PathBuf, programs: Programs) -> Self {
        Self {
            plan,
            facts,
            origin,
            output,
            samples: None,
            reports_samples: false,
            ptp4l_log: None,
            force: false,
            decide: None,
            programs,
            kernel_root: PathBuf::from("/"),
            fake: None,
            requires_policy: false,
            redacts: false,
            is_in_guest: false,
            starts_on_second_of: None,
            measures_in_process: false,
        }
    }

    /// Whether every sample is written or reported.
    pub(crate) fn takes_samples(&self) -> bool {
        self.samples.is_some() || self.reports_samples
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The run, sealed unless its file could not be written.
    pub run: Run,
    /// The error that ended the run early, or because of which its file could not be written. The run contains the
    /// measurements up to then.
    pub trouble: Option<String>,
    /// Whether the run file holds the run.
    pub is_saved: bool,
}

/// Why there is no run.
#[derive(Debug, Error)]
pub enum RunError {
    /// The run file cannot be written.
    #[error(transparent)]
    File(#[from] ResultFileError),
    /// The samples file cannot be written.
    #[error(transparent)]
    Samples(#[from] SampleFileError),
    /// The measurement could not start.
    #[error("{0}")]
    Start(String),
}
