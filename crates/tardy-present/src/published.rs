//! Published results, and how runs compare with them.

mod catalogue;

use tardy_analyse::published::{
    Circumstance, Figures, Match, Ours, Placed, PublishedMatches, Sameness, Value,
};

use crate::table::Table;
use tardy_plot::numbers::{at_least, count, harmless, microseconds, rounded, short, three_digits};

pub use catalogue::{compared, list, whole};

/// Longer ids and labels are shortened in tables.
pub(crate) const LABEL_MAX: usize = 40;

/// A published figure in us, without its unit: `177`, `about 500`, `at least 30,000`.
pub fn highest(figures: &Figures) -> Option<String> {
    match (figures.max_us, figures.max_at_least_us) {
        (Some(us), _) if figures.max_is_approximate => Some(format!("about {}", three_digits(us))),
        (Some(us), _) => Some(three_digits(us)),
        (None, Some(us)) => Some(format!("at least {}", three_digits(us))),
        (None, None) => None,
    }
}

/// `Worst case 41 us; the articles' Raspberry Pi 3 Model B, 4.14.21-rt17-v7+, had 147 us (rpi3-4.14-rt).`, followed by
/// the circumstances that differ.
pub fn placed(placed: &Placed) -> String {
    let theirs = highest(&placed.nearest.published).unwrap_or_default();
    let different = names(&placed.nearest, Sameness::Different);
    let different = match different.is_empty() {
        true => String::new(),
        false => format!(" Different: {}.", different.join(", ")),
    };
    format!(
        "Worst case {} us; the articles' {} had {theirs} us ({}).{different}",
        tardy_plot::numbers::highest(Some(placed.max_ns), placed.max_at_least, ""),
        harmless(&placed.nearest_what),
        harmless(&placed.nearest.id),
    )
}

/// The headings of the table; the first column names the published result.
const HEADS: [&str; 4] = ["us", "published max", "max here", "p99.99 here"];

/// The label of one figure of a run.
pub(crate) fn label(ours: &Ours) -> String {
    short(&harmless(&ours.label), LABEL_MAX)
}

/// A table with a row for each figure of a run and the corresponding published one.
pub(crate) fn table(matches: &[Match]) -> Table {
    let mut table = Table::new(&HEADS);
    matches.iter().flat_map(match_rows).for_each(|row| table.push(row));
    table
}

fn match_rows(one: &Match) -> Vec<Vec<String>> {
    let published = highest(&one.published).unwrap_or_else(|| "no figure".to_owned());
    let row = |label: String, max: String, tail: String| {
        vec![short(&harmless(&label), LABEL_MAX), published.clone(), max, tail]
    };
    if one.ours.is_empty() {
        return vec![row(one.id.clone(), "-".to_owned(), "-".to_owned())];
    }
    let us = |ns: Option<i64>, none: &str| ns.map_or_else(|| none.to_owned(), |ns| microseconds(ns as f64));
    let of = |ours: &Ours| {
        let label = if one.ours.len() > 1 { format!("{}, {}", one.id, ours.label) } else { one.id.clone() };
        row(
            label,
            tardy_plot::numbers::highest(ours.max_ns, ours.max_at_least, "-"),
            at_least(us(ours.p9999_ns, "n/a"), ours.p9999_at_least),
        )
    };
    one.ours.iter().map(of).collect()
}

/// The circumstances that differ, in one note for all results with the same differences; then the results that were
/// left out, with the reason.
pub(crate) fn notes(compared: &PublishedMatches) -> Vec<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for one in &compared.matches {
        let text = circumstances(one);
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ids)) => ids.push(&one.id),
            None => groups.push((text, vec![&one.id])),
        }
    }
    let all = groups.len() == 1 && compared.matches.len() > 1;
    let mut notes: Vec<String> = groups
        .iter()
        .map(|(text, ids)| match all {
            true => format!("All of them: {text}"),
            false => format!("{}: {text}", harmless(&ids.join(", "))),
        })
        .collect();
    notes.extend(left_out(compared));
    notes
}

/// Published results that this run is not compared with, and the reason.
pub(crate) fn left_out(compared: &PublishedMatches) -> Vec<String> {
    let ids = |ids: &[String]| harmless(&ids.join(", "));
    if let Some(why) = &compared.withheld_because {
        let what = "This run is not compared with the published results of its recipe";
        return vec![format!("{what}: {}.", harmless(why))];
    }
    let mut notes = Vec::new();
    if !compared.of_the_other_kernel.is_empty() {
        let kinds = "Published for the other kind of kernel, and comparable only with a run on that";
        notes.push(format!("{kinds}: {}.", ids(&compared.of_the_other_kernel)));
    }
    if !compared.not_known.is_empty() {
        notes.push(format!("Unknown to this version of tardy: {}.", ids(&compared.not_known)));
    }
    notes
}

/// Which circumstances are the same, which differ and which are unknown.
fn circumstances(one: &Match) -> String {
    if one.ours.is_empty() {
        return "this run measured nothing comparable.".to_owned();
    }
    let named = |sameness, word: &str| {
        let names = names(one, sameness);
        (!names.is_empty()).then(|| format!("{word} {}", names.join(", ")))
    };
    let parts = [
        named(Sameness::Different, "different"),
        named(Sameness::Unknown, "unknown whether the same"),
        named(Sameness::Same, "same"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ") + "."
}

/// The names of the circumstances of that kind.
pub(crate) fn names(one: &Match, sameness: Sameness) -> Vec<&'static str> {
    one.circumstances.iter().filter(|row| row.sameness == sameness).map(|row| row.name).collect()
}

/// Both sides of a circumstance as text.
pub(crate) fn sides(circumstance: &Circumstance) -> [String; 2] {
    let side = |values: &[Value], none: &str| match values {
        [] => none.to_owned(),
        values => values.iter().map(value).collect::<Vec<_>>().join("; "),
    };
    [side(&circumstance.published, "not given"), side(&circumstance.ours, "not known")]
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => harmless(text),
        Value::Count(n) => count(*n),
        Value::DurationNs(ns) => rounded(*ns),
        Value::DerivedNs(ns) => format!("{}, samples times interval", rounded(*ns)),
    }
}
