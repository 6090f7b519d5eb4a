//! What `tardy check` prints: the verdict first, then what stands in the way, then every fact with its source.
//!
//! Made for 80 columns; only commands are never broken, since people paste them. What comes from the machine is
//! printed without control characters: a name in /etc/os-release must not move the cursor.

use tardy_analyse::readiness::{Finding, Readiness, Remedy, RemedyKind, Severity};
use tardy_record::facts::{Facts, Row};
use tardy_record::units::format_duration_ns;

use crate::paper::{INDENT, Paper, Style, WIDTH, printable, wrapped};

/// Where the value of a fact begins.
const VALUE_COLUMN: usize = 31;

/// The fact behind which stands what timers it disturbs.
const TICKS: &str = "ticks per second";

/// The whole text, with a line break at its end; `colour` adds ANSI escapes.
pub fn text(facts: &Facts, readiness: &Readiness, colour: bool) -> String {
    let mut paper = Paper::new(colour);
    headline(readiness, &mut paper);
    for finding in &readiness.findings {
        paper.text.push('\n');
        print_finding(finding, &mut paper);
    }
    let mut section = "";
    for row in facts.rows() {
        if row.section != section {
            section = row.section;
            paper.text.push('\n');
            paper.line(&section.to_uppercase(), Style::Bold);
        }
        print_row(&row, &mut paper);
        if row.name == TICKS {
            in_step(facts).into_iter().for_each(|row| print_row(&row, &mut paper));
        }
    }
    paper.text
}

/// Which timers are in step with the kernel's tick, and so meet it always or never (docs/noise.md).
fn in_step(facts: &Facts) -> Option<Row> {
    let hz = u64::from(*facts.kernel.hz.get().filter(|hz| **hz > 0)?);
    let tick_ns = 1_000_000_000 / hz;
    let timers = [tick_ns / 4, tick_ns / 2, tick_ns, 2 * tick_ns].map(format_duration_ns).join(", ");
    Some(Row {
        section: "kernel",
        name: "timers in step with them",
        value: format!("{timers} and other small ratios; --dither ends it"),
        how: "CONFIG_HZ".to_owned(),
    })
}

fn headline(readiness: &Readiness, paper: &mut Paper) {
    let style = if readiness.real_time.get() == Some(true) { Style::Good } else { Style::Bad };
    for line in wrapped(&readiness.headline, WIDTH) {
        paper.line(&line, style);
    }
    for line in wrapped(&verdict(readiness), WIDTH) {
        paper.line(&line, Style::Plain);
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
    let found = if parts.is_empty() { "nothing stands in the way".to_owned() } else { parts.join(", ") };
    let ready = if readiness.ready { "Ready" } else { "Not ready" };
    format!("{ready} for real-time work: {found}.")
}

fn print_finding(finding: &Finding, paper: &mut Paper) {
    let (word, style) = match finding.severity {
        Severity::Blocks => ("BLOCKS", Style::Bad),
        Severity::Hurts => ("HURTS", Style::Middling),
        Severity::Note => ("NOTE", Style::Bold),
    };
    let mut lines = wrapped(&finding.what, WIDTH - INDENT).into_iter();
    let first = lines.next().unwrap_or_default();
    paper.styled(&format!("{word:INDENT$}"), style);
    paper.line(&first, Style::Bold);
    for line in lines {
        paper.indented(&line, Style::Bold);
    }
    for line in wrapped(&finding.why, WIDTH - INDENT) {
        paper.indented(&line, Style::Plain);
    }
    for line in wrapped(&format!("Seen in: {}", finding.source), WIDTH - INDENT) {
        paper.indented(&line, Style::Faint);
    }
    print_remedy("", &finding.remedy, paper);
    for other in &finding.alternatives {
        print_remedy("or ", other, paper);
    }
}

fn print_remedy(or: &str, remedy: &Remedy, paper: &mut Paper) {
    let what_to_do = match remedy.kind {
        RemedyKind::Command => "run as root",
        RemedyKind::KernelOption => "build the kernel with",
        RemedyKind::BootParameter => "boot with",
        RemedyKind::RemoveBootParameter => "boot without",
        RemedyKind::HostCommand => "on the host, as root",
    };
    paper.indented(&format!("{or}{what_to_do}:  {}", printable(&remedy.text)), Style::Remedy);
}

fn print_row(row: &Row, paper: &mut Paper) {
    let mut lines = wrapped(&format!("{} [{}]", row.value, row.how), WIDTH - VALUE_COLUMN).into_iter();
    let name = format!("  {:width$}", row.name, width = VALUE_COLUMN - 2);
    paper.line(&format!("{name}{}", lines.next().unwrap_or_default()), Style::Plain);
    for line in lines {
        paper.line(&format!("{:VALUE_COLUMN$}{line}", ""), Style::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_analyse::readiness::judge;
    use tardy_record::facts::Fact;

    #[test]
    fn the_first_line_says_what_the_kernel_is() {
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
    fn timers_in_step_with_the_tick_are_told() {
        let mut facts = Facts::default();
        facts.kernel.hz = Fact::known(250, "test");
        let text = text(&facts, &judge(&facts), false);
        assert!(text.contains("timers in step with them") && text.contains("1ms, 2ms, 4ms, 8ms"), "{text}");
    }

    #[test]
    fn a_name_from_outside_does_not_steer_the_terminal() {
        let mut facts = Facts::default();
        facts.machine.distribution = Fact::known("evil\u{1b}[2J\u{7}linux".into(), "/etc/os-release");
        let plain = text(&facts, &judge(&facts), false);
        assert!(!plain.contains('\u{1b}') && plain.contains("evil\u{fffd}[2J\u{fffd}linux"), "{plain}");
    }

    #[test]
    fn colours_come_only_where_they_are_wanted_and_end() {
        let facts = Facts::default();
        let coloured = text(&facts, &judge(&facts), true);
        assert_eq!(coloured.matches("\u{1b}[0m").count() * 2, coloured.matches("\u{1b}[").count());
        let bare = coloured.split('\u{1b}').map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
        assert!(bare.collect::<String>().len() <= coloured.len());
    }
}
