//! The page of one run as a list of elements: headings, paragraphs, tables, figures.
//!
//! The templates draw only these elements, so a new section needs no template.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::figures::{Figure, Marks};
use crate::table::Table;
use crate::terminal_text::typographic;

/// One element of a page. Classes are those of the page's style sheet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Element {
    /// A heading; level 2 begins a section.
    Heading {
        /// From 1 to 3.
        level: u8,
        /// Class, or empty.
        class: &'static str,
        /// The text.
        text: String,
    },
    /// A paragraph.
    Paragraph {
        /// Class, or empty.
        class: &'static str,
        /// Whether it is emphasised.
        strong: bool,
        /// The text.
        text: String,
    },
    /// A paragraph of spans, each with an emphasised beginning, which may be empty.
    Spans {
        /// Class, or empty.
        class: &'static str,
        /// The spans: emphasised, plain.
        spans: Vec<[String; 2]>,
    },
    /// A list without an order.
    List {
        /// Class, or empty.
        class: &'static str,
        /// The items.
        items: Vec<String>,
    },
    /// A judgement, with a coloured mark at the side.
    Judgement(Judgement),
    /// Key numbers.
    Numbers {
        /// The numbers.
        numbers: Vec<KeyNumber>,
    },
    /// A table.
    Table(PageTable),
    /// A plot with a caption, which may be empty.
    Figure {
        /// The plot.
        plot: Figure,
        /// The caption.
        caption: String,
    },
    /// Elements that are collapsed below a summary.
    Fold {
        /// The summary.
        summary: String,
        /// Whether it is expanded initially.
        open: bool,
        /// The collapsed elements.
        elements: Vec<Element>,
    },
    /// Elements about the CPUs that are not among the worst: collapsed below a summary, and not printed.
    Rest {
        /// The summary.
        summary: String,
        /// The collapsed elements.
        elements: Vec<Element>,
    },
    /// Links, next to each other.
    Links {
        /// Class, or empty.
        class: &'static str,
        /// The links.
        links: Vec<Link>,
    },
    /// A form, which only a server answers.
    Form(Form),
    /// A line of code.
    Code {
        /// The code.
        text: String,
    },
}

/// A form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Form {
    /// The address of the page that answers, relative to this one.
    pub action: String,
    /// Whether the answer changes something; otherwise the fields are part of the answer's address.
    pub changes: bool,
    /// The fields.
    pub fields: Vec<Field>,
    /// The text of the button.
    pub button: &'static str,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name in the request.
    pub name: &'static str,
    /// Its label; empty for a field that is not shown.
    pub label: &'static str,
    /// Its value.
    pub value: String,
    /// An example.
    pub example: &'static str,
    /// What can be chosen; empty if any text can be entered.
    pub choices: Vec<Choice>,
}

/// A choice of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub text: String,
}

/// Whether a judgement is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// The requirement was met.
    Kept,
    /// The requirement was not met.
    Broken,
    /// It is unknown whether the requirement was met.
    Neutral,
}

/// A judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// Whether it is good.
    pub tone: Tone,
    /// Whether a screen reader announces it at once.
    pub alert: bool,
    /// The emphasised first paragraph; empty if there is none.
    pub strong: String,
    /// Its further paragraphs.
    pub paragraphs: Vec<String>,
    /// A list at its end.
    pub items: Vec<String>,
}

/// A number in large print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyNumber {
    name: String,
    value: String,
    unit: String,
    note: String,
}

impl KeyNumber {
    /// A number whose unit, if any, follows a no-break space in `value`.
    pub fn new(name: &str, value: &str, note: String) -> Self {
        let (value, unit) = value.split_once('\u{a0}').unwrap_or((value, ""));
        Self { name: name.to_owned(), value: value.to_owned(), unit: unit.to_owned(), note }
    }

    /// The number as one text.
    pub fn text(&self) -> String {
        format!("{} {} {} {}", self.name, self.value, self.unit, self.note)
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageTable {
    /// Class, or empty.
    pub class: &'static str,
    /// Whether it scrolls within a limited height.
    pub tall: bool,
    /// Whether cells repeat the headings of their columns, for a layout without columns.
    pub named: bool,
    /// Headings of the columns; empty for a table without headings.
    pub heads: Vec<String>,
    /// Groups of rows.
    pub bodies: Vec<Vec<PageRow>>,
    /// The last row, emphasised.
    pub foot: Option<PageRow>,
}

/// A row of a table. The first cell is the row's heading.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageRow {
    /// Class, or empty.
    pub class: &'static str,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// A link to another page or file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Its address, relative to the page.
    pub href: String,
    /// Its text.
    pub text: String,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// One line.
    Text(String),
    /// Several lines.
    Lines(Vec<String>),
    /// A link.
    Link(Link),
}

impl From<Vec<String>> for PageRow {
    fn from(cells: Vec<String>) -> Self {
        Self { class: "", cells: cells.into_iter().map(Cell::Text).collect() }
    }
}

impl PageTable {
    /// A table of these rows.
    pub fn new(class: &'static str, heads: &[&str], rows: Vec<Vec<String>>) -> Self {
        Self {
            class,
            heads: heads.iter().map(|head| (*head).to_owned()).collect(),
            bodies: vec![rows.into_iter().map(PageRow::from).collect()],
            ..Self::default()
        }
    }

