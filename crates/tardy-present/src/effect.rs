//! Ratios, intervals and p-values in words, and the recommendation that rests on them.

use tardy_analyse::outcome;
use tardy_compare::recommend::{Answer, ROUNDS_MIN, Recommendation};
use tardy_compare::versus::Effect;
use tardy_plot::numbers::{counted, harmless, three_digits};

/// A candidate's value over that of the base: `80 times lower`, `24 % higher`, `the same`.
pub fn describe_ratio(ratio: f64) -> String {
    let times = |factor: f64, direction: &str| format!("{} times {direction}", significant(factor));
    match ratio {
        1.0 => "the same".to_owned(),
        ratio if ratio >= 2.0 => times(ratio, "higher"),
        ratio if ratio <= 0.5 => times(1.0 / ratio, "lower"),
        ratio => {
            let direction = if ratio > 1.0 { "higher" } else { "lower" };
            format!("{} % {direction}", significant((ratio - 1.0).abs() * 100.0))
        }
    }
}

/// A number with two significant digits, or all digits before the point: `80`, `2.5`, `0.41`.
fn significant(value: f64) -> String {
    match value {
        value if value >= 9.95 => tardy_plot::numbers::count(value.round() as u64),
        value if value >= 0.995 => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        value => three_digits((value * 100.0).ceil() / 100.0),
    }
}

/// The interval of a ratio in words: `3.8 to 6.9`, `3 to 27 %` where the estimate states the direction, else `12 % lower to 21 %
/// higher`.
pub(crate) fn interval_words(effect: &Effect) -> Option<String> {
    let (low, high) = (effect.low?, effect.high?);
    let is_same_side = (low < 1.0 && high < 1.0) || (low > 1.0 && high > 1.0);
    if !is_same_side || (effect.estimate > 1.0) != (low > 1.0) {
        let words = [low, high].map(describe_ratio);
        return Some(if words[0] == words[1] { words[0].clone() } else { words.join(" to ") });
    }
    // In the unit of the estimate, and the smaller effect first.
    let is_per_cent = describe_ratio(effect.estimate).contains('%');
    let size = |ratio: f64| match is_per_cent {
        true => (ratio - 1.0).abs() * 100.0,
        false => ratio.max(1.0 / ratio),
    };
    let [less, more] =
        if size(low) < size(high) { [low, high] } else { [high, low] }.map(|end| significant(size(end)));
    let unit = if is_per_cent { " %" } else { "" };
    Some(if less == more { format!("{less}{unit}") } else { format!("{less} to {more}{unit}") })
}

/// `p = 0.0079`, `p < 0.001`.
pub fn p_text(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {}", p_number(p)) }
}

/// A p-value with two digits that matter.
pub(crate) fn p_number(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".to_owned(),
        // Two digits that matter.
        p if p < 0.0995 => format!("{p:.*}", if p < 0.00995 { 4 } else { 3 }),
        p => format!("{p:.2}"),
    }
}

/// Which way to use and how sure that is, in one sentence.
pub(crate) fn recommendation(found: &Recommendation) -> String {
    let Recommendation { loads, statistic, rounds, answer } = found;
    let under =
        if loads.is_empty() { String::new() } else { format!(" under {}", harmless(&outcome::under(loads))) };
    match answer {
        Answer::Use { best, next, ratio, p } => {
            let interval = interval_words(ratio).map(|text| format!("{text}; ")).unwrap_or_default();
            format!(
                "Use {}{under}: its {statistic} is {} than that of {} ({interval}{} over {rounds} rounds).",
                harmless(best),
                describe_ratio(ratio.estimate),
                harmless(next),
                p_text(*p)
            )
        }
        Answer::Undecided { between, p } => format!(
            "The {rounds} rounds do not decide between {}{under}: chance explains the difference of {statistic} ({}).",
            harmless(&between.join(" and ")),
            p_text(*p)
        ),
        Answer::TooFewRounds => format!(
            "{} do not support a recommendation{under}; {ROUNDS_MIN} do.",
            counted(*rounds as u64, "round", "rounds")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_described_in_the_unit_of_its_estimate() {
        for (low, estimate, high, words) in [
            (0.145, 0.196, 0.263, "3.8 to 6.9"),
            (0.73, 0.82, 0.97, "3 to 27 %"),
            (3.0, 4.0, 5.5, "3 to 5.5"),
            (0.4, 0.8, 0.93, "7 to 60 %"),
            (0.88, 1.03, 1.21, "12 % lower to 21 % higher"),
            (1.0, 1.0, 1.0, "the same"),
            (1.0, 1.0, 1.1, "the same to 10 % higher"),
        ] {
            let effect = Effect { estimate, low: Some(low), high: Some(high) };
            assert_eq!(interval_words(&effect).as_deref(), Some(words));
        }
        assert_eq!(interval_words(&Effect { estimate: 1.0, low: None, high: None }), None);
    }

    #[test]
    fn p_values_have_two_digits_that_matter() {
        let cases = [
            (0.007_94, "0.0079"),
            (0.0238, "0.024"),
            (0.0556, "0.056"),
            (0.42, "0.42"),
            (1.0, "1.00"),
            (1e-5, "<0.001"),
        ];
        for (p, text) in cases {
            assert_eq!(p_number(p), text);
        }
    }

    #[test]
    fn a_ratio_is_described() {
        for (ratio, words) in [
            (0.0125, "80 times lower"),
            (0.4, "2.5 times lower"),
            (0.5, "2 times lower"),
            (0.76, "24 % lower"),
            (0.9999, "0.01 % lower"),
            (1.0, "the same"),
            (1.02, "2 % higher"),
            (1.84, "84 % higher"),
            (3.0, "3 times higher"),
            (12_345.0, "12,345 times higher"),
        ] {
            assert_eq!(describe_ratio(ratio), words);
        }
    }
}
