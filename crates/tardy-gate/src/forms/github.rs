//! Commands that GitHub Actions reads from the output of a step: an error for what failed or is invalid, a warning for what is not
//! decided, a notice for what passed.

use super::{Judged, line};
use crate::outcome::Outcome;

/// A command for each judgement.
pub(super) fn text(judged: &[Judged]) -> String {
    judged.iter().map(command).collect()
}

fn command(one: &Judged) -> String {
    let level = match one.outcome() {
        Outcome::Passed => "notice",
        Outcome::Inconclusive => "warning",
        Outcome::Failed | Outcome::Invalid => "error",
    };
    let title = format!("{} {}", one.run, one.outcome().name());
    format!("::{level} title={}::{}\n", property(&title), data(&line(one)))
}

/// Text as the message of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as the value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
