//! A number of a run, such as `p99`, `max` or `P(>20us)`, and the condition that calls a run bad, such as `p99>12us`.

use std::fmt;
use std::str::FromStr;

use tardy_analyse::pool::{self, Pool};
use tardy_analyse::{lab, late, phases, quantile};
use tardy_record::units::{format_duration_ns, parse_duration_ns, parse_share};
use tardy_record::{Run, Series, reason};

/// What errors about a measure end with.
const FORMS: &str = "write p99, p99.9, p50, mean, min, max or P(>20us), and in front of it, if not all loaded phases are meant, \
                     the phase: idle:p99";
/// Quantiles have at most six decimal places.
const SCALE: u64 = 1_000_000;

/// A number of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The phase, by its label; `None`: the loaded phases, or all if no phase is loaded, of which the highest number counts.
    pub phase: Option<String>,
    /// The number.
    pub number: Number,
}

/// Which number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A quantile, in percent.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The lowest reading.
    Min,
    /// The highest reading.
    Max,
    /// The share of readings later than this, in ns.
    LaterThan(u64),
}

/// A run is bad if a number of it is above a value, or below.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The number.
    pub measure: Measure,
    /// Whether numbers above the value are bad.
    pub above: bool,
    /// The value: ns, or a share.
    pub value: f64,
}

impl Measure {
    /// The number of `run`: ns, or a share.
    ///
    /// # Errors
    /// If the run is invalid, or has no such number.
    pub fn of(&self, run: &Run) -> Result<f64, String> {
        if !run.validity.valid {
            return Err(format!("the run is invalid: {}", reason::joined(&run.validity.spoilt_by)));
        }
        if let Some(reason) = lab::meaningless_because(run) {
            return Err(format!("latencies mean nothing: {reason}"));
        }
        let mut highest: Option<f64> = None;
        for phase in phases::wanted(run, self.phase.as_deref())? {
            let is_measured = |one: &&Series| one.phase == phase && one.is_of_wakeups();
            let series: Vec<&Series> = run.own_series().filter(is_measured).collect();
            if series.is_empty() {
                continue;
            }
            let pool = pool::of(&series)
                .map_err(|_| "the histograms of its series do not fit each other".to_owned())?;
            let value = self.number.of(&pool).ok_or_else(|| self.missing(run, phase))?;
            highest = Some(highest.map_or(value, |highest| highest.max(value)));
        }
        highest.ok_or_else(|| "the run has no readings".to_owned())
    }

    fn missing(&self, run: &Run, phase: usize) -> String {
        let label = &run.phases[phase].label;
        format!("the run has too few readings in the phase '{label}' for {}", self.number)
    }

    /// A value of this measure, with its unit.
    pub fn shown(&self, value: f64) -> String {
        match self.number {
            Number::LaterThan(_) => format!("{value:.3e}"),
            _ => format!("{:.2} us", value / 1000.0),
        }
    }

    /// Whether its values are times.
    pub fn is_time(&self) -> bool {
        !matches!(self.number, Number::LaterThan(_))
    }
}

impl Number {
    fn of(self, pool: &Pool) -> Option<f64> {
        match self {
            Self::Mean => pool.mean_ns,
            Self::Min => pool.min_ns.map(|ns| ns as f64),
            Self::Max => pool.max_ns.filter(|_| !pool.max_at_least).map(|ns| ns as f64),
            Self::LaterThan(limit_ns) => {
                let limit_ns = i64::try_from(limit_ns).ok()?;
                let (at_least, _) = late::in_histogram(&pool.histogram, limit_ns, pool.max_ns);
                let total = pool.histogram.total();
                (total > 0).then(|| at_least as f64 / total as f64)
            }
            Self::Quantile(percent) => {
                let n = pool.histogram.total();
                let numerator = (percent / 100.0 * SCALE as f64).round() as u64;
                let rank = (u128::from(n) * u128::from(numerator)).div_ceil(u128::from(SCALE)) as u64;
                // The highest reading is not a quantile.
                if n < SCALE.div_ceil(SCALE - numerator) {
                    return None;
                }
                let (lower_ns, upper_ns) = quantile::edges_of_rank(&pool.histogram, rank.max(1))?;
                let highest = pool.max_ns.map_or(upper_ns, |max| upper_ns.min(max.saturating_add(1)));
                (upper_ns != i64::MAX).then_some((highest - 1).max(lower_ns) as f64)
            }
        }
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (phase, number) = match text.rsplit_once(':') {
            Some((phase, number)) => (Some(phase.trim().to_owned()), number),
            None => (None, text),
        };
        let wrong = |what: &str| Err(format!("{what} in '{text}'; {FORMS}"));
        let number = match number.trim() {
            "mean" => Number::Mean,
            "min" => Number::Min,
            "max" => Number::Max,
            "median" => Number::Quantile(50.0),
            number => {
                if let Some(inner) = number.strip_prefix("P(").and_then(|rest| rest.strip_suffix(')')) {
                    let limit = inner.trim().strip_prefix('>').map(|time| parse_duration_ns(time.trim()));
                    match limit {
                        Some(Ok(limit)) => Number::LaterThan(limit),
                        _ => return wrong("the time is missing or wrong"),
                    }
                } else {
                    match number.strip_prefix('p').and_then(|level| level.parse::<f64>().ok()) {
                        Some(level) if level > 0.0 && level <= 99.9999 => Number::Quantile(level),
                        _ => return wrong("the number is missing or wrong"),
                    }
                }
            }
        };
        if phase.as_deref() == Some("") {
            return wrong("the phase is missing");
        }
        Ok(Self { phase, number })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a condition: expected a number of the run, > and a value, such as p99>12us, max>30us or P(>20us)>1e-3"
            )
        };
        // The > within P(>20us) precedes the closing bracket.
        let from = text.find(')').unwrap_or(0);
        let at = text[from..].find(['>', '<']).map(|at| at + from).ok_or_else(wrong)?;
        let measure: Measure = text[..at].trim().parse()?;
        let value = text[at + 1..].trim();
        let value = match measure.number {
            Number::LaterThan(_) => parse_share(value),
            _ => parse_duration_ns(value).ok().map(|ns| ns as f64),
        };
        Ok(Self { measure, above: text.as_bytes()[at] == b'>', value: value.ok_or_else(wrong)? })
    }
}

