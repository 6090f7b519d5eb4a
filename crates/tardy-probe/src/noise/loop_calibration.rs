//! Measures the duration of an iteration of the loop, before the counted part.

use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::cycle_counter::{self, Kind, Ticks};

use super::spin::{Turn, turn};

/// Only gaps of at least this many median turns of the loop are counted; a shorter one could be an ordinary turn.
const TURNS_MIN: u64 = 2;

/// The measured properties of the counter and the loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopCalibration {
    /// The counter that the loop reads.
    pub(crate) kind: Kind,
    /// The counter and the clock at one moment.
    pub(super) moment: (u64, u64),
    /// The shortest observed turn, in ps.
    pub(super) shortest_loop_ps: u64,
    /// The usual (median) turn, in ns.
    pub(crate) usual_loop_ns: f64,
    /// The shortest gap that can be distinguished from a turn, at least the requested threshold.
    pub(crate) threshold_ns: u64,
}

impl LoopCalibration {
    /// Measures a loop that reads `ticks`, for gaps of at least `threshold_ns`.
    pub(crate) fn measure<T: Ticks>(kind: Kind, ticks: &mut T, threshold_ns: u64) -> Self {
        let mut clock = ClockReader::new(Clock::Monotonic);
        let (began, began_ns) = cycle_counter::moment(ticks, &mut clock);
        // The first turns fill the caches.
        turn(ticks);
        let Turn { shortest, usual } = turn(ticks);
        let (ended, ended_ns) = cycle_counter::moment(ticks, &mut clock);
        let ns_per_tick =
            ended_ns.saturating_sub(began_ns) as f64 / ended.saturating_sub(began).max(1) as f64;
        let least_ns = ((TURNS_MIN * usual.max(1)) as f64 * ns_per_tick).ceil() as u64;
        Self {
            kind,
            moment: (ended, ended_ns),
            shortest_loop_ps: (shortest as f64 * ns_per_tick * 1000.0) as u64,
            usual_loop_ns: usual as f64 * ns_per_tick,
            threshold_ns: threshold_ns.max(least_ns),
        }
    }

    /// A synthetic loop, whose turn takes `loop_ns`.
    pub(crate) fn synthetic(loop_ns: u64, threshold_ns: u64) -> Self {
        Self {
            kind: Kind::ClockMonotonic,
            moment: (0, 0),
            shortest_loop_ps: loop_ns * 1000,
            usual_loop_ns: loop_ns as f64,
            threshold_ns,
        }
    }
}
