//! Explanations of wake-ups: for the terminal, as a page, and for other tools.

mod boot;
mod census;
mod coverage;
mod difference;
mod difference_page;
mod exports;
mod page;

use std::fmt::Write;

use tardy_compare::explanations::Difference;
use tardy_plot::numbers::{count, counted, harmless, per_cent, with_unit};
use tardy_plot::terms::{explained, lateness, part_name};
use tardy_record::explanation::{Call, ExplainedWakeup, Explanations, HeldOff, KindOfParts, PartKind};

pub use self::difference::text as difference_text;

use tardy_present::terminal_text::folded;

/// The widest bar of a part, in columns.
const BAR_MAX: usize = 30;

/// The columns before what is said of a part below it.
const INDENT: usize = 18;
/// Names of parts of one kind that are shown.
const NAMES_SHOWN: usize = 4;

/// A form in which explanations can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A page.
    Page,
    /// Stacks for tools that draw flame graphs.
    Folded,
    /// Events for the viewers of Perfetto and speedscope.
    Trace,
    /// All details.
    Json,
}

impl Form {
    /// The endings of file names, for errors.
    pub const ENDINGS: &'static str = ".html, .folded, .trace.json or .json";

    /// The form for a file of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        let endings = [
            (".html", Self::Page),
            (".folded", Self::Folded),
            (".trace.json", Self::Trace),
            (".json", Self::Json),
        ];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| form)
    }

    /// The file's content. `made_by` names the program.
    pub fn write(self, explanations: &Explanations, made_by: &str) -> String {
        match self {
            Self::Page => page::html(explanations, made_by),
            Self::Folded => exports::folded(explanations),
            Self::Trace => exports::trace(explanations),
            Self::Json => exports::json(explanations),
        }
    }

    /// The content for two runs; `None` for traces, which show one.
    pub fn write_difference(
        self,
        difference: &Difference,
        sides: [&Explanations; 2],
        made_by: &str,
    ) -> Option<String> {
        match self {
            Self::Page => Some(difference_page::html(difference, sides, made_by)),
            Self::Folded => Some(exports::folded_difference(&difference.wakeups)),
            Self::Trace => None,
            Self::Json => Some(exports::json(difference)),
        }
    }
}

/// The explanations for the terminal, at most `width` wide. Functions with less than the share `least` of a wake-up are left out.
pub fn text(explanations: &Explanations, least: f64, width: usize) -> String {
    let all = explanations.wakeups.iter();
    let mut text =
        all.map(|wakeup| of_one(explanations, wakeup, least, width)).collect::<Vec<_>>().join("\n");
    if let Some(census) = &explanations.census {
        text += &census::text(census, explanations.ns_per_instruction, width);
    }
    if let Some(coverage) = &explanations.coverage {
        text += &coverage::text(coverage, width);
    }
    if let Some(boot) = &explanations.boot {
        text += &boot::text(boot, explanations.ns_per_instruction, width);
    }
    text
}

fn of_one(explanations: &Explanations, wakeup: &ExplainedWakeup, least: f64, width: usize) -> String {
    let ns = explanations.ns_per_instruction;
    let explanation = &wakeup.explanation;
    let mut text = folded(&headline(explanations, wakeup), width).join("\n") + "\n\n";
    let kinds = explanation.kinds();
    let longest = kinds.iter().map(|part| part.instructions).max().unwrap_or(1).max(1);
    for part in &kinds {
        let columns = (part.instructions * BAR_MAX as u64).div_ceil(longest) as usize;
        let (name, took) = (part_name(part.kind), with_unit((part.instructions * ns) as f64));
        let _ =
            writeln!(text, "  {name:<15} {took:>9} {:>8}  {}", count(part.instructions), "█".repeat(columns));
        let about = match (part.kind, &explanation.held_off) {
            (PartKind::InterruptsOff, Some(held)) => held_off(held, ns),
            _ => names(part, ns),
        };
        for line in folded(&about, width.saturating_sub(INDENT)).iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    }
    let _ = writeln!(text, "\n  {:>8} {:>9} {:>6}  function", "ns", "own ns", "calls");
    let least = ((explanation.instructions as f64 * least) as u64).max(1);
    for call in &explanation.calls {
        lines_of(&mut text, call, 0, least, ns, width);
    }
    text
}

/// Which wake-up it is, how late, and its longest part.
fn headline(explanations: &Explanations, wakeup: &ExplainedWakeup) -> String {
    let ExplainedWakeup { phase, series, which, cycle, explanation } = wakeup;
    let (which, late) = (explained(*which, explanation.extent), lateness(explanation));
    let instructions = counted(explanation.instructions, "instruction", "instructions");
    let longest = explanation.kinds().into_iter().max_by_key(|part| part.instructions);
    let longest = longest.map_or_else(String::new, |part| {
        let share = part.instructions as f64 / explanation.instructions.max(1) as f64;
        format!(" Its longest part, {}, is '{}'.", per_cent(share), part_name(part.kind))
    });
    format!(
        "{}, phase '{}', {}: {which} (cycle {cycle}) {late}: {instructions}.{longest}",
        harmless(&explanations.run),
        harmless(phase),
        harmless(series),
    )
}

/// The longest of the system calls, tasks and so on that parts of a kind have as their names.
fn names(part: &KindOfParts<'_>, ns: u64) -> String {
    let name = |(name, instructions): &(&str, u64)| {
        format!("{} {}", harmless(name), with_unit((instructions * ns) as f64))
    };
    let mut names: Vec<String> = part.named.iter().take(NAMES_SHOWN).map(name).collect();
    let others = part.named.len().saturating_sub(NAMES_SHOWN) as u64;
    names.extend((others > 0).then(|| counted(others, "other", "others")));
    names.join(", ")
}

/// Who held interrupts off.
fn held_off(held: &HeldOff, ns: u64) -> String {
    let by =
        held.by.as_ref().map_or_else(|| "before the record begins".to_owned(), |by| format!("by {by}()"));
    let since = with_unit((held.since * ns) as f64);
    format!("turned off {by} in '{}', {since} before the timer was due", harmless(&held.task))
}

/// A function and what it called. A function that does little but call one other shares its line.
fn lines_of(text: &mut String, call: &Call, depth: usize, least: u64, ns: u64, width: usize) {
    let mut names = harmless(&call.name);
    let mut last = call;
    while let [only] = &last.calls[..]
        && last.own < least
        && only.count == last.count
        && names.chars().count() + only.name.chars().count() + 2 * depth + 34 < width
    {
        names = format!("{names} > {}", harmless(&only.name));
        last = only;
    }
    let (total, own) = (count(last.total * ns), count(last.own * ns));
    let _ = writeln!(text, "  {total:>8} {own:>9} {:>6}  {}{names}", count(last.count), "  ".repeat(depth));
    for inner in last.calls.iter().filter(|inner| inner.total >= least) {
        lines_of(text, inner, depth + 1, least, ns, width);
    }
}
