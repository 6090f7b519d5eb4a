//! Every refusal of the kernel that a switch file can provoke. `tardy tsn check` must predict each with the same
//! message.
//!
//! No file can provoke the others: a parent other than the root ("Can only be attached as root qdisc"), because tardy uses
//! no other; and preemptible classes ("Preemption only supported with full offload"), which the file cannot express. A list
//! that is too long for netlink's lengths never reaches the kernel.

use std::fmt::Write;

use serde_json::Value;

use super::BRIDGED;
use crate::scripted::{Part, Printed, Scene};

/// A file that the kernel accepts, for a port with four queues.
const ACCEPTED: &str = r#"
about = "A schedule with a mistake."
priority_map = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

[[class]]
queues = "1@0"

[[class]]
queues = "1@1"

[switch]
name = "tsn0"

[[switch.port]]
interface = "quad"
gates = [
  { open = [0], for = "800us" },
  { open = [1], for = "200us" },
]
"#;

/// A mistake and the kernel's message.
struct Row {
    /// The rule of `tardy tsn check`.
    rule: &'static str,
    /// The kernel's message.
    words: &'static str,
    /// Replacements in [`ACCEPTED`]: the old text and the new.
    changes: &'static [(&'static str, &'static str)],
}

const fn row(rule: &'static str, words: &'static str, changes: &'static [(&str, &str)]) -> Row {
    Row { rule, words, changes }
}

/// The interfaces are those of [`SCRIPT`].
const ROWS: &[Row] = &[
    row("single-queue", "Multi-queue device is required", &[("quad", "single")]),
    row(
        "more-classes-than-queues",
        "Number of traffic classes is greater than number of HW queues",
        &[("[switch]", "[[class]]\n[[class]]\n[[class]]\n[switch]")],
    ),
    row("queues-not-there", "Queues 1:4 for TC 1 exceed the 4 TX queues available", &[("1@1", "1@4")]),
    row("queues-not-there", "No queues for TC 1", &[("1@1", "0@1")]),
    row("queues-overlap", "TC 0 queues 2@0 overlap with TC 1 queues 1@1", &[("1@0", "2@0")]),
    row(
        "priority-without-class",
        "Invalid traffic class in priority to traffic class mapping",
        &[("[0, 1, 0", "[0, 1, 2")],
    ),
    row(
        "max-sdu-beyond-mtu",
        "TC max SDU exceeds device max MTU",
        &[("\"1@1\"", "\"1@1\"\nmax_sdu = 65536")],
    ),
    row("interval-too-short", "Invalid interval for schedule entry", &[("200us", "47ns")]),
    row(
        "interval-too-short",
        "Invalid interval for schedule entry",
        &[("quad", "speedless"), ("200us", "47999ns")],
    ),
    row(
        "empty-list",
        "There should be at least one entry in the schedule",
        &[("  { open = [0], for = \"800us\" },\n  { open = [1], for = \"200us\" },\n", "")],
    ),
    row("cycle-too-short", "'cycle_time' is too small", &[("gates", "cycle_time = \"95ns\"\ngates")]),
    row("cycle-too-long", "'cycle_time' is too big", &[("800us", "2s"), ("200us", "2s")]),
    row("cycle-too-long", "integer out of range", &[("gates", "cycle_time = \"2147483648ns\"\ngates")]),
    row("clock", "Specifying a 'clockid' is mandatory", &[("gates", "clock = \"none\"\ngates")]),
    row("clock", "Invalid 'clockid'", &[("gates", "clock = \"monotonic-raw\"\ngates")]),
    row("clock", "The 'clockid' cannot be specified for full offload", &[("gates", "flags = 2\ngates")]),
    row(
        "no-ptp-clock",
        "Device does not have a PTP clock",
        &[("gates", "flags = 2\nclock = \"none\"\ngates")],
    ),
    row("flags", "TXTIME_ASSIST and FULL_OFFLOAD are mutually exclusive", &[("gates", "flags = 3\ngates")]),
    row("flags", "reserved bit set", &[("gates", "flags = 4\ngates")]),
    row(
        "txtime-delay",
        "txtime-delay can only be set when txtime-assist mode is enabled",
        &[("gates", "txtime_delay = \"100us\"\ngates")],
    ),
];

