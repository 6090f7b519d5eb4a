//! A run from beginning to end.

use tardy_record::event::EventKind;
use tardy_record::run::State;

use super::listener::Listener;
use super::phase::{self, End};
use super::request::{Outcome, Request, RunError};
use super::source::Sources;
use super::supervisor::{Outside, Supervisor};

/// Measures phase by phase, keeps the run file current, and seals it at the end.
pub(crate) fn run<'r>(
    request: &'r Request,
    sources: &dyn Sources<'r>,
    outside: Outside,
    listener: &'r mut dyn Listener,
) -> Result<Outcome, RunError> {
    let mut supervisor = Supervisor::open(request, outside, listener)?;
    for index in 0..request.plan.phases.len() {
        match phase::run(&mut supervisor, sources, index) {
            Ok(End::Complete) => {}
            Ok(End::Interrupted) => return Ok(supervisor.seal(State::Interrupted, None)),
            Err(reason) if supervisor.run.series.is_empty() => {
                supervisor.abandon();
                return Err(RunError::Start(reason));
            }
            Err(reason) => {
                supervisor.note(EventKind::Warning, &reason, 0);
                return Ok(supervisor.seal(State::Interrupted, Some(reason)));
            }
        }
    }
    Ok(supervisor.seal(State::Complete, None))
}
