//! Pins that are driven high and low: the time between edges, as written by a loop or as read back over a wire, the
//! holes, and the published results for comparison.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::wiggle::Seen;

use crate::noise::NoisePhase;
use crate::periods::Period;
use crate::published::{self, PublishedResult};
use crate::row::{self, Row};

/// All phases of a run that drove a pin high and low, and the published results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wiggles {
    /// The phases.
    pub phases: Vec<Wiggle>,
    /// The published results, in the order of the file.
    pub published: Vec<PublishedWiggle>,
}

/// A phase that drove a pin high and low.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wiggle {
    /// Index of the phase.
    pub phase: usize,
    /// How the edges were observed.
    pub seen: Seen,
    /// The time between edges.
    pub toggles: Row,
    /// The number of holes; `None` if the phase did not look for them.
    pub holes: Option<u64>,
    /// The period of the holes that take most of the time; `None` if the holes have no period.
    pub period: Option<Period>,
}

/// A published result. What the article does not state is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedWiggle {
    /// Its id in `data/published.toml`.
    pub id: String,
    /// Board and kernel.
    pub what: String,
    /// How long a toggle took, in ns.
    pub toggle_ns: Option<f64>,
    /// The time from one hole to the next, in us.
    pub period_us: Option<f64>,
    /// The length of a hole, in us.
    pub length_us: Option<f64>,
    /// Keys of its figures that the article states as "about".
    pub approx: Vec<String>,
}

/// The phases of `run`, with their holes from `noise`; `None` if there are none.
pub fn of(run: &Run, noise: &[NoisePhase], published: &[PublishedResult]) -> Option<Wiggles> {
    let phases: Vec<Wiggle> = (run.series.iter())
        .filter_map(|series| {
            let edges = series.edges()?;
            let is_written = matches!(edges.seen, Seen::Written { .. });
            let holes =
                (noise.iter()).find(|found| is_written && found.of_pin && found.phase == series.phase);
            let holes = holes.and_then(|found| found.cpus.first());
            Some(Wiggle {
                phase: series.phase,
                seen: edges.seen.clone(),
                toggles: row::of_series(series),
                holes: holes.map(|holes| holes.gaps),
                period: holes.and_then(|holes| Some(holes.sources.first()?.period.clone())),
            })
        })
        .collect();
    // Published results are of the fastest loops only.
    let is_fast = run.series.iter().any(|series| series.edges().is_some_and(|edges| !edges.beside));
    let published = published
        .iter()
        .filter(|one| is_fast && published::is_fastest_toggle(one) && one.toggle_ns.is_some());
    let published = published.map(|one| PublishedWiggle {
        id: one.id.clone(),
        what: published::what(one),
        toggle_ns: one.toggle_ns,
        period_us: one.interference_period_us,
        length_us: one.interference_length_us,
        approx: one.approx.clone(),
    });
    (!phases.is_empty()).then(|| Wiggles { phases, published: published.collect() })
}

#[cfg(test)]
mod tests {
    use tardy_record::facts::Facts;
    use tardy_record::gaps::{Gap, GapKeeper, GapSeries, KeptGaps};
    use tardy_record::plan::{Plan, Policy};
    use tardy_record::run::{Origin, Phase};
    use tardy_record::series::{Level, Quantity, SeriesKind};
    use tardy_record::series_builder::{Reading, SeriesBuilder};
    use tardy_record::wiggle::{EdgeSeries, Through};

    use super::*;
    use crate::{findings, noise};

    const TOGGLE_NS: u64 = 250;
    const SPAN_NS: u64 = 100_000_000;

