//! The tail: the share of readings at or above each value.

use tardy_analyse::name::Readings;

use crate::figures;
use crate::page::{Page, Place, figure, heading};
use crate::section::{Context, Section};
use crate::sections::distribution::drawn_of_many;
use tardy_plot::curve;

/// The tail.
pub struct Tail;

impl Section for Tail {
    fn name(&self) -> &'static str {
        "tail"
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let marks = page.marks();
        // The section on noise plots the lengths of gaps.
        if marks.readings == Readings::Gaps {
            return;
        }
        let curves = curve::curves(&[context.run]);
        let caption = format!(
            "The share of {} {}; both axes are logarithmic. A curve ends at its maximum; its slope towards the maximum \
             hints at what a longer run would find.{}",
            marks.readings.name(),
            marks.words.exceeding,
            drawn_of_many(context.run)
        );
        let plot = figures::exceedance(&page.plot_id("exceedance"), &curves, marks);
        if let Some(figure) = figure(plot, &caption) {
            page.add(Place::After, [heading(2, marks.words.tail), figure]);
        }
    }
}