/// Settings that cannot be changed while a schedule runs. `tardy tsn apply` would create the shaper anew, so the test
/// runs the tc commands that `tardy tsn plan` prints.
const ROWS_OF_RUNNING: &[Row] = &[
    row(
        "running-schedule",
        "Changing the traffic mapping of a running schedule is not supported",
        &[("[0, 1, 0", "[0, 1, 1")],
    ),
    row(
        "running-schedule",
        "Changing the traffic mapping of a running schedule is not supported",
        &[("[switch]", "[[class]]\n[switch]")],
    ),
    row(
        "running-schedule",
        "Changing the 'clockid' of a running schedule is not supported",
        &[("gates", "clock = \"monotonic\"\ngates")],
    ),
    row(
        "running-schedule",
        "Changing 'flags' of a running schedule is not supported",
        &[("gates", "flags = 1\ngates")],
    ),
];

impl Row {
    fn file(&self) -> String {
        let change = |text: String, (right, wrong): &(&str, &str)| {
            assert!(text.contains(right), "{right:?} is not in the file");
            text.replacen(right, wrong, 1)
        };
        self.changes.iter().fold(ACCEPTED.to_owned(), change)
    }

    /// Compares the prediction and the kernel's message with the table.
    fn judge(&self, predicted: &Part<'_>, printed: &Part<'_>) -> Result<(), String> {
        let findings = predicted.json();
        let is_refusal = |finding: &&Value| finding["kind"]["kind"] == "refused";
        let refusals: Vec<&Value> =
            findings["findings"].as_array().into_iter().flatten().filter(is_refusal).collect();
        // The kernel reports one mistake at a time, the check all of them.
        let is_predicted =
            |finding: &&Value| finding["rule"] == self.rule && finding["kind"]["message"] == self.words;
        if !refusals.iter().any(is_predicted) {
            return Err(format!("check does not report {} ('{}'): {refusals:?}", self.rule, self.words));
        }
        if printed.status() == 0 || !printed.text().contains(self.words) {
            return Err(format!("the kernel does not report '{}':\n{}", self.words, printed.text()));
        }
        Ok(())
    }
}

/// Files of `rows` for a guest, under names that begin with `name`.
fn files(name: &str, rows: &[Row]) -> Vec<(String, String)> {
    rows.iter().enumerate().map(|(number, row)| (format!("{name}-{number}.toml"), row.file())).collect()
}

fn judge(printed: &Printed, name: &str, rows: &[Row]) {
    let mut wrong = String::new();
    for (number, row) in rows.iter().enumerate() {
        let part = |of: &str| printed.part(&format!("{of} {name}-{number}"));
        if let Err(reason) = row.judge(&part("check"), &part("refused")) {
            writeln!(wrong, "{name}-{number}: {reason}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const SCRIPT: &str = r"
cable quad host 4
cable single other 1
ip link add speedless numtxqueues 4 type dummy
ip link set speedless up; ip link set speedless down
everything > /tmp/before
try() {
    name=$(basename $1 .toml)
    part check $name; answer tardy tsn check --json $1
    part refused $name; shift; answer $@
}
for file in $FILES/new-*.toml; do try $file tardy tsn apply --unchecked $file; done
part unchanged; as_in /tmp/before
tardy tsn apply $FILES/accepted.toml > /dev/null
for file in $FILES/running-*.toml; do
    tardy tsn plan $file | sed -n '/^tc qdisc/,/clockid/p' > /tmp/change.sh
    try $file . /tmp/change.sh
done
";

/// The scene of this file.
pub(super) fn scene() -> Scene {
    let mut scene = super::scene("refusals", SCRIPT, &[("accepted.toml", ACCEPTED)]);
    scene.files.extend(files("new", ROWS));
    scene.files.extend(files("running", ROWS_OF_RUNNING));
    scene.modules.push("dummy");
    scene
}

#[test]
fn check_predicts_the_kernels_refusals_in_its_words() {
    let Some(printed) = BRIDGED.scene("refusals") else { return };
    judge(printed, "new", ROWS);
    judge(printed, "running", ROWS_OF_RUNNING);
    let unchanged = printed.part("unchanged");
    assert_eq!(unchanged.status(), 0, "a refusal left something behind:\n{}", unchanged.text());
}