    /// A table of the terminal with typographic signs, such as `µs` and `−`.
    pub fn typeset(class: &'static str, table: &Table) -> Self {
        let (heads, rows) = table.heads_and_rows();
        let cell = |cell: &String| match cell.strip_prefix('-') {
            Some("") => "–".to_owned(),
            Some(rest) => format!("−{}", typographic(rest)),
            None => typographic(cell),
        };
        let head = |head: &String| match head.as_str() {
            "us" => "µs".to_owned(),
            head => head.strip_suffix(", us").map_or_else(|| head.to_owned(), |name| format!("{name}, µs")),
        };
        Self {
            class,
            heads: heads.iter().map(head).collect(),
            bodies: vec![rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().into()).collect()],
            ..Self::default()
        }
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.bodies.iter().all(Vec::is_empty)
    }
}

/// A heading.
pub fn heading(level: u8, text: impl Into<String>) -> Element {
    Element::Heading { level, class: "", text: text.into() }
}

/// A paragraph.
pub fn paragraph(class: &'static str, text: &str) -> Element {
    Element::Paragraph { class, strong: false, text: typographic(text) }
}

/// A paragraph for each text.
pub fn paragraphs(class: &'static str, texts: &[String]) -> Vec<Element> {
    texts.iter().map(|text| paragraph(class, text)).collect()
}

/// A plot with its caption; `None` if there is no plot.
pub fn figure(plot: Option<Figure>, caption: &str) -> Option<Element> {
    plot.map(|plot| Element::Figure { plot, caption: caption.to_owned() })
}

/// A table, collapsed below a summary; `None` if it has no row.
pub fn folded_table(summary: &str, table: PageTable) -> Option<Element> {
    let elements = |table| vec![Element::Table(table)];
    (!table.is_empty()).then(|| Element::Fold {
        summary: summary.to_owned(),
        open: false,
        elements: elements(table),
    })
}

/// The place of elements on a page. The elements of a place are in the order of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the header: machine and date, then the kind of kernel.
    Title,
    /// In the header: reasons why the numbers must not be used.
    Alarm,
    /// In the header: the result in one sentence.
    Lead,
    /// In the header: the verdict on the limit.
    Verdict,
    /// In the header: limits of the conclusions.
    Limits,
    /// In the header: key numbers.
    Numbers,
    /// A separate section before the distribution.
    Before,
    /// In the section of the distribution: its plot.
    Plot,
    /// In the section of the distribution: breakdowns by level, span or phase.
    Breakdown,
    /// In the section of the distribution: the table of each phase.
    Rows,
    /// In the section of the distribution: notes to its tables.
    Notes,
    /// A separate section after the distribution.
    After,
}

/// A page, to which sections add elements.
#[derive(Debug)]
pub struct Page {
    id: String,
    marks: Marks,
    parts: BTreeMap<Place, Vec<Vec<Element>>>,
}

/// The page of one run as data for the templates.
#[derive(Clone, Debug, Serialize)]
pub struct RunPage {
    /// Its anchor.
    pub id: String,
    /// Elements of its header.
    pub header: Vec<Element>,
    /// Its sections.
    pub sections: Vec<Vec<Element>>,
    /// The values of its plots for the page's script, as JSON; empty if it has none.
    pub data: String,
}

impl Page {
    /// An empty page. `id` is its anchor; `marks` go into every plot.
    pub fn new(id: String, marks: Marks) -> Self {
        Self { id, marks, parts: BTreeMap::new() }
    }

    /// The id of a plot.
    pub fn plot_id(&self, name: &str) -> String {
        format!("{}-{name}", self.id)
    }

    /// The marks of every plot on this page.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Adds elements at `place`.
    pub fn add(&mut self, place: Place, elements: impl IntoIterator<Item = Element>) {
        let elements: Vec<Element> = elements.into_iter().collect();
        if !elements.is_empty() {
            self.parts.entry(place).or_default().push(elements);
        }
    }

    /// The finished page; `distribution` is the heading of the section with the distribution.
    pub fn finish(mut self, distribution: &str) -> RunPage {
        let mut take = |place: Place| self.parts.remove(&place).unwrap_or_default();
        let header = [Place::Title, Place::Alarm, Place::Lead, Place::Verdict, Place::Limits, Place::Numbers];
        let header = header.into_iter().flat_map(&mut take).flatten().collect();
        let mut sections = take(Place::Before);
        let mut main = vec![heading(2, distribution)];
        let places = [Place::Plot, Place::Breakdown, Place::Rows, Place::Notes];
        main.extend(places.into_iter().flat_map(&mut take).flatten());
        sections.push(main);
        sections.extend(take(Place::After));
        RunPage { id: self.id, header, sections, data: String::new() }
    }
}
