//! Reads the log of the lab's own GPIO chip once per second, for comparison with the thread's measurements.

use std::rc::Rc;

use tardy_probe::sample_ring::{Sample, SampleReader};
use tardy_record::Series;
use tardy_record::pins::ReactionPlan;
use tardy_record::series::SeriesKind;
use tardy_sys::pins_log::{PinsLog, Rise};

use super::wire_series::WireSeries;
use crate::engine::{Observer, PhaseContext, Reading, Supervisor};
use crate::sources::own_probe::ProbeState;

/// Observes the wire of one phase.
pub(crate) struct Wire<'r> {
    context: PhaseContext<'r>,
    state: Rc<ProbeState<'r>>,
    plan: &'r ReactionPlan,
    log: Option<PinsLog>,
    /// Rises, until it is known when the thread began to count.
    undecided: Vec<Rise>,
    uncompared: Vec<Sample>,
    series: Option<WireSeries>,
}

impl<'r> Wire<'r> {
    /// Observes the wire of a thread that puts its reactions into the ring of its block.
    pub(crate) fn new(context: PhaseContext<'r>, state: Rc<ProbeState<'r>>, plan: &'r ReactionPlan) -> Self {
        Self { context, state, plan, log: None, undecided: Vec::new(), uncompared: Vec::new(), series: None }
    }

    /// Reads the log. The thread's reactions are read first, so that the log contains all of them.
    fn take(&mut self) -> Result<(), String> {
        let Some(log) = &mut self.log else { return Ok(()) };
        if let Some(mut ring) = self.state.map().ring(0).map(SampleReader::new) {
            self.uncompared.extend(std::iter::from_fn(|| ring.take()));
        }
        log.take(|rise| self.undecided.push(rise)).map_err(|error| format!("the pins' log: {error}"))?;
        if self.series.is_none() {
            self.series = self.begin_series();
        }
        if let Some(series) = &mut self.series {
            self.undecided.drain(..).for_each(|rise| series.rise(rise));
            self.uncompared.drain(..).for_each(|sample| series.compare(sample));
        }
        Ok(())
    }

    /// A series from the time at which the thread began to count; `None` before that.
    fn begin_series(&self) -> Option<WireSeries> {
        let PhaseContext { request, plan, clock, .. } = &self.context;
        let from_ns = self.state.series().first()?.cells()?.counted_from_ns();
        let thresholds_ns = &request.plan.thresholds_ns;
        Some(WireSeries::new(from_ns, clock.start_ns(), plan.planned_ns(), thresholds_ns))
    }
}

impl Observer for Wire<'_> {
    fn attach(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        self.log = Some(PinsLog::open().map_err(|error| error.to_string())?);
        Ok(())
    }

    fn read(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.take()
    }

    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.take()
    }

    /// Makes the wire's own series the phase's main one: it shows the edges as an oscilloscope would.
    fn add_to(&self, series: &mut Vec<Series>) {
        let Some(wire) = &self.series else { return };
        for series in series.iter_mut() {
            if let SeriesKind::Reaction(reaction) = &mut series.kind {
                reaction.beside = true;
            }
        }
        let granted = self.state.granted().first().copied();
        series.extend(
            granted.into_iter().flat_map(|granted| wire.series(self.context.index, self.plan, granted)),
        );
    }
}
