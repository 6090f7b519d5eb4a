//! One thread of the noise probe: it prepares, waits for the start, spins and ends.
//!
//! Lengths of gaps are differences of the counter, times are of CLOCK_MONOTONIC, read behind each gap: the road not taken,
//! times computed from the counter, drifts away from the clock of everything else by some ppm.

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
use super::gauge::Gauge;
use super::notes::Notes;
use super::spin::spin;
use crate::order::Order;
use crate::seat;
use crate::timer::Prepared;

/// The loop is left this often, to see whether it shall end and to say how far it is.
pub(crate) const ATTEND_NS: u64 = 100_000_000;
/// Writing a gap down that takes as many times the shortest was interrupted.
const WRITING_INTERRUPTED: u64 = 8;
/// No more gaps than these follow each other within the writing.
const GAPS_IN_WRITING_MAX: usize = 8;
/// What a fake's loop takes.
const FAKE_LOOP_NS: u64 = 10;
/// How long a fake waits for the supervisor to take its gaps before it looks again.
pub(crate) const FAKE_PAUSE: Duration = Duration::from_micros(200);

/// A measuring thread's part of the order.
pub struct NoiseProbe<'a> {
    order: &'a Order,
    noise: &'a NoisePlan,
    thread: NoiseThread,
    block: Block<'a>,
    ring: Option<Ring<'a>>,
    index: usize,
    /// What was found out in [`Self::prepare`].
    gauge: Gauge,
}

impl<'a> NoiseProbe<'a> {
    /// Thread `index` of `noise` in the order.
    pub fn new(map: &'a SharedMap, order: &'a Order, noise: &'a NoisePlan, index: usize) -> Self {
        let block = order.first_block + index;
        let gauge = Gauge::of_fake(FAKE_LOOP_NS, noise.threshold_ns);
        let thread = noise.threads[index];
        Self { order, noise, thread, block: map.block(block), ring: map.ring(block), index, gauge }
    }

