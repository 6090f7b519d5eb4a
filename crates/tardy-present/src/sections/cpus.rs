//! The highest latency of each of many CPUs over time.

use crate::figures;
use crate::page::{Page, Place, figure, heading};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;
use tardy_plot::cpu_map;
use tardy_plot::worst_cpus::has_many;

/// Many CPUs over time.
pub struct Cpus;

impl Section for Cpus {
    fn name(&self) -> &'static str {
        "cpus"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        if !has_many(context.run) {
            return;
        }
        let lines = cpu_map::lines(context.run, text.width());
        if !lines.is_empty() {
            let mut block = text.block();
            block.line(Style::Plain, &format!("{} by CPU and time", title(context)));
            block.line(Style::Plain, "");
            lines.iter().for_each(|line| block.line(Style::Plain, line));
            text.add(Part::Details, block);
        }
    }

    fn page(&self, context: &Context<'_>, page: &mut Page) {
        let caption = format!(
            "A row for each CPU, a column for each interval of time. The colour shows the {} of the interval on a \
             logarithmic scale.",
            page.marks().words.peak
        );
        let plot =
            has_many(context.run).then(|| figures::cpus(&page.plot_id("cpus"), context.run, page.marks()));
        if let Some(figure) = figure(plot.flatten(), &caption) {
            page.add(Place::After, [heading(2, "CPUs over time"), figure]);
        }
        if has_many(context.run) {
            super::heat::add(context, page);
        }
    }
}

fn title(context: &Context<'_>) -> String {
    crate::terminal_text::capitalised(&super::peaks(context.sections, context.run))
}
