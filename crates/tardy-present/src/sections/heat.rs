//! The distribution over time.

use crate::figures;
use crate::page::{Page, Place, figure, heading};
use crate::section::{Context, Section};
use tardy_plot::worst_cpus;

/// The distribution over time.
pub struct Heat;

impl Section for Heat {
    fn name(&self) -> &'static str {
        "heat"
    }

    /// Of many CPUs, the section on CPUs adds it below their map, where both fit on a printed page.
    fn page(&self, context: &Context<'_>, page: &mut Page) {
        if !worst_cpus::has_many(context.run) {
            add(context, page);
        }
    }
}

/// Adds the distribution over time.
pub(super) fn add(context: &Context<'_>, page: &mut Page) {
    let marks = page.marks();
    let caption = format!(
        "Each column is an interval of time, each row a range of {}; the deeper the colour, the more {}, on a \
             logarithmic scale.",
        marks.words.values,
        marks.readings.name()
    );
    let plot = figures::heat(&page.plot_id("heat"), context.run, marks);
    if let Some(figure) = figure(plot, &caption) {
        page.add(Place::After, [heading(2, "Distribution over time"), figure]);
    }
}
