//! The output of `tardy check --measure`: the changes, and the effect of each.

use tardy_compare::doctor::{Compared, Diagnosis, Effect, Verdict};

use crate::table::Table;
use crate::terminal_text::{INDENT, Style, TerminalText, WIDTH, printable, wrapped};
use tardy_plot::numbers::microseconds;

/// The column in which the description of a change begins.
const COLUMN: usize = 20;

/// A change, and whether it can be tried.
#[derive(Clone, Debug)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// `can be tried`, or the reason why it cannot.
    pub standing: &'static str,
    /// The setting before and after the change, or what prevents the change.
    pub what: String,
}

/// The trials.
#[derive(Clone, Debug)]
pub struct Done {
    /// A summary: rounds, length, CPUs, load.
    pub trials: String,
    /// The changes, tried or not.
    pub offered: Vec<Offered>,
    /// Whether they were interrupted.
    pub interrupted: bool,
}

/// The list of changes.
pub fn offers(offered: &[Offered], colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    print_offers(offered, &mut out);
    out.text
}

/// The results of the trials, the best change first.
pub fn text(done: &Done, diagnosis: &Diagnosis, colour: bool) -> String {
    let mut out = TerminalText::new(colour);
    headline(done, diagnosis, &mut out);
    if !diagnosis.effects.is_empty() {
        out.text.push('\n');
        table(diagnosis).lines(WIDTH).into_iter().for_each(|line| out.line(&line, Style::Plain));
        for effect in &diagnosis.effects {
            out.text.push('\n');
            print_effect(effect, done, diagnosis, &mut out);
        }
        out.text.push('\n');
        let legend = format!(
            "A ratio is the Hodges-Lehmann estimate over the rounds, not the ratio of the two medians; below 1 is earlier with the \
             change; its 95 % interval is in brackets. p is the probability that a change without an effect is as far from 1, \
             corrected for {} tests (signed ranks, Holm). See docs/check.md.",
            diagnosis.tests
        );
        wrapped(&legend, WIDTH).into_iter().for_each(|line| out.line(&line, Style::Faint));
    }
    let is_tried = |one: &&Offered| diagnosis.effects.iter().any(|effect| effect.change == one.name);
    let (_, others): (Vec<&Offered>, Vec<&Offered>) = done.offered.iter().partition(is_tried);
    if !others.is_empty() {
        out.text.push('\n');
        out.line("NOT TRIED", Style::Bold);
        others.into_iter().for_each(|one| print_offer(one, &mut out));
    }
    out.text
}

fn headline(done: &Done, diagnosis: &Diagnosis, out: &mut TerminalText) {
    let helped: Vec<&str> = of_verdict(diagnosis, Verdict::Helps);
    let harmed: Vec<&str> = of_verdict(diagnosis, Verdict::Harms);
    let (line, style) = match (helped.is_empty(), harmed.is_empty()) {
        (false, _) => (format!("What helped: {}", helped.join(", ")), Style::Good),
        (true, false) => (format!("Nothing helped; what harmed: {}", harmed.join(", ")), Style::Middling),
        (true, true) if diagnosis.rounds < diagnosis.least_rounds => {
            ("Too few rounds to determine what helps".to_owned(), Style::Middling)
        }
        (true, true) => ("No change made a difference distinguishable from chance".to_owned(), Style::Bold),
    };
    wrapped(&line, WIDTH).into_iter().for_each(|line| out.line(&line, style));
    let (had, least) = (diagnosis.rounds, diagnosis.least_rounds);
    let mut sentences =
        vec![format!("{}; each change is compared with the baseline of its own round.", done.trials)];
    if done.interrupted {
        sentences.push("The trials were interrupted.".to_owned());
    }
    if had < least {
        let rounds = if had == 1 { "1 round counts".to_owned() } else { format!("{had} rounds count") };
        sentences
            .push(format!("{rounds}, but at least {least} are needed to distinguish an effect from chance."));
    }
    if let Some(reason) = diagnosis.left_out.first() {
        sentences.push(format!("Baselines were left out: {reason}."));
    }
    wrapped(&sentences.join(" "), WIDTH).into_iter().for_each(|line| out.line(&line, Style::Plain));
}

fn of_verdict(diagnosis: &Diagnosis, verdict: Verdict) -> Vec<&str> {
    let effects = diagnosis.effects.iter().filter(|effect| effect.verdict == verdict);
    effects.map(|effect| effect.change.as_str()).collect()
}

