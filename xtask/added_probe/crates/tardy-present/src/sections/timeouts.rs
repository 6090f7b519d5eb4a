//! Phases in which the timeouts of poll(2) were measured.

use tardy_analyse::name::Readings;
use tardy_analyse::phases::PhaseFindings;
use tardy_record::Run;
use tardy_record::plan::{PhasePlan, ProbeKind, ProbePlan};
use tardy_record::units::format_duration_ns;

use super::phase_terms::PhaseWords;
use crate::page::{Page, Place, paragraphs};
use crate::section::{Context, Measurement, Part, Planned, Section, Text};
use crate::terminal_text::Style;

/// Timeouts of poll(2).
pub struct Timeouts;

impl Section for Timeouts {
    fn name(&self) -> &'static str {
        "timeouts"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let mut block = text.block();
        block.paragraphs(Style::Plain, &sentences(context));
        text.add(Part::Details, block);
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        page.add(Place::Breakdown, paragraphs("", &sentences(context)));
    }

    fn measurement(&self) -> Option<&dyn Measurement> {
        Some(self)
    }
}

impl Measurement for Timeouts {
    fn is_made_by(&self, probe: ProbeKind) -> bool {
        probe == ProbeKind::Timeout
    }

    /// Never: a timeout is a wake-up, which the section about timers describes.
    fn describes(&self, _readings: Readings) -> bool {
        false
    }

    fn method(&self, _run: &Run, phase: &PhaseFindings, _labelled: bool) -> Option<String> {
        Some(format!("poll(2) every {}", format_duration_ns(phase.period_ns?)))
    }

    fn sentence(&self, _phase: &PhaseFindings) -> Option<String> {
        None
    }

    fn planned(&self, plan: &PhasePlan) -> Planned {
        let mut planned = Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
        if let ProbePlan::Timeout(timeout) = &plan.probe {
            planned.intervals_ns = vec![timeout.period_ns];
        }
        planned
    }
}

/// The result of each phase of timeouts.
fn sentences(context: &Context<'_>) -> Vec<String> {
    let phases = context.findings.phases.iter();
    let timeouts = phases.filter(|phase| phase.probe == Some(ProbeKind::Timeout));
    timeouts.filter_map(sentence).collect()
}

fn sentence(phase: &PhaseFindings) -> Option<String> {
    let PhaseWords { max, count, over, under, .. } = PhaseWords::of(phase, "thread")?;
    Some(format!("In {count} timeouts{over} {under}, poll(2) returned at most {max} late."))
}
