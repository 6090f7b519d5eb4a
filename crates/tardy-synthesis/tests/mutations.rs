//! The checker rejects schedules and gates with one fault each.

use tardy_record::gates::GateEntry;
use tardy_synthesis::answer::Answer;
use tardy_synthesis::checker::{Fault, check};
use tardy_synthesis::instance::Instance;
use tardy_synthesis::schedule::{Hop, Placement};

use crate::instances::{answered, flow, instance, link};

/// Links of the instance by their ends.
const TALKER_TO_LEFT: usize = 4;
const LEFT_TO_RIGHT: usize = 0;
const RIGHT_TO_LISTENER: usize = 8;
const LEFT_TO_OTHER: usize = 7;

/// Two switches, 0 and 1, with talkers 2 and 3 at the left one and listeners 4 and 5 at the right one, and another way round
/// between the switches over node 6. Flow 0 has two listeners, flow 1 one, flow 2 is on a route of its network, and all have
/// deadlines.
fn case() -> (Instance, Answer) {
    let cables = [(0, 1), (2, 0), (2, 0), (3, 0), (1, 4), (1, 5), (0, 6), (6, 1)];
    let mut flows = vec![flow(2, 4, 500, 100_000), flow(3, 5, 300, 200_000), flow(2, 5, 200, 100_000)];
    flows[0].destinations = vec![4, 5];
    flows[0].release_ns = 2_000;
    for flow in &mut flows {
        flow.deadline_ns = Some(40_000);
    }
    let mut instance = instance(7, &cables, flows);
    // Link 2 is (2, 0); 4 is a second cable, which is made one from 3.
    instance.links[4] = link(3, 0);
    instance.links[5] = link(0, 3);
    instance.links[6] = link(6, 0);
    instance.links[7] = link(0, 6);
    instance.links[12] = link(6, 1);
    instance.links[13] = link(1, 6);
    instance.links[14].has_gates = false;
    instance.flows[2].route = Some(vec![2, LEFT_TO_RIGHT, 10]);
    instance.flows[2].queue_at = Some(vec![5; 7]);
    let answer = answered(&instance, 0);
    (instance, answer)
}

fn hops(answer: &mut Answer, flow: usize) -> &mut Vec<Hop> {
    &mut answer.schedule.placements[flow].as_mut().unwrap().hops
}

fn entries(answer: &mut Answer, link: usize) -> &mut Vec<GateEntry> {
    &mut answer.ports.iter_mut().find(|port| port.link == link).unwrap().entries
}

/// Shifts all hops of a flow.
fn shift(answer: &mut Answer, flow: usize, by_ns: u64) {
    for hop in hops(answer, flow) {
        hop.start_ns += by_ns;
    }
}

