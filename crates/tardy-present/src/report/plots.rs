//! The report's plots, each drawn twice: for a page and for a phone.

use serde::Serialize;
use tardy_analyse::causes::Cause;
use tardy_analyse::flows::FlowPhase;
use tardy_analyse::name::Readings;
use tardy_analyse::noise::NoisePhase;
use tardy_record::Run;

use crate::plot::curve::Curve;
use crate::plot::{Options, cycle, drift, exceedance, gaps, heat, latency, moment, scope, strip, timeline};

const WIDE: f64 = 860.0;
const NARROW: f64 = 356.0;

/// One plot in both widths, as SVG.
#[derive(Debug, Serialize)]
pub(super) struct PlotView {
    wide: String,
    narrow: String,
}

/// What is drawn into every plot of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) limit_ns: Option<u64>,
    pub(super) mark: Option<&'static str>,
    pub(super) readings: Readings,
}

fn both(id: &str, marks: Marks, draw: impl Fn(&str, &Options) -> Option<String>) -> Option<PlotView> {
    let Marks { limit_ns, mark, readings } = marks;
    let options =
        |width| Options { width, limit_ns, mark, readings, latency_max_ns: None, standalone: false };
    let wide = draw(&format!("{id}-wide"), &options(WIDE))?;
    let narrow = draw(&format!("{id}-narrow"), &options(NARROW))?;
    Some(PlotView { wide, narrow })
}

pub(super) fn latency(id: &str, title: &str, curves: &[Curve], marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| (!curves.is_empty()).then(|| latency::draw(id, title, curves, options)))
}

pub(super) fn exceedance(id: &str, curves: &[Curve], marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| (!curves.is_empty()).then(|| exceedance::draw(id, curves, options)))
}

pub(super) fn timeline(id: &str, run: &Run, marks: Marks) -> Option<PlotView> {
    let recorded = run.own_series().any(|series| !series.block_maxima.maxima_ns.is_empty());
    let watched = !run.environment.series.is_empty();
    both(id, marks, |id, options| (recorded || watched).then(|| timeline::draw(id, run, options)))
}

pub(super) fn heat(id: &str, run: &Run, marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| heat::draw(id, run, options))
}

pub(super) fn gaps(id: &str, run: &Run, phase: &NoisePhase, marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| gaps::draw(id, run, phase, options))
}

pub(super) fn strip(id: &str, run: &Run, phase: &NoisePhase, marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| strip::draw(id, run, phase, options))
}

pub(super) fn cycle(id: &str, run: &Run, phases: &[FlowPhase], marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| cycle::draw(id, run, phases, options))
}

pub(super) fn drift(id: &str, run: &Run, phases: &[FlowPhase], marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| drift::draw(id, run, phases, options))
}

pub(super) fn scope(id: &str, reactions: &scope::Reactions<'_>, marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| scope::draw(id, reactions, options))
}

pub(super) fn moment(id: &str, title: &str, cause: &Cause, marks: Marks) -> Option<PlotView> {
    both(id, marks, |id, options| Some(moment::draw(id, title, cause, options)))
}
