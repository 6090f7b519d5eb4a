//! A latency is from the first bit sent to the last bit received: solver, proof, check and simulator agree to the ns.

use tardy_synthesis::answer::Verdict;
use tardy_synthesis::checker::{Fault, check, check_frames, proves};
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::proof::Proof;
use tardy_synthesis::read::network::{Scheduled, read};
use tardy_synthesis::verify;
use tardy_synthesis::write::switch_file::{self, Timing};
use tardy_tsn::file;
use tardy_tsn::simulate::{Mode, Options, Ports};

use crate::instances::{answered, flow, instance};

const FILE: &str = include_str!("../../tardy-tsn/tests/switches/gap-within-deadline.toml");
/// Two cables of 10 Mbit/s with 8 octets of preamble, 60 of the frame and 4 of its check sequence each.
const LATENCY_NS: u64 = 2 * 72 * 800;

fn scheduled(text: &str) -> Scheduled {
    read(&file::parse(text).unwrap(), text, Lateness::of_margin(1000)).unwrap()
}

#[test]
fn a_deadline_may_end_with_the_last_bit() {
    let text = FILE.replace("120us", "115.2us");
    let scheduled = scheduled(&text);
    let answer = answered(&scheduled.instance, 1);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    let placement = answer.schedule.placements[0].as_ref().unwrap();
    assert_eq!(placement.latency_ns(&scheduled.instance, 0), LATENCY_NS);
    let network = file::parse(&text).unwrap();
    let timing = Timing { schedule: &answer.schedule, ports: &answer.ports, base_time_ns: 0 };
    let written = switch_file::text(&text, &network, &scheduled, &timing).unwrap();
    let network = file::parse(&written).unwrap();
    for mode in [Mode::Standard, Mode::Linux] {
        let options = Options { mode, ports: Ports::Hardware, ring_frames: 1, ..Options::default() };
        let options = tardy_bounds::Options::of(options);
        let verified = verify::of(&network, &scheduled, &answer.schedule, &options).unwrap();
        let flow = &verified.flows[0];
        assert_eq!((flow.planned_ns, flow.simulated_ns), (Some(LATENCY_NS), Some(LATENCY_NS)), "{mode:?}");
        // In Linux the bound would need a ring that never fills.
        assert!(flow.bound_ns.is_none_or(|ns| (LATENCY_NS..LATENCY_NS + 10).contains(&ns)), "{flow:?}");
        assert!(mode == Mode::Linux || flow.bound_ns.is_some(), "{flow:?}");
    }
}

#[test]
fn a_deadline_before_the_last_bit_is_proved_impossible() {
    let scheduled = scheduled(&FILE.replace("120us", "115199ns"));
    let instance = &scheduled.instance;
    let Verdict::Infeasible(proof) = answered(instance, 1).verdict else { panic!("no proof") };
    let Proof::Late { flow: 0, listener, least_ns: LATENCY_NS } = proof else { panic!("{proof:?}") };
    for least_ns in [LATENCY_NS - 1, LATENCY_NS + 1, LATENCY_NS + 2 * 12 * 800] {
        assert!(!proves(instance, &Proof::Late { flow: 0, listener, least_ns }));
    }
}

/// The gap keeps the next frame away: two frames of 500 octets and their gaps take 8,192 ns of a link.
#[test]
fn the_gap_after_a_frame_is_reserved_and_checked() {
    let of = |period_ns: u64, gap_bytes: u32| {
        let flows = vec![flow(1, 2, 500, period_ns), flow(3, 2, 500, period_ns)];
        let mut instance = instance(4, &[(0, 1), (0, 2), (0, 3)], flows);
        instance.gap_bytes = gap_bytes;
        // A frame has the same place in its period on both links.
        instance.links.iter_mut().for_each(|link| link.processing_ns = period_ns - 4_000);
        instance
    };
    let apart = of(8_192, 12);
    let answer = answered(&apart, 1);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    assert!(check(&apart, &answer.schedule, &answer.ports, None).is_empty());
    // The later flow is sent where the last bit of the earlier one ends.
    let mut close = answer.schedule.clone();
    let starts_ns =
        [0, 1].map(|flow: usize| close.placements[flow].as_ref().unwrap().hops[1].start_ns % 8_192);
    let later = usize::from(starts_ns[1] > starts_ns[0]);
    for hop in &mut close.placements[later].as_mut().unwrap().hops {
        hop.start_ns -= 96;
    }
    let faults = check_frames(&apart, &close);
    assert!(matches!(faults[..], [Fault::Overlap { .. }, ..]), "{faults:?}");
    // A ns less, and the link is overloaded by the gaps.
    assert_eq!(answered(&of(8_191, 0), 1).verdict, Verdict::Scheduled);
    let verdict = answered(&of(8_191, 12), 1).verdict;
    assert!(
        matches!(verdict, Verdict::Infeasible(Proof::Overload { .. } | Proof::Pair { .. })),
        "{verdict:?}"
    );
}
