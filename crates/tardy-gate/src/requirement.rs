//! A requirement as text, such as `p99.9<500us`, `P(>1ms)<1e-6@99%` or `idle/cpu2: max<200us`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use tardy_analyse::phases;
use tardy_record::plan::Plan;
use tardy_record::units::{format_duration_ns, parse_duration_ns, parse_share};

/// The confidence of a requirement that does not name one.
pub const CONFIDENCE: f64 = 0.95;
/// The least share that may be required: no measurement has as many readings as its inverse.
const LEAST_SHARE: f64 = 1e-15;
const WRONG_SHARE: &str = "the share after '<', from 1e-15 to below 1,";
/// What every error ends with.
const FORMS: &str = "write p99.9<500us, P(>1ms)<1e-6@95% or max<200us, and in front of it, if not all loaded phases are \
                     meant, idle:, idle/cpu2: or /cpu2:";

/// What a run must meet.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The phase that it is about, by its label or its number from 1; `None`: the loaded phases, or all if no phase is loaded.
    pub phase: Option<String>,
    /// The series that it is about, by its name without spaces, such as `cpu2`; `None`: the worst one.
    pub series: Option<String>,
    /// What is demanded.
    pub demand: Demand,
    /// The confidence with which it must be met or violated, between 0 and 1. Of no meaning for [`Demand::Max`].
    pub confidence: f64,
}

/// What is demanded of the readings of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// The highest value in the run must be below the limit.
    Max {
        /// The limit, in ns.
        limit_ns: u64,
    },
    /// At most a share of readings may be later than the limit, in runs of any length.
    Share {
        /// The limit, in ns.
        limit_ns: u64,
        /// The share that may be later, between 0 and 1.
        allowed: f64,
        /// The quantile as it was written, such as 99.9; `None` if the share was.
        quantile: Option<f64>,
    },
}

impl Demand {
    /// The limit, in ns.
    pub fn limit_ns(self) -> u64 {
        match self {
            Self::Max { limit_ns } | Self::Share { limit_ns, .. } => limit_ns,
        }
    }
}

impl Requirement {
    /// Why no run of `plan` can be judged by this; `None` if one can. Whether a series exists is known of CPUs only.
    pub fn refused_by(&self, plan: &Plan) -> Option<String> {
        let judged = match phases::planned(plan, self.phase.as_deref()) {
            Ok(judged) => judged,
            Err(reason) => return Some(format!("'{self}': {reason}")),
        };
        let cpu: u32 =
            self.series.as_deref()?.to_lowercase().trim().strip_prefix("cpu")?.trim().parse().ok()?;
        let measured: BTreeSet<u32> =
            judged.iter().flat_map(|phase| plan.phases[*phase].probe.cpus()).collect();
        let is_missing = !measured.is_empty() && !measured.contains(&cpu);
        let all = || measured.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        is_missing.then(|| format!("'{self}': CPU {cpu} will not be measured, but {}", all()))
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, demand) = match text.rsplit_once(':') {
            Some((place, demand)) => (place.trim(), demand.trim()),
            None => ("", text.trim()),
        };
        let (phase, series) = place.split_once('/').unwrap_or((place, ""));
        let named = |name: &str| Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        let (demand, confidence) = match demand.rsplit_once('@') {
            Some((demand, _)) if demand.trim_start().starts_with("max") => {
                return Err(wrong("the confidence, which a maximum does not have,", text));
            }
            Some((demand, confidence)) => {
                (demand.trim(), parse_share(confidence).ok_or_else(|| wrong("the confidence after @", text))?)
            }
            None => (demand, CONFIDENCE),
        };
        // Clopper and Pearson's bound of 0 or 100 % confidence would be 0 or 1.
        if !(0.5..1.0).contains(&confidence) {
            return Err(wrong("the confidence, which must be at least 50 % and below 100 %,", text));
        }
        let (what, bound) = demand.split_once('<').ok_or_else(|| wrong("the '<'", text))?;
        if bound.starts_with('=') && what.trim() == "max" {
            return Err(wrong("the '<' (a maximum must be below its limit)", text));
        }
        let bound = bound.strip_prefix('=').unwrap_or(bound).trim();
        let demand = demand_of(what.trim(), bound).map_err(|part| wrong(part, text))?;
        Ok(Self { phase: named(phase), series: named(series), demand, confidence })
    }
}

