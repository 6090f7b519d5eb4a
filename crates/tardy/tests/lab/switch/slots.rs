//! Whether each flow of a switch's test kept to its windows.

use tardy_analyse::flows;
use tardy_record::Run;

use crate::two_flows;

/// The run in `file`. Asserts that every flow kept to its windows.
pub(super) fn held(file: &[u8]) -> Run {
    let run = tardy_record::file::from_text(file).unwrap();
    assert!(run.validity.valid, "{:?}", run.validity);
    let phases = flows::of(&run);
    assert!(phases.iter().all(|phase| phase.shaped && !phase.flows.is_empty()));
    phases.iter().flat_map(|phase| &phase.flows).for_each(two_flows::held);
    run
}
