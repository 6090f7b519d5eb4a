//! What the cycles of a thread usually take, part by part, so that a late cycle is compared with them.

use std::collections::BTreeMap;

use crate::cycle::{Activity, Cycle};

/// A new cycle changes the usual times by this share.
const WEIGHT: f64 = 1.0 / 16.0;
/// An unusual time counts as this many times the usual one, and at least this long.
const UNUSUAL: f64 = 3.0;
const UNUSUAL_MIN_NS: f64 = 2000.0;
/// The most system calls of a thread with a usual time.
const CALLS_MAX: usize = 64;

/// The parts of a cycle, in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usual {
    /// From the latest allowed time to the timer's function.
    pub held_ns: f64,
    /// From being woken to the scheduler's switch.
    pub ready_ns: f64,
    /// From the switch to the return of the system call.
    pub path_ns: f64,
    /// Own CPU time.
    pub own_ns: f64,
    /// Others had the CPU.
    pub preempted_ns: f64,
    /// Page faults.
    pub faults: f64,
    /// Waits, by the number of the system call; -1 for waits outside of system calls.
    pub blocked_ns: BTreeMap<i64, f64>,
    cycles: u64,
}

impl Usual {
    /// The parts of one cycle.
    pub fn of(cycle: &Cycle) -> Self {
        let wait = &cycle.wait;
        let since = |to: u64, from: u64| to.saturating_sub(from) as f64;
        let mut blocked_ns = BTreeMap::new();
        for (from, to, activity) in cycle.stretches() {
            if let Activity::Blocked { call, .. } = activity {
                *blocked_ns.entry(call.map_or(-1, |call| call.number)).or_insert(0.0) += (to - from) as f64;
            }
        }
        Self {
            held_ns: wait.due.map_or(0.0, |due| since(due.expired_ns, wait.held_from_ns(&due))),
            ready_ns: since(wait.switched_ns, wait.woken.at_ns),
            path_ns: since(wait.left_ns, wait.switched_ns.max(wait.call.entered_ns)),
            own_ns: cycle.times.own_ns as f64,
            preempted_ns: cycle.times.preempted_ns as f64,
            faults: cycle.times.faults as f64,
            blocked_ns,
            cycles: 1,
        }
    }

    /// Adds a cycle.
    pub fn learn(&mut self, cycle: &Cycle) {
        let new = Self::of(cycle);
        if self.cycles == 0 {
            *self = new;
            return;
        }
        // The first cycles count equally, so that the first one does not prevail.
        let weight = WEIGHT.max(1.0 / (self.cycles + 1) as f64);
        self.cycles += 1;
        let cycles = self.cycles;
        let approach = |usual: &mut f64, new: f64, least: f64| {
            let limit = if cycles < 8 { f64::MAX } else { *usual * UNUSUAL + least };
            *usual += (new.min(limit) - *usual) * weight;
        };
        approach(&mut self.held_ns, new.held_ns, UNUSUAL_MIN_NS);
        approach(&mut self.ready_ns, new.ready_ns, UNUSUAL_MIN_NS);
        approach(&mut self.path_ns, new.path_ns, UNUSUAL_MIN_NS);
        approach(&mut self.own_ns, new.own_ns, UNUSUAL_MIN_NS);
        approach(&mut self.preempted_ns, new.preempted_ns, UNUSUAL_MIN_NS);
        approach(&mut self.faults, new.faults, 1.0);
        for (call, usual) in &mut self.blocked_ns {
            approach(usual, new.blocked_ns.get(call).copied().unwrap_or(0.0), UNUSUAL_MIN_NS);
        }
        for (call, ns) in new.blocked_ns {
            if self.blocked_ns.len() < CALLS_MAX {
                self.blocked_ns.entry(call).or_insert(ns.min(UNUSUAL_MIN_NS) * weight);
            }
        }
    }

    /// The usual time of waits in this system call.
    pub fn blocked(&self, call: i64) -> f64 {
        self.blocked_ns.get(&call).copied().unwrap_or(0.0)
    }
}