fn demand_of(what: &str, bound: &str) -> Result<Demand, &'static str> {
    let limit = |text: &str| parse_duration_ns(text).ok().filter(|ns| *ns > 0).ok_or("the time");
    if what == "max" {
        return Ok(Demand::Max { limit_ns: limit(bound)? });
    }
    if let Some(inner) = what.strip_prefix("P(").and_then(|rest| rest.strip_suffix(')')) {
        let limit_ns = limit(inner.trim().strip_prefix('>').ok_or("the '>' in P(>TIME)")?.trim())?;
        let allowed =
            parse_share(bound).filter(|share| (LEAST_SHARE..1.0).contains(share)).ok_or(WRONG_SHARE)?;
        return Ok(Demand::Share { limit_ns, allowed, quantile: None });
    }
    let level =
        what.strip_prefix('p').and_then(|level| level.parse::<f64>().ok()).ok_or("what is before '<'")?;
    if !(level > 0.0 && level < 100.0) {
        return Err("the quantile, which must be between p0 and p100,");
    }
    // Decimal places are exact in text and not in binary: 1 − 0.999 is not 0.001.
    let allowed = ((100.0 - level) * 1e10).round() / 1e12;
    if allowed <= 0.0 {
        return Err("the quantile, which has at most ten decimal places,");
    }
    Ok(Demand::Share { limit_ns: limit(bound)?, allowed, quantile: Some(level) })
}

fn wrong(part: &str, text: &str) -> String {
    format!("{part} is missing or wrong in '{text}'; {FORMS}")
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.phase, &self.series) {
            (None, None) => {}
            (phase, None) => write!(f, "{}: ", phase.as_deref().unwrap_or_default())?,
            (phase, Some(series)) => write!(f, "{}/{series}: ", phase.as_deref().unwrap_or_default())?,
        }
        let limit = format_duration_ns(self.demand.limit_ns());
        match self.demand {
            Demand::Max { .. } => return write!(f, "max<{limit}"),
            Demand::Share { quantile: Some(level), .. } => write!(f, "p{level}<{limit}")?,
            Demand::Share { allowed, quantile: None, .. } if allowed < 1e-3 => {
                write!(f, "P(>{limit})<{allowed:e}")?
            }
            Demand::Share { allowed, .. } => write!(f, "P(>{limit})<{allowed}")?,
        }
        // 100 · 0.95 is not exactly 95.
        write!(f, "@{}%", (self.confidence * 1e10).round() / 1e8)
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Requirement {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn texts_become_requirements_and_texts_again() {
        for (text, shown) in [
            ("p99.9<500us", "p99.9<500us@95%"),
            ("p50 <= 20us", "p50<20us@95%"),
            ("p99.9999<1ms@99%", "p99.9999<1ms@99%"),
            ("P(>1ms)<1e-6@95%", "P(>1ms)<1e-6@95%"),
            ("P( > 1ms ) < 0.5% @ 0.99", "P(>1ms)<0.005@99%"),
            ("idle/cpu2: max<200us", "idle/cpu2: max<200us"),
            ("/cpu2: max<200us", "/cpu2: max<200us"),
            ("idle:p99<1ms", "idle: p99<1ms@95%"),
        ] {
            assert_eq!(parsed(text).to_string(), shown, "{text}");
            assert_eq!(parsed(&parsed(text).to_string()), parsed(text), "{text}");
        }
        let Demand::Share { allowed, .. } = parsed("p99.9<1us").demand else { panic!() };
        assert_eq!(allowed.to_bits(), 0.001f64.to_bits());
    }

    #[test]
    fn errors_say_what_is_wrong_and_what_to_write() {
        for (text, part) in [
            ("", "the '<'"),
            ("p99.9>500us", "the '<'"),
            ("p99.9<500", "the time"),
            ("p99.9<0s", "the time"),
            ("p100<1us", "the quantile"),
            ("px<1us", "what is before '<'"),
            ("median<1us", "what is before '<'"),
            ("P(1ms)<1e-6", "the '>'"),
            ("P(>1ms)<2", "the share"),
            ("P(>1ms)<0", "the share"),
            ("P(>1ms)<nan", "the share"),
            ("max<1ms@100%", "the confidence"),
            ("max<1ms@x", "the confidence"),
            ("max<1ms@99%", "the confidence, which a maximum does not have,"),
            ("max<=1ms", "the '<' (a maximum must be below its limit)"),
            ("P(>1ms)<1e-16", "the share"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.starts_with(part) && error.contains("write p99.9<500us"), "{text}: {error}");
        }
    }
}
