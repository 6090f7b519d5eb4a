//! The cost of tardy itself, in one sentence.

use tardy_analyse::cost::WakeCost;
use tardy_record::plan::Wake;

use crate::section::{Context, Part, Section, Text};
use crate::terminal_text::Style;
use tardy_plot::numbers::{counted, per_cent, rounded, with_unit};

/// The cost of tardy itself.
pub struct Cost;

impl Section for Cost {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn text(&self, context: &Context<'_>, text: &mut Text) {
        let Some(cost) = &context.findings.cost else { return };
        let mut parts = Vec::new();
        match cost.per_wake.as_slice() {
            [one] => parts.push(per_cycle(one)),
            several => {
                parts.extend(several.iter().map(|one| format!("{} {}", one.wake.name(), per_cycle(one))));
            }
        }
        parts.push(counted(cost.page_faults, "page fault", "page faults"));
        parts.push(
            cost.migrations
                .map_or_else(|| "migrations unknown".to_owned(), |n| counted(n, "migration", "migrations")),
        );
        parts.push(counted(cost.involuntary_switches, "involuntary switch", "involuntary switches"));
        if let Some(share) = cost.housekeeping_share {
            let live = cost.live_view_share.map(|share| format!(" ({} for the live view)", per_cent(share)));
            parts.push(format!(
                "housekeeping took {} of cpu {}{} over the {} of the whole run",
                per_cent(share),
                context.run.plan.housekeeping_cpu,
                live.unwrap_or_default(),
                rounded(cost.whole_run_ns)
            ));
        }
        text.add_paragraph(Part::Background, Style::Plain, &format!("tardy itself: {}.", parts.join(", ")));
    }
}

fn per_cycle(one: &WakeCost) -> String {
    let spins = if one.wake == Wake::Busy { ", spinning throughout" } else { "" };
    format!("{} of CPU time per cycle{spins}", with_unit(one.cpu_ns_per_cycle))
}
