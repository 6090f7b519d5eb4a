//! Set-up of the wiggle probe: a timer whose cycles write a pin, or a loop that writes it as fast as possible, with a
//! block for its toggles and one for its holes.

use tardy_probe::order::{DrivenPin, Work};
use tardy_probe::timer::reading::Of;
use tardy_record::plan::NoisePlan;
use tardy_record::wiggle::{Pace, WigglePlan};

use super::setup::{Counter, ProbeSetup, Rings};
use super::timer;

/// The set-up of a wiggle; `None` if another program wiggles the pin.
pub(super) fn setup(wiggle: &WigglePlan) -> Option<ProbeSetup<'_>> {
    let setup = match &wiggle.pace {
        Pace::Timer(plan) => timer::setup(plan),
        Pace::Fastest(fastest) => toggles(wiggle, fastest),
        Pace::Command { .. } => return None,
    };
    let pin = DrivenPin { line: wiggle.output.clone(), through: wiggle.through };
    Some(ProbeSetup { pin: Some(pin), ..setup })
}

fn toggles<'r>(wiggle: &'r WigglePlan, fastest: &'r NoisePlan) -> ProbeSetup<'r> {
    let counters = |thread| {
        let counter = |of, has_gaps| Counter { of, policy: fastest.policy, thread: 0, has_gaps };
        let toggles = Of::Toggles { thread, through: wiggle.through };
        [counter(toggles, false), counter(Of::Holes(thread), true)]
    };
    ProbeSetup {
        work: Work::Toggle(fastest.clone()),
        pin: None,
        counters: fastest.threads.iter().take(1).flat_map(counters).collect(),
        rings: Rings::Gaps,
        remarks: Vec::new(),
    }
}
