//! A change in force, until it is undone.

use tardy_sys::kernel_files::KernelFiles;

use super::changes::{Step, Steps};
use tardy_host::journal::{Place, Undone};
use tardy_host::settings::Changed;

/// A change in force. Dropping it undoes everything, the last step first.
#[derive(Debug, Default)]
pub struct Held {
    changed: Vec<Changed>,
    /// The kernel's reasons for the steps that it refused. The other steps are in force.
    refused: Vec<String>,
}

impl Held {
    /// Makes every step of a change. Each is recorded in the journal of `place` first.
    ///
    /// # Errors
    /// A message for the user, if a step was refused, or every step of a change that may be partial. All steps are then
    /// undone.
    pub fn hold(place: &Place, files: &KernelFiles, steps: &Steps) -> Result<Self, String> {
        let mut held = Self::default();
        for step in &steps.steps {
            let made = match step {
                // The probe makes this step.
                Step::KeepOutOfIdle => continue,
                Step::File { path, new } => Changed::make_exactly(place, files, path, new),
                Step::Thread(thread) => Changed::make_thread(place, files, thread).map(Some),
            };
            match made {
                Ok(changed) => held.changed.extend(changed),
                Err(reason) if steps.may_be_partial => held.refused.push(reason),
                Err(reason) => return Err(reason),
            }
        }
        let is_by_probe = steps.steps.contains(&Step::KeepOutOfIdle);
        match held.refused.first() {
            _ if is_by_probe || !held.changed.is_empty() => Ok(held),
            Some(reason) => Err(reason.clone()),
            None => Err("the settings have changed, and already have the new values".to_owned()),
        }
    }

    /// How many steps were refused, and the first reason.
    pub fn refused(&self) -> Option<(usize, &str)> {
        self.refused.first().map(|first| (self.refused.len(), first.as_str()))
    }

    /// Undoes everything. Returns a message for each setting that could not be undone, or was left alone because
    /// another process has changed it.
    pub fn put_back(mut self) -> Vec<String> {
        let mut remarks = Vec::new();
        while let Some(changed) = self.changed.pop() {
            let what = changed.describe();
            match changed.put_back() {
                Ok(Undone::Done) => {}
                Ok(Undone::WasSo) => remarks.push(format!("{what}, has been undone by another process")),
                Ok(Undone::LeftAlone(what)) => {
                    remarks.push(format!("left alone: {what}; another process has changed it since"));
                }
                Err(reason) => remarks.push(format!(
                    "{what}, could not be undone: {reason}; it is in the journal, and 'tardy restore' tries again"
                )),
            }
        }
        remarks
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A vector drops its first element first.
        while let Some(changed) = self.changed.pop() {
            drop(changed);
        }
    }
}
