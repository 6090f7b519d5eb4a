//! A section: the text and the page elements that one feature adds for a run.

use std::collections::BTreeMap;

use tardy_analyse::Findings;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_compare::side_by_side::Pair;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind};

use crate::page::Page;
use crate::table::Table;
use crate::terminal_text::{Style, folded};
use tardy_plot::terms::{LATENCY, Terms};

/// A run, its findings, and the sections that show it.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its findings.
    pub findings: &'a Findings,
    /// All sections, in order.
    pub sections: &'a [&'a dyn Section],
}

/// The text and the page elements that one feature adds for a run. All methods except `name` have a default.
pub trait Section: Sync {
    /// The name of the section, for developers.
    fn name(&self) -> &'static str;

    /// Adds the blocks of this section to the terminal's text.
    fn text(&self, _context: &Context<'_>, _text: &mut Text) {}

    /// Adds the elements of this section to the page.
    fn page(&self, _context: &Context<'_>, _page: &mut Page) {}

    /// Notes to the tables of the phases, in the terminal and on the page.
    fn notes(&self, _context: &Context<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The kind of measurement that the section describes; `None` if it describes none.
    fn measurement(&self) -> Option<&dyn Measurement> {
        None
    }

    /// Adds what a comparison shows of each run before it compares the runs.
    fn before_comparison(&self, _context: &Context<'_>, _text: &mut Text) {}

    /// A table that compares two runs, with its heading.
    fn comparison(&self, _pair: &Pair) -> Option<(&'static str, Table)> {
        None
    }
}

/// A kind of measurement: how its phases and its readings are described.
pub trait Measurement: Sync {
    /// Whether `probe` makes measurements of this kind.
    fn is_made_by(&self, probe: ProbeKind) -> bool;

    /// Whether this kind of measurement has readings of the kind `readings`.
    fn describes(&self, readings: Readings) -> bool;

    /// The terms for the readings of this kind.
    fn words(&self) -> &'static Terms {
        &LATENCY
    }

    /// How a phase was measured, such as `clock_nanosleep every 1ms, SCHED_FIFO 90`. `labelled` if the phase's label
    /// is shown next to it.
    fn method(&self, run: &Run, phase: &PhaseFindings, labelled: bool) -> Option<String>;

    /// The result of a phase, in one sentence; `None` if the section adds its own sentences.
    fn sentence(&self, phase: &PhaseFindings) -> Option<String>;

    /// Whether the readings of the phase may have a schedule.
    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        true
    }

    /// The reason why a limit does not apply; `None` if it applies.
    fn no_limit_because(&self) -> Option<&'static str> {
        None
    }

    /// The columns of a phase in the table of planned phases.
    fn planned(&self, plan: &PhasePlan) -> Planned;
}

/// The columns of the table of planned phases that depend on the probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planned {
    /// The wake method or the tool.
    pub wake: String,
    /// The clock; empty for none.
    pub clock: &'static str,
    /// The policy; empty for none.
    pub policy: &'static str,
    /// Distinct priorities, ascending.
    pub priorities: Vec<u64>,
    /// Distinct intervals in ns, ascending.
    pub intervals_ns: Vec<u64>,
}

impl<'a> Context<'a> {
    /// The kind of measurement of a phase.
    pub fn measurement_of(&self, phase: &PhaseFindings) -> Option<&'a dyn Measurement> {
        self.measurement_by(phase.probe?)
    }

    /// The kind of measurement that a probe makes.
    pub fn measurement_by(&self, probe: ProbeKind) -> Option<&'a dyn Measurement> {
        measurements(self.sections).find(|one| one.is_made_by(probe))
    }

    /// The kind of measurement that describes these readings.
    pub fn describing(&self, readings: Readings) -> Option<&'a dyn Measurement> {
        describing(self.sections, readings)
    }
}

/// The kinds of measurement among `sections`.
fn measurements<'a>(sections: &'a [&'a dyn Section]) -> impl Iterator<Item = &'a dyn Measurement> {
    sections.iter().filter_map(|section| section.measurement())
}

/// The kind of measurement among `sections` that describes these readings.
pub fn describing<'a>(sections: &'a [&'a dyn Section], readings: Readings) -> Option<&'a dyn Measurement> {
    measurements(sections).find(|one| one.describes(readings))
}

/// The part of the terminal's text that a block belongs to. The blocks of a part are in the order of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The kind of kernel, and whether the numbers may be used.
    Head,
    /// The results of each phase.
    Results,
    /// Notes to the tables.
    Notes,
    /// Breakdowns, causes, published results.
    Details,
    /// Loads, the cost of tardy itself, the lab.
    Background,
    /// Sentences at the end.
    Conclusion,
    /// Whether the numbers may be used, once more.
    Last,
}

/// Lines for the terminal.
#[derive(Clone, Debug)]
pub struct Block {
    width: usize,
    lines: Vec<(String, Style)>,
}

impl Block {
    /// A paragraph, folded to the width.
    pub fn paragraph(&mut self, style: Style, text: &str) {
        self.lines.extend(folded(text, self.width).into_iter().map(|line| (line, style)));
    }

    /// A paragraph for each text.
    pub fn paragraphs(&mut self, style: Style, texts: &[String]) {
        texts.iter().for_each(|text| self.paragraph(style, text));
    }

    /// A line that is not folded.
    pub fn line(&mut self, style: Style, text: &str) {
        self.lines.push((text.to_owned(), style));
    }

    /// A table.
    pub fn table(&mut self, table: &Table) {
        self.lines.extend(table.lines(self.width).into_iter().map(|line| (line, Style::Plain)));
    }

    /// A heading and a table below it, with an empty line between them.
    pub fn titled_table(&mut self, title: &str, table: &Table) {
        self.line(Style::Plain, title);
        self.line(Style::Plain, "");
        self.table(table);
    }
}

/// The terminal's text, to which sections add blocks.
#[derive(Clone, Debug)]
pub struct Text {
    width: usize,
    blocks: BTreeMap<Part, Vec<Block>>,
}

impl Text {
    /// An empty text, `width` columns wide.
    pub fn new(width: usize) -> Self {
        Self { width, blocks: BTreeMap::new() }
    }

    /// The width of the text in columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// An empty block with the width of the text.
    pub fn block(&self) -> Block {
        Block { width: self.width, lines: Vec::new() }
    }

    /// Adds a block unless it is empty.
    pub fn add(&mut self, part: Part, block: Block) {
        if !block.lines.is_empty() {
            self.blocks.entry(part).or_default().push(block);
        }
    }

    /// Adds a paragraph as a separate block.
    pub fn add_paragraph(&mut self, part: Part, style: Style, text: &str) {
        let mut block = self.block();
        block.paragraph(style, text);
        self.add(part, block);
    }

    /// The whole text, with ANSI escapes if `colour` is set; `None` if it is empty. Ends with a newline.
    pub fn finish(self, colour: bool) -> Option<String> {
        let mut paragraphs: Vec<String> = Vec::new();
        for (part, blocks) in self.blocks {
            let texts = blocks.into_iter().map(|block| {
                let lines = block.lines.iter().map(|(line, style)| style.paint(line, colour));
                lines.collect::<Vec<_>>().join("\n")
            });
            match part {
                // No empty line between the sentences of several sections.
                Part::Head | Part::Notes | Part::Conclusion | Part::Last => {
                    paragraphs.push(texts.collect::<Vec<_>>().join("\n"));
                }
                Part::Results | Part::Details | Part::Background => paragraphs.extend(texts),
            }
        }
        (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n") + "\n")
    }
}
