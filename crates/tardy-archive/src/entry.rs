//! What an archive knows about a run without opening it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tardy_analyse::causes;
use tardy_analyse::judgement::{self, Judgement};
use tardy_analyse::name;
use tardy_compare::history;
use tardy_compare::overview::{self, OverviewRow};
use tardy_record::Run;
use tardy_record::facts::Preemption;

use crate::address::sha256;
use crate::day::Day;
use crate::{Address, KernelVersion};

/// The name of phases without a load, in a search.
const NO_LOAD: &str = "none";

/// What is searched for, and shown in lists, of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its row in an overview.
    pub row: OverviewRow,
    /// The name of the machine and its board, as in `rack3, Raspberry Pi 4 Model B`; empty if both are unknown.
    pub machine: String,
    /// The beginning of the kernel's release as numbers.
    pub version: Option<KernelVersion>,
    /// The preemption model.
    pub preemption: Option<Preemption>,
    /// The loads of all phases, `none` for a phase without one.
    pub loads: Vec<String>,
    /// The limit that the run declares, in ns.
    pub limit_ns: Option<u64>,
    /// Whether it was met.
    pub judgement: Judgement,
    /// The causes of its late wake-ups, the most frequent first, as in `interrupts off: disturb`.
    pub causes: Vec<String>,
    /// What a history keeps of it.
    pub history: history::Entry,
}

impl Entry {
    /// The day of its start, as in 2026-11-26; `None` if it is unknown or not a day.
    pub fn day(&self) -> Option<&str> {
        self.row.started_at.get(..Day::LENGTH).filter(|day| day.parse::<Day>().is_ok())
    }
}

/// The options of a kernel's configuration, without the prefix `CONFIG_`.
pub(crate) type Config = BTreeMap<String, String>;

/// The digest by which equal configurations of kernels are recognised.
pub fn config_digest(config: &BTreeMap<String, String>) -> String {
    let text: String = config.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    sha256(text.as_bytes())
}

/// A run as it is searched for.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What is known about it.
    pub entry: Entry,
    /// The configuration of its kernel; `None` if it is unknown.
    pub config: Option<BTreeMap<String, String>>,
}

impl Outcome {
    /// That of `run`, whose file had this name when it was added. A run without a name is named after its file.
    pub fn of_file(run: &mut Run, name: &str, address: &Address) -> Self {
        name::after_file(run, name);
        Self::of(run, &address.path().display().to_string())
    }

    /// As [`Self::of_file`]. A fault of tardy, which a run with numbers that no code expects can meet, is an error of this run alone.
    ///
    /// # Errors
    /// The fault.
    #[cfg(feature = "database")]
    pub(crate) fn of_any_file(
        run: &mut Run,
        name: &str,
        address: &Address,
    ) -> Result<Self, crate::ArchiveError> {
        let made =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Self::of_file(run, name, address)));
        made.map_err(|panic| {
            if tardy_analyse::stop::is_stop(&*panic) {
                std::panic::resume_unwind(panic);
            }
            let reason = tardy_analyse::stop::message_of(&*panic).unwrap_or("the run cannot be analysed");
            crate::ArchiveError::Fault(reason.to_owned())
        })
    }

    /// That of `run`, which is in `file`.
    pub fn of(run: &Run, file: &str) -> Self {
        let kernel = &run.facts.kernel;
        let real_time = kernel.real_time.get().copied().unwrap_or(false);
        let entry = Entry {
            row: overview::row(run, file),
            machine: overview::machine(run),
            version: kernel.release.get().and_then(|release| KernelVersion::of_release(release)),
            preemption: kernel.preemption.get().copied().or(real_time.then_some(Preemption::Rt)),
            loads: loads(run),
            limit_ns: run.plan.limit_ns,
            judgement: judgement::of(run),
            causes: causes_of(run),
            history: history::Entry::of(run, file),
        };
        Self { entry, config: kernel.config.get().cloned() }
    }
}

/// The loads of all phases of a run, each once, `none` for a phase without one.
pub fn loads(run: &Run) -> Vec<String> {
    let mut loads: Vec<String> = Vec::new();
    for phase in &run.plan.phases {
        let names = phase.loads.iter().map(ToString::to_string);
        loads.extend(names);
        if phase.loads.is_empty() {
            loads.push(NO_LOAD.to_owned());
        }
    }
    loads.sort_unstable();
    loads.dedup();
    loads
}

fn causes_of(run: &Run) -> Vec<String> {
    let tally = causes::tally(&causes::of(run));
    tally.into_iter().map(|(how, occupant, _)| format!("{}: {occupant}", how.name())).collect()
}
