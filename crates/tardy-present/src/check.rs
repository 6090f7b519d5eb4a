//! The output of `tardy check`: the verdict, a status line, the findings, and the checks without a finding. The full form
//! adds reasons, sources and every fact.
//!
//! The text is folded to 80 columns, except commands, which users paste. Control characters in texts from the machine
//! are replaced: a name in /etc/os-release must not move the cursor.

use tardy_analyse::readiness::{Check, Finding, Readiness, Remedy, RemedyKind, Severity, State};
use tardy_record::facts::{Facts, Row};
use tardy_record::units::format_duration_ns;

use crate::terminal_text::{INDENT, Style, TerminalText, WIDTH, printable, wrapped};

/// The column in which the value of a fact begins.
const VALUE_COLUMN: usize = 31;

/// The name of the fact after which the timers in step with the tick are listed.
const TICKS: &str = "ticks per second";

/// How much of the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// About two screens: notes are shortened, checks without a finding are names only, facts are left out.
    Short,
    /// Everything.
    Full,
}

/// The text, with ANSI escapes if `colour` is set. Ends with a newline.
pub fn text(facts: &Facts, readiness: &Readiness, extent: Extent, colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    headline(readiness, &mut out);
    let mut after_note = false;
    for finding in &readiness.findings {
        let is_short = extent == Extent::Short && finding.severity == Severity::Note;
        if !(is_short && after_note) {
            out.text.push('\n');
        }
        print_finding(finding, is_short, &mut out);
        after_note = is_short;
    }
    out.text.push('\n');
    if extent == Extent::Short {
        names_of_checks(&readiness.checks, &mut out);
        return out.text;
    }
    details_of_checks(&readiness.checks, &mut out);
    every_fact(facts, &mut out);
    out.text
}

/// The checks without a finding, in a line for each result.
fn names_of_checks(checks: &[Check], out: &mut TerminalText) {
    let names = |state| {
        let names: Vec<&str> =
            checks.iter().filter(|check| check.state == state).map(|check| check.name).collect();
        names.join(", ")
    };
    for (title, state, end) in
        [("Fine", State::Fine, "."), ("Unknown", State::Unknown, "; `tardy check --full` has the reasons.")]
    {
        let names = names(state);
        if !names.is_empty() {
            for line in wrapped(&format!("{title}: {names}{end}"), WIDTH) {
                out.line(&line, Style::Plain);
            }
        }
    }
}

/// The checks without a finding, each with its setting or reason.
fn details_of_checks(checks: &[Check], out: &mut TerminalText) {
    for (title, state) in
        [("FINE", State::Fine), ("UNKNOWN", State::Unknown), ("NOT APPLICABLE", State::NotApplicable)]
    {
        let mut of_state = checks.iter().filter(|check| check.state == state).peekable();
        if of_state.peek().is_none() {
            continue;
        }
        out.line(title, Style::Bold);
        for check in of_state {
            print_named(check.name, &check.detail, out);
        }
        out.text.push('\n');
    }
}

fn every_fact(facts: &Facts, out: &mut TerminalText) {
    let mut section = "";
    for row in facts.rows() {
        if row.section != section {
            if !section.is_empty() {
                out.text.push('\n');
            }
            section = row.section;
            out.line(&section.to_uppercase(), Style::Bold);
        }
        print_row(&row, out);
        if row.name == TICKS {
            in_step(facts).into_iter().for_each(|row| print_row(&row, out));
        }
    }
}

/// Intervals of timers in step with the kernel's tick: they always meet the tick or never (docs/noise.md).
fn in_step(facts: &Facts) -> Option<Row> {
    let hz = u64::from(*facts.kernel.hz.get().filter(|hz| **hz > 0)?);
    let tick_ns = 1_000_000_000 / hz;
    let timers = [tick_ns / 4, tick_ns / 2, tick_ns, 2 * tick_ns].map(format_duration_ns).join(", ");
    Some(Row {
        section: "kernel",
        name: "timers in step with them",
        value: format!("{timers} and other small ratios; --dither prevents it"),
        how: "CONFIG_HZ".to_owned(),
    })
}

fn headline(readiness: &Readiness, out: &mut TerminalText) {
    let style = if readiness.real_time.get() == Some(true) { Style::Good } else { Style::Bad };
    for line in wrapped(&readiness.headline, WIDTH) {
        out.line(&line, style);
    }
    for line in wrapped(&verdict(readiness), WIDTH) {
        out.line(&line, Style::Plain);
    }
    // One line, however long: it is pasted.
    out.line(&format!("Status: {}", printable(&readiness.status)), Style::Plain);
}

