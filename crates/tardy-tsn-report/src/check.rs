//! The output of `tardy tsn check`: a verdict, then each finding with its line, its effect on the wire, and the
//! correction.

use tardy_tsn::check::{Finding, Kind};
use tardy_tsn::span::Span;

use tardy_plot::numbers::counted;
use tardy_present::terminal_text::{INDENT, Style, TerminalText, WIDTH, printable, wrapped};

/// The whole text for a file with this name and content, checked by this model of its ports, with ANSI escapes if `colour`
/// is set. Ends with a newline.
pub fn text((name, text): (&str, &str), model: &str, findings: &[Finding], colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    headline(name, findings, &mut out);
    for line in wrapped(&format!("Checked with {model}."), WIDTH) {
        out.line(&printable(&line), Style::Faint);
    }
    for finding in findings {
        out.text.push('\n');
        print_finding(name, text, finding, &mut out);
    }
    out.text
}

fn headline(name: &str, findings: &[Finding], out: &mut TerminalText) {
    let count =
        |wanted: fn(&Kind) -> bool| findings.iter().filter(|finding| wanted(&finding.kind)).count() as u64;
    let refused = count(|kind| matches!(kind, Kind::Refused { .. }));
    let accepted = count(|kind| matches!(kind, Kind::Accepted));
    let notes = count(|kind| matches!(kind, Kind::Note));
    let unsupported = count(|kind| matches!(kind, Kind::Unsupported));
    let refusals = [("the kernel refuses", refused), ("tardy does not set up", unsupported)];
    let refusals = refusals.iter().filter(|(_, count)| *count > 0);
    let refusals: Vec<String> =
        refusals.map(|(who, count)| format!("{who} {}", counted(*count, "setting", "settings"))).collect();
    let refusals = refusals.join(", and ");
    let errors = counted(accepted, "error", "errors");
    let (verdict, style) = match (refused + unsupported, accepted) {
        (0, 0) => ("no problems".to_owned(), Style::Good),
        (0, _) => (format!("the kernel accepts it, with {errors} on the wire"), Style::Middling),
        (_, 0) => (refusals, Style::Bad),
        (_, _) => (format!("{refusals}, with {errors} on the wire"), Style::Bad),
    };
    let notes = if notes == 0 { String::new() } else { format!("; {}", counted(notes, "note", "notes")) };
    for line in wrapped(&format!("{name}: {verdict}{notes}."), WIDTH) {
        out.line(&line, style);
    }
}

fn print_finding(name: &str, text: &str, finding: &Finding, out: &mut TerminalText) {
    let (word, style) = match finding.kind {
        Kind::Refused { .. } | Kind::Unsupported => ("REFUSED", Style::Bad),
        Kind::Accepted => ("WRONG", Style::Middling),
        Kind::Note => ("NOTE", Style::Bold),
    };
    let mut lines = wrapped(&finding.what, WIDTH - INDENT).into_iter();
    out.styled(&format!("{word:INDENT$}"), style);
    out.line(&lines.next().unwrap_or_default(), Style::Bold);
    for line in lines {
        out.indented(&line, Style::Bold);
    }
    let (line, column) = finding.span.line_and_column(text);
    let port = finding.port.as_ref().map_or_else(String::new, |port| format!(", port {port}"));
    out.indented(
        &printable(&format!("{name}:{line}:{column} (switch {}{port}) [{}]", finding.switch, finding.rule)),
        Style::Faint,
    );
    excerpt(text, finding.span, line, style, out);
    if let Kind::Refused { errno, message } = &finding.kind {
        for line in wrapped(&format!("The kernel reports: {message} ({errno})"), WIDTH - INDENT) {
            out.indented(&line, Style::Plain);
        }
    }
    for line in wrapped(&finding.effect, WIDTH - INDENT) {
        out.indented(&line, Style::Plain);
    }
    for line in wrapped(&finding.change, WIDTH - INDENT) {
        out.indented(&line, Style::Remedy);
    }
}

/// The line of the file, with a mark under the position.
fn excerpt(text: &str, span: Span, line: usize, style: Style, out: &mut TerminalText) {
    let Some(source) = text.lines().nth(line - 1) else { return };
    let number = line.to_string();
    let room = WIDTH - INDENT - number.len() - 3;
    // Tabs would displace the mark.
    let source = printable(&source.replace('\t', " "));
    let column = span.line_and_column(text).1 - 1;
    // If the position is far to the right, the beginning of the line is left out.
    let skipped = if column >= room { column - room / 2 } else { 0 };
    let shown: String = source.chars().skip(skipped).take(room).collect();
    out.indented(&format!("{number} | {}", shown.trim_end()), Style::Plain);
    let first_line_end =
        text[span.start.min(text.len())..].find('\n').map_or(text.len(), |at| span.start + at);
    let marked = text.get(span.start..span.end.min(first_line_end)).unwrap_or("");
    let marks = marked.trim_end().chars().count().clamp(1, room - (column - skipped).min(room - 1));
    let before = " ".repeat(column - skipped);
    out.indented(&format!("{} | {before}", " ".repeat(number.len())), Style::Plain);
    out.text.pop();
    out.line(&"^".repeat(marks), style);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tardy_tsn::check::{Machine, check, model};
    use tardy_tsn::file;

    const TWO_FLOWS: &str = include_str!("../../../recipes/tsn-two-flows.toml");

    fn shown(text: &str, colour: bool) -> String {
        let network = file::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let machine = Machine::default();
        let findings = check(&network, text, &machine);
        super::text(("my/switch.toml", text), &model(&network, &machine), &findings, colour)
    }

    #[test]
    fn each_finding_shows_its_line_and_its_place() {
        let wrong = TWO_FLOWS
            .replace("queues = 2", "queues = 1")
            .replace("cycle_time = \"1ms\"", "cycle_time = \"15ms\"\noverhead = 0");
        let text = shown(&wrong, false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line.trim_end() == line), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_long_line_is_shown_around_the_position() {
        let list = "  { open = [\"blue\"], for = \"500us\" }, { open = [\"red\"], for = \"500us\" }, { open = \"none\", for = \"10ns\" }, ";
        let (head, rest) = TWO_FLOWS.split_once("  { open = [\"blue\"]").unwrap();
        let (_, tail) = rest.split_once("\n]").unwrap();
        let text = shown(&format!("{head}{list}\n]{tail}"), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("\"10ns\" }"), "{text}");
    }

    #[test]
    fn colours_are_optional_and_reset() {
        assert!(!shown(TWO_FLOWS, false).contains('\u{1b}'));
        let coloured = shown(TWO_FLOWS, true);
        assert_eq!(coloured.matches("\u{1b}[0m").count() * 2, coloured.matches("\u{1b}[").count());
    }
}