/// A name, a change that makes a right answer wrong, and whether a fault is the expected one.
type Mutation = (&'static str, fn(&mut Instance, &mut Answer), fn(&Fault) -> bool);

macro_rules! mutation {
    ($name:literal, $change:expr, $($fault:tt)+) => {
        ($name, $change, |fault| matches!(fault, $($fault)+))
    };
}

const MUTATIONS: &[Mutation] = &[
    mutation!(
        "a placement too few",
        |_, answer| drop(answer.schedule.placements.pop()),
        Fault::Placements { .. }
    ),
    mutation!("no hops", |_, answer| hops(answer, 0).clear(), Fault::NoHops { flow: 0 }),
    mutation!(
        "a link that does not exist",
        |_, answer| hops(answer, 1)[1].link = 999,
        Fault::UnknownLink { flow: 1, link: 999 }
    ),
    mutation!(
        "a link twice",
        |_, answer| {
            let again = hops(answer, 1)[1];
            hops(answer, 1).push(again);
        },
        Fault::LinkTwice { flow: 1, .. }
    ),
    mutation!(
        "a hop is missing",
        |_, answer| hops(answer, 1).retain(|hop| hop.link != LEFT_TO_RIGHT),
        Fault::Disconnected { flow: 1, .. }
    ),
    mutation!(
        "hops in another order",
        |_, answer| hops(answer, 1).swap(0, 1),
        Fault::Disconnected { flow: 1, .. }
    ),
    mutation!(
        "the way starts elsewhere",
        |instance, _| instance.flows[1].source = 2,
        Fault::Disconnected { flow: 1, .. }
    ),
    mutation!(
        "a loop",
        |_, answer| {
            let start_ns = hops(answer, 1)[1].start_ns + 90_000;
            hops(answer, 1).push(Hop { link: LEFT_TO_RIGHT + 1, start_ns, queue: 7 });
        },
        Fault::NodeTwice { flow: 1, node: 0 }
    ),
    mutation!(
        "a listener is not reached",
        |_, answer| hops(answer, 0).truncate(3),
        Fault::NotReached { flow: 0, .. }
    ),
    mutation!(
        "another listener",
        |instance, _| instance.flows[1].destinations = vec![4],
        Fault::NotReached { flow: 1, node: 4 }
    ),
    mutation!(
        "a dead end",
        |_, answer| {
            let start_ns = hops(answer, 1)[1].start_ns;
            hops(answer, 1).push(Hop { link: LEFT_TO_OTHER, start_ns, queue: 7 });
        },
        Fault::DeadEnd { flow: 1, link: LEFT_TO_OTHER }
    ),
    mutation!(
        "another route than the network's",
        |instance, _| {
            instance.flows[2].route = Some(vec![2, LEFT_TO_OTHER, 12, 10]);
        },
        Fault::OtherRoute { flow: 2 }
    ),
    mutation!(
        "a queue that does not exist",
        |_, answer| hops(answer, 0)[0].queue = 8,
        Fault::UnknownQueue { flow: 0, .. }
    ),
    mutation!(
        "another queue than the class's",
        |_, answer| hops(answer, 2)[0].queue = 6,
        Fault::OtherQueue { flow: 2, .. }
    ),
    mutation!(
        "before the release",
        |instance, answer| {
            instance.flows[0].release_ns = answer.schedule.placements[0].as_ref().unwrap().offset_ns() + 1;
        },
        Fault::BeforeRelease { flow: 0, .. }
    ),
    mutation!("after the period", |_, answer| shift(answer, 0, 100_000), Fault::AfterPeriod { flow: 0, .. }),
    mutation!(
        "sent on before it has arrived",
        |_, answer| hops(answer, 1)[1].start_ns -= 1,
        Fault::BeforeArrival { flow: 1, .. }
    ),
    mutation!(
        "the talker's copy comes later than its branch",
        |_, answer| {
            hops(answer, 0).last_mut().unwrap().start_ns -= 1;
        },
        Fault::BeforeArrival { flow: 0, .. }
    ),
    mutation!(
        "late by a nanosecond",
        |instance, answer| {
            let latency_ns = answer.schedule.placements[1].as_ref().unwrap().latency_ns(instance, 1);
            instance.flows[1].deadline_ns = Some(latency_ns - 1);
        },
        Fault::Late { flow: 1, .. }
    ),
    mutation!(
        "a longer cable",
        |instance, _| instance.links[RIGHT_TO_LISTENER].propagation_ns = 90_000,
        Fault::Late { flow: 0, .. }
    ),
    mutation!(
        "two frames at the same time",
        |_, answer| {
            let (one, other) = (hops(answer, 0)[0].start_ns, hops(answer, 2)[0].start_ns);
            shift(answer, 2, 100_000 + one - other);
            for hop in hops(answer, 2) {
                hop.start_ns -= 100_000;
            }
        },
        Fault::Overlap { .. }
    ),
    mutation!(
        "a longer frame",
        |instance, _| instance.flows[2].wire_bytes = 1_000,
        Fault::BeforeArrival { flow: 2, .. }
    ),
    mutation!(
        "a shorter period",
        |instance, _| {
            instance.flows[0].period_ns = 10_000;
            instance.flows[1].period_ns = 10_000;
        },
        Fault::Overlap { .. }
    ),
    mutation!("a margin that is not kept", |instance, _| instance.margin_ns = 90_000, Fault::Overlap { .. }),
    mutation!(
        "a gate that opens later than its window allows",
        |instance, _| instance.links[RIGHT_TO_LISTENER].late_ns = 90_000,
        Fault::Late { .. }
    ),
    mutation!(
        "gates that open too late for the windows of their frames",
        |instance, _| {
            instance.links.iter_mut().for_each(|link| link.late_ns = 900);
            instance.links.iter_mut().for_each(|link| link.processing_ns = 1_100);
        },
        Fault::GateClosed { .. }
    ),
    mutation!(
        "frames that are early enough to find a gate open",
        |instance, _| instance.links[LEFT_TO_RIGHT].early_ns = 95_000,
        Fault::GateEarly { .. } | Fault::Queue { .. }
    ),
    mutation!(
        "two frames in a queue",
        |_, answer| {
            // Flow 1 waits at the left switch while flow 0 passes through the same queue.
            let passing_ns = hops(answer, 0)[1].start_ns;
            let start_ns = hops(answer, 1)[0].start_ns;
            let first_ns =
                if passing_ns > start_ns + 4_400 { passing_ns - 4_500 } else { passing_ns + 95_500 };
            hops(answer, 1)[0].start_ns = first_ns;
            hops(answer, 1)[1].start_ns = first_ns + 20_000;
            hops(answer, 1)[2].start_ns = first_ns + 24_400;
        },
        Fault::Queue { queue: 7, .. }
    ),
    mutation!(
        "waiting at a port without gates",
        |instance, answer| {
            instance.links[LEFT_TO_RIGHT].has_gates = false;
            answer.ports.retain(|port| port.link != LEFT_TO_RIGHT);
            for hop in &mut hops(answer, 1)[1..] {
                hop.start_ns += 10;
            }
        },
        Fault::WaitsWithoutGates { flow: 1, .. }
    ),
    mutation!(
        "no gates at a port",
        |_, answer| {
            answer.ports.retain(|port| port.link != LEFT_TO_RIGHT);
        },
        Fault::NoGates { link: LEFT_TO_RIGHT }
    ),
    mutation!(
        "two lists at a port",
        |_, answer| {
            let again = answer.ports[0].clone();
            answer.ports.push(again);
        },
        Fault::GatesTwice { .. }
    ),
    mutation!(
        "a list at a port without gates",
        |_, answer| {
            let mut other = answer.ports[0].clone();
            other.link = 14;
            answer.ports.push(other);
        },
        Fault::GatesNowhere { link: 14 }
    ),
    mutation!(
        "an entry without duration",
        |_, answer| {
            entries(answer, LEFT_TO_RIGHT).push(GateEntry::set(1, 0));
        },
        Fault::EmptyEntry { link: LEFT_TO_RIGHT }
    ),
    mutation!(
        "a gate that does not exist",
        |_, answer| {
            entries(answer, LEFT_TO_RIGHT)[0].gates |= 1 << 8;
        },
        Fault::UnknownGate { link: LEFT_TO_RIGHT, .. }
    ),
    mutation!(
        "entries that are longer than the cycle",
        |_, answer| {
            entries(answer, LEFT_TO_RIGHT)[0].interval_ns += 1;
        },
        Fault::CycleSum { link: LEFT_TO_RIGHT, .. }
    ),
    mutation!(
        "a cycle that does not fit the period",
        |_, answer| {
            let port = answer.ports.iter_mut().find(|port| port.link == LEFT_TO_RIGHT).unwrap();
            port.entries.last_mut().unwrap().interval_ns += 1000;
            port.cycle_ns += 1000;
        },
        Fault::CyclePeriod { link: LEFT_TO_RIGHT, .. }
    ),
    mutation!(
        "a gate that is closed during its frame",
        |_, answer| {
            let list = entries(answer, LEFT_TO_RIGHT);
            let window = list.iter().position(|entry| entry.gates == 1 << 7).unwrap();
            list[window].gates = 0;
        },
        Fault::GateClosed { link: LEFT_TO_RIGHT, .. }
    ),
    mutation!(
        "a gate that closes a nanosecond early",
        |_, answer| {
            let list = entries(answer, RIGHT_TO_LISTENER);
            let window = list.iter().position(|entry| entry.gates == 1 << 7).unwrap();
            list[window].interval_ns -= 1;
            let after = (window + 1) % list.len();
            list[after].interval_ns += 1;
        },
        Fault::GateClosed { link: RIGHT_TO_LISTENER, .. }
    ),
    mutation!(
        "best effort during a frame",
        |_, answer| {
            let list = entries(answer, TALKER_TO_LEFT);
            let window = list.iter().position(|entry| entry.gates == 1 << 7).unwrap();
            list[window].gates |= 1;
        },
        Fault::GateOpen { link: TALKER_TO_LEFT, .. }
    ),
    mutation!(
        "a gate that opens while its frame is to wait",
        |_, answer| {
            // The list has the window of the frame's new place, and an earlier one that is still there.
            let hop = hops(answer, 1)[0];
            let (arrival_ns, wait_ns) = (hop.start_ns + 2_400 + 2_000, 20_000);
            for hop in &mut hops(answer, 1)[1..] {
                hop.start_ns += wait_ns;
            }
            for port in &mut answer.ports {
                port.entries = GateEntry::lasting(1 << 7, port.cycle_ns).collect();
            }
            assert!(arrival_ns + wait_ns < 200_000);
        },
        Fault::GateEarly { flow: 1, .. }
    ),
];

#[test]
fn the_answer_without_a_mutation_is_right() {
    let (instance, answer) = case();
    assert_eq!(answer.schedule.placed(), 3);
    assert_eq!(check(&instance, &answer.schedule, &answer.ports, None), []);
}

#[test]
fn every_mutation_is_rejected_for_its_fault() {
    assert!(MUTATIONS.len() >= 20);
    let mut golden = String::new();
    for (name, change, is_expected) in MUTATIONS {
        let (mut instance, mut answer) = case();
        change(&mut instance, &mut answer);
        let faults = check(&instance, &answer.schedule, &answer.ports, None);
        let fault = faults.iter().find(|fault| is_expected(fault));
        let fault = fault.unwrap_or_else(|| panic!("{name}: {faults:?}"));
        golden += &format!("{name}: {}\n", fault.describe(&instance));
    }
    insta::assert_snapshot!(golden);
}

#[test]
fn a_port_with_too_many_entries_is_rejected() {
    let (instance, answer) = case();
    let longest =
        answer.ports.iter().map(tardy_synthesis::schedule::PortGates::entries_needed).max().unwrap();
    assert!(longest > 1);
    assert_eq!(check(&instance, &answer.schedule, &answer.ports, Some(longest)), []);
    let faults = check(&instance, &answer.schedule, &answer.ports, Some(longest - 1));
    assert!(matches!(faults[0], Fault::TooManyEntries { .. }), "{faults:?}");
}

#[test]
fn flows_that_are_left_out_are_not_faults() {
    let (instance, mut answer) = case();
    answer.schedule.placements = vec![None, None, None::<Placement>];
    assert_eq!(check(&instance, &answer.schedule, &[], None), []);
}
