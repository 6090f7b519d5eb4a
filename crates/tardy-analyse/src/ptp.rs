//! How far the clock was from its source, as ptp4l or phc2sys recorded it during a run.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::environment::{EnvSeries, ptp_port_state};

/// A reading further from a moment than this is not of that moment, in ns.
const NEAR_NS: u64 = 5_000_000_000;

/// What PTP recorded over a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PtpFindings {
    /// The offsets and path delays.
    pub quantities: Vec<Quantity>,
    /// The states of each port, in their order.
    pub ports: Vec<PortStates>,
}

/// The values of one quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quantity {
    /// Its name, such as `PTP offset`.
    pub name: String,
    /// What it is of, such as `master` or `CLOCK_REALTIME phc`.
    pub of: String,
    /// The number of readings that the run keeps.
    pub readings: usize,
    /// The least value, in ns.
    pub least_ns: f64,
    /// The median, in ns.
    pub median_ns: f64,
    /// The greatest value, in ns.
    pub greatest_ns: f64,
}

/// The states of a port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortStates {
    /// The port, such as `port 1`.
    pub port: String,
    /// Its states, each as long as it did not change.
    pub states: Vec<&'static str>,
}

/// How far a clock was from its source at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OffsetAt {
    /// The moment, in ns from the start of the run.
    pub at_ns: u64,
    /// What the offset is of, such as `master` or `CLOCK_REALTIME phc`.
    pub of: String,
    /// The offset, in ns: the nearest in time.
    pub offset_ns: f64,
    /// Whether it is the largest magnitude of an interval, which has no sign.
    pub is_largest: bool,
    /// When it was measured, in ns from the start of the run.
    pub measured_at_ns: u64,
    /// The path delay that was measured with it, in ns.
    pub path_delay_ns: Option<f64>,
    /// The state of the port at the moment, if there is one port.
    pub state: Option<&'static str>,
}

/// What PTP recorded; `None` if the run did not follow it.
pub fn of(run: &Run) -> Option<PtpFindings> {
    let quantity = |series: &EnvSeries| {
        let mut sorted = series.values.clone();
        sorted.sort_by(f64::total_cmp);
        Some(Quantity {
            name: series.name.clone(),
            of: series.of.clone(),
            readings: sorted.len(),
            least_ns: *sorted.first()?,
            median_ns: sorted[sorted.len() / 2],
            greatest_ns: *sorted.last()?,
        })
    };
    let port = |series: &EnvSeries| {
        let mut states: Vec<&str> = series.values.iter().map(|number| state(*number)).collect();
        states.dedup();
        PortStates { port: series.of.clone(), states }
    };
    let ptp = || run.environment.series.iter().filter(|series| series.name.starts_with("PTP "));
    let found = PtpFindings {
        quantities: ptp().filter(|series| series.unit == "ns").filter_map(quantity).collect(),
        ports: ptp().filter(|series| series.name == "PTP port state").map(port).collect(),
    };
    (found != PtpFindings::default()).then_some(found)
}

/// The offset nearest to `at_ns`, which is in ns from the start of the run, for each clock that has one within 5 s of it.
pub fn at(run: &Run, at_ns: u64) -> Vec<OffsetAt> {
    let all = &run.environment.series;
    let mut ports = all.iter().filter(|series| series.name == "PTP port state");
    let state_then = match (ports.next(), ports.next()) {
        (Some(port), None) => held(port, at_ns).map(state),
        _ => None,
    };
    let offset = |series: &EnvSeries| {
        let is_largest = series.name == "PTP offset, largest";
        if series.name != "PTP offset" && !is_largest {
            return None;
        }
        let (measured_at_ns, offset_ns) = nearest(series, at_ns)?;
        let delay = all.iter().find(|other| other.name == "PTP path delay" && other.of == series.of);
        Some(OffsetAt {
            at_ns,
            of: series.of.clone(),
            offset_ns,
            is_largest,
            measured_at_ns,
            path_delay_ns: delay.and_then(|delay| nearest(delay, measured_at_ns)).map(|(_, ns)| ns),
            state: state_then,
        })
    };
    all.iter().filter_map(offset).collect()
}

