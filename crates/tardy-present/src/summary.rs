//! The summary of a run for the terminal: the text of all sections, in order.

use tardy_analyse::Findings;
use tardy_record::Run;

use crate::section::{Context, Part, Section, Text};
use crate::sections::{self, headline};
use crate::terminal_text::Style;

/// The least width in columns to which the text is folded.
const WIDTH_MIN: usize = 60;

/// The summary of `run`, `width` columns wide, with ANSI colours if `colour` is set. Ends with a newline.
pub fn text(run: &Run, findings: &Findings, width: usize, colour: bool) -> String {
    text_of(sections::ALL, run, findings, width, colour)
}

/// The same as [`text`], with the given sections.
pub fn text_of(
    sections: &[&dyn Section],
    run: &Run,
    findings: &Findings,
    width: usize,
    colour: bool,
) -> String {
    let context = Context { run, findings, sections };
    let mut text = Text::new(width.max(WIDTH_MIN));
    for section in sections {
        section.text(&context, &mut text);
        let mut notes = text.block();
        notes.paragraphs(Style::Faint, &section.notes(&context));
        text.add(Part::Notes, notes);
    }
    // The first lines have scrolled away when a long summary ends.
    let mut last = text.block();
    last.paragraphs(Style::Bad, &headline::invalid_last(run));
    text.add(Part::Last, last);
    text.finish(colour).unwrap_or_default()
}

/// The text that a comparison shows of `run` before it compares it with others; `None` for most kinds of measurement.
pub fn before_comparison(run: &Run, findings: &Findings, width: usize, colour: bool) -> Option<String> {
    let context = Context { run, findings, sections: sections::ALL };
    let mut text = Text::new(width.max(WIDTH_MIN));
    sections::ALL.iter().for_each(|section| section.before_comparison(&context, &mut text));
    text.finish(colour)
}
