//! A new feature needs only one file: a section that this test adds is shown in the terminal and on the page, without
//! changes to summaries, templates or lists of probes.

use crate::recorded::run;
use crate::shown::Shown;
use tardy_analyse::findings;
use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_plot::terms::{LATENCY, Terms};
use tardy_present::page::{Element, Page, PageTable, Place, heading};
use tardy_present::section::{Context, Measurement, Part, Planned, Section, Text};
use tardy_present::table::Table;
use tardy_present::{report, sections, summary};
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind};

const WORDS: Terms = Terms { distribution: "How loud", more: "louder", ..LATENCY };

/// A synthetic kind of measurement, which replaces that of the timer.
struct Loudness;

fn table(run: &Run) -> Table {
    let mut table = Table::new(&["loudness", "series, us"]);
    table.push(vec!["all".to_owned(), run.series.len().to_string()]);
    table
}

impl Section for Loudness {
    fn name(&self) -> &'static str {
        "loudness"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let mut block = text.block();
        block.titled_table("Loudness", &table(context.run));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let table = Element::Table(PageTable::typeset("", &table(context.run)));
        page.add(Place::After, [heading(2, "Loudness"), table]);
    }

    fn notes(&self, _context: &Context<'_>) -> Vec<String> {
        vec!["Loudness is not measured.".to_owned()]
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Loudness {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Timer
    }

    fn describes(&self, readings: Readings) -> bool {
        readings == Readings::WakeUps
    }

    fn words(&self) -> &'static Terms {
        &WORDS
    }

    fn method(&self, _run: &Run, _phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        Some("by ear".to_owned())
    }

    fn sentence(&self, phase: &PhaseFindings) -> Option<String> {
        Some(format!("{} series were heard.", phase.rows.len()))
    }

    fn planned(&self, _plan: &PhasePlan) -> Planned {
        Planned { wake: "ear".to_owned(), ..Planned::default() }
    }
}

/// All sections, with the new one before them.
fn with_loudness() -> Vec<&'static dyn Section> {
    [&Loudness as &dyn Section].into_iter().chain(sections::ALL.iter().copied()).collect()
}

#[test]
fn a_new_section_is_shown_in_the_terminal() {
    let run = run("rt");
    let found = findings::of(&run, &findings::Options::default());
    let text = summary::text_of(&with_loudness(), &run, &found, 80, false);
    for expected in [
        "\nLoudness\n\nloudness   series, us\nall                 2\n",
        "\nby ear, load doload, for 1m\n",
        "\nLoudness is not measured.\n",
        "\n2 series were heard.\n",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    assert!(!summary::text(&run, &found, 80, false).contains("oudness"));
}

#[test]
fn a_new_section_is_shown_on_the_page() {
    let run = run("rt");
    let html = report::html_of(&with_loudness(), &[&run], &findings::Options::default());
    let page = Shown::of(&html);
    let sections = page.sections();
    assert!(
        sections.contains(&"Loudness".to_owned()) && sections.contains(&"How loud".to_owned()),
        "{sections:?}"
    );
    assert_eq!(page.section("Loudness").tables()[0], [["loudness", "series, µs"], ["all", "2"]]);
    let text = page.text();
    assert!(
        text.contains("by ear, load doload, for 1m") && text.contains("Loudness is not measured."),
        "{text}"
    );
    assert!(text.contains("1 in 100 louder"), "{text}");
    assert!(
        page.section("The experiment").tables()[1][1].contains(&"ear".to_owned()),
        "the plan names the method"
    );
}
