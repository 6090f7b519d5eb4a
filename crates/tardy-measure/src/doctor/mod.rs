//! The doctor: tries changes that can be made and undone while the machine runs, one at a time, and measures each.
//!
//! In every round each change is tried once, and so is the machine as it is, in an order of its own that the seed gives: what
//! drifts while the doctor is at work — temperature, other users — is then no change's doing. A trial is an ordinary
//! [`Run`](tardy_record::Run) of one phase, whose change is held by a guard and noted in the journal, so that neither
//! Ctrl-C nor `kill -9` leaves it behind. What the trials mean is tardy-analyse's to say.
//!
//! The road not taken: phases of one run, with settings changed between them. The facts of a run hold for all of it, and
//! with a change in the middle they would be wrong.

mod changes;
mod conduct;
mod held;
mod order;
mod threads;
mod workplace;

pub use changes::{Change, Offer, Standing, Steps, Subject, offers};
pub use conduct::{Ending, Request, Trial, check_nothing_is_left, conduct};
pub use held::Held;
pub use order::order_of_round;
