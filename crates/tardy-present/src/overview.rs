//! The runs of a directory as one table, for the terminal and as a page.

use tardy_analyse::name::Readings;
use tardy_compare::overview::{LeftOut, Overview, OverviewRow, SortKey, Standing};
use tardy_record::units::format_duration_ns;

use crate::page::{Cell, Element, PageRow, PageTable, RunPage, heading, paragraph};
use crate::report;
use crate::table::Table;
use crate::terminal_text::{capitalised, folded};
use tardy_plot::numbers::{count, counted, figure, first_few, harmless, prefixed, short, short_inside};

/// Longer names of runs are shortened in the terminal.
const NAME_MAX: usize = 40;
/// Columns of the terminal that ranks and figures need next to the names.
const FIGURES_WIDTH: usize = 28;
/// Longer kernels and loads are shortened in the terminal.
const WORDS_MAX: usize = 26;

/// A column that is left out of the table if all runs have the same value.
struct Column {
    head: &'static str,
    value: fn(&OverviewRow) -> String,
}

const COLUMNS: [Column; 4] = [
    Column { head: "interval", value: interval },
    Column { head: "load", value: load },
    Column { head: "kernel", value: kernel },
    Column { head: "validity", value: |row| row.standing.name().to_owned() },
];

/// The runs of the same kind, and their columns.
struct Group<'a> {
    readings: Readings,
    rows: Vec<&'a OverviewRow>,
    /// The columns in which they differ.
    columns: Vec<&'static Column>,
    /// What all of them have, as a sentence; `None` for a single run.
    shared: Option<String>,
}

fn groups(overview: &Overview) -> Vec<Group<'_>> {
    let by_kind = overview.runs.chunk_by(|one, other| one.readings == other.readings);
    by_kind.map(|rows| Group::of(rows.iter().collect())).collect()
}

impl<'a> Group<'a> {
    fn of(rows: Vec<&'a OverviewRow>) -> Self {
        let is_same = |column: &&Column| {
            rows.len() > 1 && rows.iter().all(|row| (column.value)(row) == (column.value)(rows[0]))
        };
        let (same, columns): (Vec<&Column>, Vec<&Column>) = COLUMNS.iter().partition(is_same);
        let stated = |column: &&Column| match (column.value)(rows[0]) {
            value if column.head == "validity" => value,
            value => format!("{} {value}", column.head),
        };
        let shared: Vec<String> = same.iter().map(stated).collect();
        let shared = (!shared.is_empty()).then(|| format!("The same for all: {}.", shared.join(", ")));
        Self { readings: rows[0].readings, columns, rows, shared }
    }

    /// The number of runs, and how they are ranked.
    fn headline(&self, sorted_by: SortKey) -> String {
        let runs = counted(self.rows.len() as u64, "run", "runs");
        let by = match sorted_by {
            SortKey::P999 => "99.9 % quantile",
            _ => "worst value",
        };
        match self.rows.iter().filter(|row| row.rank.is_some()).count() {
            0 | 1 => format!("{runs}, {}", self.readings.name()),
            _ => format!("{runs}, {}, ranked by the {by}", self.readings.name()),
        }
    }
}

/// The overview, about `width` columns wide: names are not shortened below a readable length. Ends with a newline.
pub fn text(overview: &Overview, width: usize) -> String {
    let width = width.max(60);
    let mut lines = Vec::new();
    for group in groups(overview) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(folded(&format!("{}.", group.headline(overview.sorted_by)), width));
        lines.extend(group.shared.iter().flat_map(|shared| folded(shared, width)));
        lines.push(String::new());
        lines.extend(table(&group, width).lines(width));
    }
    let caveats = caveats(overview);
    if !caveats.is_empty() {
        lines.push(String::new());
        lines.extend(caveats.iter().flat_map(|caveat| folded(caveat, width)));
    }
    lines.join("\n") + "\n"
}

fn table(group: &Group<'_>, width: usize) -> Table {
    let name_max = NAME_MAX.min(width - FIGURES_WIDTH);
    let figures = ["us", "worst", "p99.9", "count"];
    let heads: Vec<&str> =
        figures.into_iter().chain(group.columns.iter().map(|column| column.head)).collect();
    let mut table = Table::with_words_from(&heads, figures.len());
    for row in &group.rows {
        let [rank, worst, p999] = [rank(row), worst(row), p999(row)];
        let name = short_inside(&harmless(&row.name), name_max);
        let mut cells = vec![format!("{rank:>3} {name}"), worst, p999, prefixed(row.count as f64)];
        cells.extend(group.columns.iter().map(|column| short(&(column.value)(row), WORDS_MAX)));
        table.push(cells);
    }
    table
}

fn rank(row: &OverviewRow) -> String {
    row.rank.map_or_else(|| "-".to_owned(), |rank| format!("{rank}."))
}

fn worst(row: &OverviewRow) -> String {
    figure(row.worst_ns.map(|ns| ns as f64), row.worst_at_least)
}

fn p999(row: &OverviewRow) -> String {
    figure(row.p999_ns.map(|ns| ns as f64), row.p999_at_least)
}

