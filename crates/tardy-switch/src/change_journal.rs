//! The steps of one attempt to set a switch up: recorded before they are made, undone together if the attempt fails.

use super::change::{Change, Step};
use tardy_host::journal::{Entry, Place};

/// The steps so far. Dropping it undoes them, the last first.
#[derive(Debug)]
pub struct ChangeJournal {
    journal: Option<Place>,
    steps: Vec<(Step, Option<Entry>)>,
}

impl ChangeJournal {
    /// An empty list of steps. They are recorded in `journal`; `None` if all of them end with the process, as in a
    /// separate network namespace.
    pub fn new(journal: Option<Place>) -> Self {
        Self { journal, steps: Vec::new() }
    }

    /// Records `change`, then calls `make` to make it. A change that fails is undone and is not a step.
    ///
    /// # Errors
    /// A message for the user, if the change cannot be recorded, or from `make`.
    pub(super) fn step(
        &mut self,
        change: Change,
        make: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let step = Step::here(change)?;
        let entry = self.journal.as_ref().map(|journal| journal.note(&step)).transpose()?;
        self.steps.push((step, entry));
        make().inspect_err(|_| {
            // The change may have been made in part. Undoing a part that was not made is not an error.
            if let Some((step, entry)) = self.steps.pop()
                && step.undo().is_ok()
                && let Some(entry) = entry
            {
                entry.strike();
            }
        })
    }

    /// Undoes everything, the last first. Steps that cannot be undone stay in the journal and are reported.
    ///
    /// # Errors
    /// A message for the user, one line per step.
    pub fn undo(&mut self) -> Result<(), String> {
        let mut failed = Vec::new();
        while let Some((step, entry)) = self.steps.pop() {
            match (step.undo(), entry) {
                (Ok(()), Some(entry)) => entry.strike(),
                (Ok(()), None) => {}
                (Err(reason), _) => failed.push(format!("{}: {reason}", step.describe())),
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The steps so far, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().map(|(step, _)| step)
    }

    /// Keeps all changes: from now on, this process does not undo them.
    pub fn keep(mut self) {
        self.steps.drain(..).filter_map(|(_, entry)| entry).for_each(Entry::strike);
    }
}

impl Drop for ChangeJournal {
    fn drop(&mut self) {
        let _ = self.undo();
    }
}
