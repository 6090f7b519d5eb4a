//! When and why each phase ended whose data may end it, in one sentence each.

use tardy_analyse::until::{Claim, End};
use tardy_plot::numbers::{self, harmless, one_in, rounded};
use tardy_record::stop_rule::Decision;
use tardy_record::units::format_duration_ns;

/// The most phases that have a sentence.
const PHASES_MAX: usize = 10;

/// The sentences, one for each phase; none without a claim.
pub(super) fn sentences(claim: Option<&Claim>) -> Vec<String> {
    let Some(claim) = claim else { return Vec::new() };
    let label = |end: &End| match claim.phases.len() {
        1 => String::new(),
        _ => format!("Phase '{}': ", harmless(&end.phase)),
    };
    let mut all: Vec<String> =
        claim.phases.iter().take(PHASES_MAX).map(|end| label(end) + &sentence(claim, end)).collect();
    if let Some(more) = claim.phases.len().checked_sub(PHASES_MAX).filter(|more| *more > 0) {
        all.push(format!("And {more} more phases; --json has all."));
    }
    all
}

fn sentence(claim: &Claim, end: &End) -> String {
    let rule = &claim.rule;
    let limit = format_duration_ns(rule.limit_ns);
    let counted = rounded(end.counted_ns);
    let ended = match end.early {
        true => format!("Ended after {counted} of at most {}", format_duration_ns(end.planned_ns)),
        false => format!("Ran for {counted}"),
    };
    let what = match rule.probability < 0.1 {
        true => format!("at most {} wake-ups on any CPU is later than {limit}", one_in(rule.probability)),
        false => {
            format!("at most {} of wake-ups on any CPU are later than {limit}", one_in(rule.probability))
        }
    };
    let confidence = numbers::confidence(rule.confidence);
    match end.decision {
        Decision::Supported => {
            format!("{ended}: the data support that {what} ({confidence} confidence).")
        }
        Decision::Refuted => format!(
            "{ended}: the data refute that {what}; on {} at least {} is ({} confidence).",
            harmless(&end.series),
            one_in(end.share_lower),
            numbers::confidence(end.lower_confidence)
        ),
        Decision::Undecided => {
            let more = end.needs_more_ns.map_or_else(String::new, |more_ns| {
                format!(" If nothing more is late, {} more would support it.", up_to_a_second(more_ns))
            });
            format!("{ended}: the data do not decide whether {what} ({confidence} confidence).{more}")
        }
    }
}

/// A time to wait, rounded up to a second.
fn up_to_a_second(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    format_duration_ns(ns.div_ceil(SECOND).max(1).saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_record::stop_rule::{StopAt, StopRule};

    const SECOND: u64 = 1_000_000_000;

    fn end(decision: Decision, early: bool) -> End {
        End {
            phase: "idle".to_owned(),
            decision,
            early,
            counted_ns: 38 * SECOND,
            planned_ns: 3600 * SECOND,
            series: "cpu 1".to_owned(),
            share_upper: 9e-7,
            share_lower: 1.2e-5,
            lower_confidence: 0.995,
            needs_more_ns: (decision == Decision::Undecided).then_some(100 * SECOND + 1),
        }
    }

    fn claim(phases: Vec<End>) -> Claim {
        let rule = StopRule {
            at: StopAt::Decided,
            limit_ns: 100_000,
            probability: 1e-6,
            confidence: 0.95,
            cluster: 1,
        };
        Claim { rule, phases }
    }

    #[test]
    fn a_phase_states_when_and_why_it_ended() {
        for (decision, early, expected) in [
            (
                Decision::Supported,
                true,
                "Ended after 38s of at most 1h: the data support that at most 1 in 1 million wake-ups on any CPU is later than \
                 100us (95 % confidence).",
            ),
            (
                Decision::Refuted,
                true,
                "Ended after 38s of at most 1h: the data refute that at most 1 in 1 million wake-ups on any CPU is later than \
                 100us; on cpu 1 at least 1 in 83,000 is (99.5 % confidence).",
            ),
            (
                Decision::Undecided,
                false,
                "Ran for 38s: the data do not decide whether at most 1 in 1 million wake-ups on any CPU is later than 100us \
                 (95 % confidence). If nothing more is late, 1m41s more would support it.",
            ),
        ] {
            assert_eq!(sentences(Some(&claim(vec![end(decision, early)]))), [expected]);
        }
    }

    #[test]
    fn several_phases_have_their_labels_and_many_are_counted() {
        assert_eq!(sentences(None), Vec::<String>::new());
        let all = sentences(Some(&claim(vec![end(Decision::Supported, true); 12])));
        assert_eq!(all.len(), PHASES_MAX + 1);
        assert!(all[0].starts_with("Phase 'idle': Ended"), "{}", all[0]);
        assert_eq!(all[PHASES_MAX], "And 2 more phases; --json has all.");
    }
}
