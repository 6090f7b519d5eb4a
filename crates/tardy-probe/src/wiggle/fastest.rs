//! The fastest wiggle: a loop that writes the line and reads the clock, and does little else. What a turn takes is a toggle;
//! a turn that takes longer than the threshold is a hole, in which the line stood still.
//!
//! Noting a turn is part of the next one: the line waits meanwhile, and an instrument on it sees the same.

use std::io;

use tardy_record::plan::{NoisePlan, NoiseThread, Span};
use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::cycle_counter::{Kind, MonotonicTicks, Ticks};
use tardy_sys::memory;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::thread_usage::{self, ThreadUsage};
use tardy_sys::waiting;

use super::fake::{FakeToggles, TOGGLE_NS};
use super::output::{Output, Work};
use crate::cells::Stage;
use crate::level::Level;
use crate::noise::{ATTEND_NS, FAKE_PAUSE, Gauge, Notes};
use crate::order::Order;
use crate::seat;
use crate::timer::Prepared;
use crate::timer::recorder::Recorder;

/// The measuring thread's part of the order.
pub struct FastestWiggle<'a> {
    map: &'a SharedMap,
    order: &'a Order,
    plan: &'a NoisePlan,
    thread: NoiseThread,
    gauge: Gauge,
    /// Once it is claimed; a fake has none.
    output: Option<Output>,
}

impl<'a> FastestWiggle<'a> {
    /// The one thread of `plan` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, plan: &'a NoisePlan) -> Self {
        let gauge = Gauge::of_fake(TOGGLE_NS, plan.threshold_ns);
        Self { map, order, plan, thread: plan.threads[0], gauge, output: None }
    }

    /// Takes its CPU and policy, claims its line, touches its stack, and finds out how long a toggle takes: a threshold that
    /// every toggle would pass is raised, and that is said.
    ///
    /// # Errors
    /// In words, if its CPU or the line cannot be had, or the line cannot be written.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let fake = self.order.fake.is_some();
        let (granted, mut refused) =
            seat::take(self.thread.cpu, self.plan.policy, self.thread.priority, fake)?;
        memory::prefault_stack();
        if !fake {
            let pin = self.order.pin.as_ref().ok_or("the order names no pin; please report it")?;
            let output = Output::claim(pin)?;
            self.gauge = output
                .lend(Gauging { threshold_ns: self.plan.threshold_ns })
                .map_err(|error| format!("{} cannot be written: {error}", pin.line.place()))?;
            self.output = Some(output);
            let Gauge { threshold_ns, usual_loop_ns, .. } = self.gauge;
            if threshold_ns > self.plan.threshold_ns {
                refused.push(format!(
                    "a toggle takes {usual_loop_ns:.0} ns, so a hole is one of at least {threshold_ns} ns instead of {} \
                     ns: shorter ones cannot be told from a toggle",
                    self.plan.threshold_ns
                ));
            }
        }
        Ok(Prepared::now(granted, refused))
    }

    /// Toggles from `start_ns` on the monotonic clock until the span is over or the supervisor stops it. Allocates nothing and,
    /// once [`Self::prepare`] has touched what there is, faults nothing.
    ///
    /// # Errors
    /// If the line cannot be written any more, or the kernel keeps no account of the thread.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        match &self.output {
            Some(output) => {
                waiting::sleep_until(Clock::Monotonic, start_ns as i64)?;
                output.lend(Toggling { wiggle: self })
            }
            None => {
                self.make_up(start_ns);
                Ok(())
            }
        }
    }

    fn toggle<L: Level>(&self, level: L) -> io::Result<()> {
        let block = self.map.block(self.order.first_block);
        let mut clock = ClockReader::new(Clock::Monotonic);
        let mut high = false;
        let mut before_ns = clock.now_ns() as u64;
        let warm_until_ns = before_ns + self.order.warmup_ns;
        while before_ns < warm_until_ns && !block.is_asked_to_end() {
            high = !high;
            level.set(high)?;
            before_ns = clock.now_ns() as u64;
        }
        let used_before = thread_usage::of_this_thread()?;
        before_ns = clock.now_ns() as u64;
        let (mut book, end_ns, toggles) = self.book(before_ns);
        let mut attend_at_ns = before_ns;
        while book.toggles < toggles {
            high = !high;
            level.set(high)?;
            let now_ns = clock.now_ns() as u64;
            book.add(before_ns, now_ns);
            before_ns = now_ns;
            if now_ns >= attend_at_ns {
                book.attend(now_ns);
                if now_ns >= end_ns || block.is_asked_to_end() {
                    break;
                }
                attend_at_ns = now_ns.saturating_add(ATTEND_NS).min(end_ns);
            }
        }
        book.finish(before_ns, thread_usage::of_this_thread()?.since(&used_before));
        Ok(())
    }

    /// Notes toggles that are made up. Time that is made up can be stopped: it waits while the supervisor has not taken its holes.
    fn make_up(&self, start_ns: u64) {
        let first = self.order.first_block;
        let block = self.map.block(first);
        let ring = self.map.ring(first + 1);
        let mut before_ns = start_ns + self.order.warmup_ns;
        let mut made = FakeToggles::new(before_ns, self.order.fake.unwrap_or(0) ^ self.order.seed);
        let (mut book, end_ns, toggles) = self.book(before_ns);
        while book.toggles < toggles && before_ns < end_ns && !block.is_asked_to_end() {
            while ring.is_some_and(|ring| ring.is_full()) && !block.is_asked_to_end() {
                std::thread::sleep(FAKE_PAUSE);
            }
            let now_ns = made.next();
            book.add(before_ns, now_ns);
            before_ns = now_ns;
        }
        book.finish(before_ns, ThreadUsage::default());
    }

    /// The book of what counts from `from_ns` on, until when it counts, and how many toggles at the most.
    fn book(&self, from_ns: u64) -> (Book<'a>, u64, u64) {
        let first = self.order.first_block;
        let toggles = Recorder::new(self.map.block(first), 0, &[], from_ns);
        toggles.set_stage(Stage::Counting);
        let holes =
            Notes::new(self.map.block(first + 1), self.map.ring(first + 1), from_ns, 1.0, &self.gauge);
        let book = Book { recorder: toggles, holes, toggles: 0, threshold_ns: self.gauge.threshold_ns };
        match self.order.span {
            Span::DurationNs(ns) => (book, from_ns.saturating_add(ns), u64::MAX),
            Span::Loops(loops) => (book, u64::MAX, loops),
            Span::Unknown => (book, from_ns, 0),
        }
    }

    /// Adds to the block what only allocating code can find out.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.map.block(self.order.first_block));
    }
}

