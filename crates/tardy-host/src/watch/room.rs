//! When kernel files are read on a measured CPU: between two wake-ups of the thread that is measured there.
//!
//! In a kernel that is not preemptible, a thread that becomes runnable during a system call waits until the call returns. The
//! supervisor knows when the measuring thread on its own CPU wakes up. A read that fits between two wake-ups starts there; one
//! that is longer starts right after a wake-up, and is recorded with the wake-ups that it overlaps.

use std::cell::{Cell, RefCell};

/// After a wake-up, the thread runs for this long at most before it sleeps again, in ns; emulated CPUs take 20 us.
const AFTER_NS: u64 = 30_000;
/// The margin by which a read may exceed the longest read so far, in ns.
const MARGIN_NS: u64 = 10_000;
/// The longest total wait of the reads in one round, in ns. On a CPU whose thread sleeps longer, few reads have to wait.
const WAITED_NS_MAX: u64 = 200_000_000;
/// The most overlaps that are kept between two rounds.
const OVERLAPS_MAX: usize = 1024;

/// When a thread wakes up, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeTimes {
    /// One of the wake-ups, in ns.
    pub first_ns: u64,
    /// Time from one wake-up to the next, in ns, at least 1.
    pub interval_ns: u64,
}

impl WakeTimes {
    /// The last wake-up at or before `at_ns` and the first one after it.
    fn around(self, at_ns: u64) -> (u64, u64) {
        let interval_ns = self.interval_ns.max(1);
        let since_ns = at_ns.wrapping_sub(self.first_ns).cast_signed().rem_euclid(interval_ns.cast_signed());
        let last_ns = at_ns - since_ns.unsigned_abs().min(at_ns);
        (last_ns, last_ns + interval_ns)
    }
}

/// A read during which the measuring thread on the same CPU was due to wake up, or may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Name of the watcher.
    pub watcher: &'static str,
    /// Start of the read, in ns on the monotonic clock.
    pub from_ns: u64,
    /// End of the read, in ns on the monotonic clock.
    pub to_ns: u64,
}

/// Time and the wake-ups that reads avoid.
pub(super) struct Room {
    clock: Box<dyn Fn() -> u64>,
    sleep_until: Box<dyn Fn(u64)>,
    is_shared: bool,
    wakes: Option<WakeTimes>,
    watcher: &'static str,
    /// The beginning of the round: in ns from the start of the run, and on the clock.
    round_began_ns: Cell<(u64, u64)>,
    waited_ns: Cell<u64>,
    overlaps: RefCell<Vec<Overlap>>,
}

