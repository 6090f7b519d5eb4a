//! Taking a switch back.

use super::state::{self, Shelf};

/// Takes the switch `name` back: every step undone, the last first. Returns what was undone; nothing if no such switch of
/// tardy's is up in this network namespace.
///
/// # Errors
/// In words, what could not be undone, a line for each; the rest was, and another try finds those alone.
pub fn remove(shelf: &Shelf, name: &str) -> Result<Option<Vec<String>>, String> {
    let Some(mut state) = shelf.find(name)? else { return Ok(None) };
    // A bridge of that name that is another's is left alone, with its ports.
    let is_up = state::up(shelf, name)?.is_some();
    state.steps.retain(|step| is_up || !step.change.is_of_the_bridge());
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
        shelf.take_off(name)?;
        return Ok(Some(undone));
    }
    left.reverse();
    state.steps = left;
    shelf.put(&state)?;
    Err(failed.join("\n"))
}
