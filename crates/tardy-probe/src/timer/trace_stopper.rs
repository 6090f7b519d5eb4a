//! Stops the kernel's trace at a late wake-up, so that it still contains the events that led to it when the supervisor
//! reads it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tardy_sys::shared_map::Block;
use tardy_sys::trace_files;

use super::wakeup::Wakeup;
use crate::cells::{self, Traced, Tracing};

/// Number of warm-up wake-ups that are kept, traced and untraced each.
const WARM_COUNT: usize = 256;
/// Below this number the medians do not show the cost of tracing.
const WARM_COUNT_MIN: usize = 32;

/// A descriptor of the trace's `tracing_on`, opened before the measurement.
pub(super) struct TraceStopper<'a> {
    file: File,
    block: Block<'a>,
    stops: u64,
}

impl<'a> TraceStopper<'a> {
    /// Opens the file, for the thread that counts in `block`.
    pub(super) fn open(path: &Path, block: Block<'a>) -> io::Result<Self> {
        Ok(Self { file: trace_files::open_to_write(path)?, block, stops: 0 })
    }

    /// Stops the trace if the wake-up is later than the supervisor's limit, and reports the stop. It is one write(2) of
    /// one byte: later events do not belong to this wake-up.
    pub(super) fn consider(&mut self, wakeup: &Wakeup) {
        let over_ns = self.get(Tracing::Over);
        let armed = over_ns > 0 && self.get(Tracing::Answered) == self.stops;
        if !armed || wakeup.late_ns < 0 || wakeup.late_ns.unsigned_abs() <= over_ns {
            return;
        }
        // If the kernel refuses the write, it has ended the trace itself; the supervisor will notice.
        let _ = self.file.write(b"0");
        self.stops += 1;
        self.set(Tracing::StoppedLateness, wakeup.late_ns as u64);
        self.set(Tracing::StoppedAt, wakeup.at_ns);
        self.set(Tracing::StoppedCycle, wakeup.cycle);
        self.set(Tracing::Stops, self.stops);
    }

    fn get(&self, cell: Tracing) -> u64 {
        self.block.cells()[cells::TRACING + cell as usize].get()
    }

    fn set(&self, cell: Tracing, value: u64) {
        self.block.cells()[cells::TRACING + cell as usize].set(value);
    }
}

/// The latenesses of the warm-up, traced and not traced in turns, which show the cost of tracing.
pub(super) struct WarmUp<'a> {
    block: Block<'a>,
    sides: [Side; 2],
}

#[derive(Clone, Copy)]
struct Side {
    latenesses_ns: [i64; WARM_COUNT],
    seen: usize,
}

impl<'a> WarmUp<'a> {
    /// The warm-up of the thread that counts in `block`.
    pub(super) fn new(block: Block<'a>) -> Self {
        Self { block, sides: [Side { latenesses_ns: [0; WARM_COUNT], seen: 0 }; 2] }
    }

    /// Keeps a wake-up, if the supervisor has reported whether the kernel was traced.
    pub(super) fn note(&mut self, late_ns: i64) {
        let state = self.block.cells()[cells::TRACING + Tracing::State as usize].get();
        let side = match state {
            _ if state == Traced::On as u64 => 0,
            _ if state == Traced::Off as u64 => 1,
            _ => return,
        };
        let side = &mut self.sides[side];
        side.latenesses_ns[side.seen % WARM_COUNT] = late_ns;
        side.seen += 1;
    }

    /// Reports both medians to the supervisor.
    pub(super) fn report(mut self) {
        let count = self.sides.iter().map(|side| side.seen).min().unwrap_or(0);
        if count < WARM_COUNT_MIN {
            return;
        }
        let [traced, untraced] = self.sides.each_mut().map(Side::sorted);
        let at = |sorted: &[i64], tenths: usize| sorted[sorted.len() * tenths / 10];
        let (traced_ns, untraced_ns, usual_ns) = (at(traced, 5), at(untraced, 5), at(traced, 9));
        let report = [
            (Tracing::WarmUsual, usual_ns as u64),
            (Tracing::WarmTraced, traced_ns as u64),
            (Tracing::WarmUntraced, untraced_ns as u64),
            (Tracing::WarmCount, count as u64),
        ];
        let _writing = self.block.writing();
        for (cell, value) in report {
            self.block.cells()[cells::TRACING + cell as usize].set(value);
        }
    }
}

impl Side {
    /// Sorts in place, without allocating.
    fn sorted(&mut self) -> &[i64] {
        let known = &mut self.latenesses_ns[..self.seen.min(WARM_COUNT)];
        known.sort_unstable();
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELLS;
    use tardy_sys::shared_map::SharedMap;

    fn map() -> (tempfile::TempDir, SharedMap) {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        (directory, map)
    }

    fn cell(map: &SharedMap, cell: Tracing) -> &tardy_sys::cell64::Cell64 {
        &map.block(0).cells()[cells::TRACING + cell as usize]
    }

    fn late(late_ns: i64, cycle: u64) -> Wakeup {
        Wakeup { late_ns, at_ns: 1000 + cycle, cycle, missed: 0, dropped: 0 }
    }

    #[test]
    fn the_trace_is_stopped_once_until_the_supervisor_has_read_it() {
        let (directory, map) = map();
        let tracing_on = directory.path().join("tracing_on");
        std::fs::write(&tracing_on, "1").unwrap();
        let mut stopper = TraceStopper::open(&tracing_on, map.block(0)).unwrap();
        let written = || std::fs::read_to_string(&tracing_on).unwrap();
        stopper.consider(&late(9_000_000, 1));
        assert_eq!(written(), "1", "the supervisor has not set a limit yet");
        cell(&map, Tracing::Over).set(5000);
        stopper.consider(&late(5000, 2));
        stopper.consider(&late(-9000, 3));
        assert_eq!(written(), "1");
        stopper.consider(&late(5001, 4));
        stopper.consider(&late(9000, 5));
        assert_eq!(written(), "0");
        assert_eq!(cell(&map, Tracing::Stops).get(), 1);
        assert_eq!(cell(&map, Tracing::StoppedCycle).get(), 4);
        cell(&map, Tracing::Answered).set(1);
        stopper.consider(&late(9000, 6));
        assert_eq!((cell(&map, Tracing::Stops).get(), cell(&map, Tracing::StoppedLateness).get()), (2, 9000));
    }

    #[test]
    fn the_warm_up_reports_both_medians_or_none() {
        let (_directory, map) = map();
        let warm = |rounds: i64| {
            let mut warm = WarmUp::new(map.block(0));
            for round in 0..rounds {
                for (state, late_ns) in [(Traced::On, 9000), (Traced::Unsure, 99_000), (Traced::Off, 7000)] {
                    cell(&map, Tracing::State).set(state as u64);
                    warm.note(late_ns + round % 3);
                }
            }
            warm.report();
            cell(&map, Tracing::WarmCount).get()
        };
        assert_eq!(warm(31), 0);
        assert_eq!(warm(1000), 1000);
        assert_eq!(cell(&map, Tracing::WarmTraced).get(), 9001);
        assert_eq!(cell(&map, Tracing::WarmUntraced).get(), 7001);
        assert_eq!(cell(&map, Tracing::WarmUsual).get(), 9002);
    }
}
