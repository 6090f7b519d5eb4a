//! The highest latency of each of many CPUs over time.

use tardy_analyse::name::Readings;
use tardy_record::Run;

use crate::cpu_map;
use crate::figures;
use crate::page::{Page, Place, figure, heading};
use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;
use crate::worst_cpus;

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
            "A row for each CPU, a column for each interval of time; the deeper the colour, the higher the {} of the \
             interval, on a logarithmic scale.",
            page.marks().words.peak
        );
        let plot =
            has_many(context.run).then(|| figures::cpus(&page.plot_id("cpus"), context.run, page.marks()));
        if let Some(figure) = figure(plot.flatten(), &caption) {
            page.add(Place::After, [heading(2, "CPUs over time"), figure]);
        }
    }
}

/// Whether `run` has so many CPUs that only the worst are drawn as curves.
fn has_many(run: &Run) -> bool {
    let mut names: Vec<&str> = run
        .own_series()
        .filter(|series| worst_cpus::are_of_cpus(Readings::of(series)))
        .map(|series| series.label.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len() > worst_cpus::SHOWN_MAX
}

fn title(context: &Context<'_>) -> String {
    crate::terminal_text::capitalised(&super::peaks(context.sections, context.run))
}
