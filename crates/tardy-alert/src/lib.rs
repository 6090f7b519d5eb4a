//! Alerts about the runs of an archive.
//!
//! [`Rules`] say what is an alert: a requirement that a run does not meet, or a change for the worse in the runs of a board. An
//! [`Alert`] has a state that a person sets. The state never changes a verdict: verdicts are computed from the runs, and the states
//! are lines of a log beside them ([`AlertLog`]).

mod alert;
mod alert_log;
mod raise;
mod rules;

pub use alert::{Alert, Note, State};
pub use alert_log::AlertLog;
pub use raise::{Finding, of_history, of_run};
pub use rules::{Demand, Rule, Rules, RulesError, Webhook};
