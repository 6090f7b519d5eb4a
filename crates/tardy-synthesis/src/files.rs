//! The files of an instance, and those of its schedule.

use tardy_tsn::network::Network;

use crate::answer::{Answer, Verdict};
use crate::instance::{InputError, Instance};
use crate::keep::{KeepError, Kept};
use crate::lateness::Lateness;
use crate::read::network::{self, Scheduled};
use crate::read::tsnkit::Tables;
use crate::write;

/// The source of an instance.
#[derive(Clone, Debug)]
pub enum Files {
    /// A switch file.
    Switch {
        /// Its text.
        text: String,
        /// Its content.
        network: Box<Network>,
        /// Its flows that are scheduled.
        scheduled: Box<Scheduled>,
        /// How late frames, gates and talkers can be.
        lateness: Lateness,
        /// The schedule that is extended.
        kept: Option<Box<Kept>>,
    },
    /// TSNKit's tables.
    Tables(Tables),
}

impl Files {
    /// The instance of a switch file; `lateness` is how late frames, gates and talkers can be.
    ///
    /// # Errors
    ///
    /// As [`network::read`].
    pub fn of_switch(network: &Network, text: &str, lateness: Lateness) -> Result<Self, InputError> {
        let scheduled = Box::new(network::read(network, text, lateness)?);
        let network = Box::new(network.clone());
        Ok(Self::Switch { text: text.to_owned(), network, scheduled, lateness, kept: None })
    }

    /// Leaves this share of each port's cycle for best effort, in millionths.
    pub fn leave_for_best_effort(&mut self, ppm: u32) {
        match self {
            Self::Switch { scheduled, .. } => scheduled.instance.best_effort_ppm = ppm,
            Self::Tables(tables) => tables.instance.best_effort_ppm = ppm,
        }
    }

    /// Leaves the flows of the switch file `old` with the text `old_text` where they are. TSNKit's tables keep nothing.
    ///
    /// # Errors
    ///
    /// As [`Kept::read`].
    pub fn keep(&mut self, old: &Network, old_text: &str) -> Result<(), KeepError> {
        if let Self::Switch { network, scheduled, lateness, kept, .. } = self {
            *kept = Some(Box::new(Kept::read(old, old_text, network, scheduled, *lateness)?));
        }
        Ok(())
    }

    /// The flows of a switch file that are scheduled; `None` for tables.
    pub fn scheduled(&self) -> Option<&Scheduled> {
        match self {
            Self::Switch { scheduled, .. } => Some(scheduled),
            Self::Tables(_) => None,
        }
    }

    /// The schedule that is extended.
    pub fn kept(&self) -> Option<&Kept> {
        match self {
            Self::Switch { kept, .. } => kept.as_deref(),
            Self::Tables(_) => None,
        }
    }

    /// The instance.
    pub fn instance(&self) -> &Instance {
        match self {
            Self::Switch { scheduled, .. } => &scheduled.instance,
            Self::Tables(tables) => &tables.instance,
        }
    }

    /// What is not scheduled, as messages for the user.
    pub fn remarks(&self) -> &[String] {
        match self {
            Self::Switch { scheduled, .. } => &scheduled.remarks,
            Self::Tables(_) => &[],
        }
    }

    /// The ends of the names of the files that a schedule is written to.
    pub fn suffixes(&self) -> &'static [&'static str] {
        match self {
            Self::Switch { .. } => &[""],
            Self::Tables(_) => &write::tsnkit::SUFFIXES,
        }
    }

    /// The texts of these files; none if there is nothing to write. A switch file has all flows or is not written, since its gates
    /// would drop those that are left out.
    ///
    /// # Errors
    ///
    /// As [`write::switch_file::text`].
    pub fn texts(&self, answer: &Answer) -> Result<Vec<String>, String> {
        match (self, &answer.verdict) {
            (_, Verdict::Infeasible(_) | Verdict::Starved(_)) | (Self::Switch { .. }, Verdict::Undecided) => {
                Ok(Vec::new())
            }
            (Self::Tables(tables), _) => {
                Ok(write::tsnkit::texts(tables, &answer.schedule, &answer.ports).to_vec())
            }
            (Self::Switch { text, network, scheduled, kept, .. }, Verdict::Scheduled) => {
                let timing = write::switch_file::Timing {
                    schedule: &answer.schedule,
                    ports: &answer.ports,
                    base_time_ns: kept.as_ref().map_or(0, |kept| kept.base_time_ns),
                };
                Ok(vec![write::switch_file::text(text, network, scheduled, &timing)?])
            }
        }
    }
}
