//! Plots for a page, each drawn in a width for screens and in one for phones.

use serde::Serialize;
use tardy_analyse::causes::Cause;
use tardy_analyse::flows::FlowPhase;
use tardy_analyse::name::Readings;
use tardy_analyse::noise::NoisePhase;
use tardy_record::Run;

use tardy_plot::curve::Curve;
use tardy_plot::terms::Terms;
use tardy_plot::{
    Options, cpus, cycle, drift, exceedance, gaps, heat, latency, moment, scope, strip, timeline,
};

const WIDE: f64 = 860.0;
const NARROW: f64 = 356.0;

/// A plot in both widths, as SVG.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    wide: String,
    narrow: String,
}

/// The marks and terms that all plots of a run share.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// The limit in ns.
    pub limit_ns: Option<u64>,
    /// Text across the plot.
    pub mark: Option<&'static str>,
    /// The kind of readings that are counted.
    pub readings: Readings,
    /// The terms for these readings.
    pub words: &'static Terms,
}

impl Default for Marks {
    fn default() -> Self {
        let Options { limit_ns, mark, readings, words, .. } = Options::default();
        Self { limit_ns, mark, readings, words }
    }
}

/// The options of a plot for screens, without marks.
pub(crate) fn wide() -> Options {
    Options { width: WIDE, ..Options::default() }
}

/// A figure in both widths, each drawn by `draw` from an id and options; `None` if `draw` returns `None`.
pub fn both(id: &str, marks: Marks, draw: impl Fn(&str, &Options) -> Option<String>) -> Option<Figure> {
    let Marks { limit_ns, mark, readings, words } = marks;
    let options =
        |width| Options { width, limit_ns, mark, readings, words, standalone: false, ..Options::default() };
    let wide = draw(&format!("{id}-wide"), &options(WIDE))?;
    let narrow = draw(&format!("{id}-narrow"), &options(NARROW))?;
    Some(Figure { wide, narrow })
}

pub(crate) fn latency(id: &str, title: &str, curves: &[Curve], marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| (!curves.is_empty()).then(|| latency::draw(id, title, curves, options)))
}

pub(crate) fn exceedance(id: &str, curves: &[Curve], marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| (!curves.is_empty()).then(|| exceedance::draw(id, curves, options)))
}

pub(crate) fn timeline(id: &str, run: &Run, peak: &str, marks: Marks) -> Option<Figure> {
    let recorded = run.own_series().any(|series| !series.block_maxima.maxima_ns.is_empty());
    let watched = !run.environment.series.is_empty();
    both(id, marks, |id, options| (recorded || watched).then(|| timeline::draw(id, run, peak, options)))
}

pub(crate) fn cpus(id: &str, run: &Run, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| cpus::draw(id, run, options))
}

pub(crate) fn heat(id: &str, run: &Run, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| heat::draw(id, run, options))
}

pub(crate) fn gaps(id: &str, run: &Run, phase: &NoisePhase, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| gaps::draw(id, run, phase, options))
}

pub(crate) fn strip(id: &str, run: &Run, phase: &NoisePhase, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| strip::draw(id, run, phase, options))
}

pub(crate) fn cycle(id: &str, run: &Run, phases: &[FlowPhase], marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| cycle::draw(id, run, phases, options))
}

pub(crate) fn drift(id: &str, run: &Run, phases: &[FlowPhase], marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| drift::draw(id, run, phases, options))
}

pub(crate) fn scope(id: &str, reactions: &scope::Reactions<'_>, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| scope::draw(id, reactions, options))
}

pub(crate) fn moment(id: &str, title: &str, cause: &Cause, marks: Marks) -> Option<Figure> {
    both(id, marks, |id, options| Some(moment::draw(id, title, cause, options)))
}
