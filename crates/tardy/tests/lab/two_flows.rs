//! The article's time-aware switch on a real kernel: two flows share an ingress link and have 800 us and 200 us of each
//! millisecond.

use tardy_analyse::flows::{self, FlowFindings, SlotVerdict};
use tardy_record::Run;
use tardy_record::flow::FlowSeries;

use crate::guests;

/// The rate of both flows together on the ingress link, in bit/s, as in the recipe.
const INGRESS_BPS: f64 = 50e6;

fn tested() -> Option<Run> {
    let guests = guests::directory()?;
    let results = tempfile::tempdir().unwrap();
    let mut lab = guests::lab(&guests, "x86_64", "run");
    lab.args(["tsn-two-flows", "--kernel", "debian:6.12-rt", "--duration", "1s", "-o"]).arg(results.path());
    let shown = guests::text_of(&guests::expect_alone(&lab, 0));
    println!("{shown}");
    Some(guests::run(&results.path().join("debian-6.12-rt.run.json")))
}

/// Mean rate of the frames that came from `from_ns` to `to_ns` of the cycle, in bit/s.
fn rate_bps(flow: &FlowSeries, counted_ns: u64, from_ns: u64, to_ns: u64) -> f64 {
    let within = |index: u32| (from_ns..to_ns).contains(&(u64::from(index) * flow.phases.bin_ns));
    let bytes: u64 = flow.phases.bins.iter().filter(|bin| within(bin.index)).map(|bin| bin.wire_bytes).sum();
    bytes as f64 * 8e9 / (counted_ns as f64 / flow.cycle_ns as f64 * (to_ns - from_ns) as f64)
}

/// Asserts that no frame arrived before its slot, and none after it by more than the longest time from gate to receipt
/// in the kernel's trace.
pub(crate) fn held(flow: &FlowFindings) {
    assert!(flow.received > 1000, "{flow:?}");
    assert_eq!(flow.early.frames, 0, "{flow:?}");
    let cost = flow.dequeue_to_receive.expect("the kernel's trace was read");
    assert!(cost.frames >= flow.received, "{flow:?}");
    assert!(flow.late.worst_ns <= cost.max_ns, "{flow:?}");
    assert!(matches!(flow.verdict, SlotVerdict::Held | SlotVerdict::HeldAtTheGate { .. }), "{flow:?}");
    // A longer time from gate to receipt would excuse frames that left outside their slot.
    assert!(cost.max_ns < 100_000, "half of the shorter slot: {cost:?}");
}

/// The queue that grew while the gate was closed leaves at the port's rate. Once it is empty, frames leave as they come.
fn opens_at_the_ports_rate_and_falls_to_the_ingress_rate(run: &Run, found: &FlowFindings) {
    let series = &run.series[found.series];
    let flow = series.flow().unwrap();
    let window = flow.windows[0];
    let middle_ns = u64::midpoint(window.open_ns, window.close_ns);
    let later = rate_bps(flow, series.counted_ns, middle_ns, window.close_ns);
    println!(
        "{}: {:.3e} bit/s at the opening, {later:.3e} in the second half",
        found.flow, found.slots[0].opening_rate_bps
    );
    assert!(found.slots[0].opening_rate_bps > INGRESS_BPS, "{found:?}");
    // The talkers decide how the two flows share the ingress link at that time.
    assert!(
        (0.2..1.02).contains(&(later / INGRESS_BPS)),
        "{later} bit/s in the second half of {}'s slot",
        found.flow
    );
}

/// Without the shaper, frames arrive at any phase of the cycle, so the share outside the slot is the rest of the cycle.
fn outside(flow: &FlowFindings, percent: f64) {
    let share = flow.outside.unwrap() * 100.0;
    assert!((share - percent).abs() < 3.0, "{share} % of {} came outside", flow.flow);
    assert_eq!(flow.verdict, SlotVerdict::NotShaped);
}

#[test]
fn the_articles_slots_hold_with_the_shaper_and_do_not_exist_without() {
    let Some(run) = tested() else { return };
    assert!(run.validity.valid, "{:?}", run.validity);
    let phases = flows::of(&run);
    let [shaped, unshaped] = phases.as_slice() else { panic!("{} phases", phases.len()) };
    assert!(shaped.shaped && !unshaped.shaped);
    for flow in &shaped.flows {
        held(flow);
        opens_at_the_ports_rate_and_falls_to_the_ingress_rate(&run, flow);
    }
    let [blue, red] = unshaped.flows.as_slice() else { panic!("{} flows", unshaped.flows.len()) };
    outside(blue, 20.0);
    outside(red, 80.0);
}