    /// Takes its CPU and policy, as far as it may, touches its stack, and finds out how long a turn of its loop takes: a
    /// threshold that every turn would pass is raised, and that is said.
    ///
    /// # Errors
    /// If its CPU cannot be had at all.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let (granted, mut refused) =
            seat::take(self.thread.cpu, self.noise.policy, self.thread.priority, self.order.fake.is_some())?;
        memory::prefault_stack();
        if self.order.fake.is_none() {
            refused.extend(match Kind::of_this_machine() {
                Kind::Tsc => self.take_gauge(Kind::Tsc, &mut Tsc),
                Kind::Cntvct => self.take_gauge(Kind::Cntvct, &mut Cntvct),
                Kind::ClockMonotonic => self.take_gauge(Kind::ClockMonotonic, &mut MonotonicTicks::new()),
            });
        }
        Ok(Prepared::now(granted, refused))
    }

    /// Gauges counter and loop; what it had to change, in words.
    fn take_gauge<T: Ticks>(&mut self, kind: Kind, ticks: &mut T) -> Option<String> {
        self.gauge = Gauge::take(kind, ticks, self.noise.threshold_ns);
        let Gauge { threshold_ns, usual_loop_ns, .. } = self.gauge;
        (threshold_ns > self.noise.threshold_ns).then(|| {
            format!(
                "on cpu {} a turn of the loop takes {usual_loop_ns:.0} ns, so the threshold is {threshold_ns} ns there \
                 instead of {} ns: shorter gaps cannot be told from a turn",
                self.thread.cpu, self.noise.threshold_ns,
            )
        })
    }

    /// Measures from `start_ns` on the monotonic clock until the span is over or the supervisor stops it. Allocates nothing
    /// and, once [`Self::prepare`] has touched what there is, faults nothing.
    ///
    /// # Errors
    /// If the kernel does not let the thread wait for the start, or keeps no account of it.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        let Span::DurationNs(duration_ns) = self.order.span else {
            return Err(io::Error::other("noise is measured for a time, not for cycles"));
        };
        if let Some(seed) = self.order.fake {
            let gaps = FakeGaps::new(start_ns, seed ^ self.order.seed.wrapping_add(self.index as u64 + 1));
            self.make_up(gaps, start_ns, duration_ns);
            return Ok(());
        }
        tardy_sys::waiting::sleep_until(Clock::Monotonic, start_ns as i64)?;
        match self.gauge.kind {
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
        let (gauged, gauged_ns) = self.gauge.moment;
        let ns_per_tick =
            began_ns.saturating_sub(gauged_ns).max(1) as f64 / began.saturating_sub(gauged).max(1) as f64;
        let mut notes = Notes::new(self.block, self.ring, began_ns, ns_per_tick, &self.gauge);
        let threshold = (self.gauge.threshold_ns as f64 / ns_per_tick).ceil() as u64;
        let attend_every = (ATTEND_NS as f64 / ns_per_tick) as u64;
        let end = began.saturating_add((duration_ns as f64 / ns_per_tick) as u64);
        let mut before = ticks.now();
        loop {
            let attend_at = before.saturating_add(attend_every).min(end);
            let seen = spin(ticks, before, threshold, attend_at);
            notes.loops += seen.loops;
            let took = seen.now.saturating_sub(seen.before);
            if took >= threshold {
                notes.add(took, clock.now_ns() as u64);
            }
            if seen.now >= attend_at {
                notes.say_how_far(clock.now_ns() as u64);
                if seen.now >= end || self.block.is_asked_to_end() {
                    break;
                }
            }
            before = self.end_writing(ticks, &mut clock, &mut notes, seen.now, threshold);
        }
        let (ended, ended_ns) = cycle_counter::moment(ticks, &mut clock);
        let used = thread_usage::of_this_thread()?.since(&used_before);
        let rate_hz =
            ended.saturating_sub(began) as f64 / ended_ns.saturating_sub(began_ns).max(1) as f64 * 1e9;
        notes.finish(rate_hz, ended_ns, used);
        Ok(())
    }

    /// Ends the writing down that began at `since`, and gives the counter at its end. What took many times as long as it
    /// ever did was interrupted: that is a gap too, with the writing in it.
    fn end_writing<T: Ticks>(
        &self,
        ticks: &mut T,
        clock: &mut ClockReader,
        notes: &mut Notes<'_>,
        since: u64,
        threshold: u64,
    ) -> u64 {
        let mut since = since;
        for _ in 0..GAPS_IN_WRITING_MAX {
            let now = ticks.now();
            let took = now.saturating_sub(since);
            notes.shortest_writing = notes.shortest_writing.min(took);
            if took < threshold.max(notes.shortest_writing.saturating_mul(WRITING_INTERRUPTED)) {
                notes.blind += took;
                return now;
            }
            notes.add(took, clock.now_ns() as u64);
            since = now;
        }
        ticks.now()
    }

    /// Notes gaps that are made up. Time that is made up can be stopped: it waits while the supervisor has not taken its gaps.
    fn make_up(&self, mut gaps: FakeGaps, start_ns: u64, duration_ns: u64) {
        let counted_from_ns = start_ns + self.order.warmup_ns;
        let end_ns = counted_from_ns.saturating_add(duration_ns);
        let mut notes = Notes::new(self.block, self.ring, counted_from_ns, 1.0, &self.gauge);
        while !self.block.is_asked_to_end() {
            let Gap { at_ns, length_ns } = gaps.next();
            if at_ns >= end_ns {
                break;
            }
            if at_ns < counted_from_ns || length_ns < self.gauge.threshold_ns {
                continue;
            }
            while self.ring.is_some_and(|ring| ring.is_full()) && !self.block.is_asked_to_end() {
                std::thread::sleep(FAKE_PAUSE);
            }
            notes.add(length_ns, at_ns + length_ns);
        }
        notes.loops = duration_ns / FAKE_LOOP_NS;
        notes.finish(1e9, end_ns, thread_usage::ThreadUsage::default());
    }

    /// Adds to the block what only allocating code can find out.
    pub fn account(&self, prepared: &Prepared) {
        prepared.account(self.block);
    }
}
