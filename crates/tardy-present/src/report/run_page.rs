//! The part of the report about one run: the elements of all sections.

use tardy_analyse::Findings;
use tardy_analyse::name::Readings;
use tardy_record::Run;

use super::script_data;
use crate::figures::Marks;
use crate::page::{Page, Place, RunPage, paragraphs};
use crate::section::{Context, Section};
use crate::sections;
use tardy_plot as plot;

/// The page of `run`. `id` is the run's anchor, and the beginning of all ids in its part of the page.
pub(super) fn of(sections: &[&dyn Section], run: &Run, findings: &Findings, id: String) -> RunPage {
    let context = Context { run, findings, sections };
    let marks = marks(sections, &[run], findings.limit_ns);
    let mut page = Page::new(id, marks);
    for section in sections {
        section.page(&context, &mut page);
        page.add(Place::Notes, paragraphs("note", &section.notes(&context)));
    }
    RunPage { data: script_data::of_run(run, marks), ..page.finish(marks.words.distribution) }
}

/// The marks and terms that all plots of `runs` share.
pub(super) fn marks(sections: &[&dyn Section], runs: &[&Run], limit_ns: Option<u64>) -> Marks {
    let readings = Readings::of_runs(runs);
    Marks { limit_ns, mark: plot::mark(runs), readings, words: sections::words(sections, readings) }
}
