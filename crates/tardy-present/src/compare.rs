//! Two or more runs compared, for the terminal.

use tardy_analyse::compare::{Comparison, Pair, Ratio, RowPair, Side};
use tardy_analyse::difference::Difference;
use tardy_analyse::name::Readings;
use tardy_analyse::shape::Shape;

use crate::latency::{at_least, harmless, microseconds, per_cent, short, three_digits};
use crate::section::Section;
use crate::table::Table;
use crate::terminal_text::folded;
use crate::{lab, sections};

/// The limitation of every comparison of one run each.
pub const DESCRIPTIVE: &str =
    "Descriptive only, with one run each: another boot of the same kernel might differ as much.";
/// Longer names of rows are shortened in tables.
const LABEL_MAX: usize = 44;
/// Longer names of runs are shortened in the headings of tables.
const NAME_MAX: usize = 26;
/// Values longer than this are shortened in tables; values longer than [`VALUE_MIN`] may be if there is little room.
const VALUE_MAX: usize = 44;
/// Values are not shortened below this.
const VALUE_MIN: usize = 16;

/// The comparison, `width` columns wide. Ends with a newline.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let width = width.max(60);
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for pair in &comparison.candidates {
        blocks.push(head(comparison, pair, width));
        let names = Names::of(&comparison.base, &pair.candidate);
        let all = pair.rows.iter().filter(|row| row.label == "all");
        blocks.extend(all.map(|row| all_block(row, &names, width)));
        blocks.push(series_block(pair, &names, width));
        let tables = sections::ALL.iter().filter_map(|section| section.comparison(pair));
        blocks.extend(tables.map(|(_, table)| table.lines(width)));
        blocks.extend(differences(pair, &names, width));
    }
    blocks.push(folded(DESCRIPTIVE, width));
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

/// The kernels and whether the two runs are comparable, which precede all numbers.
fn head(comparison: &Comparison, pair: &Pair, width: usize) -> Vec<String> {
    let side = |name: &str, side: &Side| {
        folded(&format!("{name}: {}. {}", harmless(&side.name), harmless(&side.headline)), width)
    };
    let mut lines = side("Base", &comparison.base);
    lines.extend(side("Candidate", &pair.candidate));
    // One sentence for each kind of machine.
    let mut whose: Vec<String> = [&comparison.base, &pair.candidate]
        .into_iter()
        .filter_map(|side| side.lab.as_ref())
        .map(|lab| lab::whose_of(&lab.machine, lab.clock))
        .collect();
    whose.dedup();
    lines.extend(whose.iter().flat_map(|text| folded(text, width)));
    for reason in &pair.not_comparable_because {
        lines.extend(folded(&format!("NOT COMPARABLE: {}", harmless(reason)), width));
    }
    for paired in &pair.paired {
        lines.extend(folded(&format!("Compared with each other: {}", harmless(paired)), width));
    }
    for left_out in &pair.unmatched {
        lines.extend(folded(&format!("Left out: {}", harmless(left_out)), width));
    }
    if let Some(reason) = &pair.nothing_because {
        lines.extend(folded(&format!("NOTHING TO COMPARE: {}", harmless(reason)), width));
    }
    lines
}

/// The headings of the columns of the two sides.
struct Names {
    base: String,
    candidate: String,
}

impl Names {
    /// The kernels of two runs in the lab; other runs have no short names.
    fn of(base: &Side, candidate: &Side) -> Self {
        let short = |side: &Side| short(&harmless(&side.name), NAME_MAX);
        let (one, other) = (short(base), short(candidate));
        if base.lab.is_some() && candidate.lab.is_some() && one != other {
            Self { base: one, candidate: other }
        } else {
            Self { base: "base".to_owned(), candidate: "candidate".to_owned() }
        }
    }
}

fn all_block(row: &RowPair, names: &Names, width: usize) -> Vec<String> {
    let mut table = Table::new(&["us", &names.base, &names.candidate, "ratio"]);
    for ratio in &row.ratios {
        table.push(ratio_cells(ratio));
    }
    let mut lines =
        folded(&format!("{}, {}", harmless(&row.phase), harmless(&pooled(sections::ALL, row))), width);
    lines.extend(table.lines(width.min(60)));
    let shape = row.shape.map(|shape| shape_text(sections::ALL, &shape, row.readings, "us"));
    lines.extend(shape.map(|text| folded(&text, width)).into_iter().flatten());
    lines
}

/// Names the series of a pooled row: `all CPUs`, or `only cpu 1, which both have`.
pub(crate) fn pooled(sections: &[&dyn Section], row: &RowPair) -> String {
    match &row.only {
        Some(only) => format!("only {}, which both have", only.join(" + ")),
        None => sections::words(sections, row.readings).pooled.to_owned(),
    }
}

