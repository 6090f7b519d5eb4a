//! Two or more runs compared, for the terminal.

use tardy_analyse::name::Readings;
use tardy_compare::shape::Shape;
use tardy_compare::side_by_side::columns::{
    Columns, DifferenceRow, DifferingValue, Figure, Part, PartDifferences,
};
use tardy_compare::side_by_side::{Comparison, Pair, Side};

use crate::effect::describe_ratio;
use crate::section::Section;
use crate::table::Table;
use crate::terminal_text::folded;
use crate::{lab, sections};
use tardy_plot::numbers::{first_few, harmless, per_cent, short, three_digits, with_unit};
use tardy_plot::worst_cpus;

/// The limitation of every comparison of one run each.
pub const DESCRIPTIVE: &str =
    "Descriptive only, with one run each: another boot of the same kernel might differ as much.";
/// Longer names of rows are shortened in tables.
const LABEL_MAX: usize = 44;
/// Longer names of runs are shortened in the headings of tables.
const NAME_MAX: usize = 26;
/// Longer names of runs are not repeated in the heading of the column of words.
const SHORT_NAME: usize = 14;
/// Values longer than this are shortened in tables; values longer than [`VALUE_MIN`] may be if there is little room.
const VALUE_MAX: usize = 44;
/// Values are not shortened below this.
const VALUE_MIN: usize = 16;
/// The statistics that are shown for each CPU.
const OF_SERIES: [&str; 2] = ["p99.9", "max"];
/// The headline names no more phases than these.
const PHASES_IN_HEADLINE: usize = 3;

/// The comparison, `width` columns wide. Ends with a newline.
pub fn text(comparison: &Comparison, width: usize) -> String {
    let width = width.max(60);
    let full: Vec<String> = comparison.names().into_iter().map(harmless).collect();
    let names: Vec<String> = full.iter().map(|name| short(name, NAME_MAX)).collect();
    let tables = comparison.tables();
    let mut blocks: Vec<Vec<String>> =
        vec![folded(&headline(comparison, &tables), width), head(comparison, width)];
    if comparison.is_refused() {
        return joined(blocks);
    }
    blocks.extend(
        tables
            .iter()
            .filter(|table| table.is_pooled())
            .map(|table| pooled_block(table, &names, &full, width)),
    );
    blocks.extend(OF_SERIES.map(|statistic| series_block(&tables, statistic, &names, width)));
    for (pair, name) in comparison.candidates.iter().zip(&names[1..]) {
        for (title, table) in sections::ALL.iter().filter_map(|section| section.comparison(pair)) {
            let title = if names.len() > 2 { vec![format!("{title}: {name}")] } else { Vec::new() };
            blocks.push(title.into_iter().chain(table.lines(width)).collect());
        }
    }
    blocks.extend(differences(comparison, &names, width));
    joined(blocks)
}

/// The blocks with an empty line between them.
fn joined(blocks: Vec<Vec<String>>) -> String {
    let blocks: Vec<String> =
        blocks.into_iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    blocks.join("\n\n") + "\n"
}

/// The tables of single CPUs that are shown, and how many are not: of many in a phase, those with the highest maxima.
pub(crate) fn of_single_cpus<'t, 'a>(tables: &'t [Columns<'a>]) -> (Vec<&'t Columns<'a>>, usize) {
    let mut phases: Vec<Vec<&Columns<'_>>> = Vec::new();
    for table in tables.iter().filter(|table| !table.is_pooled()) {
        match phases.last_mut().filter(|phase| phase[0].phase == table.phase) {
            Some(phase) => phase.push(table),
            None => phases.push(vec![table]),
        }
    }
    let highest = |table: &&Columns<'_>| {
        let figures = table.statistic("max").map_or(&[][..], |statistic| &statistic.figures[..]);
        figures.iter().filter_map(|figure| figure.ns).map(|ns| ns as i64).max()
    };
    let (mut shown, mut left_out) = (Vec::new(), 0);
    for phase in phases {
        let worst = worst_cpus::of(&phase.iter().map(highest).collect::<Vec<_>>());
        match worst.filter(|_| worst_cpus::are_of_cpus(phase[0].readings)) {
            Some(worst) => {
                left_out += worst.folded.len();
                shown.extend(worst.shown.iter().map(|index| phase[*index]));
            }
            None => shown.extend(phase),
        }
    }
    (shown, left_out)
}

