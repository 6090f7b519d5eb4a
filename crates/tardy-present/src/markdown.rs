//! A run as a few lines of Markdown, for a forum or a pull request.

use tardy_analyse::name::Readings;
use tardy_analyse::pool;
use tardy_plot::curve;
use tardy_plot::numbers::harmless;
use tardy_record::{Run, Series};

use crate::{bars, report};

/// The width of the histogram, in characters: forums show so many without a scroll bar.
const WIDTH: usize = 72;
/// The most lines of a histogram.
const HEIGHT: usize = 16;

/// `runs` as Markdown, with `link` behind them.
pub fn of(runs: &[&Run], link: &str) -> String {
    let mut text = String::new();
    for (run, name) in runs.iter().zip(curve::names(runs)) {
        if runs.len() > 1 {
            text += &format!("**{}**: ", escaped(&name));
        }
        text += &escaped(&report::first_screen(run).join(" · "));
        text += "\n\n```text\n";
        text += &histogram(run);
        text += "```\n\n";
    }
    let what = if runs.len() == 1 { "The report of this run" } else { "The comparison of these runs" };
    text + &format!("[{what}]({link})\n")
}

/// The histogram of the phase with the highest reading, all its series together.
fn histogram(run: &Run) -> String {
    let Some(worst) = run.own_series().filter(|series| series.max_ns.is_some()).max_by_key(|one| one.max_ns)
    else {
        return String::new();
    };
    let series: Vec<&Series> = run.own_series().filter(|series| series.phase == worst.phase).collect();
    let Ok(pool) = pool::of(&series) else { return String::new() };
    let title = match run.phases.get(worst.phase).filter(|_| run.phases.len() > 1) {
        Some(phase) => format!("{}\n", harmless(&phase.label)),
        None => String::new(),
    };
    let lines = bars::lines_within(&pool.histogram, Readings::of(worst).name(), WIDTH, HEIGHT);
    title + &lines.iter().map(|line| format!("{line}\n")).collect::<String>()
}

/// Text without the signs that Markdown reads.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for sign in harmless(text).chars() {
        if "\\`*_[]<>#|~".contains(sign) {
            escaped.push('\\');
        }
        escaped.push(sign);
    }
    escaped
}
