//! The doctor: tries changes that can be made and undone while the machine runs, one at a time, and measures each.
//!
//! Every round measures each change once, and the unchanged machine, in an order that the seed and the round's number
//! determine. Drift during the trials (temperature, other users) is then not mistaken for the effect of a change. A
//! trial is an ordinary [`Run`](tardy_record::Run) of one phase. A guard holds its change, and the journal records it,
//! so that neither Ctrl-C nor `kill -9` leaves it in force. tardy-compare evaluates the trials.
//!
//! Alternative not chosen: one run, with settings changed between its phases. The facts of a run describe the whole
//! run, and would be wrong after the first change.

mod changes;
mod held;
mod order;
mod threads;
mod trials;
mod workplace;

pub use changes::{Change, Offer, Standing, Steps, Subject, offers};
pub use held::Held;
pub use order::order_of_round;
pub use trials::{Ending, Request, Trial, check_nothing_is_left, run};
pub use workplace::discard_leftovers;
