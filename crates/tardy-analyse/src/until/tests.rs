use super::*;
use crate::test_runs::{self, SECOND};
use tardy_record::plan::{PhasePlan, ProbePlan, Span, Tracer, TracerPlan};
use tardy_record::stop_rule::{RuledEnd, StopAt};

/// A run of two CPUs of ten minutes, in which this share of the readings is later than the limit, with a claim.
fn run(late_share: f64, probability: f64) -> Run {
    let mut run = test_runs::run(600, 7, |random, _| if random.uniform() < late_share { 90.0 } else { 5.0 });
    run.plan.until =
        Some(StopRule { at: StopAt::Decided, limit_ns: 50_000, probability, confidence: 0.95, cluster: 1 });
    run.plan.limit_ns = Some(50_000);
    run.plan.phases = vec![PhasePlan {
        label: "only".to_owned(),
        round: 1,
        loads: Vec::new(),
        warmup_ns: 0,
        span: Span::DurationNs(3600 * SECOND),
        probe: ProbePlan::Tracer(TracerPlan {
            tracer: Tracer::Timerlat,
            cpus: vec![0, 1],
            period_ns: test_runs::INTERVAL_NS,
            runtime_ns: None,
            priority: None,
            threshold_ns: None,
        }),
    }];
    run
}

/// 300,000 readings of each CPU.
#[test]
fn a_claim_is_supported_refuted_or_left_open() {
    for (late_share, probability, expected) in [
        (0.0, 1e-4, Decision::Supported),
        (1e-3, 2e-3, Decision::Supported),
        (1e-3, 1e-3, Decision::Undecided),
        (1e-3, 5e-4, Decision::Refuted),
        (0.0, 1e-6, Decision::Undecided),
    ] {
        assert_eq!(decision(&run(late_share, probability), 0), expected, "{late_share} {probability}");
    }
    let mut without = run(0.0, 0.1);
    without.plan.until = None;
    assert_eq!((decision(&without, 0), of(&without)), (Decision::Undecided, None));
}

#[test]
fn one_cpu_refutes_and_every_cpu_supports() {
    let mut mixed = run(0.0, 1e-3);
    mixed.series[1] = run(0.01, 1e-3).series[1].clone();
    assert_eq!(decision(&mixed, 0), Decision::Refuted);
    let end = of(&mixed).unwrap().phases.remove(0);
    assert_eq!((end.series.as_str(), end.needs_more_ns), ("cpu 1", None));
    assert!(end.share_lower > 1e-3 && (end.lower_confidence - 0.995).abs() < 1e-12);
    // A CPU that has recorded nothing could be late always.
    let mut partly = run(0.0, 1e-3);
    partly.series.truncate(1);
    assert_eq!(decision(&partly, 0), Decision::Undecided);
    partly.series.clear();
    assert_eq!(decision(&partly, 0), Decision::Undecided);
}

#[test]
fn an_open_claim_states_what_would_support_it_and_an_early_end_is_recorded() {
    let mut open = run(0.0, 1e-6);
    open.phases[0].until = Some(RuledEnd { decision: Decision::Undecided, early: true });
    let claim = of(&open).unwrap();
    assert_eq!(claim.decision(), Decision::Undecided);
    let end = &claim.phases[0];
    assert!(end.early && end.counted_ns == 600 * SECOND && end.planned_ns == 3600 * SECOND);
    // At 500 readings per second, of which 300,000 are there.
    let needed = tardy_statistics::duration::Sequential::values_needed(0, 1e-6, 0.95).unwrap();
    assert_eq!(end.needs_more_ns, Some((needed - 300_000) * test_runs::INTERVAL_NS));
}

#[test]
fn all_phases_decide_together() {
    let mut claim = of(&run(0.0, 1e-4)).unwrap();
    assert_eq!(claim.decision(), Decision::Supported);
    claim.phases.push(End { decision: Decision::Undecided, ..claim.phases[0].clone() });
    assert_eq!(claim.decision(), Decision::Undecided);
    claim.phases.push(End { decision: Decision::Refuted, ..claim.phases[0].clone() });
    assert_eq!(claim.decision(), Decision::Refuted);
    claim.phases.clear();
    assert_eq!(claim.decision(), Decision::Undecided);
}

/// One place computes the bound: the verdict of a run that its data ended has the same one, and it is wider.
#[test]
fn the_verdict_has_the_bound_that_decided() {
    let run = run(1e-3, 2e-3);
    let verdict = crate::verdict::of(&run, 50_000).unwrap();
    assert_eq!(verdict.bound.upper.to_bits(), of(&run).unwrap().phases[0].share_upper.to_bits());
    let planned = Run { plan: tardy_record::plan::Plan { until: None, ..run.plan.clone() }, ..run };
    assert!(verdict.bound.upper > crate::verdict::of(&planned, 50_000).unwrap().bound.upper);
    // Also for a limit that is not the rule's.
    let text = serde_json::to_string(&verdict).unwrap();
    assert!(text.contains("\"length\":\"by_data\""), "{text}");
}