impl Condition {
    /// Whether a run with this number is bad.
    pub fn is_bad(&self, number: f64) -> bool {
        if self.above { number > self.value } else { number < self.value }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantile(level) => write!(f, "p{level}"),
            Self::Mean => f.write_str("mean"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::LaterThan(limit_ns) => write!(f, "P(>{})", format_duration_ns(*limit_ns)),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.phase.iter().try_for_each(|phase| write!(f, "{phase}:"))?;
        self.number.fmt(f)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.above { '>' } else { '<' };
        match self.measure.is_time() {
            true => write!(f, "{}{sign}{}", self.measure, format_duration_ns(self.value.round() as u64)),
            false => write!(f, "{}{sign}{:e}", self.measure, self.value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab_run() -> Run {
        let text = include_bytes!("../../tardy-present/tests/runs/lab-standard.run.json");
        tardy_record::file::from_text(text).unwrap()
    }

    fn value(text: &str) -> Result<f64, String> {
        text.parse::<Measure>().unwrap().of(&lab_run())
    }

    #[test]
    fn numbers_are_those_of_the_summary() {
        let run = lab_run();
        let phases = tardy_analyse::phases::of(&run);
        for (phase, name) in phases.iter().map(|phase| (phase, phase.label.as_str())) {
            let row = phase.all.as_ref().unwrap();
            let of = |number: &str| value(&format!("{name}:{number}")).unwrap();
            assert_eq!(of("max"), row.max_ns.unwrap() as f64);
            assert_eq!(of("min"), row.min_ns.unwrap() as f64);
            for quantile in row.quantiles.iter().filter(|one| one.value.is_some()) {
                assert_eq!(
                    of(quantile.level),
                    quantile.value.unwrap().quoted_ns() as f64,
                    "{}",
                    quantile.level
                );
            }
        }
    }

    #[test]
    fn without_a_phase_the_loaded_ones_count() {
        let labels: Vec<String> = lab_run().phases.iter().map(|phase| phase.label.clone()).collect();
        let loaded = labels.last().unwrap();
        assert_eq!(value("p99").unwrap(), value(&format!("{loaded}:p99")).unwrap());
        let max = value("max").unwrap() as u64;
        assert_eq!(value(&format!("P(>{max}ns)")).unwrap(), 0.0);
        assert!(value(&format!("P(>{}ns)", max - 1)).unwrap() > 0.0);
    }

    #[test]
    fn what_a_run_does_not_have_is_an_error() {
        assert!(
            value("nowhere:p99").unwrap_err().contains("there is no phase 'nowhere' in the run; it has ")
        );
        assert!(value("p99.9999").unwrap_err().contains("too few readings"));
        let mut run = lab_run();
        run.validity.valid = false;
        assert!("max".parse::<Measure>().unwrap().of(&run).unwrap_err().contains("the run is invalid"));
    }

    #[test]
    fn texts_become_conditions_and_texts_again() {
        for (text, shown, bad, good) in [
            ("p99>12us", "p99>12us", 12_001.0, 12_000.0),
            ("idle: max > 30us", "idle:max>30us", 30_001.0, 29_999.0),
            ("P(>20us)>1e-3", "P(>20us)>1e-3", 0.002, 0.001),
            ("median<5us", "p50<5us", 4_999.0, 5_000.0),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.to_string(), shown);
            assert!(condition.is_bad(bad) && !condition.is_bad(good), "{text}");
        }
        for wrong in
            ["", "p99", "p99>", "p99>12", "p101>1us", "P(>20us)", "P(>20us)>2us", "x>1us", ":p99>1us"]
        {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
    }
}
