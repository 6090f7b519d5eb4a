//! When a rule ends a phase, and which rules are wrong.

use tardy_record::stop_rule::{Decision, StopAt, StopRule};

#[test]
fn a_rule_ends_a_phase_at_its_decision_only() {
    let rule = |at| StopRule { at, limit_ns: 1, probability: 0.1, confidence: 0.95, cluster: 1 };
    let ends = |at| {
        let all = [Decision::Supported, Decision::Refuted, Decision::Undecided];
        all.map(|decision| rule(at).ends_at(decision))
    };
    assert_eq!(ends(StopAt::Supported), [true, false, false]);
    assert_eq!(ends(StopAt::Refuted), [false, true, false]);
    assert_eq!(ends(StopAt::Decided), [true, true, false]);
}

#[test]
fn values_that_no_rule_has_are_found() {
    let rule = StopRule { at: StopAt::Decided, limit_ns: 1, probability: 0.1, confidence: 0.95, cluster: 1 };
    assert_eq!(rule.wrong_field(), None);
    assert_eq!(StopRule { limit_ns: 0, ..rule }.wrong_field(), Some("limit_ns"));
    assert_eq!(StopRule { cluster: 0, ..rule }.wrong_field(), Some("cluster"));
    for probability in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(StopRule { probability, ..rule }.wrong_field(), Some("probability"));
    }
    for confidence in [0.4, 1.0, f64::NAN] {
        assert_eq!(StopRule { confidence, ..rule }.wrong_field(), Some("confidence"));
    }
}
