//! One thread of the noise probe: it prepares, waits for the start, spins and ends.
//!
//! Lengths of gaps are differences of the counter. Times are CLOCK_MONOTONIC, read after each gap: times computed from
//! the counter would drift away from the clock of all other data by some ppm.

use std::io;
use std::time::Duration;

use tardy_record::gaps::Gap;
use tardy_record::plan::{NoisePlan, NoiseThread, Span};
use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::cycle_counter::{self, Cntvct, Kind, MonotonicTicks, Ticks, Tsc};
use tardy_sys::memory;
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::{Block, SharedMap};
use tardy_sys::thread_usage;

use super::fake::FakeGaps;
use super::gap_recorder::GapRecorder;
use super::loop_calibration::LoopCalibration;
use super::spin::spin;
use crate::order::Order;
use crate::thread_setup;
use crate::timer::Prepared;

/// How often the loop is left to check whether to end and to report progress.
pub(crate) const ATTEND_NS: u64 = 100_000_000;
/// Recording a gap was interrupted if it takes this many times the shortest recording.
const WRITING_INTERRUPTED: u64 = 8;
/// At most this many gaps follow each other during the recording.
const GAPS_IN_WRITING_MAX: usize = 8;
/// The duration of a turn of a fake's loop.
const FAKE_LOOP_NS: u64 = 10;
/// How long a fake waits for the supervisor to take its gaps before it checks again.
pub(crate) const FAKE_PAUSE: Duration = Duration::from_micros(200);

/// A measuring thread's part of the order.
pub struct NoiseProbe<'a> {
    order: &'a Order,
    noise: &'a NoisePlan,
    thread: NoiseThread,
    block: Block<'a>,
    ring: Option<Ring<'a>>,
    index: usize,
    /// The result of [`Self::prepare`].
    calibration: LoopCalibration,
}