/// What the comparison may be used for, and how the worst values differ.
pub(crate) fn headline(comparison: &Comparison, tables: &[Columns<'_>]) -> String {
    let of_any =
        |texts: fn(&Pair) -> &Vec<String>| comparison.candidates.iter().any(|pair| !texts(pair).is_empty());
    let obstacles = of_any(|pair| &pair.not_comparable_because);
    let doubts = of_any(|pair| &pair.unknown_conditions);
    let limitation = match (obstacles, doubts) {
        (true, _) => "Not comparable, for the reasons below. ",
        (false, true) => "Comparable only if the conditions below, which are not known of both, agree. ",
        (false, false) => "",
    };
    // A factor between runs that are not comparable would be quoted.
    let worst = if obstacles || doubts { None } else { worst_sentences(comparison, tables) };
    let worst = worst.map(|text| format!(" {text}")).unwrap_or_default();
    format!("{limitation}{DESCRIPTIVE}{worst}")
}

/// How the worst values differ; `None` if they are not known, or if the numbers of a run must not be used.
fn worst_sentences(comparison: &Comparison, tables: &[Columns<'_>]) -> Option<String> {
    let mut sides =
        std::iter::once(&comparison.base).chain(comparison.candidates.iter().map(|pair| &pair.candidate));
    if !sides.all(Side::is_usable) {
        return None;
    }
    let pooled: Vec<&Columns<'_>> = tables.iter().filter(|table| table.is_pooled()).collect();
    let names: Vec<String> = comparison.names().into_iter().map(harmless).collect();
    let sentence = |table: &&Columns<'_>| {
        let phase = match pooled.len() {
            1 => String::new(),
            _ => format!(" in '{}'", short(&harmless(table.phase), LABEL_MAX)),
        };
        worst_sentence(table, &phase, &names)
    };
    let sentences: Vec<String> = pooled.iter().filter_map(sentence).take(PHASES_IN_HEADLINE).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// How the worst values of one table differ. `phase` follows the name of the readings.
fn worst_sentence(table: &Columns<'_>, phase: &str, names: &[String]) -> Option<String> {
    let figures = table.statistic("max")?.figures.iter();
    let known: Vec<(usize, &Figure)> = table
        .runs
        .iter()
        .copied()
        .zip(figures)
        .filter(|(_, figure)| figure.ns.is_some() && !figure.at_least)
        .collect();
    let one = table.readings.one();
    let named = |(run, figure): &(usize, &Figure)| (&names[*run], with_unit(figure.ns.unwrap_or_default()));
    match &known[..] {
        [base @ (0, _), candidate] if table.runs.len() == 2 => {
            let ((base, base_us), (name, us)) = (named(base), named(candidate));
            Some(match describe_ratio(candidate.1.ratio?).as_str() {
                "the same" => format!("The worst {one}{phase} was the same in {name} and {base}: {us}."),
                words => {
                    format!(
                        "The worst {one}{phase} of {name} was {words} than that of {base}: {us} against {base_us}."
                    )
                }
            })
        }
        [_, _, ..] => {
            let order = |a: &&(usize, &Figure), b: &&(usize, &Figure)| {
                a.1.ns.unwrap_or_default().total_cmp(&b.1.ns.unwrap_or_default())
            };
            let (low, low_us) = named(known.iter().min_by(order)?);
            let (high, high_us) = named(known.iter().max_by(order)?);
            Some(match low_us == high_us {
                true => format!("The worst {one}{phase} was the same in all runs: {low_us}."),
                false => format!(
                    "The worst {one}{phase} was lowest in {low} ({low_us}) and highest in {high} ({high_us})."
                ),
            })
        }
        _ => None,
    }
}

/// The kernels and whether the runs are comparable, which precede all numbers.
fn head(comparison: &Comparison, width: usize) -> Vec<String> {
    let (base, candidates) = (&comparison.base, &comparison.candidates);
    let named = |side: &Side| harmless(&side.name);
    let mut lines = if candidates.iter().all(|pair| pair.candidate.headline == base.headline) {
        let (role, all) = if candidates.len() > 1 { ("Candidates", "All") } else { ("Candidate", "Both") };
        let others: Vec<String> = candidates.iter().map(|pair| named(&pair.candidate)).collect();
        let (base_name, others, headline) = (named(base), others.join(", "), harmless(&base.headline));
        folded(&format!("Base: {base_name}. {role}: {others}. {all}: {headline}"), width)
    } else {
        let side = |role: &str, side: &Side| {
            folded(&format!("{role}: {}. {}", named(side), harmless(&side.headline)), width)
        };
        let others = candidates.iter().flat_map(|pair| side("Candidate", &pair.candidate));
        side("Base", base).into_iter().chain(others).collect()
    };
    // One sentence for each kind of machine.
    let mut whose: Vec<String> = std::iter::once(base)
        .chain(candidates.iter().map(|pair| &pair.candidate))
        .filter_map(|side| side.lab.as_ref())
        .map(|lab| lab::whose_of(&lab.machine, lab.clock))
        .collect();
    whose.dedup();
    lines.extend(whose.iter().flat_map(|text| folded(text, width)));
    lines.extend(listed(
        "NOT COMPARABLE:",
        &of_pairs(comparison, |pair| &pair.not_comparable_because),
        width,
    ));
    lines.extend(listed("Not known of both:", &of_pairs(comparison, |pair| &pair.unknown_conditions), width));
    lines.extend(listed("Compared with each other:", &of_pairs(comparison, |pair| &pair.paired), width));
    lines.extend(listed("Left out:", &of_pairs(comparison, |pair| &pair.unmatched), width));
    for pair in &comparison.candidates {
        if let Some(reason) = &pair.nothing_because {
            lines.extend(folded(&format!("NOTHING TO COMPARE: {}", harmless(reason)), width));
        }
    }
    lines
}

/// A title with its items: on one line for a single item.
pub(crate) fn listed(title: &str, items: &[String], width: usize) -> Vec<String> {
    match items {
        [] => Vec::new(),
        [item] => folded(&format!("{title} {item}"), width),
        items => {
            let mut lines = vec![title.to_owned()];
            for item in items {
                let folded = folded(&format!("- {item}"), width.saturating_sub(2));
                lines.extend(folded.iter().map(|line| format!("  {line}")));
            }
            lines
        }
    }
}

/// The texts of all candidates, each once. If there are several candidates, those to which a text applies are named unless it
/// applies to all.
pub(crate) fn of_pairs(comparison: &Comparison, texts: impl Fn(&Pair) -> &Vec<String>) -> Vec<String> {
    let mut found: Vec<(&String, Vec<&str>)> = Vec::new();
    for pair in &comparison.candidates {
        for text in texts(pair) {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(&pair.candidate.name),
                None => found.push((text, vec![&pair.candidate.name])),
            }
        }
    }
    let all = comparison.candidates.len();
    let named = |(text, names): (&String, Vec<&str>)| match names.len() == all {
        true => harmless(text),
        false => format!("{} ({})", harmless(text), harmless(&names.join(", "))),
    };
    found.into_iter().map(named).collect()
}

/// All series of a phase together, a column for each run. `names` are for headings, and `full` for sentences.
fn pooled_block(table: &Columns<'_>, names: &[String], full: &[String], width: usize) -> Vec<String> {
    let title = format!("{}, {}", harmless(table.phase), harmless(&pooled(sections::ALL, table)));
    let mut lines = folded(&title, width);
    let two = table.runs.len() == 2;
    let mut shown = head_of("us", &table.runs, names);
    for statistic in &table.statistics {
        let mut cells = vec![statistic.name.to_owned()];
        cells.extend(statistic.figures.iter().map(cell));
        if two {
            cells.push(words(&statistic.figures[1]));
        }
        shown.push(cells);
        if !two && OF_SERIES.contains(&statistic.name) {
            let words = statistic.figures[1..].iter().map(words);
            shown.push([String::new(), String::new()].into_iter().chain(words).collect());
        }
    }
    lines.extend(shown.lines(width));
    for (run, shape) in table.runs[1..].iter().zip(&table.shapes) {
        let text = shape.map(|shape| shape_text(sections::ALL, &shape, table.readings, "us", &full[*run]));
        lines.extend(text.map(|text| folded(&text, width)).into_iter().flatten());
    }
    lines
}

/// The headings of the columns. Two runs have a column of words at the end.
fn head_of(first: &str, runs: &[usize], names: &[String]) -> Table {
    let mut heads = vec![first];
    heads.extend(runs.iter().map(|run| names[*run].as_str()));
    match *runs {
        [_, candidate] => {
            let last = match names[candidate].chars().count() {
                0..=SHORT_NAME => format!("{} is", names[candidate]),
                _ => "difference".to_owned(),
            };
            heads.push(&last);
            Table::with_words_from(&heads, 3)
        }
        _ => Table::new(&heads),
    }
}

fn cell(figure: &Figure) -> String {
    tardy_plot::numbers::figure(figure.ns, figure.at_least)
}

fn words(figure: &Figure) -> String {
    figure.ratio.map_or_else(|| "-".to_owned(), describe_ratio)
}

/// Names the series of a pooled table: `all CPUs`, or `only cpu 1, which both have`.
pub(crate) fn pooled(sections: &[&dyn Section], table: &Columns<'_>) -> String {
    match table.only {
        Some(only) => format!("only {}, which both have", only.join(" + ")),
        None => sections::words(sections, table.readings).pooled.to_owned(),
    }
}

/// How far two distributions are apart, in a sentence.
pub(crate) fn shape_text(
    sections: &[&dyn Section],
    shape: &Shape,
    readings: Readings,
    unit: &str,
    candidate: &str,
) -> String {
    let moved = shape.wasserstein_ns.map_or_else(
        || "the average shift is unknown, since some values are beyond the histograms".to_owned(),
        |ns| format!("on average, values moved by {} {unit}", three_digits(ns / 1000.0)),
    );
    format!(
        "For a random {} of each run, that of {candidate} is {} in {} of cases (50 % means no difference). The distribution \
         functions differ by at most {}; {moved}.",
        readings.one(),
        sections::words(sections, readings).more,
        per_cent(shape.later),
        three_digits(shape.kolmogorov_smirnov),
    )
}

/// One statistic of each CPU, a line each.
fn series_block(tables: &[Columns<'_>], statistic: &str, names: &[String], width: usize) -> Vec<String> {
    let (series, left_out) = of_single_cpus(tables);
    let Some(first) = series.first() else { return Vec::new() };
    let phases = series.iter().any(|table| table.phase != first.phase);
    let all: Vec<usize> = (0..names.len()).collect();
    let mut shown = head_of(&format!("{statistic}, us"), &all, names);
    for table in &series {
        let label = if phases { format!("{}, {}", table.phase, table.label) } else { table.label.to_owned() };
        let Some(statistic) = table.statistic(statistic) else { continue };
        let of_run = |run: usize| {
            let column = table.runs.iter().position(|one| *one == run);
            column.map_or_else(|| "-".to_owned(), |column| cell(&statistic.figures[column]))
        };
        let mut cells = vec![short(&harmless(&label), LABEL_MAX)];
        cells.extend((0..names.len()).map(of_run));
        if names.len() == 2 {
            cells.push(words(&statistic.figures[1]));
        }
        shown.push(cells);
    }
    let mut lines = shown.lines(width);
    if left_out > 0 {
        lines.push(format!("{left_out} more CPUs, none with a higher maximum"));
    }
    lines
}

fn differences(comparison: &Comparison, names: &[String], width: usize) -> Vec<Vec<String>> {
    let parts = comparison.differences();
    let mut blocks: Vec<Vec<String>> = parts
        .iter()
        .filter(|part| !part.rows.is_empty())
        .map(|part| difference_block(part, names, width))
        .collect();
    let unknown = comparison.unknown_facts();
    blocks.push(without_difference(&parts, &unknown).iter().flat_map(|text| folded(text, width)).collect());
    blocks
}

/// The parts that do not differ, those that are unknown, and the facts that are unknown in parts that are known, a sentence each.
pub(crate) fn without_difference(parts: &[PartDifferences], unknown_facts: &[&str]) -> Vec<String> {
    let names = |wanted: &dyn Fn(&PartDifferences) -> bool| {
        let names: Vec<&str> =
            parts.iter().filter(|part| wanted(part)).map(|part| part.part.title()).collect();
        (!names.is_empty()).then(|| names.join(", ").to_lowercase())
    };
    let same = names(&|part| part.rows.is_empty() && !part.is_unknown);
    let unknown = names(&|part| part.is_unknown);
    let same = same.map(|names| format!("No difference: {names}."));
    let machine_is_known = parts.iter().any(|part| part.part == Part::Machine && !part.is_unknown);
    let facts: Vec<String> = unknown_facts.iter().map(|name| harmless(name)).collect();
    let facts = (machine_is_known && !facts.is_empty())
        .then(|| format!("Unknown of both, so that they may differ: {}.", first_few(&facts, "; ")));
    same.into_iter().chain(unknown.map(|names| format!("Not known of all: {names}."))).chain(facts).collect()
}

/// A value as a table shows it.
pub(crate) fn differing_value(value: &DifferingValue) -> String {
    match value {
        DifferingValue::Known(text) => harmless(text),
        DifferingValue::Absent => "absent".to_owned(),
        DifferingValue::Unknown => "unknown".to_owned(),
    }
}

fn difference_block(part: &PartDifferences, names: &[String], width: usize) -> Vec<String> {
    let title = part.part.title();
    let wide = |text: &str| text.chars().count();
    let values = |row: &DifferenceRow| row.values.iter().map(differing_value).collect::<Vec<_>>();
    let widest = part.rows.iter().flat_map(values).map(|text| wide(&text)).max().unwrap_or(0).min(VALUE_MAX);
    let longest = part.rows.iter().map(|row| wide(&row.name)).max().unwrap_or(0);
    let columns = names.len();
    // Names of options stay whole, since their values are short; names of facts are shortened in favour of values.
    let label_max = if longest + columns * (widest + 1) > width { width * 3 / 8 } else { LABEL_MAX };
    let named: Vec<String> = part.rows.iter().map(|row| short(&harmless(&row.name), label_max)).collect();
    let longest = named.iter().map(|name| wide(name)).max().unwrap_or(0).max(wide(title));
    // The columns share the room next to the names, less a gap each.
    let room = (width.saturating_sub(longest + columns) / columns).clamp(VALUE_MIN, VALUE_MAX);
    let heads: Vec<String> = names.iter().map(|name| short(name, room)).collect();
    let heads: Vec<&str> = std::iter::once(title).chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::of_words(&heads);
    for (row, name) in part.rows.iter().zip(named) {
        table.push(std::iter::once(name).chain(values(row).iter().map(|value| short(value, room))).collect());
    }
    table.lines(width)
}
