//! The steps of one attempt to set a switch up: noted before they are made, undone together if it fails.

use super::step::{Change, Step};
use tardy_host::journal::{Entry, Place};

/// The steps so far. Dropping it undoes them, the last first.
#[derive(Debug)]
pub struct Ledger {
    journal: Option<Place>,
    steps: Vec<(Step, Option<Entry>)>,
}

impl Ledger {
    /// Nothing done yet; what is done is noted in `journal`, or nowhere where all of it goes with the process, as in a
    /// network namespace of its own.
    pub fn new(journal: Option<Place>) -> Self {
        Self { journal, steps: Vec::new() }
    }

    /// Notes `change`, then makes it by `make`. What failed is no step.
    ///
    /// # Errors
    /// In words: that it cannot be noted, or what `make` says.
    pub(super) fn step(
        &mut self,
        change: Change,
        make: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        let step = Step::here(change)?;
        let entry = self.journal.as_ref().map(|journal| journal.note(&step)).transpose()?;
        self.steps.push((step, entry));
        make().inspect_err(|_| {
            // Half of it may have been done: undoing what was not done is no error.
            if let Some((step, entry)) = self.steps.pop()
                && step.undo().is_ok()
                && let Some(entry) = entry
            {
                entry.strike();
            }
        })
    }

    /// Undoes everything, the last first. What cannot be undone stays in the journal, and is told.
    ///
    /// # Errors
    /// In words, a line for each step.
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

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The steps so far, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().map(|(step, _)| step)
    }

    /// Lets everything stay as it is: from now on it is not this process that takes it back.
    pub fn keep(mut self) {
        self.steps.drain(..).filter_map(|(_, entry)| entry).for_each(Entry::strike);
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = self.undo();
    }
}
