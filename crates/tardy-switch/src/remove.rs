//! Removes a switch.

use super::saved_states::{self, SavedStates};

/// Removes the switch `name`: undoes every step, the last first. Returns what was undone; `None` if tardy has no such
/// switch in this network namespace.
///
/// # Errors
/// A message for the user: the steps that could not be undone, one line each. The others were undone. Another attempt
/// tries only the failed steps.
pub fn remove(saved_states: &SavedStates, name: &str) -> Result<Option<Vec<String>>, String> {
    let Some(mut state) = saved_states.find(name)? else { return Ok(None) };
    // A bridge of the same name that tardy did not create is left alone, with its ports.
    let is_up = saved_states::up(saved_states, name)?.is_some();
    state.steps.retain(|step| is_up || !step.change.changes_bridge());
    let (mut undone, mut failed, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for step in state.steps.drain(..).rev() {
        match step.undo() {
            Ok(()) => undone.push(step.describe()),
            Err(reason) => {
                failed.push(format!("{}: {reason}", step.describe()));
                left.push(step);
            }
        }
    }
    if failed.is_empty() {
        saved_states.remove(name)?;
        return Ok(Some(undone));
    }
    left.reverse();
    state.steps = left;
    saved_states.save(&state)?;
    Err(failed.join("\n"))
}
