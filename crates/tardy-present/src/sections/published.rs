//! The run compared with published results.

use tardy_analyse::published::{Circumstance, Match, Ours, Placed, PlacedRow, Sameness};

use crate::page::{Element, Page, PageRow, PageTable, Place, heading, paragraph, paragraphs};
use crate::published;
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::{Style, capitalised};
use tardy_plot::numbers::{at_least, harmless, microseconds, three_digits, typeset};

/// The run compared with published results.
pub struct Published;

impl Section for Published {
    fn name(&self) -> &'static str {
        "published"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let Some(compared) = &context.findings.published else { return };
        let mut block = text.block();
        if !compared.matches.is_empty() {
            block.titled_table("Compared with the published results", &published::table(&compared.matches));
        }
        block.paragraphs(Style::Faint, &published::notes(compared));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let (compared, placed) = (&context.findings.published, &context.findings.placed);
        if compared.is_none() && placed.is_none() {
            return;
        }
        let mut elements = vec![heading(2, "Compared with the published results")];
        elements.extend(placed.iter().flat_map(placed_elements));
        let matches = compared.iter().flat_map(|compared| &compared.matches).enumerate();
        elements.extend(matches.flat_map(|(index, one)| match_elements(one, index == 0)));
        elements.extend(paragraphs("note", &compared.as_ref().map(published::left_out).unwrap_or_default()));
        page.add(Place::After, elements);
    }
}

/// The elements that show the rank of the run among all results of its kind.
fn placed_elements(placed: &Placed) -> [Element; 2] {
    let row = |row: &PlacedRow| PageRow {
        class: if row.id.is_none() { "here" } else { "" },
        ..PageRow::from(vec![
            published::highest(&row.figures).unwrap_or_default(),
            harmless(&row.what),
            row.id.as_deref().map(harmless).unwrap_or_default(),
        ])
    };
    let bodies = vec![placed.rows.iter().map(row).collect()];
    let table = PageTable { bodies, ..PageTable::new("placed", &["max, µs", "", ""], Vec::new()) };
    let summary = "Among all published results of its kind".to_owned();
    let fold = Element::Fold { summary, open: false, elements: vec![Element::Table(table)] };
    [paragraph("", &published::placed(placed)), fold]
}

fn match_elements(one: &Match, open: bool) -> Vec<Element> {
    let remarks: String =
        one.remarks.iter().map(|text| format!(" {}.", capitalised(&harmless(text)))).collect();
    let source = format!("{}, from “{}”.{remarks}", harmless(&one.id), harmless(&one.source));
    let mut elements = vec![heading(3, match_heading(one)), paragraph("note", &source)];
    if one.ours.is_empty() {
        elements.push(paragraph("note", "This run measured nothing comparable."));
        return elements;
    }
    let named = |title: &str, sameness| {
        let names = published::names(one, sameness);
        (!names.is_empty()).then(|| [title.to_owned(), format!(" {}.", names.join(", "))])
    };
    let apart =
        [named("Different:", Sameness::Different), named("Unknown whether the same:", Sameness::Unknown)];
    elements.push(Element::Spans { class: "apart", spans: apart.into_iter().flatten().collect() });
    let circumstance = |row: &Circumstance| {
        let [published, ours] = published::sides(row);
        let sameness = row.sameness.name();
        let cells = vec![row.name.to_owned(), published, ours, sameness.to_owned()];
        PageRow { class: sameness, ..PageRow::from(cells) }
    };
    let table = PageTable {
        bodies: vec![
            figures(one).into_iter().map(|row| PageRow::from(row.to_vec())).collect(),
            one.circumstances.iter().map(circumstance).collect(),
        ],
        ..PageTable::new("compared", &["µs", "published", "here", ""], Vec::new())
    };
    let summary = "All figures and circumstances".to_owned();
    elements.push(Element::Fold { summary, open, elements: vec![Element::Table(table)] });
    elements
}

/// `177 µs published, 32.1 µs here`.
fn match_heading(one: &Match) -> String {
    let published = published::highest(&one.published)
        .map_or_else(|| "No figure published".to_owned(), |text| format!("{text}\u{a0}µs published"));
    let place = |ours: &Ours| {
        if one.ours.len() > 1 { format!(" ({})", published::label(ours)) } else { String::new() }
    };
    let here = |ours: &Ours| {
        Some(format!("{}{}", at_least(typeset(ours.max_ns? as f64), ours.max_at_least), place(ours)))
    };
    let here: Vec<String> = one.ours.iter().filter_map(here).collect();
    let heading = match here.as_slice() {
        [] => format!("{published}, nothing here"),
        here => format!("{published}, {} here", here.join(" and ")),
    };
    capitalised(&heading)
}

/// Rows of figures in µs: name, published value, value of this run, and an empty cell.
fn figures(one: &Match) -> Vec<[String; 4]> {
    let us =
        |us: Option<f64>| us.map_or_else(|| "not given".to_owned(), |us| three_digits(us).replace('-', "−"));
    let figure = |ns: &dyn Fn(&Ours) -> Option<f64>, none: &str, is_least: &dyn Fn(&Ours) -> bool| {
        let text = |ours: &Ours| {
            let value = ns(ours).map_or_else(|| none.to_owned(), |ns| microseconds(ns).replace('-', "−"));
            let value = at_least(value, is_least(ours));
            if one.ours.len() > 1 { format!("{value} ({})", published::label(ours)) } else { value }
        };
        one.ours.iter().map(text).collect::<Vec<_>>().join("; ")
    };
    let here = |ns: &dyn Fn(&Ours) -> Option<f64>, none: &str| figure(ns, none, &|_| false);
    let whole = |value: Option<i64>| value.map(|ns| ns as f64);
    let tail = figure(&|ours| whole(ours.p9999_ns), "n/a: too few", &|ours| ours.p9999_at_least);
    let max = published::highest(&one.published).unwrap_or_else(|| "not given".to_owned());
    vec![
        [
            "max".to_owned(),
            max,
            figure(&|ours| whole(ours.max_ns), "–", &|ours| ours.max_at_least),
            String::new(),
        ],
        ["p99.99".to_owned(), "not given".to_owned(), tail, String::new()],
        ["mean".to_owned(), us(one.published.avg_us), here(&|ours| ours.mean_ns, "–"), String::new()],
        ["min".to_owned(), us(one.published.min_us), here(&|ours| whole(ours.min_ns), "–"), String::new()],
    ]
}