/// One sentence that counts the findings.
fn verdict(readiness: &Readiness) -> String {
    let count = |severity| readiness.findings.iter().filter(|finding| finding.severity == severity).count();
    let parts: Vec<String> = [
        (count(Severity::Blocks), "blocks it", "block it"),
        (count(Severity::Hurts), "hurts", "hurt"),
        (count(Severity::Note), "is worth knowing", "are worth knowing"),
    ]
    .into_iter()
    .filter(|(count, ..)| *count > 0)
    .map(
        |(count, one, many)| {
            if count == 1 { format!("1 thing {one}") } else { format!("{count} things {many}") }
        },
    )
    .collect();
    let found = if parts.is_empty() { "nothing prevents it".to_owned() } else { parts.join(", ") };
    let ready = if readiness.ready { "Ready" } else { "Not ready" };
    format!("{ready} for real-time work: {found}.")
}

fn print_finding(finding: &Finding, is_short: bool, out: &mut TerminalText) {
    let (word, style) = match finding.severity {
        Severity::Blocks => ("BLOCKS", Style::Bad),
        Severity::Hurts => ("HURTS", Style::Middling),
        Severity::Note => ("NOTE", Style::Bold),
    };
    let mut lines = wrapped(&finding.what, WIDTH - INDENT).into_iter();
    let first = lines.next().unwrap_or_default();
    out.styled(&format!("{word:INDENT$}"), style);
    out.line(&first, Style::Bold);
    for line in lines {
        out.indented(&line, Style::Bold);
    }
    if !is_short {
        for line in wrapped(&finding.why, WIDTH - INDENT) {
            out.indented(&line, Style::Plain);
        }
        for line in wrapped(&format!("Seen in: {}", finding.source), WIDTH - INDENT) {
            out.indented(&line, Style::Faint);
        }
    }
    print_remedy("", &finding.remedy, out);
    if !is_short {
        finding.alternatives.iter().for_each(|other| print_remedy("or ", other, out));
    }
    for line in finding.danger.iter().flat_map(|danger| wrapped(&format!("Risk: {danger}"), WIDTH - INDENT)) {
        out.indented(&line, Style::Plain);
    }
}

fn print_remedy(or: &str, remedy: &Remedy, out: &mut TerminalText) {
    let what_to_do = match remedy.kind {
        RemedyKind::Command => "run as root",
        RemedyKind::KernelOption => "build the kernel with",
        RemedyKind::BootParameter => "boot with",
        RemedyKind::RemoveBootParameter => "boot without",
        RemedyKind::HostCommand => "on the host, as root",
        RemedyKind::Hardware => "change",
    };
    out.indented(&format!("{or}{what_to_do}:  {}", printable(&remedy.text)), Style::Remedy);
}

fn print_row(row: &Row, out: &mut TerminalText) {
    print_named(row.name, &format!("{} [{}]", row.value, row.how), out);
}

/// A name, and its text in a column.
fn print_named(name: &str, text: &str, out: &mut TerminalText) {
    let mut lines = wrapped(text, WIDTH - VALUE_COLUMN).into_iter();
    let name = format!("  {name:width$}", width = VALUE_COLUMN - 2);
    out.line(&format!("{name}{}", lines.next().unwrap_or_default()), Style::Plain);
    for line in lines {
        out.line(&format!("{:VALUE_COLUMN$}{line}", ""), Style::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_analyse::readiness::judge;
    use tardy_record::facts::Fact;
    use tardy_record::tuning::Tuning;

    #[test]
    fn the_first_line_states_the_kind_of_kernel() {
        let mut facts = Facts::default();
        facts.kernel.release = Fact::known("6.1.0".into(), "uname -r");
        facts.kernel.real_time = Fact::known(false, "uname -v");
        let text = text(&facts, &judge(&facts, &Tuning::default()), Extent::Full, false);
        assert!(text.starts_with("This is not a real-time kernel: 6.1.0 "), "{text}");
        assert!(text.contains("\nNot ready for real-time work: 1 thing blocks it.\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "no blanks at the end of a line");
    }

    #[test]
    fn timers_in_step_with_the_tick_are_listed() {
        let mut facts = Facts::default();
        facts.kernel.hz = Fact::known(250, "test");
        let text = text(&facts, &judge(&facts, &Tuning::default()), Extent::Full, false);
        assert!(text.contains("timers in step with them") && text.contains("1ms, 2ms, 4ms, 8ms"), "{text}");
    }

    #[test]
    fn control_characters_in_names_are_replaced() {
        let mut facts = Facts::default();
        facts.machine.distribution = Fact::known("evil\u{1b}[2J\u{7}linux".into(), "/etc/os-release");
        let plain = text(&facts, &judge(&facts, &Tuning::default()), Extent::Full, false);
        assert!(!plain.contains('\u{1b}') && plain.contains("evil\u{fffd}[2J\u{fffd}linux"), "{plain}");
    }

    #[test]
    fn colours_are_optional_and_reset() {
        let facts = Facts::default();
        let coloured = text(&facts, &judge(&facts, &Tuning::default()), Extent::Full, true);
        assert_eq!(coloured.matches("\u{1b}[0m").count() * 2, coloured.matches("\u{1b}[").count());
        let bare = coloured.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
        assert!(bare.collect::<String>().len() <= coloured.len());
    }
}
