//! Explanations in the formats of other tools.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};
use tardy_compare::explanations::{Merged, WakeupDifference};
use tardy_plot::terms::explained;
use tardy_record::explanation::{Call, Explanations};

/// All details, as they can be read again, without spaces: a cycle of 10 ms has some 100,000 executions.
pub(super) fn json<T: Serialize + ?Sized>(details: &T) -> String {
    serde_json::to_string(details).expect("its keys are texts") + "\n"
}

/// A line for each stack: its functions, outermost first, separated by semicolons, and the instructions of the innermost. This is what
/// flamegraph.pl and its descendants read.
pub(super) fn folded(explanations: &Explanations) -> String {
    let mut text = String::new();
    for wakeup in &explanations.wakeups {
        let callers = format!("{};{}", without_separators(&wakeup.phase), without_separators(&wakeup.series));
        wakeup.explanation.calls.iter().for_each(|call| stacks(&mut text, &callers, call));
    }
    text
}

/// A line for each stack with the instructions of the innermost function in A and in B, as difffolded.pl writes it.
pub(super) fn folded_difference(differences: &[WakeupDifference]) -> String {
    let mut text = String::new();
    for difference in differences {
        let name = explained(difference.which, difference.extent);
        let callers = format!(
            "{};{};{name}",
            without_separators(&difference.phase),
            without_separators(&difference.series)
        );
        difference.merged.iter().for_each(|function| stacks_of_both(&mut text, &callers, function));
    }
    text
}

fn stacks_of_both(text: &mut String, callers: &str, function: &Merged) {
    let stack = format!("{callers};{}", without_separators(&function.name));
    let [a, b] = function.own;
    if a + b > 0 {
        let _ = writeln!(text, "{stack} {a} {b}");
    }
    function.inner.iter().for_each(|inner| stacks_of_both(text, &stack, inner));
}

fn stacks(text: &mut String, callers: &str, call: &Call) {
    let stack = format!("{callers};{}", without_separators(&call.name));
    if call.own > 0 {
        let _ = writeln!(text, "{stack} {}", call.own);
    }
    call.calls.iter().for_each(|inner| stacks(text, &stack, inner));
}

fn without_separators(name: &str) -> String {
    name.replace([';', '\n'], "_")
}

/// Complete events of the Trace Event Format, with times in us: a process for each wake-up.
pub(super) fn trace(explanations: &Explanations) -> String {
    let us = |instructions: u64| (instructions * explanations.ns_per_instruction) as f64 / 1e3;
    let mut events = Vec::new();
    for (number, wakeup) in explanations.wakeups.iter().enumerate() {
        let pid = number + 1;
        let name = format!("{}, {}, cycle {}", wakeup.phase, wakeup.series, wakeup.cycle);
        events.push(json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}));
        events.extend(wakeup.explanation.timeline.iter().map(|one| -> Value {
            json!({"ph": "X", "name": one.name, "pid": pid, "tid": 1, "ts": us(one.start), "dur": us(one.instructions)})
        }));
    }
    json!({"traceEvents": events, "displayTimeUnit": "ns"}).to_string() + "\n"
}