fn table(diagnosis: &Diagnosis) -> Table {
    let mut table =
        Table::new(&["us (medians)", "p99.9", "with it", "ratio", "worst", "with it", "ratio", "verdict"]);
    for effect in &diagnosis.effects {
        let mut row = vec![printable(&effect.change)];
        for compared in [&effect.p99_9, &effect.worst] {
            let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), microseconds);
            row.extend([us(compared.without_ns), us(compared.with_ns), ratio(compared.ratio)]);
        }
        row.push(short_verdict(effect.verdict).to_owned());
        table.push(row);
    }
    table
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
}

fn short_verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Helps => "helps",
        Verdict::Harms => "harms",
        Verdict::Both => "both",
        Verdict::NoDifferenceSeen => "none seen",
        Verdict::TooFewRounds => "too few",
    }
}

fn describe(effect: &Effect, least: usize) -> (String, Style) {
    match effect.verdict {
        Verdict::Helps => ("helps".to_owned(), Style::Good),
        Verdict::Harms => ("harms".to_owned(), Style::Bad),
        Verdict::Both => {
            ("improves one of p99.9 and worst, and worsens the other".to_owned(), Style::Middling)
        }
        Verdict::NoDifferenceSeen => ("no difference seen".to_owned(), Style::Bold),
        Verdict::TooFewRounds => {
            let count = effect.rounds;
            let counted =
                if count == 1 { "1 round counts".to_owned() } else { format!("{count} rounds count") };
            (format!("too few rounds: {counted}, but at least {least} are needed"), Style::Bold)
        }
    }
}

fn print_effect(effect: &Effect, done: &Done, diagnosis: &Diagnosis, out: &mut TerminalText) {
    let (verdict, style) = describe(effect, diagnosis.least_rounds);
    out.line(&format!("{}: {verdict}", printable(&effect.change)), style);
    let tried = done.offered.iter().find(|one| one.name == effect.change);
    let mut paragraphs: Vec<String> = tried.map(|one| one.what.clone()).into_iter().collect();
    let of = |name: &str, compared: &Compared| {
        let ratio = compared.ratio.map(|ratio| {
            let interval = compared.ratio_interval;
            let interval =
                interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
            format!("{ratio:.2}{interval}")
        });
        ratio.map(|ratio| format!("{name} ratio {ratio}, p {}", probability(compared.p)))
    };
    let numbers: Vec<String> =
        [of("p99.9", &effect.p99_9), of("worst", &effect.worst)].into_iter().flatten().collect();
    if !numbers.is_empty() {
        let rounds =
            if effect.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", effect.rounds) };
        paragraphs.push(format!("{}; {rounds}", numbers.join("; ")));
    }
    if let Some(reason) = effect.left_out.first() {
        paragraphs.push(format!("left out: {reason}"));
    }
    for paragraph in paragraphs {
        wrapped(&paragraph, WIDTH - INDENT).into_iter().for_each(|line| out.indented(&line, Style::Plain));
    }
}

/// `0.0040`, `0.25`, `1`; never 0.
fn probability(p: f64) -> String {
    match p {
        p if p < 0.0001 => "below 0.0001".to_owned(),
        p if p < 0.01 => format!("{p:.4}"),
        p if p < 0.995 => format!("{p:.2}"),
        _ => "1".to_owned(),
    }
}

fn print_offers(offered: &[Offered], out: &mut TerminalText) {
    offered.iter().for_each(|one| print_offer(one, out));
}

fn print_offer(one: &Offered, out: &mut TerminalText) {
    let what = format!("{}: {}", one.standing, one.what);
    let mut lines = wrapped(&what, WIDTH - COLUMN).into_iter();
    let name = format!("  {:width$}", printable(&one.name), width = COLUMN - 2);
    out.line(&format!("{name}{}", lines.next().unwrap_or_default()), Style::Plain);
    for line in lines {
        out.line(&format!("{:COLUMN$}{line}", ""), Style::Plain);
    }
}

#[cfg(test)]
mod tests {
    use super::probability;

    #[test]
    fn a_probability_is_never_shown_as_0() {
        assert_eq!(
            [0.0, 0.00016, 0.004, 0.25, 1.0].map(probability),
            ["below 0.0001", "0.0002", "0.0040", "0.25", "1"]
        );
    }
}