impl<'a> NoiseProbe<'a> {
    /// Thread `index` of `noise` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, noise: &'a NoisePlan, index: usize) -> Self {
        let calibration = LoopCalibration::synthetic(FAKE_LOOP_NS, noise.threshold_ns);
        let thread = noise.threads[index];
        Self { order, noise, thread, block: map.block(index), ring: map.ring(index), index, calibration }
    }

    /// Sets the CPU, and the policy if granted, touches the stack, and measures the duration of an iteration of the loop. A
    /// threshold that every iteration would exceed is raised, and the result contains a message about it.
    ///
    /// # Errors
    /// If the CPU is not available.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let (granted, mut refused) = thread_setup::set_up(
            self.thread.cpu,
            self.noise.policy,
            self.thread.priority,
            self.order.fake.is_some(),
        )?;
        memory::prefault_stack();
        if self.order.fake.is_none() {
            refused.extend(match Kind::of_this_machine() {
                Kind::Tsc => self.calibrate(Kind::Tsc, &mut Tsc),
                Kind::Cntvct => self.calibrate(Kind::Cntvct, &mut Cntvct),
                Kind::ClockMonotonic => self.calibrate(Kind::ClockMonotonic, &mut MonotonicTicks::new()),
            });
        }
        Ok(Prepared::now(granted, refused))
    }

    /// Measures counter and loop. Returns a message for the user if the threshold was raised.
    fn calibrate<T: Ticks>(&mut self, kind: Kind, ticks: &mut T) -> Option<String> {
        self.calibration = LoopCalibration::measure(kind, ticks, self.noise.threshold_ns);
        let LoopCalibration { threshold_ns, usual_loop_ns, .. } = self.calibration;
        (threshold_ns > self.noise.threshold_ns).then(|| {
            format!(
                "on cpu {} a turn of the loop takes {usual_loop_ns:.0} ns, so the threshold is {threshold_ns} ns there \
                 instead of {} ns: shorter gaps cannot be distinguished from a turn",
                self.thread.cpu, self.noise.threshold_ns,
            )
        })
    }

    /// Measures from `start_ns` on the monotonic clock until the span is over or the supervisor stops it. Neither
    /// allocates nor, once [`Self::prepare`] has touched the memory, faults a page.
    ///
    /// # Errors
    /// If the kernel refuses the wait for the start, or does not account for the thread.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        let Span::DurationNs(duration_ns) = self.order.span else {
            return Err(io::Error::other("noise is measured for a time, not for cycles"));
        };
        if let Some(seed) = self.order.fake {
            let gaps = FakeGaps::new(start_ns, seed ^ self.order.seed.wrapping_add(self.index as u64 + 1));
            self.record_fake(gaps, start_ns, duration_ns);
            return Ok(());
        }
        tardy_sys::waiting::sleep_until(Clock::Monotonic, start_ns as i64)?;
        match self.calibration.kind {
            Kind::Tsc => self.watch(&mut Tsc, duration_ns),
            Kind::Cntvct => self.watch(&mut Cntvct, duration_ns),
            Kind::ClockMonotonic => self.watch(&mut MonotonicTicks::new(), duration_ns),
        }
    }

    fn watch<T: Ticks>(&self, ticks: &mut T, duration_ns: u64) -> io::Result<()> {
        let mut clock = ClockReader::new(Clock::Monotonic);
        let warm_until_ns = clock.now_ns() as u64 + self.order.warmup_ns;
        while (clock.now_ns() as u64) < warm_until_ns && !self.block.is_asked_to_end() {
            ticks.now();
        }
        let used_before = thread_usage::of_this_thread()?;
        let (began, began_ns) = cycle_counter::moment(ticks, &mut clock);
        let (calibrated, calibrated_ns) = self.calibration.moment;
        let ns_per_tick = began_ns.saturating_sub(calibrated_ns).max(1) as f64
            / began.saturating_sub(calibrated).max(1) as f64;
        let mut recorder = GapRecorder::new(self.block, self.ring, began_ns, ns_per_tick, &self.calibration);
        let threshold = (self.calibration.threshold_ns as f64 / ns_per_tick).ceil() as u64;
        let attend_every = (ATTEND_NS as f64 / ns_per_tick) as u64;
        let end = began.saturating_add((duration_ns as f64 / ns_per_tick) as u64);
        let mut before = ticks.now();
        loop {
            let attend_at = before.saturating_add(attend_every).min(end);
            let seen = spin(ticks, before, threshold, attend_at);
            recorder.loops += seen.loops;
            let took = seen.now.saturating_sub(seen.before);
            if took >= threshold {
                recorder.add(took, clock.now_ns() as u64);
            }
            if seen.now >= attend_at {
                recorder.report_progress(clock.now_ns() as u64);
                if seen.now >= end || self.block.is_asked_to_end() {
                    break;
                }
            }
            before = self.end_writing(ticks, &mut clock, &mut recorder, seen.now, threshold);
        }
        let (ended, ended_ns) = cycle_counter::moment(ticks, &mut clock);
        let used = thread_usage::of_this_thread()?.since(&used_before);
        let rate_hz =
            ended.saturating_sub(began) as f64 / ended_ns.saturating_sub(began_ns).max(1) as f64 * 1e9;
        recorder.finish(rate_hz, ended_ns, used);
        Ok(())
    }

    /// Ends the recording that began at `since`, and returns the counter at its end. A recording that took many times
    /// the shortest was interrupted: that is a gap as well, which includes the recording.
    fn end_writing<T: Ticks>(
        &self,
        ticks: &mut T,
        clock: &mut ClockReader,
        recorder: &mut GapRecorder<'_>,
        since: u64,
        threshold: u64,
    ) -> u64 {
        let mut since = since;
        for _ in 0..GAPS_IN_WRITING_MAX {
            let now = ticks.now();
            let took = now.saturating_sub(since);
            recorder.shortest_writing = recorder.shortest_writing.min(took);
            if took < threshold.max(recorder.shortest_writing.saturating_mul(WRITING_INTERRUPTED)) {
                recorder.blind += took;
                return now;
            }
            recorder.add(took, clock.now_ns() as u64);
            since = now;
        }
        ticks.now()
    }

    /// Records synthetic gaps. Synthetic time can stop: it waits until the supervisor has taken the gaps.
    fn record_fake(&self, mut gaps: FakeGaps, start_ns: u64, duration_ns: u64) {
        let counted_from_ns = start_ns + self.order.warmup_ns;
        let end_ns = counted_from_ns.saturating_add(duration_ns);
        let mut recorder = GapRecorder::new(self.block, self.ring, counted_from_ns, 1.0, &self.calibration);
        while !self.block.is_asked_to_end() {
            let Gap { at_ns, length_ns } = gaps.next();
            if at_ns >= end_ns {
                break;
            }
            if at_ns < counted_from_ns || length_ns < self.calibration.threshold_ns {
                continue;
            }
            while self.ring.is_some_and(|ring| ring.is_full()) && !self.block.is_asked_to_end() {
                std::thread::sleep(FAKE_PAUSE);
            }
            recorder.add(length_ns, at_ns + length_ns);
        }
        recorder.loops = duration_ns / FAKE_LOOP_NS;
        recorder.finish(1e9, end_ns, thread_usage::ThreadUsage::default());
    }

    /// Adds the thread's migrations to the block. Not part of the measurement, since reading their number allocates.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.block);
    }
}
