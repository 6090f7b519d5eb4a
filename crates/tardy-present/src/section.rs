//! A section: what one feature shows of a run, in the terminal and on a page.

use std::collections::BTreeMap;

use tardy_analyse::Findings;
use tardy_analyse::compare::Pair;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind};

use crate::page::Page;
use crate::table::Table;
use crate::terminal_text::{Style, folded};
use crate::terms::{LATENCY, Terms};

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

/// What one feature shows of a run. Every method but `name` may be left out.
pub trait Section: Sync {
    /// Its name, for a developer.
    fn name(&self) -> &'static str;

    /// Adds its blocks to the terminal's text.
    fn text(&self, _context: &Context<'_>, _text: &mut Text) {}

    /// Adds its elements to the page.
    fn page(&self, _context: &Context<'_>, _page: &mut Page) {}

    /// Notes to the tables of the phases, in the terminal and on the page.
    fn notes(&self, _context: &Context<'_>) -> Vec<String> {
        Vec::new()
    }

    /// The kind of measurement that the section is about; `None` for any other section.
    fn measurement(&self) -> Option<&dyn Measurement> {
        None
    }

    /// What a comparison shows of each run before it compares them.
    fn before_comparison(&self, _context: &Context<'_>, _text: &mut Text) {}

    /// A table that compares two runs, with its heading.
    fn comparison(&self, _pair: &Pair) -> Option<(&'static str, Table)> {
        None
    }
}

/// A kind of measurement: how its phases and its readings are described.
pub trait Measurement: Sync {
    /// Whether `probe` makes such measurements.
    fn is_made_by(&self, probe: ProbeKind) -> bool;

    /// Whether it describes such readings.
    fn describes(&self, readings: Readings) -> bool;

    /// Terms for its readings.
    fn words(&self) -> &'static Terms {
        &LATENCY
    }

    /// How a phase was measured, such as `clock_nanosleep every 1ms, SCHED_FIFO 90`. `labelled` if the phase's label
    /// is shown next to it.
    fn method(&self, run: &Run, phase: &PhaseFindings, labelled: bool) -> Option<String>;

    /// The result of a phase, in one sentence; `None` if its section adds other sentences.
    fn sentence(&self, phase: &PhaseFindings) -> Option<String>;

    /// Whether its readings have a schedule, or could have one.
    fn may_have_schedule(&self, _phase: &PhaseFindings) -> bool {
        true
    }

    /// Why a limit does not apply; `None` if it does.
    fn no_limit_because(&self) -> Option<&'static str> {
        None
    }

    /// What the table of planned phases shows of a phase.
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

/// Where in the terminal's text a block goes. Within a place blocks stay in the order of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What the kernel is and whether the numbers may be used.
    Head,
    /// What was measured, phase by phase.
    Results,
    /// Notes to the tables.
    Notes,
    /// Breakdowns, causes, what was published.
    Details,
    /// Loads, tardy's own cost, the lab.
    Background,
    /// Sentences at the end.
    Conclusion,
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

    /// A line as it is.
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

/// The terminal's text, as sections fill it.
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

    /// Its width in columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// An empty block of its width.
    pub fn block(&self) -> Block {
        Block { width: self.width, lines: Vec::new() }
    }

    /// Adds a block; an empty one adds nothing.
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
                // Sentences of several sections follow each other without a gap.
                Part::Head | Part::Notes | Part::Conclusion => {
                    paragraphs.push(texts.collect::<Vec<_>>().join("\n"));
                }
                Part::Results | Part::Details | Part::Background => paragraphs.extend(texts),
            }
        }
        (!paragraphs.is_empty()).then(|| paragraphs.join("\n\n") + "\n")
    }
}
