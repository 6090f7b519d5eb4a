//! Maxima over time, above loads and environment on the same time axis.

use tardy_record::event::EventKind;

use super::peaks;
use crate::figures;
use crate::page::{Page, Place, figure, heading};
use crate::section::{Context, Section};

/// Maxima over time.
pub struct Timeline;

impl Section for Timeline {
    fn name(&self) -> &'static str {
        "timeline"
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let has_marks = context.run.events.iter().any(|event| event.kind == EventKind::Mark);
        let caption = format!(
            "The {} of each interval. Below, on the same time axis: the work of the loads and the state of the machine. \
             The dotted line marks the highest value. Ticks on the first axis mark checkpoints, since writing the run \
             file is also a load.{}",
            page.marks().words.peak,
            if has_marks {
                " Named dotted lines are moments that the user marked during the run."
            } else {
                ""
            }
        );
        let peaks = peaks(context.sections, context.run);
        let plot = figures::timeline(&page.plot_id("timeline"), context.run, &peaks, page.marks());
        if let Some(figure) = figure(plot, &caption) {
            page.add(Place::After, [heading(2, "Timeline"), figure]);
        }
    }
}
