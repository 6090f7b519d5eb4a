//! The fastest wiggle: a loop that writes the line and reads the clock. One iteration is a toggle. An iteration that takes
//! longer than the threshold is a hole, during which the line did not change.
//!
//! Recording an iteration is part of the next one, because it delays the next write. An instrument on the line measures the
//! same.

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
use crate::noise::{ATTEND_NS, FAKE_PAUSE, GapRecorder, LoopCalibration};
use crate::order::Order;
use crate::thread_setup;
use crate::timer::Prepared;
use crate::timer::recorder::Recorder;

/// The measuring thread's part of the order.
pub struct FastestWiggle<'a> {
    map: &'a SharedMap,
    order: &'a Order,
    plan: &'a NoisePlan,
    thread: NoiseThread,
    calibration: LoopCalibration,
    /// The claimed line; `None` in a fake.
    output: Option<Output>,
}

impl<'a> FastestWiggle<'a> {
    /// The only thread of `plan` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, plan: &'a NoisePlan) -> Self {
        let calibration = LoopCalibration::synthetic(TOGGLE_NS, plan.threshold_ns);
        Self { map, order, plan, thread: plan.threads[0], calibration, output: None }
    }

    /// Sets CPU and policy, claims the line, touches the stack, and measures the duration of a toggle. A threshold that
    /// every toggle would exceed is raised, and the result contains a message about it.
    ///
    /// # Errors
    /// A message for the user, if the CPU or the line is not available, or the line cannot be written.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let fake = self.order.fake.is_some();
        let (granted, mut refused) =
            thread_setup::set_up(self.thread.cpu, self.plan.policy, self.thread.priority, fake)?;
        memory::prefault_stack();
        if !fake {
            let pin = self.order.pin.as_ref().ok_or("the order names no pin; please report it")?;
            let output = Output::claim(pin)?;
            self.calibration = output
                .lend(Calibrating { threshold_ns: self.plan.threshold_ns })
                .map_err(|error| format!("{} cannot be written: {error}", pin.line.place()))?;
            self.output = Some(output);
            let LoopCalibration { threshold_ns, usual_loop_ns, .. } = self.calibration;
            if threshold_ns > self.plan.threshold_ns {
                refused.push(format!(
                    "a toggle takes {usual_loop_ns:.0} ns, so a hole is one of at least {threshold_ns} ns instead of {} \
                     ns: shorter ones cannot be distinguished from a toggle",
                    self.plan.threshold_ns
                ));
            }
        }
        Ok(Prepared::now(granted, refused))
    }

    /// Toggles from `start_ns` on the monotonic clock until the span is over or the supervisor stops it. Neither
    /// allocates nor, once [`Self::prepare`] has touched the memory, faults a page.
    ///
    /// # Errors
    /// If the line can no longer be written, or the kernel does not account for the thread.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        match &self.output {
            Some(output) => {
                waiting::sleep_until(Clock::Monotonic, start_ns as i64)?;
                output.lend(Toggling { wiggle: self })
            }
            None => {
                self.record_fake(start_ns);
                Ok(())
            }
        }
    }

    fn toggle<L: Level>(&self, level: L) -> io::Result<()> {
        let block = self.map.block(0);
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
        let (mut accounting, end_ns, toggles) = self.accounting(before_ns);
        let mut attend_at_ns = before_ns;
        while accounting.toggles < toggles {
            high = !high;
            level.set(high)?;
            let now_ns = clock.now_ns() as u64;
            accounting.add(before_ns, now_ns);
            before_ns = now_ns;
            if now_ns >= attend_at_ns {
                accounting.attend(now_ns);
                if now_ns >= end_ns || block.is_asked_to_end() {
                    break;
                }
                attend_at_ns = now_ns.saturating_add(ATTEND_NS).min(end_ns);
            }
        }
        accounting.finish(before_ns, thread_usage::of_this_thread()?.since(&used_before));
        Ok(())
    }

    /// Records synthetic toggles. Synthetic time can stop: it waits until the supervisor has taken the holes.
    fn record_fake(&self, start_ns: u64) {
        let block = self.map.block(0);
        let ring = self.map.ring(1);
        let mut before_ns = start_ns + self.order.warmup_ns;
        let mut made = FakeToggles::new(before_ns, self.order.fake.unwrap_or(0) ^ self.order.seed);
        let (mut accounting, end_ns, toggles) = self.accounting(before_ns);
        while accounting.toggles < toggles && before_ns < end_ns && !block.is_asked_to_end() {
            while ring.is_some_and(|ring| ring.is_full()) && !block.is_asked_to_end() {
                std::thread::sleep(FAKE_PAUSE);
            }
            let now_ns = made.next();
            accounting.add(before_ns, now_ns);
            before_ns = now_ns;
        }
        accounting.finish(before_ns, ThreadUsage::default());
    }

    /// The accounting from `from_ns` on, the end of the counted time, and the maximum number of toggles.
    fn accounting(&self, from_ns: u64) -> (ToggleAccounting<'a>, u64, u64) {
        let toggles = Recorder::new(self.map.block(0), 0, &[], from_ns);
        toggles.set_stage(Stage::Counting);
        let holes = GapRecorder::new(self.map.block(1), self.map.ring(1), from_ns, 1.0, &self.calibration);
        let accounting = ToggleAccounting {
            recorder: toggles,
            holes,
            toggles: 0,
            threshold_ns: self.calibration.threshold_ns,
        };
        match self.order.span {
            Span::DurationNs(ns) => (accounting, from_ns.saturating_add(ns), u64::MAX),
            Span::Loops(loops) => (accounting, u64::MAX, loops),
            Span::Unknown => (accounting, from_ns, 0),
        }
    }

    /// Adds the thread's migrations to the block. Not part of the measurement, since reading their number allocates.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.map.block(0));
    }
}

