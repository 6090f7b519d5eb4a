//! Texts about the published results: the list, one result, and a run compared with one result.

use tardy_analyse::published::{Match, PublishedResult, what};

use super::{LABEL_MAX, highest, sides, table};
use crate::table::Table;
use crate::terminal_text::{capitalised, folded};
use tardy_plot::numbers::{count, harmless, short, three_digits};

/// All published results, a line each.
pub fn list(results: &[PublishedResult], width: usize) -> String {
    let mut table = Table::of_words(&["published:", "max, us", "board and kernel", "wake or level"]);
    for one in results {
        let how = one.wake.as_ref().or(one.level.as_ref()).or(one.probe.as_ref());
        table.push(vec![
            harmless(&one.id),
            highest(&one.figures()).unwrap_or_else(|| "-".to_owned()),
            harmless(&what(one)),
            how.map(|text| harmless(text)).unwrap_or_default(),
        ]);
    }
    table.lines(width).join("\n") + "\n"
}

/// One published result: its figures, its circumstances, its caveats, and what may be concluded.
pub fn whole(one: &PublishedResult, width: usize) -> String {
    let mut lines = vec![harmless(&one.id)];
    lines.extend(folded(&format!("From \"{}\".", harmless(&one.source)), width));
    lines.push(String::new());
    let mut table = Table::of_words(&["", ""]);
    let us = |us: Option<f64>| us.map(|us| format!("{} us", three_digits(us)));
    let text = |text: &Option<String>| text.as_deref().map(harmless);
    let real_time = one.preempt_rt.map(|rt| if rt { "yes" } else { "no" }.to_owned());
    for (name, value) in [
        ("highest", highest(&one.figures()).map(|max| format!("{max} us"))),
        ("mean", us(one.avg_us)),
        ("lowest", us(one.min_us)),
        ("most frequent", us(one.mode_us)),
        ("from edge to edge", one.toggle_ns.map(|ns| format!("{} ns", three_digits(ns)))),
        ("hole every", us(one.interference_period_us)),
        ("hole of", us(one.interference_length_us)),
        ("stimulus, half a period", us(one.stimulus_half_period_us)),
        ("cycle", us(one.cycle_us)),
        ("slots", (!one.slots_us.is_empty()).then(|| slots(&one.slots_us))),
        ("CPU's temperature", one.cpu_temperature_c.map(|[from, to]| format!("{from} to {to} °C"))),
        ("language", text(&one.language)),
        ("board", text(&one.board)),
        ("CPUs", one.cpus.map(|cpus| cpus.to_string())),
        ("kernel", text(&one.kernel)),
        ("PREEMPT_RT", real_time),
        ("Xenomai", text(&one.xenomai)),
        ("level", text(&one.level)),
        ("load", text(&one.load)),
        ("wake method", text(&one.wake)),
        ("interval", us(one.interval_us)),
        ("priority", one.priority.map(|priority| priority.to_string())),
        ("duration", text(&one.duration)),
        ("samples", one.samples.or(one.samples_per_thread).map(count)),
        ("command", text(&one.command)),
    ] {
        if let Some(value) = value {
            table.push(vec![format!("  {name}"), value]);
        }
    }
    lines.extend(table.lines(width).into_iter().skip(1));
    for caveat in caveats(one) {
        lines.push(String::new());
        lines.extend(folded(&caveat, width));
    }
    lines.join("\n") + "\n"
}

fn slots(slots_us: &[f64]) -> String {
    let each: Vec<String> = slots_us.iter().map(|us| format!("{} us", three_digits(*us))).collect();
    each.join(", ")
}

/// Caveats that apply to the figures.
fn caveats(one: &PublishedResult) -> Vec<String> {
    let mut caveats: Vec<String> = Vec::new();
    if let (Some(wake), Some(published)) = (&one.wake, &one.wake_as_published)
        && wake != published
    {
        caveats.push(format!(
            "The article calls the wake method {}, but its command used {}: it confuses two options of cyclictest.",
            harmless(published),
            harmless(wake)
        ));
    }
    if let Some(missing) = one.missing_cycles_percent {
        caveats.push(format!(
            "{missing} % of the periods have no sample: duration divided by interval is larger than the number of samples. They \
             passed during late wake-ups, so the mean and the shares of late wake-ups look better than they were."
        ));
    }
    if !one.approx.is_empty() {
        caveats.push(format!("Stated as about or almost: {}.", harmless(&one.approx.join(", "))));
    }
    caveats.extend(one.remarks().iter().map(|note| format!("{}.", capitalised(&harmless(note)))));
    caveats.push(
        "The highest value is the worst case on one board in that time, not a bound: a longer measurement finds a later \
         wake-up. It does not show which kernel is better on other boards."
            .to_owned(),
    );
    caveats
}

/// A run compared with one published result: the figures of both, and every circumstance.
pub fn compared(one: &Match, width: usize) -> String {
    let mut lines = table(std::slice::from_ref(one)).lines(width);
    lines.push(String::new());
    if one.ours.is_empty() {
        lines.push("This run measured nothing comparable.".to_owned());
        return lines.join("\n") + "\n";
    }
    let mut table = Table::of_words(&["", "published", "here", ""]);
    for row in &one.circumstances {
        let [published, ours] = sides(row);
        let short = |text: String| short(&text, LABEL_MAX);
        table.push(vec![row.name.to_owned(), short(published), short(ours), row.sameness.name().to_owned()]);
    }
    lines.extend(table.lines(width));
    for remark in &one.remarks {
        lines.push(String::new());
        lines.extend(folded(&format!("{}.", capitalised(&harmless(remark))), width));
    }
    lines.push(String::new());
    lines.extend(folded(
        "A published maximum is from another board and another duration: if circumstances differ, the two numbers do not \
         compare the kernels.",
        width,
    ));
    lines.join("\n") + "\n"
}