/// What is written down: every toggle, and those that are holes with their times.
struct Book<'a> {
    recorder: Recorder<'a>,
    holes: Notes<'a>,
    toggles: u64,
    threshold_ns: u64,
}

impl Book<'_> {
    /// A toggle that began when the one before it had ended.
    #[inline(always)]
    fn add(&mut self, before_ns: u64, now_ns: u64) {
        let took_ns = now_ns.saturating_sub(before_ns);
        self.recorder.record_single(took_ns as i64, now_ns, self.toggles);
        self.toggles += 1;
        if took_ns >= self.threshold_ns {
            self.holes.add(took_ns, now_ns);
        }
    }

    fn attend(&mut self, now_ns: u64) {
        self.holes.loops = self.toggles;
        self.holes.say_how_far(now_ns);
    }

    /// Closes it at `end_ns`. What the thread cost is the toggles'.
    fn finish(mut self, end_ns: u64, used: ThreadUsage) {
        self.holes.loops = self.toggles;
        self.holes.finish(1e9, end_ns, ThreadUsage::default());
        self.recorder.finish(used);
    }
}

/// Finds out how long a toggle takes.
struct Gauging {
    threshold_ns: u64,
}

impl Work<io::Result<Gauge>> for Gauging {
    fn with<L: Level>(self, level: L) -> io::Result<Gauge> {
        let mut ticks = ToggleTicks { level, high: false, clock: MonotonicTicks::new(), outcome: Ok(()) };
        let gauge = Gauge::take(Kind::ClockMonotonic, &mut ticks, self.threshold_ns);
        let ToggleTicks { level, outcome, .. } = ticks;
        outcome?;
        level.set(false)?;
        Ok(gauge)
    }
}

