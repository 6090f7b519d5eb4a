//! Set-up of the noise probe: one block for each loop, with a ring for its gaps.

use tardy_probe::order::Work;
use tardy_probe::timer::reading::Of;
use tardy_record::plan::NoisePlan;

use super::setup::{Counter, ProbeSetup, Rings};

/// The set-up of loops that record when they were interrupted.
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
