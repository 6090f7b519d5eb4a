//! What a loop notes of its gaps: each in the histogram of its block, and with its time in the ring beside it.

use tardy_record::gaps::Counter;
use tardy_sys::cycle_counter::Kind;
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;
use tardy_sys::thread_usage;

use super::gauge::Gauge;
use crate::cells::{Stage, Total};
use crate::timer::recorder::Recorder;

/// What the loop writes down, into the block and the ring.
pub(crate) struct Notes<'a> {
    block: Block<'a>,
    recorder: Recorder<'a>,
    ns_per_tick: f64,
    gaps: u64,
    /// Turns of the loop so far.
    pub(crate) loops: u64,
    /// Ticks that writing down took.
    pub(super) blind: u64,
    /// The fewest ticks that it took.
    pub(super) shortest_writing: u64,
    /// No gap begins before the one before it has ended.
    ended_ns: u64,
}

impl<'a> Notes<'a> {
    /// Notes from `from_ns` on, of a loop whose counter has ticks of `ns_per_tick`, in `block` and `ring`.
    pub(crate) fn new(
        block: Block<'a>,
        ring: Option<Ring<'a>>,
        from_ns: u64,
        ns_per_tick: f64,
        gauge: &Gauge,
    ) -> Self {
        let recorder = Recorder::new(block, 0, &[], from_ns).with_samples(ring);
        let counter = match gauge.kind {
            Kind::Tsc => Counter::Tsc,
            Kind::Cntvct => Counter::Cntvct,
            Kind::ClockMonotonic => Counter::ClockMonotonic,
        };
        for (total, value) in [
            (Total::CountedTo, from_ns),
            (Total::Counter, counter as u64),
            (Total::Threshold, gauge.threshold_ns),
            (Total::ShortestLoop, gauge.shortest_loop_ps),
            (Total::RateBefore, (1e9 / ns_per_tick).to_bits()),
        ] {
            block.cells()[total as usize].set(value);
        }
        recorder.set_stage(Stage::Counting);
        Self {
            block,
            recorder,
            ns_per_tick,
            gaps: 0,
            loops: 0,
            blind: 0,
            shortest_writing: u64::MAX,
            ended_ns: from_ns,
        }
    }

    /// A gap of so many ticks that ended at `end_ns`.
    #[inline(never)]
    pub(crate) fn add(&mut self, ticks: u64, end_ns: u64) {
        let length_ns = (ticks as f64 * self.ns_per_tick).round() as u64;
        let at_ns = end_ns.saturating_sub(length_ns).max(self.ended_ns);
        self.ended_ns = end_ns.max(at_ns);
        self.recorder.record_single(length_ns as i64, at_ns, self.gaps);
        self.gaps += 1;
    }

    /// Tells whoever reads the block how far it is.
    #[inline(never)]
    pub(crate) fn say_how_far(&self, now_ns: u64) {
        let _writing = self.block.writing();
        self.set(Total::CountedTo, now_ns);
        self.set(Total::Loops, self.loops);
        self.set(Total::Blind, (self.blind as f64 * self.ns_per_tick) as u64);
    }

    /// Closes the notes at `end_ns`: the counter's rate over all, and what the thread used.
    pub(crate) fn finish(mut self, rate_hz: f64, end_ns: u64, used: thread_usage::ThreadUsage) {
        self.say_how_far(end_ns);
        self.set(Total::RateWhole, rate_hz.to_bits());
        self.recorder.finish(used);
    }

    fn set(&self, total: Total, value: u64) {
        self.block.cells()[total as usize].set(value);
    }
}