impl Room {
    /// `is_shared`: a thread is measured on this CPU. Times are in ns on the monotonic clock.
    pub(super) fn new(
        is_shared: bool,
        clock: impl Fn() -> u64 + 'static,
        sleep_until: impl Fn(u64) + 'static,
    ) -> Self {
        Self {
            is_shared,
            clock: Box::new(clock),
            sleep_until: Box::new(sleep_until),
            wakes: None,
            watcher: "",
            round_began_ns: Cell::default(),
            waited_ns: Cell::new(0),
            overlaps: RefCell::default(),
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        (self.clock)()
    }

    /// Begins a round at `now_ns` from the start of the run, which is the present time of the clock.
    pub(super) fn begin_round(&self, now_ns: u64) {
        self.round_began_ns.set((now_ns, self.now_ns()));
    }

    /// The present time, in ns from the start of the run.
    pub(super) fn at_ns(&self) -> u64 {
        let (began_ns, on_clock_ns) = self.round_began_ns.get();
        began_ns + self.now_ns().saturating_sub(on_clock_ns)
    }

    /// Sets the wake-ups to avoid; `None` if they are not regular.
    pub(super) fn set_wakes(&mut self, wakes: Option<WakeTimes>) {
        self.wakes = wakes;
    }

    /// Whether reads are to be short, because a thread is measured on this CPU.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Begins the round of `watcher`.
    pub(super) fn begin(&mut self, watcher: &'static str) {
        self.watcher = watcher;
        self.waited_ns.set(0);
    }

    /// How long reads have waited since [`Self::begin`], in ns.
    pub(super) fn waited_ns(&self) -> u64 {
        self.waited_ns.get()
    }

    /// Removes and returns the overlaps so far.
    pub(super) fn take_overlaps(&self) -> Vec<Overlap> {
        self.overlaps.take()
    }

    /// Runs `read`, which took `longest_ns` at most so far, between two wake-ups if it fits there. Returns its result, and
    /// updates `longest_ns`.
    pub(super) fn run<T>(&self, longest_ns: &mut u64, read: impl FnOnce() -> T) -> T {
        if !self.is_shared {
            return read();
        }
        self.wakes.iter().for_each(|wakes| self.wait(*wakes, *longest_ns + MARGIN_NS));
        let from_ns = self.now_ns();
        let result = read();
        let to_ns = self.now_ns();
        *longest_ns = to_ns.saturating_sub(from_ns).max(*longest_ns);
        if self.wakes.is_none_or(|wakes| wakes.around(from_ns) != wakes.around(to_ns)) {
            self.note_overlap(Overlap { watcher: self.watcher, from_ns, to_ns });
        }
        result
    }

    /// Adds an overlap. Those that do not fit are lost.
    pub(super) fn note_overlap(&self, overlap: Overlap) {
        let mut overlaps = self.overlaps.borrow_mut();
        if overlaps.len() < OVERLAPS_MAX {
            overlaps.push(overlap);
        }
    }

    fn wait(&self, wakes: WakeTimes, needed_ns: u64) {
        let now_ns = self.now_ns();
        let (last_ns, next_ns) = wakes.around(now_ns);
        let has_slept = now_ns - last_ns >= AFTER_NS.min(wakes.interval_ns / 2);
        if (has_slept && next_ns - now_ns >= needed_ns) || self.waited_ns.get() >= WAITED_NS_MAX {
            return;
        }
        (self.sleep_until)(next_ns + AFTER_NS.min(wakes.interval_ns / 2));
        self.waited_ns.set(self.waited_ns.get() + self.now_ns().saturating_sub(now_ns));
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    const MS: u64 = 1_000_000;

    /// A room whose time passes only by sleeping and by reading.
    fn room(is_shared: bool, wakes: Option<WakeTimes>, at_ns: u64) -> (Room, Rc<Cell<u64>>) {
        let time = Rc::new(Cell::new(at_ns));
        let (now, asleep) = (Rc::clone(&time), Rc::clone(&time));
        let mut room = Room::new(is_shared, move || now.get(), move |until_ns| asleep.set(until_ns));
        room.set_wakes(wakes);
        room.begin("system");
        (room, time)
    }

    fn read(room: &Room, time: &Cell<u64>, longest_ns: &mut u64, takes_ns: u64) -> u64 {
        room.run(longest_ns, || {
            let from_ns = time.get();
            time.set(from_ns + takes_ns);
            from_ns
        })
    }

    #[test]
    fn a_read_that_would_reach_the_next_wake_up_starts_after_it() {
        let wakes = WakeTimes { first_ns: 5 * MS, interval_ns: MS };
        let (room, time) = room(true, Some(wakes), 7 * MS + 900_000);
        let mut longest_ns = 200_000;
        assert_eq!(read(&room, &time, &mut longest_ns, 150_000), 8 * MS + AFTER_NS);
        assert_eq!(room.waited_ns(), 130_000);
        assert_eq!(
            read(&room, &time, &mut longest_ns, 150_000),
            8 * MS + AFTER_NS + 150_000,
            "there is room"
        );
        assert_eq!(room.take_overlaps(), []);
        assert_eq!(longest_ns, 200_000);
    }

    #[test]
    fn a_read_longer_than_the_interval_is_recorded_as_an_overlap() {
        let wakes = WakeTimes { first_ns: 0, interval_ns: 100_000 };
        let (room, time) = room(true, Some(wakes), 50_000);
        let mut longest_ns = 0;
        let from_ns = read(&room, &time, &mut longest_ns, 70_000);
        assert_eq!((from_ns, longest_ns), (50_000, 70_000));
        let overlap = Overlap { watcher: "system", from_ns, to_ns: 120_000 };
        assert_eq!(room.take_overlaps(), [overlap]);
        assert_eq!(room.take_overlaps(), []);
    }

    #[test]
    fn without_a_measured_thread_a_read_starts_at_once() {
        let (room, time) = room(false, None, 999_999);
        let mut longest_ns = 0;
        assert_eq!(read(&room, &time, &mut longest_ns, 5 * MS), 999_999);
        assert_eq!((longest_ns, room.waited_ns(), room.take_overlaps()), (0, 0, Vec::new()));
    }

    #[test]
    fn every_read_overlaps_if_the_wake_ups_are_irregular() {
        let (room, time) = room(true, None, 5);
        read(&room, &time, &mut 0, 10);
        assert_eq!(room.take_overlaps(), [Overlap { watcher: "system", from_ns: 5, to_ns: 15 }]);
    }

    #[test]
    fn wake_ups_are_known_before_the_first_one_too() {
        let wakes = WakeTimes { first_ns: 1000, interval_ns: 300 };
        assert_eq!(wakes.around(1000), (1000, 1300));
        assert_eq!(wakes.around(999), (700, 1000));
        assert_eq!(wakes.around(1599), (1300, 1600));
    }
}
