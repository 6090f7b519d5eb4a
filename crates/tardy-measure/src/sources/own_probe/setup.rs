//! What a probe is set up to do, whatever its kind: its work, and what each block of the map counts.

use tardy_probe::cells::CELLS;
use tardy_probe::order::{DrivenPin, Granted, Work};
use tardy_probe::sample_ring;
use tardy_probe::timer::reading::{Of, Place};
use tardy_record::plan::{Policy, TimerPlan, Wake};

use crate::engine::{MapLayout, Request};

/// A probe's set-up.
pub(crate) struct ProbeSetup<'r> {
    /// What it is ordered to do.
    pub(super) work: Work,
    /// The pin that each cycle writes.
    pub(super) pin: Option<DrivenPin>,
    /// What the blocks of the map count, in their order.
    pub(crate) counters: Vec<Counter<'r>>,
    /// What the rings carry.
    pub(super) rings: Rings,
    /// Remarks for the phase's record.
    pub(super) remarks: Vec<String>,
}

/// What one block of the map counts.
#[derive(Clone, Copy)]
pub(crate) struct Counter<'r> {
    /// What it is of.
    pub(crate) of: Of<'r>,
    /// The scheduling policy that its thread requests.
    pub(crate) policy: Policy,
    /// Number of its thread.
    pub(super) thread: usize,
    /// Whether gaps are handed over in its ring.
    pub(super) has_gaps: bool,
}

/// What the rings of the map carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rings {
    /// There are none.
    None,
    /// Every sample, if requested; the shortest interval between two, in ns.
    Samples(u64),
    /// Gaps, or reactions for comparison with a log.
    Gaps,
}

impl<'r> ProbeSetup<'r> {
    /// The layout of the map.
    pub(crate) fn map_layout(&self, request: &Request) -> MapLayout {
        let carries_samples = matches!(self.rings, Rings::Samples(_)) && request.takes_samples();
        let ring_slots = match self.rings {
            Rings::Samples(shortest_ns) if carries_samples => sample_ring::slots_for(shortest_ns),
            Rings::None | Rings::Samples(_) => 0,
            Rings::Gaps => sample_ring::GAP_SLOTS,
        };
        MapLayout { blocks: self.work.block_count(), cells: CELLS, ring_slots, carries_samples }
    }

    /// The work of each process, and the number of its first thread.
    pub(super) fn processes(&self) -> Vec<(usize, Work)> {
        match &self.work {
            Work::Timer(timer) if timer.wake == Wake::Setitimer => {
                let alone = |(index, thread)| {
                    (index, Work::Timer(TimerPlan { threads: vec![thread], ..timer.clone() }))
                };
                timer.threads.iter().copied().enumerate().map(alone).collect()
            }
            work => vec![(0, work.clone())],
        }
    }
}

impl<'r> Counter<'r> {
    /// Where it belongs, before it is known how its thread is scheduled.
    pub(super) fn place(&self, phase: usize, run_start_ns: u64) -> Place<'r> {
        let granted = Granted { policy: self.policy, priority: 0, pinned: false };
        Place { phase, of: self.of, granted, run_start_ns }
    }
}
