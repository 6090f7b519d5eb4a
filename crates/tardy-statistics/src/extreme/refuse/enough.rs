//! Are there enough values, and were they measured under one set of conditions?

use super::{Check, Circumstances, Kind, Outcome};
use crate::extreme::Fit;

const LEAST_COUNT: f64 = 50.0;
/// The least count for a level beyond the measured time.
const LEAST_COUNT_BEYOND: f64 = 100.0;
const LEAST_DISTINCT: f64 = 6.0;
const MOST_LOST: f64 = 0.01;
/// A level this many times beyond the measured time is shown with a remark.
const FLAGGED_EXTRAPOLATION: f64 = 10.0;
const MOST_EXTRAPOLATION: f64 = 100.0;

pub(super) fn checks(fit: &Fit, circumstances: &Circumstances) -> Vec<Check> {
    vec![
        count(fit, circumstances),
        distinct_bins(fit),
        lost_values(circumstances),
        phase_change(circumstances),
        known_cause(circumstances),
        extrapolation(circumstances),
    ]
}

/// The least number of values for the level that is asked for.
pub(super) fn least_count(circumstances: &Circumstances) -> f64 {
    if circumstances.extrapolation > 1.0 { LEAST_COUNT_BEYOND } else { LEAST_COUNT }
}

fn count(fit: &Fit, circumstances: &Circumstances) -> Check {
    let limit = least_count(circumstances);
    let found = fit.count as f64;
    Check::computed(
        Kind::Count,
        found < limit,
        found,
        limit,
        format!("{found} values were fitted; this level needs at least {limit}"),
        "measure for longer",
    )
}

fn distinct_bins(fit: &Fit) -> Check {
    let found = fit.sample.cells.len() as f64;
    Check::computed(
        Kind::DistinctBins,
        found < LEAST_DISTINCT,
        found,
        LEAST_DISTINCT,
        format!(
            "the values are in {found} different bins; the form of a tail needs at least {LEAST_DISTINCT}"
        ),
        "record with a finer resolution, or measure for longer",
    )
}

fn lost_values(circumstances: &Circumstances) -> Check {
    let found = circumstances.lost_share;
    Check::computed(
        Kind::LostValues,
        found.is_nan() || found > MOST_LOST,
        found,
        MOST_LOST,
        format!("{:.2} % of the values were lost", found * 100.0),
        "find out why values were lost, and measure again",
    )
}

fn phase_change(circumstances: &Circumstances) -> Check {
    const HELP: &str = "find what changed, and measure again without that change";
    let Some(has_changed) = circumstances.has_phase_change else {
        let why = "whether the conditions changed is unknown: the measurement has too few slices of time";
        return Check::not_computed(Kind::PhaseChange, 0.0, why, "measure for longer");
    };
    let statement = match has_changed {
        true => "the conditions changed during the measurement",
        false => "the conditions did not change",
    };
    let found = f64::from(u8::from(has_changed));
    Check::computed(Kind::PhaseChange, has_changed, found, 0.0, statement.to_owned(), HELP)
}

fn known_cause(circumstances: &Circumstances) -> Check {
    let statement = match &circumstances.cause_of_highest {
        Some(cause) => format!("the highest value has a separate cause: {cause}"),
        None => "no separate cause of the highest value is known".to_owned(),
    };
    let found = f64::from(u8::from(circumstances.cause_of_highest.is_some()));
    Check::computed(
        Kind::KnownCause,
        circumstances.cause_of_highest.is_some(),
        found,
        0.0,
        statement,
        "remove the cause, or state its rate and its values separately",
    )
}

fn extrapolation(circumstances: &Circumstances) -> Check {
    let found = circumstances.extrapolation;
    let outcome = if found.is_nan() || found > MOST_EXTRAPOLATION {
        Outcome::Refuses
    } else if found > FLAGGED_EXTRAPOLATION {
        Outcome::Flags
    } else {
        Outcome::Passes
    };
    Check {
        kind: Kind::Extrapolation,
        outcome,
        found: Some(found),
        limit: MOST_EXTRAPOLATION,
        statement: format!("the level is for {found:.1} times the measured time"),
        help: "measure for longer, or ask for the level of a shorter time",
    }
}
