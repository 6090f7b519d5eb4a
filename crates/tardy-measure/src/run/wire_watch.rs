//! What the lab's own GPIO chip noted of a phase, taken once a second beside what the thread measured.

use tardy_record::Series;
use tardy_record::pins::ReactionPlan;
use tardy_record::plan::{PhasePlan, ProbePlan};
use tardy_sys::pins_log::{CHIP_LABEL, PinsLog, Rise};
use tardy_sys::shared_map::SharedMap;

use super::house::House;
use super::live_series::LiveSeries;
use super::wire_series::WireSeries;
use tardy_probe::order::Granted;
use tardy_probe::sample_ring::{Sample, SampleReader};

/// Whether the plan's input is driven by the lab's own chip, which keeps a log.
pub(super) fn has_log(house: &House<'_>, probe: &ProbePlan) -> bool {
    matches!(probe, ProbePlan::Reaction(plan) if plan.input.label == CHIP_LABEL)
        && house.request.fake.is_none()
}

/// The wire of one phase.
pub(super) struct WireWatch<'m> {
    phase: usize,
    plan: ReactionPlan,
    log: PinsLog,
    ring: Option<SampleReader<'m>>,
    /// Until it is known from when the thread counts.
    undecided: Vec<Rise>,
    uncompared: Vec<Sample>,
    series: Option<WireSeries>,
    run_start_ns: u64,
    planned_ns: u64,
    thresholds_ns: Vec<u64>,
}

impl<'m> WireWatch<'m> {
    /// Opens the log for phase `index`, if there is one. The thread hands its reactions over in `map`.
    ///
    /// # Errors
    /// In words, if there is one and it cannot be read.
    pub(super) fn open(
        house: &House<'_>,
        map: &'m SharedMap,
        index: usize,
        phase: &PhasePlan,
    ) -> Result<Option<Self>, String> {
        let ProbePlan::Reaction(plan) = &phase.probe else { return Ok(None) };
        if !has_log(house, &phase.probe) {
            return Ok(None);
        }
        let log = PinsLog::open().map_err(|error| error.to_string())?;
        Ok(Some(Self {
            phase: index,
            plan: plan.clone(),
            log,
            ring: map.ring(0).map(SampleReader::new),
            undecided: Vec::new(),
            uncompared: Vec::new(),
            series: None,
            run_start_ns: house.clock.start_ns(),
            planned_ns: phase.planned_ns(),
            thresholds_ns: house.request.plan.thresholds_ns.clone(),
        }))
    }

    /// Takes what has been noted. The thread's reactions first: so the log has them all.
    pub(super) fn collect(&mut self, live: &LiveSeries<'_>) -> Result<(), String> {
        if let Some(ring) = &mut self.ring {
            self.uncompared.extend(std::iter::from_fn(|| ring.take()));
        }
        self.log.take(|rise| self.undecided.push(rise)).map_err(|error| format!("the pins' log: {error}"))?;
        if self.series.is_none()
            && let Some(cells) = live.cells()
        {
            let from_ns = cells.counted_from_ns();
            self.series =
                Some(WireSeries::new(from_ns, self.run_start_ns, self.planned_ns, &self.thresholds_ns));
        }
        if let Some(series) = &mut self.series {
            self.undecided.drain(..).for_each(|rise| series.rise(rise));
            self.uncompared.drain(..).for_each(|sample| series.compare(sample));
        }
        Ok(())
    }

    /// The series as they stand, of a thread that runs as `granted`.
    pub(super) fn series(&self, granted: Granted) -> Vec<Series> {
        self.series.as_ref().map_or_else(Vec::new, |series| series.series(self.phase, &self.plan, granted))
    }
}
