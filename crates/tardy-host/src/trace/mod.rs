//! The kernel's record of a wake-up: tracefs, a separate trace instance, its pages, the events in them, and the
//! levels and moments that they show.

pub mod cycles;
pub mod events;
pub mod format;
pub mod happenings;
pub mod instance;
pub mod levels;
pub mod moments;
pub mod monitors;
pub mod page;
pub mod reader;
pub mod symbols;
pub mod tracefs;
pub mod tracers;
pub mod tracing;
pub mod user_probe;

use tardy_sys::kernel_files::KernelFiles;

use crate::journal::{Fate, Place, restore_only};

/// Removes the trace instances and the events in programs that killed processes of this user have left. They record, and stop the
/// programs, until they are removed. Returns a message for the user about each.
pub fn remove_left_behind(files: &KernelFiles) -> Vec<String> {
    let kinds = [instance::UNDO, user_probe::UNDO];
    let restored = restore_only(&Place::of(files), files, &kinds).unwrap_or_default();
    let message = |what: &str, fate: &Fate| match fate {
        Fate::Undone => Some(format!("removed: {what}, which a killed tardy has left")),
        Fate::Failed { reason } => {
            Some(format!("not removed: {what}: {reason}; 'tardy restore' tries again"))
        }
        Fate::LeftAlone { .. } | Fate::InUse { .. } => None,
    };
    restored.iter().filter_map(|one| message(&one.what, &one.fate)).collect()
}