/// The record of every toggle, and of the holes with their times.
struct ToggleAccounting<'a> {
    recorder: Recorder<'a>,
    holes: GapRecorder<'a>,
    toggles: u64,
    threshold_ns: u64,
}

impl ToggleAccounting<'_> {
    /// Records a toggle that began when the one before it ended.
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
        self.holes.report_progress(now_ns);
    }

    /// Closes the record at `end_ns`. The cost of the thread is stored with the toggles.
    fn finish(mut self, end_ns: u64, used: ThreadUsage) {
        self.holes.loops = self.toggles;
        self.holes.finish(1e9, end_ns, ThreadUsage::default());
        self.recorder.finish(used);
    }
}

/// Measures the duration of a toggle.
struct Calibrating {
    threshold_ns: u64,
}

impl Work<io::Result<LoopCalibration>> for Calibrating {
    fn with<L: Level>(self, level: L) -> io::Result<LoopCalibration> {
        let mut ticks = ToggleTicks { level, high: false, clock: MonotonicTicks::new(), outcome: Ok(()) };
        let calibration = LoopCalibration::measure(Kind::ClockMonotonic, &mut ticks, self.threshold_ns);
        let ToggleTicks { level, outcome, .. } = ticks;
        outcome?;
        level.set(false)?;
        Ok(calibration)
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

    /// A line that remembers its last level, counts its edges, and fails after a number of writes.
    #[derive(Default)]
    struct Counted {
        high: Cell<Option<bool>>,
        writes: Cell<u64>,
        most: u64,
    }

    impl Level for &Counted {
        fn set(&self, high: bool) -> io::Result<()> {
            if self.writes.get() == self.most {
                return Err(io::Error::other("the line is gone"));
            }
            self.high.set(Some(high));
            self.writes.set(self.writes.get() + 1);
            Ok(())
        }
    }

    /// Toggles `loops` times on a line that fails after `most` writes. Returns the outcome, the writes, and the counted
    /// toggles and holes.
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
            threads: vec![0],
            placement: tardy_record::placement::Placement::default(),
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

    /// Every toggle exceeds a threshold of 0, so each is a hole as well.
    #[test]
    fn each_write_is_a_toggle_and_each_long_toggle_is_a_hole() {
        let (outcome, writes, counted) = toggled(1000, u64::MAX);
        outcome.unwrap();
        assert_eq!((writes, counted), (1000, [1000, 1000]));
    }

    #[test]
    fn a_line_that_disappears_ends_the_loop() {
        let (outcome, writes, counted) = toggled(1000, 10);
        assert_eq!(outcome.unwrap_err().to_string(), "the line is gone");
        assert_eq!((writes, counted[0]), (10, 10));
    }

    #[test]
    fn the_calibration_leaves_the_line_low_and_reports_a_failed_write() {
        Calibrating { threshold_ns: 1 }.with(&Counted::default()).unwrap_err();
        let line = Counted { most: u64::MAX, ..Counted::default() };
        let calibration = Calibrating { threshold_ns: 1 << 40 }.with(&line).unwrap();
        assert_eq!((calibration.threshold_ns, line.high.get()), (1 << 40, Some(false)));
    }
}
