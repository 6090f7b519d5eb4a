//! The sections of a summary and of a report, one file for each feature, and the order in which they are shown.
//!
//! To add a feature, write a file with a type that implements [`Section`], and add it to [`ALL`].

pub mod captures;
pub mod causes;
pub mod cost;
pub mod cpus;
pub mod distribution;
pub mod environment;
pub mod experiment;
pub mod extremes;
pub mod flows;
pub mod foreign;
pub mod headline;
pub mod heat;
mod intervals;
pub mod levels;
pub mod loads;
pub mod machine;
pub mod noise;
pub mod outliers;
pub mod phase_lock;
pub mod phase_terms;
pub mod program;
mod ptp;
pub mod published;
pub mod reactions;
pub mod round_trips;
pub mod rounds;
pub mod stationarity;
pub mod stops;
pub mod tail;
pub mod timeline;
pub mod timer;
pub mod tracer;
pub mod verdict;
pub mod wakes;
pub mod wiggles;

use tardy_analyse::name::Readings;
use tardy_record::Run;

use crate::section::{Section, describing};
use tardy_plot::terms::{LATENCY, Terms};

/// All sections, in order.
pub static ALL: &[&dyn Section] = &[
    &headline::Headline,
    &flows::Flows,
    &distribution::Distribution,
    &stationarity::Stationarity,
    &program::Program,
    &timer::Timer,
    &tracer::Tracer,
    &foreign::Foreign,
    &captures::Captures,
    &phase_lock::PhaseLock,
    &stops::Stops,
    &noise::Noise,
    &levels::Levels,
    &reactions::Reactions,
    &wiggles::Wiggles,
    &round_trips::RoundTrips,
    &causes::Causes,
    &wakes::Wakes,
    &rounds::Rounds,
    &published::Published,
    &tail::Tail,
    &extremes::Extremes,
    &cpus::Cpus,
    &timeline::Timeline,
    &heat::Heat,
    &loads::Loads,
    &outliers::Outliers,
    &ptp::Ptp,
    &environment::Environment,
    &cost::Cost,
    &machine::Machine,
    &experiment::Experiment,
    &verdict::Verdict,
];

/// The terms for `readings`; those for latencies if none of `sections` describes `readings`.
pub fn words(sections: &[&dyn Section], readings: Readings) -> &'static Terms {
    describing(sections, readings).map_or(&LATENCY, |measurement| measurement.words())
}

/// The term for the maxima of a run's series: `highest latency`, or `longest gap or highest latency`.
pub fn peaks(sections: &[&dyn Section], run: &Run) -> String {
    let mut peaks: Vec<&str> =
        run.own_series().map(|series| words(sections, Readings::of(series)).peak).collect();
    // The term for latencies comes last, whatever the order of the phases.
    peaks.sort_unstable_by_key(|peak| (*peak == LATENCY.peak, *peak));
    peaks.dedup();
    if peaks.is_empty() { LATENCY.peak.to_owned() } else { peaks.join(" or ") }
}
