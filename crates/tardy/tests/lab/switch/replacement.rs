//! Replacing a schedule while frames flow: the kernel opens every gate from the request to the next boundary, and tardy
//! chooses when to request it.

use tardy_record::units::parse_duration_ns;

use super::{BRIDGED, TWO_FLOWS};
use crate::scripted::{Part, Scene};

const CYCLE_NS: u64 = 40_000_000;
/// When a class may be sent under at least one of two schedules: start within the cycle and length, in ns.
type Window = (u64, u64);
/// The kernel's trace has microseconds, rounded.
const ROUNDING_NS: u64 = 1_000;
/// How long gates may be open while tardy replaces a schedule in the lab: what the kernel needs for the request.
const BOUND_NS_MAX: u64 = 1_000_000;
/// How late the gates' own timer may be under this load, without a replacement: 24 us were measured. A leak lasts for 180 us and
/// more.
const GATES_LATE_NS: u64 = 60_000;

fn file(gates: &str) -> String {
    let usual = "  { open = [\"blue\"], for = \"800us\" },\n  { open = [\"red\"], for = \"200us\" },\n";
    assert!(TWO_FLOWS.contains(usual));
    TWO_FLOWS.replace(usual, gates)
}

/// How far outside its class's window each frame left, in ns.
fn margins_ns(part: &Part<'_>, windows: [Window; 2]) -> Vec<u64> {
    let margin = |line: &str| -> Option<u64> {
        let (at, queue) = line.split_once(' ')?;
        let (seconds, microseconds) = at.split_once('.')?;
        let at_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + microseconds.parse::<u64>().ok()? * 1_000;
        let (open, length) = windows[queue.parse::<usize>().ok()?];
        let since_opening = (at_ns % CYCLE_NS + CYCLE_NS - open) % CYCLE_NS;
        let outside = since_opening.checked_sub(length);
        Some(outside.map_or(0, |late| late.min(CYCLE_NS - since_opening)))
    };
    part.all("left").map(|line| margin(line).unwrap_or_else(|| panic!("unexpected line '{line}'"))).collect()
}

/// The bounds that tardy reported, in ns. Empty if nothing leaked.
fn reported_ns(part: &Part<'_>) -> Vec<u64> {
    let text = part.text();
    let bounds =
        text.lines().filter_map(|line| line.split_once("were open for at most ")?.1.split(' ').next());
    bounds.map(|bound| parse_duration_ns(bound).unwrap()).collect()
}

const SCRIPT: &str = r"
cable swp0 talker 2
cable swp1 listener 2
trace swp1
all_came() { [ $(sent swp1) -ge $((before + 5000)) ]; }
# under_load NAME: runs replace_NAME six times to and fro while both flows are sent.
under_load() {
    flow 0 6666 2500 400000; flow 1 7777 2500 400000
    part $1
    before=$(sent swp1)
    send &
    sending=$!
    for which in new old new old new old; do replace_$1 $which; done
    wait $sending
    until_true all_came
    traced
}
replace_two() { tardy tsn apply $FILES/two-$1.toml 2>&1; }
replace_three() { tardy tsn apply $FILES/three-$1.toml 2>&1; }
# What a user would do, at six places of the cycle.
replace_naive() { usleep 126000; . /tmp/$1.sh; }
for which in old new; do
    tardy tsn plan $FILES/two-$which.toml | sed -n '/^tc qdisc/,/clockid/p' > /tmp/$which.sh
done
tardy tsn apply $FILES/two-old.toml; under_load two; under_load naive; tardy tsn remove
tardy tsn apply $FILES/three-old.toml; under_load three
";

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let two_windows = |blue: u32, red: u32| {
        file(&format!(
            "  {{ open = [\"blue\"], for = \"{blue}ms\" }},\n  {{ open = [\"red\"], for = \"{red}ms\" }},\n"
        ))
    };
    let three_windows = |blue: u32, red: u32| {
        file(&format!(
            "  {{ open = [\"blue\"], for = \"{blue}ms\" }},\n  {{ open = [\"red\"], for = \"{red}ms\" }},\n  \
             {{ open = \"all\", for = \"5ms\" }},\n"
        ))
    };
    let files = vec![
        ("two-old.toml".to_owned(), two_windows(30, 10)),
        ("two-new.toml".to_owned(), two_windows(20, 20)),
        ("three-old.toml".to_owned(), three_windows(25, 10)),
        ("three-new.toml".to_owned(), three_windows(20, 15)),
    ];
    Scene { files, ..super::scene("replacement", SCRIPT, &[]) }
}

#[test]
fn no_gate_opens_early_when_a_schedule_is_replaced() {
    let Some(printed) = BRIDGED.scene("replacement") else { return };
    let of = |name: &str, windows: [Window; 2]| {
        let part = printed.part(name);
        let (margins_ns, reported_ns) = (margins_ns(&part, windows), reported_ns(&part));
        let early = margins_ns.iter().filter(|ns| **ns > ROUNDING_NS).count();
        let worst_ns = margins_ns.iter().copied().max().unwrap_or(0);
        let frames = margins_ns.len();
        println!(
            "{name}: {frames} frames, {early} early, {worst_ns} ns at most; reported {reported_ns:?} ns"
        );
        assert_eq!(frames, 5000, "{name}");
        (early, worst_ns, reported_ns, part.text().matches("schedule replaced while it ran").count())
    };
    let two = [(0, 30_000_000), (20_000_000, 20_000_000)];
    let (_, worst_ns, reported_ns, replaced) = of("two", two);
    assert_eq!(replaced, 6);
    // If the load delays a rehearsal, the bound of the request that follows is longer.
    let short = reported_ns.iter().filter(|ns| **ns <= BOUND_NS_MAX).count();
    let reported_ns = reported_ns.into_iter().max().unwrap_or(0);
    assert!(short >= 3 && reported_ns <= CYCLE_NS + BOUND_NS_MAX, "gates were open for {reported_ns} ns");
    assert!(worst_ns <= reported_ns + ROUNDING_NS, "{worst_ns} ns early, and tardy reported {reported_ns}");
    // After an entry with every gate open nothing can leak.
    let (_, worst_ns, reported_ns, replaced) =
        of("three", [(35_000_000, 30_000_000), (20_000_000, 20_000_000)]);
    assert_eq!((reported_ns, replaced), (vec![], 6));
    assert!(worst_ns <= GATES_LATE_NS, "{worst_ns} ns, which the gates' own timer does not explain");
    let (early, worst_ns, ..) = of("naive", two);
    assert!(
        early > 0 && worst_ns > BOUND_NS_MAX,
        "a naive replacement leaks nothing, so this test cannot detect a leak"
    );
}
