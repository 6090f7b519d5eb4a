//! Records a loop's gaps: each in the histogram of the loop's block, and with its time in the block's ring.

use tardy_record::gaps::Counter;
use tardy_sys::cycle_counter::Kind;
use tardy_sys::ring::Ring;
use tardy_sys::shared_map::Block;
use tardy_sys::thread_usage;

use super::loop_calibration::LoopCalibration;
use crate::cells::{Stage, Total};
use crate::timer::recorder::Recorder;

/// Records gaps in the block and the ring.
pub(crate) struct GapRecorder<'a> {
    block: Block<'a>,
    recorder: Recorder<'a>,
    ns_per_tick: f64,
    gaps: u64,
    /// Turns of the loop so far.
    pub(crate) loops: u64,
    /// Ticks that the recording took.
    pub(super) blind: u64,
    /// The fewest ticks that one recording took.
    pub(super) shortest_writing: u64,
    /// The end of the last gap. No gap begins before it.
    ended_ns: u64,
}

impl<'a> GapRecorder<'a> {
    /// Records from `from_ns` on, for a loop whose counter has ticks of `ns_per_tick`, in `block` and `ring`.
    pub(crate) fn new(
        block: Block<'a>,
        ring: Option<Ring<'a>>,
        from_ns: u64,
        ns_per_tick: f64,
        calibration: &LoopCalibration,
    ) -> Self {
        let recorder = Recorder::new(block, 0, &[], from_ns).with_samples(ring);
        let counter = match calibration.kind {
            Kind::Tsc => Counter::Tsc,
            Kind::Cntvct => Counter::Cntvct,
            Kind::ClockMonotonic => Counter::ClockMonotonic,
        };
        for (total, value) in [
            (Total::CountedTo, from_ns),
            (Total::Counter, counter as u64),
            (Total::Threshold, calibration.threshold_ns),
            (Total::ShortestLoop, calibration.shortest_loop_ps),
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

    /// Records a gap of `ticks` that ended at `end_ns`.
    #[inline(never)]
    pub(crate) fn add(&mut self, ticks: u64, end_ns: u64) {
        let length_ns = (ticks as f64 * self.ns_per_tick).round() as u64;
        let at_ns = end_ns.saturating_sub(length_ns).max(self.ended_ns);
        self.ended_ns = end_ns.max(at_ns);
        self.recorder.record_single(length_ns as i64, at_ns, self.gaps);
        self.gaps += 1;
    }

    /// Reports the progress to the readers of the block.
    #[inline(never)]
    pub(crate) fn report_progress(&self, now_ns: u64) {
        let _writing = self.block.writing();
        self.set(Total::CountedTo, now_ns);
        self.set(Total::Loops, self.loops);
        self.set(Total::Blind, (self.blind as f64 * self.ns_per_tick) as u64);
    }

    /// Ends the recording at `end_ns`: stores the counter's overall rate and the thread's usage.
    pub(crate) fn finish(mut self, rate_hz: f64, end_ns: u64, used: thread_usage::ThreadUsage) {
        self.report_progress(end_ns);
        self.set(Total::RateWhole, rate_hz.to_bits());
        self.recorder.finish(used);
    }

    fn set(&self, total: Total, value: u64) {
        self.block.cells()[total as usize].set(value);
    }
}
