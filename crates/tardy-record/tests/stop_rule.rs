//! When a rule ends a phase.

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