    /// Toggles of 250 ns for 100 ms. Every 500th takes 4.5 us: there is a hole every 129.25 us.
    fn run() -> Run {
        let mut toggles = SeriesBuilder::new(0, None, SPAN_NS, &[]);
        let mut holes = SeriesBuilder::new(0, None, SPAN_NS, &[]);
        let mut keeper = GapKeeper::new(SPAN_NS);
        let (mut at_ns, mut cycle, mut hole) = (0, 0, 0);
        while at_ns < SPAN_NS {
            cycle += 1;
            let is_hole = cycle % 500 == 0;
            let took_ns = if is_hole { 4_500 } else { TOGGLE_NS };
            let reading = |cycle| Reading { value_ns: took_ns as i64, at_ns, cycle, missed: 0 };
            toggles.record(reading(cycle));
            if is_hole {
                holes.record(reading(hole));
                keeper.add(Gap { at_ns, length_ns: took_ns });
                hole += 1;
            }
            at_ns += took_ns;
        }
        let KeptGaps { first, windows, longest, longest_from_ns } = keeper.kept();
        let gaps = GapSeries {
            cpu: 0,
            policy: Policy::Other,
            priority: 0,
            of_pin: true,
            counter: Default::default(),
            threshold_ns: 500,
            loops: cycle,
            shortest_loop_ps: TOGGLE_NS * 1000,
            blind_ns: 0,
            rate_before_hz: 1e9,
            rate_whole_hz: None,
            first,
            windows,
            longest,
            longest_from_ns,
            times_lost: 0,
        };
        let through = Through::Chardev;
        let seen = Seen::Written { cpu: 0, policy: Policy::Other, priority: 0, through };
        let edges = EdgeSeries { seen, beside: false };
        let series = |builder: &SeriesBuilder, label: &str, quantity, kind| {
            builder.series(label.to_owned(), 0, quantity, Level::UserThread, kind)
        };
        let mut run = Run::begun(Origin::default(), Plan::default(), Facts::default());
        run.phases.push(Phase { label: "busy".into(), end_ns: Some(SPAN_NS), ..Phase::default() });
        run.series.push(series(&toggles, "toggles", Quantity::Spacing, SeriesKind::Edges(edges)));
        run.series.push(series(&holes, "holes", Quantity::Noise, SeriesKind::Gaps(Box::new(gaps))));
        run
    }

    fn result(id: &str, wake: Option<&str>, toggle_ns: Option<f64>) -> PublishedResult {
        let (probe, wake) = (Some("gpio-wiggle".to_owned()), wake.map(str::to_owned));
        PublishedResult { id: id.to_owned(), probe, wake, toggle_ns, ..PublishedResult::default() }
    }

    #[test]
    fn toggles_holes_and_their_period_are_next_to_the_published_ones() {
        let run = run();
        let published = [
            result("busy", Some("busy"), Some(250.0)),
            result("timed", None, None),
            result("no figure", Some("busy"), None),
        ];
        let wiggles = of(&run, &noise::of(&run), &published).unwrap();
        let [one] = wiggles.phases.as_slice() else { panic!("{wiggles:?}") };
        assert_eq!((one.toggles.min_ns, one.toggles.max_ns), (Some(250), Some(4_500)));
        assert_eq!(one.holes, Some(run.series[1].tally.recorded));
        let period = one.period.as_ref().unwrap();
        assert!((period.period_ns - 129_250.0).abs() < 0.5, "{period:?}");
        assert_eq!((period.length_ns, period.missing), (4_500, 0));
        let ids: Vec<&str> = wiggles.published.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["busy"]);
    }

    /// A hole is also a toggle, and neither is a wake-up.
    #[test]
    fn holes_are_not_pooled_with_toggles_and_neither_has_a_limit() {
        let run = run();
        assert_eq!(run.own_series().map(|series| series.label.as_str()).collect::<Vec<_>>(), ["toggles"]);
        let found =
            findings::of(&run, &findings::Options { limit_ns: Some(1000), ..findings::Options::default() });
        assert_eq!(found.phases[0].rows.len(), 1);
        assert_eq!(found.verdict, None);
        assert!(found.noise[0].of_pin);
    }
}
