//! What stops the kernel's gate timer for good, and the watcher that restarts it.

use super::{BRIDGED, TWO_FLOWS};
use crate::scripted::Scene;

/// Frames of both flows.
const FRAMES: u64 = 100;

const SCRIPT: &str = r#"
cable swp0 talker 2
cable swp1 listener 2
count() { part $*; echo timers $(timers); before=$(sent swp1); }
delivered() { echo delivered $(($(sent swp1) - before)); }
both() { flow 0 6666 50 100000; flow 1 7777 50 100000; send; }
# The last frames wait for their gate, a cycle at most.
all_came() { [ $(sent swp1) -ge $((before + 100)) ]; }
has_carrier() { grep -q 1 /sys/class/net/swp1/carrier; }
moved() { [ "$(grep -c 'run again' /tmp/watched)" = $1 ]; }

tardy tsn apply $FILES/switch.toml
count running; both; until_true all_came; delivered
ip link set listener down; ip link set listener up; until_true has_carrier
count flapped; both; usleep 50000; delivered
part waiting; answer tardy tsn show --json

tardy tsn watch $FILES/switch.toml --json > /tmp/totals 2> /tmp/watched &
watcher=$!
until_true grep -q watching /tmp/watched; until_true moved 1
part healed after a flap before it was watched; echo timers $(timers); until_true all_came; delivered
ip link set listener down; ip link set listener up; until_true moved 2
count healed after a flap; both; until_true all_came; delivered
ip link set swp1 down; ip link set swp1 up; until_true moved 3
count healed after being set down; both; until_true all_came; delivered
tc qdisc replace dev swp1 parent 7514:1 pfifo limit 500; until_true moved 4
count healed after another child; both; until_true all_came; delivered
ip link set listener down
both
part no carrier; answer tardy tsn show
ip link set listener up; until_true moved 5
count healed with frames lost
part whole; answer tardy tsn show
# The watcher does not repair this, since the gates still run.
ip link set swp1 nomaster
part no port; answer tardy tsn show
kill -INT $watcher; wait $watcher
part watched; cat /tmp/watched
part totals; cat /tmp/totals
ip link del swp1
part deleted; answer tardy tsn show
"#;

/// The scene of this file.
pub(super) fn scene() -> Scene {
    super::scene("healing", SCRIPT, &[("switch.toml", TWO_FLOWS)])
}

#[test]
fn the_watcher_restarts_stopped_gates() {
    let Some(printed) = BRIDGED.scene("healing") else { return };
    let counts = |part: &str| {
        let part = printed.part(part);
        (part.number("timers"), part.number("delivered"))
    };
    assert_eq!(counts("running"), (1, FRAMES));
    assert_eq!(counts("flapped"), (0, 0), "the gates restarted without the watcher: is it still needed?");
    let shaper = &printed.part("waiting").json()[0]["ports"][1]["shaper"];
    assert_eq!(shaper["waiting_frames"], FRAMES, "frames wait for ever");
    assert_eq!(
        (&shaper["stands_still"], printed.part("waiting").status()),
        (&true.into(), 3),
        "show reports it"
    );
    assert_eq!(printed.part("whole").status(), 0, "{}", printed.part("whole").text());
    let no_carrier = printed.part("no carrier");
    assert!(no_carrier.text().contains("its gates have stopped"), "{}", no_carrier.text());
    assert_eq!(no_carrier.status(), 3);
    let no_port = printed.part("no port");
    assert!(no_port.text().contains("no longer a port of the bridge"), "{}", no_port.text());
    assert_eq!(no_port.status(), 3);
    let deleted = printed.part("deleted");
    assert!(deleted.text().contains("swp1: the interface is gone"), "{}", deleted.text());
    assert_eq!(deleted.status(), 3);
    assert_eq!(
        counts("healed after a flap before it was watched"),
        (1, FRAMES),
        "the frames that had waited"
    );
    for cause in ["a flap", "being set down", "another child"] {
        assert_eq!(counts(&format!("healed after {cause}")), (1, FRAMES), "{cause}");
    }
    assert_eq!(printed.part("healed with frames lost").number("timers"), 1);
    let watched = printed.part("watched").text();
    let totals = printed.part("totals").json();
    assert_eq!((&totals["repaired"], &totals["failed"]), (&5.into(), &0.into()), "{totals}");
    assert_eq!(watched.matches("its carrier was lost").count(), 3, "{watched}");
    assert_eq!(watched.matches("had stopped before the watch began").count(), 1, "{watched}");
    assert_eq!(watched.matches("a queueing discipline below its shaper was changed").count(), 1, "{watched}");
}
