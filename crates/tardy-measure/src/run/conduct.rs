//! A run from beginning to end.

use tardy_record::event::EventKind;
use tardy_record::run::State;

use super::house::House;
use super::observer::Observer;
use super::phase;
use super::request::{Outcome, Request, RunError};

/// Conducts a run: measures phase by phase, keeps the file current, and seals it at the end.
pub fn conduct(request: &Request, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    let mut house = House::open(request, observer)?;
    let mut trouble = None;
    let mut state = State::Complete;
    for index in 0..request.plan.phases.len() {
        match phase::run(&mut house, index) {
            Ok(phase::End::Complete) => {}
            Ok(phase::End::Interrupted) => {
                state = State::Interrupted;
                break;
            }
            Err(reason) => {
                if house.run.series.is_empty() {
                    house.abandon();
                    return Err(RunError::Start(reason));
                }
                state = State::Interrupted;
                house.note(EventKind::Warning, &reason, 0);
                trouble = Some(reason);
                break;
            }
        }
    }
    Ok(house.seal(state, trouble))
}
