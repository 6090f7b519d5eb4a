//! Time that a schedule leaves for best effort.

use proptest::prelude::*;
use tardy_record::gates::GateEntry;
use tardy_synthesis::answer::{self, Answer, Verdict};
use tardy_synthesis::checker::{Fault, starving};
use tardy_synthesis::files::Files;
use tardy_synthesis::instance::{BEST_EFFORT_PPM, Flow, Instance};
use tardy_synthesis::lateness::Lateness;
use tardy_synthesis::schedule::PortGates;
use tardy_tsn::file;

use crate::instances::{answered, flow, instance, link, options};

/// INET's dumbbell of 100 Mbit/s: between its switches, no two frames are a full frame apart in 500 us.
const DUMBBELL: &str = include_str!("../../tardy-tsn/tests/switches/inet-gate-scheduling.toml");

fn dumbbell(ppm: u32) -> Files {
    let network = file::parse(DUMBBELL).unwrap();
    let mut files = Files::of_switch(&network, DUMBBELL, Lateness::of_margin(1000)).unwrap();
    files.leave_for_best_effort(ppm);
    files
}

/// The least share of a port, in millionths, by a count of its own.
fn least_ppm(instance: &Instance, answer: &Answer) -> u64 {
    let of = |port: &PortGates| {
        let frame_ns =
            u64::from(instance.best_effort_bytes) * 8_000_000_000 / instance.links[port.link].bits_per_second;
        let openings = port.best_effort_openings();
        let lengths = openings.iter().map(|(start_ns, end_ns)| end_ns - start_ns);
        lengths.filter(|length_ns| *length_ns >= frame_ns).sum::<u64>() * 1_000_000 / port.cycle_ns
    };
    answer.ports.iter().filter(|port| port.best_effort != 0).map(of).min().unwrap_or(1_000_000)
}

#[test]
fn flows_that_starve_best_effort_are_no_schedule_and_the_share_that_would_do_is_named() {
    let files = dumbbell(BEST_EFFORT_PPM);
    let answer = answered(files.instance(), 3);
    let Verdict::Starved(starved) = answer.verdict else { panic!("{:?}", answer.verdict) };
    assert_eq!((starved.requested_ppm, starved.possible_ppm), (100_000, 0), "{starved:?}");
    assert_eq!(answer.schedule.placed(), 4);
    let text = starved.describe(files.instance());
    assert!(text.contains("--best-effort is 10 %. --best-effort 0% would do"), "{text}");
    assert!(text.contains("switch1→switch2") || text.contains("switch2→"), "{text}");
    assert!(files.texts(&answer).unwrap().is_empty(), "no file is written");
    let none = dumbbell(0);
    let answer = answered(none.instance(), 3);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    assert_eq!(none.texts(&answer).unwrap().len(), 1);
}

/// With one class there is no best effort that could be starved.
#[test]
fn a_port_whose_classes_are_all_scheduled_has_no_best_effort() {
    let text = include_str!("../../tardy-tsn/tests/switches/gap-within-deadline.toml");
    let mut files = Files::of_switch(&file::parse(text).unwrap(), text, Lateness::of_margin(1000)).unwrap();
    files.leave_for_best_effort(900_000);
    assert_eq!(answered(files.instance(), 1).verdict, Verdict::Scheduled);
}

/// Flows from three talkers to one listener, whose frames first fit would scatter.
fn scattered(flows: &[(usize, u32, u64)], ppm: u32) -> Instance {
    let flows =
        flows.iter().map(|&(talker, bytes, period_ns)| flow(2 + talker, 5, bytes, period_ns)).collect();
    let mut all = instance(6, &[(0, 1), (0, 2), (0, 3), (0, 4), (1, 5)], flows);
    for link in &mut all.links {
        link.bits_per_second = 100_000_000;
    }
    Instance { best_effort_ppm: ppm, ..all }
}