/// The reading nearest to `at_ns`, and its time.
fn nearest(series: &EnvSeries, at_ns: u64) -> Option<(u64, f64)> {
    let readings = series.at_ns.iter().copied().zip(series.values.iter().copied());
    readings
        .min_by_key(|(read_ns, _)| read_ns.abs_diff(at_ns))
        .filter(|(ns, _)| ns.abs_diff(at_ns) <= NEAR_NS)
}

/// The value that held at `at_ns`: that of the first point from then on.
fn held(series: &EnvSeries, at_ns: u64) -> Option<f64> {
    let place = series.at_ns.partition_point(|read_ns| *read_ns < at_ns);
    series.values.get(place).or(series.values.last()).copied()
}

fn state(number: f64) -> &'static str {
    ptp_port_state(number as u8)
}

#[cfg(test)]
mod tests {
    use tardy_record::environment::Merge;
    use tardy_record::facts::Facts;
    use tardy_record::plan::Plan;
    use tardy_record::run::Origin;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Name, what it is of, unit, and readings by their second.
    type Recorded<'a> = (&'a str, &'a str, &'a str, &'a [(u64, f64)]);

    fn run(series: &[Recorded<'_>]) -> Run {
        let mut run = Run::begun(Origin::default(), Plan::default(), Facts::default());
        run.environment.series = series
            .iter()
            .map(|(name, of, unit, points)| EnvSeries {
                name: (*name).to_owned(),
                of: (*of).to_owned(),
                cpu: None,
                unit: (*unit).to_owned(),
                merge: Merge::FarFromZero,
                at_ns: points.iter().map(|(seconds, _)| seconds * SECOND).collect(),
                values: points.iter().map(|(_, value)| *value).collect(),
            })
            .collect();
        run
    }

    #[test]
    fn a_moment_has_the_nearest_offset_and_the_state_that_held_then() {
        let run = run(&[
            ("PTP offset", "master", "ns", &[(1, -40.0), (2, 70.0), (3, 900.0)]),
            ("PTP path delay", "master", "ns", &[(1, 500.0), (2, 510.0), (3, 520.0)]),
            // UNCALIBRATED until 2 s, then SLAVE.
            ("PTP port state", "port 1", "IEEE 1588", &[(1, 8.0), (2, 8.0), (3, 9.0)]),
        ]);
        let at = |ns: u64| {
            let found = at(&run, ns);
            assert_eq!(found.len(), 1);
            (found[0].offset_ns, found[0].path_delay_ns, found[0].state)
        };
        assert_eq!(at(SECOND + 600_000_000), (70.0, Some(510.0), Some("UNCALIBRATED")));
        assert_eq!(at(2 * SECOND + 400_000_000), (70.0, Some(510.0), Some("SLAVE")));
        assert_eq!(at(7 * SECOND), (900.0, Some(520.0), Some("SLAVE")));
        assert!(super::at(&run, 9 * SECOND).is_empty(), "no offset within 5 s");
    }

    #[test]
    fn a_run_has_the_range_of_each_quantity_and_the_states_of_each_port() {
        let run = run(&[
            ("temperature", "cpu", "°C", &[(1, 50.0)]),
            ("PTP offset", "master", "ns", &[(1, -40.0), (2, 70.0), (3, 900.0)]),
            ("PTP port state", "port 1", "IEEE 1588", &[(1, 9.0), (2, 9.0), (3, 2.0)]),
        ]);
        let found = of(&run).unwrap();
        let [offset] = &found.quantities[..] else { panic!("{found:?}") };
        assert_eq!((offset.least_ns, offset.median_ns, offset.greatest_ns), (-40.0, 70.0, 900.0));
        assert_eq!(found.ports[0].states, ["SLAVE", "FAULTY"]);
        assert_eq!(of(&self::run(&[("temperature", "cpu", "°C", &[(1, 50.0)])])), None);
    }
}
