//! The doctor: tries changes that can be made and undone while the machine runs, one at a time, and measures each.
//!
//! Every round tries each change once, and the machine as it is, in its own order that follows from the seed. Drift during the
//! trials — temperature, other users — is then not mistaken for the effect of a change. A trial is an ordinary
//! [`Run`](tardy_record::Run) of one phase, whose change is held by a guard and recorded in the journal, so that neither
//! Ctrl-C nor `kill -9` leaves it behind. tardy-analyse judges the trials.
//!
//! The road not taken: phases of one run, with settings changed between them. The facts of a run hold for all of it, and
//! a change in the middle would make them wrong.

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
