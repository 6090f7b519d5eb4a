//! Two explained wake-ups against each other, for the terminal.

use std::fmt::Write;

use tardy_compare::explanations::{Difference, FunctionDifference, WakeupDifference};
use tardy_plot::numbers::{count, counted, harmless, short, with_unit};
use tardy_plot::terms::explained;
use tardy_record::explanation::Explanations;

use super::coverage;
use tardy_present::terminal_text::folded;

/// Functions that are printed for each wake-up; JSON has all.
const SHOWN: usize = 20;

/// The differences, at most `width` wide. `sides` are the explanations that were compared.
pub fn text(difference: &Difference, sides: [&Explanations; 2], width: usize) -> String {
    let [a, b] = sides.map(|side| format!("{} ({})", harmless(&side.run), harmless(&side.kernel)));
    let mut text = format!("A: {a}\nB: {b}\n");
    for wakeup in &difference.wakeups {
        let _ = write!(text, "\n{}", of_one(wakeup, width));
    }
    if difference.wakeups.is_empty() {
        text += "\nThe runs have no phase with the same label and series.\n";
    }
    if let Some(coverage) = &difference.coverage {
        text += &coverage::difference_text(coverage, width);
    }
    text
}

fn of_one(difference: &WakeupDifference, width: usize) -> String {
    let functions = &difference.functions;
    let mut text = folded(&headline(difference), width).join("\n") + "\n";
    if functions.is_empty() {
        return text + "  Both executed the same functions.\n";
    }
    let _ = writeln!(
        text,
        "\n  Instructions of each function alone:\n  {:>8} {:>8} {:>8} {:>11}  function",
        "change", "A", "B", "calls"
    );
    for function in functions.iter().take(SHOWN) {
        let _ = writeln!(text, "{}", line(function, width));
    }
    if functions.len() > SHOWN {
        let rest: i64 = functions[SHOWN..].iter().map(FunctionDifference::change).sum();
        let others = counted((functions.len() - SHOWN) as u64, "other function", "other functions");
        let _ = writeln!(text, "  {:>8} {:>8} {:>8} {:>11}  in {others}", signed(rest), "", "", "");
    }
    text
}

/// How late both were, and which has more instructions.
pub(super) fn headline(difference: &WakeupDifference) -> String {
    let WakeupDifference { phase, series, which, extent, latency_ns, instructions, .. } = difference;
    let [a, b] = latency_ns.map(|ns| with_unit(ns as f64));
    let change = instructions[1] as i64 - instructions[0] as i64;
    format!(
        "Phase '{}', {}, {}: {a} in A and {b} in B, {} in B.",
        harmless(phase),
        harmless(series),
        explained(*which, *extent),
        more(change)
    )
}

fn more(change: i64) -> String {
    let instructions = counted(change.unsigned_abs(), "instruction", "instructions");
    format!("{instructions} {}", if change < 0 { "fewer" } else { "more" })
}

fn line(function: &FunctionDifference, width: usize) -> String {
    let [a, b] = function.own.map(count);
    let name = short(&named(function), width.saturating_sub(43).max(20));
    format!("  {:>8} {a:>8} {b:>8} {:>11}  {name}", signed(function.change()), calls(function))
}

/// The function and its caller.
pub(super) fn named(function: &FunctionDifference) -> String {
    let by = function
        .callers
        .last()
        .map_or_else(String::new, |caller| format!(", called by {}", harmless(caller)));
    format!("{}{by}", harmless(&function.name))
}

/// How often it was called in A and in B.
pub(super) fn calls(function: &FunctionDifference) -> String {
    match function.calls {
        [a, b] if a == b => count(a),
        [a, b] => format!("{} -> {}", count(a), count(b)),
    }
}

pub(super) fn signed(change: i64) -> String {
    let sign = if change < 0 { "-" } else { "+" };
    format!("{sign}{}", count(change.unsigned_abs()))
}