fn interval(row: &OverviewRow) -> String {
    match &row.intervals_ns[..] {
        [] => "unknown".to_owned(),
        all => all.iter().map(|ns| format_duration_ns(*ns)).collect::<Vec<_>>().join(", "),
    }
}

fn load(row: &OverviewRow) -> String {
    let Some(loads) = &row.loads else { return "nothing measured".to_owned() };
    let loads = if loads.is_empty() { "none".to_owned() } else { harmless(&loads.join(" + ")) };
    match row.outcomes {
        0 | 1 => loads,
        several => format!("{loads} (worst of {several})"),
    }
}

fn kernel(row: &OverviewRow) -> String {
    let release = row.kernel.as_ref().map_or_else(|| "unknown".to_owned(), |release| harmless(release));
    match row.real_time {
        Some(true) => format!("{release}, RT"),
        _ => release,
    }
}

/// The limits of the ranking, as sentences.
fn caveats(overview: &Overview) -> Vec<String> {
    let mut caveats = Vec::new();
    let different = overview.ranked_although_different();
    if !different.is_empty() {
        let duration = if different.contains(&"duration") { "; a maximum grows with time" } else { "" };
        caveats.push(format!(
            "The ranked runs differ in {}{duration}. 'tardy compare' checks whether two runs are comparable.",
            different.join(", ")
        ));
    }
    if overview.runs.iter().any(|row| row.outcomes > 1) {
        caveats.push("A run with several phases is shown by the one with the highest value.".to_owned());
    }
    caveats
}

/// Messages about the files that are not shown: each kind once.
pub fn remarks(left_out: &LeftOut) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut remark = |all: Vec<String>, (one, several), separator, hint| {
        if !all.is_empty() {
            let files = counted(all.len() as u64, one, several);
            remarks.push(format!("{files}: {}{hint}", first_few(&all, separator)));
        }
    };
    let named = |files: &[String]| files.iter().map(|file| harmless(file)).collect();
    let unreadable = left_out.unreadable.iter().map(|one| harmless(&one.error)).collect();
    remark(unreadable, ("file cannot be read", "files cannot be read"), "; ", "");
    let other = ("other file is not a run file", "other files are not run files");
    remark(named(&left_out.other_files), other, ", ", "; 'tardy import' converts other tools' files");
    let links = (
        "symbolic link leads out of the directory and was not followed",
        "symbolic links lead out of the directory and were not followed",
    );
    remark(named(&left_out.links_outside), links, ", ", "");
    remarks
}

/// The overview as a page. `place` names the directory, and `made_by` the program.
pub fn html(overview: &Overview, place: &str, made_by: &str) -> String {
    let groups = groups(overview);
    let runs = counted(overview.runs.len() as u64, "run", "runs");
    let title = format!("{runs} in {}", harmless(place));
    let mut header = vec![heading(1, title.clone())];
    header.extend(caveats(overview).iter().map(|caveat| paragraph("", caveat)));
    let mut sections: Vec<Vec<Element>> = groups.iter().map(|group| section(group, overview)).collect();
    let remarks = remarks(&overview.left_out);
    if !remarks.is_empty() {
        let mut notes = vec![heading(2, "Not shown")];
        notes.extend(remarks.iter().map(|remark| paragraph("", &format!("{}.", capitalised(remark)))));
        sections.push(notes);
    }
    report::html_of_page(
        title,
        RunPage { id: "overview".to_owned(), header, sections, data: String::new() },
        overview.runs.len(),
        made_by,
    )
}

fn section(group: &Group<'_>, overview: &Overview) -> Vec<Element> {
    let heads = ["µs", "worst", "p99.9", group.readings.name()];
    let heads: Vec<String> =
        heads.into_iter().chain(group.columns.iter().map(|column| column.head)).map(str::to_owned).collect();
    let row = |row: &&OverviewRow| {
        let name = format!("{} {}", rank(row).replace('-', "–"), harmless(&row.name));
        let minus = |text: String| text.replace('-', "−");
        let mut cells = vec![name, minus(worst(row)), minus(p999(row)), count(row.count)];
        cells.extend(group.columns.iter().map(|column| (column.value)(row)));
        let class = if row.standing.is_usable() { "" } else { "void" };
        PageRow { class, cells: cells.into_iter().map(Cell::Text).collect() }
    };
    let mut elements = vec![heading(2, group.headline(overview.sorted_by))];
    elements.extend(group.shared.iter().map(|shared| paragraph("note", shared)));
    elements.push(Element::Table(PageTable {
        class: "stacked overview",
        named: true,
        heads,
        bodies: vec![group.rows.iter().map(row).collect()],
        ..PageTable::default()
    }));
    let invalid = group.rows.iter().filter(|row| row.standing == Standing::Invalid);
    let reasons: Vec<String> = invalid
        .filter_map(|row| Some(format!("{}: {}", harmless(&row.name), harmless(row.reasons.first()?))))
        .collect();
    if !reasons.is_empty() {
        elements.push(heading(3, "Why runs are invalid"));
        elements.push(Element::List { class: "", items: reasons });
    }
    elements
}