/// The clock, with a toggle before each reading.
struct ToggleTicks<L> {
    level: L,
    high: bool,
    clock: MonotonicTicks,
    /// The last error.
    outcome: io::Result<()>,
}

impl<L: Level> Ticks for ToggleTicks<L> {
    fn now(&mut self) -> u64 {
        self.high = !self.high;
        if let Err(error) = self.level.set(self.high) {
            self.outcome = Err(error);
        }
        self.clock.now()
    }
}

/// Toggles until the end.
struct Toggling<'w, 'a> {
    wiggle: &'w FastestWiggle<'a>,
}

impl Work<io::Result<()>> for Toggling<'_, '_> {
    fn with<L: Level>(self, level: L) -> io::Result<()> {
        self.wiggle.toggle(level)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tardy_record::plan::Policy;

    use super::*;
    use crate::cells::{CELLS, Total};
    use crate::order::Work as Wanted;
    use crate::timer::reading::Cells;

    /// A line that remembers its last level, counts its edges, and breaks after so many writes.
    #[derive(Default)]
    struct Counted {
        high: Cell<Option<bool>>,
        writes: Cell<u64>,
        most: u64,
    }

    impl Level for &Counted {
        fn set(&self, high: bool) -> io::Result<()> {
            if self.writes.get() == self.most {
                return Err(io::Error::other("taken away"));
            }
            self.high.set(Some(high));
            self.writes.set(self.writes.get() + 1);
            Ok(())
        }
    }

    /// Toggles `loops` times on a line that breaks after `most` writes: the outcome, the writes, and the toggles and holes
    /// that were counted.
    fn toggled(loops: u64, most: u64) -> (io::Result<()>, u64, [u64; 2]) {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 2, CELLS).unwrap();
        let threads = vec![NoiseThread { cpu: 0, priority: 0 }];
        let plan = NoisePlan {
            threshold_ns: 0,
            policy: Policy::Other,
            memory_locked: false,
            dma_latency_us: None,
            threads,
        };
        let order = Order {
            map: map.path().to_owned(),
            first_block: 0,
            supervisor_pid: 0,
            work: Wanted::Toggle(plan.clone()),
            pin: None,
            warmup_ns: 0,
            span: Span::Loops(loops),
            thresholds_ns: Vec::new(),
            stop_trace: None,
            seed: 1,
            fake: None,
        };
        let line = Counted { most, ..Counted::default() };
        let wiggle = FastestWiggle::new(&map, &order, &plan);
        let outcome = wiggle.toggle(&line);
        let counted = [0, 1].map(|block| {
            let mut cells = Vec::new();
            assert!(map.block(block).read(&mut cells));
            assert!(outcome.is_err() || Cells(&cells).done());
            cells[Total::Attempted as usize]
        });
        (outcome, line.writes.get(), counted)
    }

    /// Every toggle is as long as a threshold of 0, and so a hole as well.
    #[test]
    fn each_write_is_a_toggle_and_each_long_one_a_hole() {
        let (outcome, writes, counted) = toggled(1000, u64::MAX);
        outcome.unwrap();
        assert_eq!((writes, counted), (1000, [1000, 1000]));
    }

    #[test]
    fn a_line_that_is_taken_away_ends_it() {
        let (outcome, writes, counted) = toggled(1000, 10);
        assert_eq!(outcome.unwrap_err().to_string(), "taken away");
        assert_eq!((writes, counted[0]), (10, 10));
    }

    #[test]
    fn the_gauge_leaves_the_line_low_and_tells_of_a_line_that_cannot_be_written() {
        Gauging { threshold_ns: 1 }.with(&Counted::default()).unwrap_err();
        let line = Counted { most: u64::MAX, ..Counted::default() };
        let gauge = Gauging { threshold_ns: 1 << 40 }.with(&line).unwrap();
        assert_eq!((gauge.threshold_ns, line.high.get()), (1 << 40, Some(false)));
    }
}
