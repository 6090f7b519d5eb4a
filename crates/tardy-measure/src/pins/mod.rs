//! GPIO lines during a run: the changes to undo, the guard process that undoes them, and `tardy gpio stimulate`.

mod guard;
mod held;
mod stimulate;

pub use guard::{PinGuard, main as guard_main};
pub use held::{HeldPin, UNDO_KINDS, held_by};
pub use stimulate::{Stimulated, Stimulation, stimulate};
