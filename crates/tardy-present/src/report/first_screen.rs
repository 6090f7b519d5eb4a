//! The sentences and numbers of a report's first screen.

use tardy_analyse::findings;
use tardy_analyse::tail::Depth;
use tardy_record::Run;

use super::run_page;
use crate::page::{Element, KeyNumber};
use crate::sections;

/// What the report of `run` states above its first plot, one text for each sentence, number or list item.
///
/// # Panics
/// As [`super::html`].
pub fn first_screen(run: &Run) -> Vec<String> {
    // No sentence there needs the levels beyond the run.
    let options = findings::Options { tails: Depth::Nothing, ..findings::Options::default() };
    let page = run_page::of(sections::ALL, run, &findings::of(run, &options), String::new());
    page.header.into_iter().flat_map(texts).filter(|text| !text.is_empty()).collect()
}

fn texts(element: Element) -> Vec<String> {
    match element {
        Element::Heading { text, .. } | Element::Paragraph { text, .. } | Element::Code { text } => {
            vec![text]
        }
        Element::Spans { spans, .. } => vec![spans.concat().concat()],
        Element::List { items, .. } => items,
        Element::Judgement(judgement) => {
            [vec![judgement.strong], judgement.paragraphs, judgement.items].concat()
        }
        Element::Numbers { numbers } => numbers.iter().map(KeyNumber::text).collect(),
        Element::Links { links, .. } => links.into_iter().map(|link| link.text).collect(),
        Element::Table(_)
        | Element::Figure { .. }
        | Element::Fold { .. }
        | Element::Rest { .. }
        | Element::Form(_) => Vec::new(),
    }
}
