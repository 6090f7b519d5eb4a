//! The output of `tardy check`: the verdict, then the findings, then every fact with its source.
//!
//! The text is folded to 80 columns, except commands, which users paste. Control characters in texts from the machine
//! are replaced: a name in /etc/os-release must not move the cursor.

use tardy_analyse::readiness::{Finding, Readiness, Remedy, RemedyKind, Severity};
use tardy_record::facts::{Facts, Row};
use tardy_record::units::format_duration_ns;

use crate::terminal_text::{INDENT, Style, TerminalText, WIDTH, printable, wrapped};

/// The column in which the value of a fact begins.
const VALUE_COLUMN: usize = 31;

/// The name of the fact after which the timers in step with the tick are listed.
const TICKS: &str = "ticks per second";

/// The whole text, with ANSI escapes if `colour` is set. Ends with a newline.
pub fn text(facts: &Facts, readiness: &Readiness, colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    headline(readiness, &mut out);
    for finding in &readiness.findings {
        out.text.push('\n');
        print_finding(finding, &mut out);
    }
    let mut section = "";
    for row in facts.rows() {
        if row.section != section {
            section = row.section;
            out.text.push('\n');
            out.line(&section.to_uppercase(), Style::Bold);
        }
        print_row(&row, &mut out);
        if row.name == TICKS {
            in_step(facts).into_iter().for_each(|row| print_row(&row, &mut out));
        }
    }
    out.text
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

fn print_finding(finding: &Finding, out: &mut TerminalText) {
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
    for line in wrapped(&finding.why, WIDTH - INDENT) {
        out.indented(&line, Style::Plain);
    }
    for line in wrapped(&format!("Seen in: {}", finding.source), WIDTH - INDENT) {
        out.indented(&line, Style::Faint);
    }
    print_remedy("", &finding.remedy, out);
    for other in &finding.alternatives {
        print_remedy("or ", other, out);
    }
}

fn print_remedy(or: &str, remedy: &Remedy, out: &mut TerminalText) {
    let what_to_do = match remedy.kind {
        RemedyKind::Command => "run as root",
        RemedyKind::KernelOption => "build the kernel with",
        RemedyKind::BootParameter => "boot with",
        RemedyKind::RemoveBootParameter => "boot without",
        RemedyKind::HostCommand => "on the host, as root",
    };
    out.indented(&format!("{or}{what_to_do}:  {}", printable(&remedy.text)), Style::Remedy);
}

fn print_row(row: &Row, out: &mut TerminalText) {
    let mut lines = wrapped(&format!("{} [{}]", row.value, row.how), WIDTH - VALUE_COLUMN).into_iter();
    let name = format!("  {:width$}", row.name, width = VALUE_COLUMN - 2);
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

    #[test]
    fn the_first_line_states_the_kind_of_kernel() {
        let mut facts = Facts::default();
        facts.kernel.release = Fact::known("6.1.0".into(), "uname -r");
        facts.kernel.real_time = Fact::known(false, "uname -v");
        let text = text(&facts, &judge(&facts), false);
        assert!(text.starts_with("This is not a real-time kernel: 6.1.0 "), "{text}");
        assert!(text.contains("\nNot ready for real-time work: 1 thing blocks it.\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "no blanks at the end of a line");
    }

    #[test]
    fn timers_in_step_with_the_tick_are_listed() {
        let mut facts = Facts::default();
        facts.kernel.hz = Fact::known(250, "test");
        let text = text(&facts, &judge(&facts), false);
        assert!(text.contains("timers in step with them") && text.contains("1ms, 2ms, 4ms, 8ms"), "{text}");
    }

    #[test]
    fn control_characters_in_names_are_replaced() {
        let mut facts = Facts::default();
        facts.machine.distribution = Fact::known("evil\u{1b}[2J\u{7}linux".into(), "/etc/os-release");
        let plain = text(&facts, &judge(&facts), false);
        assert!(!plain.contains('\u{1b}') && plain.contains("evil\u{fffd}[2J\u{fffd}linux"), "{plain}");
    }

    #[test]
    fn colours_are_optional_and_reset() {
        let facts = Facts::default();
        let coloured = text(&facts, &judge(&facts), true);
        assert_eq!(coloured.matches("\u{1b}[0m").count() * 2, coloured.matches("\u{1b}[").count());
        let bare = coloured.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
        assert!(bare.collect::<String>().len() <= coloured.len());
    }
}
