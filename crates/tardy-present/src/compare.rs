//! Two or more runs side by side, for the terminal.

use tardy_analyse::compare::{Comparison, Pair, Ratio, RowPair};
use tardy_analyse::difference::Difference;

use crate::latency::{harmless, microseconds, per_cent, short, three_digits};
use crate::summary::folded;
use crate::table::Table;

/// What a comparison of one run each can show.
pub const DESCRIPTIVE: &str = "Descriptive only: one run each. Whether another boot of the same kernel would differ as \
                               much is not known from this.";
/// Longer values are shortened in tables.
const VALUE_MAX: usize = 44;

/// The comparison, `width` columns wide. Ends with a newline.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let width = width.max(60);
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for pair in &comparison.candidates {
        blocks.push(head(comparison, pair, width));
        blocks.extend(pair.rows.iter().map(|row| row_block(row, width)));
        blocks.extend(differences(pair, width));
    }
    blocks.push(folded(DESCRIPTIVE, width));
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

fn head(comparison: &Comparison, pair: &Pair, width: usize) -> Vec<String> {
    let (base, candidate) = (harmless(&comparison.base.id), harmless(&pair.candidate.id));
    let mut lines = folded(&format!("{base} (base) and {candidate} (candidate)"), width);
    for reason in &pair.not_comparable_because {
        lines.extend(folded(&format!("Not comparable because of {}", obstacle_text(reason)), width));
    }
    for phase in &pair.unmatched {
        lines.extend(folded(&format!("Left out: phase {}", harmless(phase)), width));
    }
    lines
}

/// Why runs are not comparable, fit for print.
pub fn obstacle_text(reason: &str) -> String {
    harmless(reason)
}

fn row_block(row: &RowPair, width: usize) -> Vec<String> {
    let title = format!("{}, {}", harmless(&row.phase), short(&harmless(&row.label), VALUE_MAX));
    let mut table = Table::new(&["us", "base", "candidate", "ratio"]);
    for ratio in &row.ratios {
        table.push(ratio_cells(ratio));
    }
    let mut lines = vec![title];
    lines.extend(table.lines(width.min(60)));
    if let Some(shape) = &row.shape {
        let text = format!(
            "Of a wake-up of each, the candidate's is the later one in {} of cases; distribution functions at most {} \
             apart; values moved by {} us on average.",
            per_cent(shape.later),
            three_digits(shape.kolmogorov_smirnov),
            three_digits(shape.wasserstein_ns / 1000.0)
        );
        lines.extend(folded(&text, width));
    }
    lines
}

fn ratio_cells(ratio: &Ratio) -> Vec<String> {
    let us = |ns: Option<f64>| ns.map_or_else(|| "n/a".to_owned(), microseconds);
    let text = ratio.ratio.map_or_else(|| "-".to_owned(), crate::latency::ratio);
    vec![ratio.name.to_owned(), us(ratio.base_ns), us(ratio.candidate_ns), text]
}

fn differences(pair: &Pair, width: usize) -> Vec<Vec<String>> {
    let differences = &pair.differences;
    vec![
        difference_block("Machine and kernel", Some(&differences.facts), width),
        difference_block("Kernel command line", differences.command_line.as_ref(), width),
        difference_block("Kernel configuration", differences.config.as_ref(), width),
    ]
}

fn difference_block(title: &str, list: Option<&Vec<Difference>>, width: usize) -> Vec<String> {
    let Some(list) = list else { return vec![format!("{title}: not known of both")] };
    if list.is_empty() {
        return vec![format!("{title}: no difference")];
    }
    let side = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "not there".to_owned(), |text| short(&harmless(text), VALUE_MAX))
    };
    let mut table = Table::new(&[title, "base", "candidate"]);
    for one in list {
        table.push(vec![short(&harmless(&one.name), VALUE_MAX), side(&one.base), side(&one.candidate)]);
    }
    table.lines(width)
}
