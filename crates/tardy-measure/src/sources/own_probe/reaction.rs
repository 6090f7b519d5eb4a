//! Set-up of the reaction probe: one block for each span from edge to answer, and one for the answers that return to
//! the stimulus.

use tardy_probe::order::Work;
use tardy_probe::timer::reading::Of;
use tardy_record::pins::ReactionPlan;
use tardy_sys::pins_log::CHIP_LABEL;

use super::setup::{Counter, ProbeSetup, Rings};

/// The set-up of a thread that answers edges.
pub(super) fn setup(reaction: &ReactionPlan, is_synthetic: bool) -> ProbeSetup<'_> {
    let counter = |of, thread| Counter { of, policy: reaction.policy, thread, has_gaps: false };
    let spans = (0..reaction.spans().len()).map(|span| counter(Of::Reaction { reaction, span }, 0));
    // The stimulus is the second thread.
    let echo = reaction.echo().map(|_| counter(Of::Echo(reaction), 1));
    let keeps_log = keeps_log(reaction) && !is_synthetic;
    ProbeSetup {
        work: Work::Reaction(reaction.clone()),
        pin: None,
        counters: spans.chain(echo).collect(),
        rings: if keeps_log { Rings::Gaps } else { Rings::None },
        remarks: Vec::new(),
    }
}

/// Whether the input is driven by the lab's own chip, which keeps a log.
pub(crate) fn keeps_log(reaction: &ReactionPlan) -> bool {
    reaction.input.label == CHIP_LABEL
}