fn any_flows() -> impl Strategy<Value = Vec<(usize, u32, u64)>> {
    let one = (0_usize..3, 60_u32..1500, prop::sample::select(vec![500_000_u64, 1_000_000, 1_500_000]));
    prop::collection::vec(one, 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What is scheduled leaves the share, and what is named as possible is possible.
    #[test]
    fn a_schedule_leaves_the_share_or_names_one_that_would_do(
        flows in any_flows(), ppm in 0_u32..600_000, starts_at_zero in any::<bool>(),
        margin_ns in prop::sample::select(vec![0, 800]),
        entries_max in prop::option::of(3_usize..12),
    ) {
        let of = |ppm: u32| Instance { starts_at_zero, margin_ns, ..scattered(&flows, ppm) };
        let found = answer::find(&of(ppm), &options(1, 7, 2), entries_max);
        prop_assert!(found.is_ok(), "{:?}", found);
        let found = found.unwrap();
        match found.verdict {
            Verdict::Scheduled => prop_assert!(least_ppm(&of(ppm), &found) >= u64::from(ppm)),
            Verdict::Starved(starved) => {
                prop_assert!(starved.possible_ppm < ppm && starved.left_ppm < ppm, "{:?}", starved);
                let again = answer::find(&of(starved.possible_ppm), &options(1, 7, 2), entries_max).unwrap();
                prop_assert_eq!(again.verdict, Verdict::Scheduled, "{:?}", starved);
            }
            Verdict::Infeasible(_) | Verdict::Undecided => {}
        }
    }
}

/// Each of five flows is sent as early as it may be, which scatters them over the period: no full frame fits between two.
#[test]
fn stretches_for_best_effort_are_placed_if_first_fit_leaves_none() {
    let of = |ppm: u32| {
        let mut all = scattered(&[(0, 500, 500_000); 5], ppm);
        for (number, flow) in all.flows.iter_mut().enumerate() {
            flow.source = 2 + number % 3;
            flow.release_ns = 90_000 * number as u64;
        }
        all
    };
    let first_fit = answered(&of(0), 0);
    assert_eq!(first_fit.verdict, Verdict::Scheduled);
    assert_eq!(least_ppm(&of(0), &first_fit), 0);
    let answer = answered(&of(200_000), 0);
    assert_eq!(answer.verdict, Verdict::Scheduled);
    assert!(least_ppm(&of(200_000), &answer) >= 200_000);
}

#[test]
fn the_check_counts_stretches_for_full_frames() {
    // One flow of 12 us in 200 us, 94 % for best effort: a full frame takes 12.176 us.
    let mut one =
        instance(3, &[(0, 1), (0, 2)], vec![Flow { route: Some(vec![1, 2]), ..flow(1, 2, 1500, 200_000) }]);
    one.links[2] = link(0, 2);
    let answer = answered(&one, 0);
    let port = answer.ports.iter().find(|port| port.link == 2).unwrap();
    let starves = |ppm: u32, port: &PortGates| {
        let instance = Instance { best_effort_ppm: ppm, ..one.clone() };
        starving(&instance, &answer.schedule, std::slice::from_ref(port))
    };
    assert!(starves(940_000, port).is_empty());
    assert!(matches!(starves(940_001, port)[..], [Fault::BestEffort { link: 2, open_ns: 188_000, .. }]));
    // The same time in stretches of 10 us is none for a full frame.
    let set = |gates: u32, interval_ns: u32| GateEntry { gates, interval_ns, ..port.entries[0] };
    let (own, others) = (1 << 7, 0x7f);
    let mut entries = vec![set(own, 12_000)];
    entries.extend((0..18).flat_map(|_| [set(others, 10_000), set(0, 444)]));
    entries.push(set(0, 8));
    let split = PortGates { entries, ..port.clone() };
    assert!(matches!(starves(1, &split)[..], [Fault::BestEffort { open_ns: 0, .. }]));
    // A stretch that continues from the last entry to the first is one.
    let entries = vec![set(others, 6_100), set(own, 12_000), set(0, 175_800), set(others, 6_100)];
    let across = PortGates { entries, ..port.clone() };
    assert!(starves(61_000, &across).is_empty(), "12.2 us of 200 us");
}
