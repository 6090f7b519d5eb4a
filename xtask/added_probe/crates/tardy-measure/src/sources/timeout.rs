//! Timeouts of the supervisor's own poll(2) as a source: no thread, no other process.

use tardy_record::Series;
use tardy_record::missed_periods::missed_behind;
use tardy_record::plan::TimeoutPlan;
use tardy_record::reason::Reason;
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_record::series_kind::TimeoutSeries;

use crate::engine::{Counted, Finished, KillReason, PhaseContext, Ready, Source, SourceProgress, Supervisor};

/// The timeouts of one phase.
pub(crate) struct Timeouts<'r> {
    context: PhaseContext<'r>,
    plan: &'r TimeoutPlan,
    /// Set once the source has started.
    counting: Option<Counting>,
}

/// Times are ns from the start of the run.
struct Counting {
    from_ns: u64,
    to_ns: u64,
    due_ns: u64,
    cycle: u64,
    builder: SeriesBuilder,
}

impl<'r> Timeouts<'r> {
    /// The timeouts of `plan`, not started.
    pub(crate) fn new(context: PhaseContext<'r>, plan: &'r TimeoutPlan) -> Self {
        Self { context, plan, counting: None }
    }
}

impl Counting {
    fn has_ended(&self) -> bool {
        self.due_ns >= self.to_ns
    }

    /// Records that the timeout of `due_ns` came at `now_ns`.
    fn record(&mut self, now_ns: u64, period_ns: u64) {
        let value_ns = (now_ns - self.due_ns).cast_signed();
        let missed = missed_behind(value_ns, period_ns);
        self.builder.record(Reading { value_ns, at_ns: now_ns, cycle: self.cycle, missed });
        self.cycle += 1 + missed;
        self.due_ns += (1 + missed) * period_ns;
    }
}

/// How late the timeout of `cycle` is in a synthetic run, in ns.
fn synthetic_late_ns(seed: u64, cycle: u64) -> u64 {
    let mixed = (seed ^ cycle).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    50_000 + (mixed >> 32) % 10_000
}

impl Source for Timeouts<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        Ok(Ready::default())
    }

    fn start_delay_ns(&self) -> u64 {
        self.plan.period_ns
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        let (from_ns, to_ns) = (counted.counted_from_ns(), counted.counted_to_ns());
        let (period_ns, thresholds_ns) = (self.plan.period_ns, &self.context.request.plan.thresholds_ns);
        let builder = SeriesBuilder::new(from_ns, Some(period_ns), to_ns - from_ns, thresholds_ns);
        self.counting = Some(Counting { from_ns, to_ns, due_ns: from_ns, cycle: 0, builder });
        Ok(())
    }

    fn wait_ns(&self) -> u64 {
        match &self.counting {
            Some(counting) if self.context.request.fake.is_none() => {
                counting.due_ns.saturating_sub(self.context.clock.now_ns())
            }
            _ => 0,
        }
    }

    fn on_wake(&mut self, _readable: &[bool]) -> Vec<Reason> {
        let Some(counting) = self.counting.as_mut().filter(|counting| !counting.has_ended()) else {
            return Vec::new();
        };
        let clock = &self.context.clock;
        if let Some(seed) = self.context.request.fake {
            clock.advance_to(counting.due_ns + synthetic_late_ns(seed, counting.cycle));
        }
        let now_ns = clock.now_ns();
        if now_ns >= counting.due_ns {
            counting.record(now_ns, self.plan.period_ns);
        }
        Vec::new()
    }

    fn has_ended(&self) -> bool {
        self.counting.as_ref().is_none_or(Counting::has_ended)
    }

    /// Ends the counted part now.
    fn stop(&mut self) {
        let now_ns = self.context.clock.now_ns();
        self.counting.iter_mut().for_each(|counting| counting.to_ns = now_ns);
    }

    fn stop_patience_ns(&self) -> u64 {
        self.plan.period_ns
    }

    fn kill(&mut self, _reason: KillReason) -> Vec<Reason> {
        self.stop();
        Vec::new()
    }

    fn finish(&mut self) -> Finished {
        Finished::default()
    }

    fn progress(&self) -> SourceProgress {
        let Some(counting) = &self.counting else { return SourceProgress::default() };
        let counted_to_ns = counting.to_ns.min(self.context.clock.now_ns()).max(counting.from_ns);
        SourceProgress {
            counted_from_ns: Some(counting.from_ns),
            counted_to_ns: Some(counted_to_ns),
            counted_ns: counted_to_ns - counting.from_ns,
            worst: counting.builder.max_ns().map(|ns| (ns, self.plan.cpu)),
            missed: 0,
        }
    }

    fn series(&self) -> Vec<Series> {
        let TimeoutPlan { cpu, period_ns } = *self.plan;
        let series = |counting: &Counting| {
            let kind = SeriesKind::Timeout(TimeoutSeries { cpu, period_ns });
            let (label, phase) = (format!("cpu {cpu}"), self.context.index);
            counting.builder.series(label, phase, Quantity::Latency, Level::UserThread, kind)
        };
        self.counting.iter().map(series).collect()
    }
}