/// How far two distributions are apart, in a sentence.
pub(crate) fn shape_text(sections: &[&dyn Section], shape: &Shape, readings: Readings, unit: &str) -> String {
    let moved = shape.wasserstein_ns.map_or_else(
        || "the average shift is unknown, since some values are beyond the histograms".to_owned(),
        |ns| format!("on average, values moved by {} {unit}", three_digits(ns / 1000.0)),
    );
    format!(
        "For a random {} of each run, the candidate's is {} in {} of cases (50 % means no difference). The distribution \
         functions differ by at most {}; {moved}.",
        readings.one(),
        sections::words(sections, readings).more,
        per_cent(shape.later),
        three_digits(shape.kolmogorov_smirnov),
    )
}

/// One line for each CPU, with its tail and its maximum. The runs have short names if the full ones do not fit.
fn series_block(pair: &Pair, names: &Names, width: usize) -> Vec<String> {
    let named = series_table(pair, &names.base, &names.candidate, width);
    if named.iter().all(|line| line.chars().count() <= width) {
        return named;
    }
    series_table(pair, "base", "candidate", width)
}

fn series_table(pair: &Pair, base: &str, candidate: &str, width: usize) -> Vec<String> {
    let (tail, max) = (format!("p99.9: {base}"), format!("max: {base}"));
    let mut table = Table::new(&["us", &tail, candidate, "ratio", &max, candidate, "ratio"]);
    let series: Vec<&RowPair> = pair.rows.iter().filter(|row| row.label != "all").collect();
    let phases = series.iter().any(|row| row.phase != series[0].phase);
    for row in &series {
        let label = if phases { format!("{}, {}", row.phase, row.label) } else { row.label.clone() };
        let mut cells = vec![short(&harmless(&label), LABEL_MAX)];
        for ratio in row.ratios.iter().filter(|ratio| ["p99.9", "max"].contains(&ratio.name)) {
            cells.extend(ratio_cells(ratio).into_iter().skip(1));
        }
        table.push(cells);
    }
    if series.is_empty() { Vec::new() } else { table.lines(width) }
}

fn ratio_cells(ratio: &Ratio) -> Vec<String> {
    let us = |ns: Option<f64>, is_least| {
        ns.map_or_else(|| "n/a".to_owned(), |ns| at_least(microseconds(ns), is_least))
    };
    let text = ratio.ratio.map_or_else(|| "-".to_owned(), crate::latency::ratio);
    let (base, candidate) =
        (us(ratio.base_ns, ratio.base_at_least), us(ratio.candidate_ns, ratio.candidate_at_least));
    vec![ratio.name.to_owned(), base, candidate, text]
}

fn differences(pair: &Pair, names: &Names, width: usize) -> Vec<Vec<String>> {
    let differences = &pair.differences;
    vec![
        difference_block("Machine and kernel", Some(&differences.facts), names, width),
        difference_block("Kernel command line", differences.command_line.as_ref(), names, width),
        difference_block("Kernel configuration", differences.config.as_ref(), names, width),
    ]
}

fn difference_block(title: &str, list: Option<&Vec<Difference>>, names: &Names, width: usize) -> Vec<String> {
    let Some(list) = list else { return vec![format!("{title}: not known of both")] };
    if list.is_empty() {
        return vec![format!("{title}: no difference")];
    }
    let wide = |text: &String| text.chars().count();
    let values = list.iter().flat_map(|one| [&one.base, &one.candidate]).flatten();
    let widest = values.map(wide).max().unwrap_or(0).min(VALUE_MAX);
    let longest = list.iter().map(|one| wide(&one.name)).max().unwrap_or(0);
    // Names of options stay whole, since their values are short; names of facts are shortened in favour of values.
    let label_max = if longest + 2 * (widest + 1) > width { width * 3 / 8 } else { LABEL_MAX };
    let named: Vec<String> = list.iter().map(|one| short(&harmless(&one.name), label_max)).collect();
    let longest = named.iter().map(wide).max().unwrap_or(0).max(title.chars().count());
    // Two columns share the room next to the names, less a gap each.
    let room = (width.saturating_sub(longest + 2) / 2).clamp(VALUE_MIN, VALUE_MAX);
    let side = |value: &Option<String>| {
        value.as_ref().map_or_else(|| "absent".to_owned(), |text| short(&harmless(text), room))
    };
    let mut table = Table::of_words(&[title, &short(&names.base, room), &short(&names.candidate, room)]);
    for (one, name) in list.iter().zip(named) {
        table.push(vec![name, side(&one.base), side(&one.candidate)]);
    }
    table.lines(width)
}
