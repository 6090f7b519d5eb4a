//! Proofs that no schedule exists, and claims that prove nothing.

use tardy_synthesis::answer::Verdict;
use tardy_synthesis::checker::proves;
use tardy_synthesis::instance::Instance;
use tardy_synthesis::proof::Proof;

use crate::instances::{answered, flow, instance};

const STAR: [(usize, usize); 3] = [(0, 1), (0, 2), (0, 3)];
/// The link from node 0 to node 2, in both instances.
const TO_TWO: usize = 2;

fn proof(instance: &Instance) -> Proof {
    match answered(instance, 1).verdict {
        Verdict::Infeasible(proof) => proof,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_overloaded_link_is_proved() {
    // Each of nine flows takes 12 us of 100 us.
    let flows = (0..9).map(|number| flow(1 + 2 * (number % 2), 2, 1500, 100_000)).collect();
    let instance = instance(4, &STAR, flows);
    let proof = proof(&instance);
    let Proof::Overload { link, flows } = &proof else { panic!("{proof:?}") };
    assert_eq!((*link, flows.len()), (TO_TWO, 9));
    assert!(proof.describe(&instance).contains("108.00 %"), "{}", proof.describe(&instance));
    // Eight flows fit.
    assert!(!proves(&instance, &Proof::Overload { link: TO_TWO, flows: (0..8).collect() }));
    assert!(!proves(&instance, &Proof::Overload { link: TO_TWO, flows: vec![0, 1, 2, 3, 4, 5, 6, 7, 7] }));
    assert!(!proves(&instance, &Proof::Overload { link: 0, flows: (0..9).collect() }));
    assert!(!proves(&instance, &Proof::Overload { link: 99, flows: (0..9).collect() }));
    assert!(!proves(&instance, &Proof::Overload { link: TO_TWO, flows: (0..99).collect() }));
}

#[test]
fn two_flows_that_meet_in_some_period_are_proved() {
    // Periods of 30 and 40 us have a greatest common divisor of 10 us; the frames take 12 and 0.8 us.
    let instance =
        instance(4, &STAR, vec![flow(1, 2, 1500, 30_000), flow(3, 2, 100, 40_000), flow(3, 1, 100, 40_000)]);
    let proof = proof(&instance);
    assert!(matches!(proof, Proof::Pair { link: TO_TWO, .. }), "{proof:?}");
    for (link, flows) in [(TO_TWO, [0, 0]), (TO_TWO, [0, 2]), (TO_TWO, [1, 7]), (1, [0, 1])] {
        assert!(!proves(&instance, &Proof::Pair { link, flows }), "{link} {flows:?}");
    }
}

#[test]
fn two_flows_with_short_frames_are_not() {
    // 10 us together, as long as the greatest common divisor.
    let instance = instance(4, &STAR, vec![flow(1, 2, 1000, 30_000), flow(3, 2, 250, 40_000)]);
    assert!(!proves(&instance, &Proof::Pair { link: TO_TWO, flows: [0, 1] }));
    assert_eq!(answered(&instance, 1).verdict, Verdict::Scheduled);
}

#[test]
fn a_link_with_another_way_round_proves_nothing() {
    let flows = (0..9).map(|_| flow(1, 2, 1500, 100_000)).collect();
    let mut instance = instance(4, &[(0, 1), (0, 2), (1, 3), (3, 2)], flows);
    instance.links[0].bits_per_second *= 10;
    assert!(!proves(&instance, &Proof::Overload { link: TO_TWO, flows: (0..9).collect() }));
    assert!(!matches!(answered(&instance, 2).verdict, Verdict::Infeasible(_)));
}

#[test]
fn a_deadline_that_no_route_meets_is_proved() {
    let mut late = flow(1, 2, 1000, 1_000_000);
    // Two links of 8 us, and 2 us between them.
    late.deadline_ns = Some(17_999);
    let mut instance = instance(4, &STAR, vec![late]);
    let found = proof(&instance);
    assert_eq!(found, Proof::Late { flow: 0, listener: 2, least_ns: 18_000 });
    for (flow, listener, least_ns) in [(0, 2, 17_999), (0, 2, 18_001), (0, 3, 18_000), (1, 2, 18_000)] {
        assert!(!proves(&instance, &Proof::Late { flow, listener, least_ns }));
    }
    instance.flows[0].deadline_ns = Some(18_000);
    assert!(!proves(&instance, &found));
    assert_eq!(answered(&instance, 1).verdict, Verdict::Scheduled);
}
