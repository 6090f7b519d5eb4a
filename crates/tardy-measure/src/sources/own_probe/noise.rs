//! Noise: one block for each loop, whose gaps come in a ring.

use tardy_probe::order::Work;
use tardy_probe::timer::reading::Of;
use tardy_record::plan::NoisePlan;

use super::setup::{Counter, ProbeSetup, Rings};

/// The set-up of loops that notice when they stood still.
pub(super) fn setup(noise: &NoisePlan) -> ProbeSetup<'_> {
    let counter = |(index, thread)| Counter {
        of: Of::Noise(thread),
        policy: noise.policy,
        thread: index,
        has_gaps: true,
    };
    ProbeSetup {
        work: Work::Noise(noise.clone()),
        pin: None,
        counters: noise.threads.iter().enumerate().map(counter).collect(),
        rings: Rings::Gaps,
        remarks: Vec::new(),
    }
}
