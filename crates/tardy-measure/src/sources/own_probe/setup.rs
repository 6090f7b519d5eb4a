//! The set-up of any kind of probe: its work, and the contents of each block of the map.

use tardy_probe::cells::CELLS;
use tardy_probe::order::{DrivenPin, Granted, Work};
use tardy_probe::sample_ring;
use tardy_probe::timer::reading::{Of, Place};
use tardy_record::placement::Placement;
use tardy_record::plan::{Policy, Wake};

use crate::engine::{MapLayout, Request};

/// A probe's set-up.
pub(crate) struct ProbeSetup<'r> {
    /// The work that it is ordered to do.
    pub(super) work: Work,
    /// The pin that each cycle writes.
    pub(super) pin: Option<DrivenPin>,
    /// The contents of the map's blocks, in order.
    pub(crate) counters: Vec<Counter<'r>>,
    /// The contents of the rings.
    pub(super) rings: Rings,
    /// Remarks for the phase's record.
    pub(super) remarks: Vec<String>,
}

/// What one process of a probe does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeShare {
    /// The cgroup that it moves into; `None` if it stays in tardy's.
    pub(super) cgroup: Option<String>,
    /// The numbers of its threads.
    pub(super) threads: Vec<usize>,
}

/// The contents of one block of the map.
#[derive(Clone, Copy)]
pub(crate) struct Counter<'r> {
    /// The kind of measurement that the block counts.
    pub(crate) of: Of<'r>,
    /// The scheduling policy that its thread requests.
    pub(crate) policy: Policy,
    /// Number of its thread.
    pub(super) thread: usize,
    /// Whether the thread puts gaps into the block's ring.
    pub(super) has_gaps: bool,
}

/// The contents of the map's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rings {
    /// There are none.
    None,
    /// Every sample, if requested. The value is the shortest interval between two samples, in ns.
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

    /// The processes of the probe: one for each cgroup that owns measured CPUs, and one for the rest.
    pub(super) fn processes(&self, placement: &Placement, is_synthetic: bool) -> Vec<ProbeShare> {
        let is_alone = matches!(&self.work, Work::Timer(timer) if timer.wake == Wake::Setitimer);
        let mut shares: Vec<ProbeShare> = Vec::new();
        for (thread, cpu) in self.work.cpus(is_synthetic).into_iter().enumerate() {
            let cgroup = placement.cgroup_of(cpu).map(str::to_owned);
            match shares.iter_mut().find(|share| !is_alone && share.cgroup == cgroup) {
                Some(share) => share.threads.push(thread),
                None => shares.push(ProbeShare { cgroup, threads: vec![thread] }),
            }
        }
        shares
    }
}

impl<'r> Counter<'r> {
    /// The context of the block, before the scheduling of its thread is known.
    pub(super) fn place(&self, phase: usize, run_start_ns: u64) -> Place<'r> {
        let granted = Granted { policy: self.policy, priority: 0, pinned: false };
        Place { phase, of: self.of, granted, run_start_ns }
    }
}
