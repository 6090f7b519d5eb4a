//! `tardy gpio stimulate`: generates edges for another board, and times its answers.

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tardy_analyse::row::{self, Row};
use tardy_host::gpio::chips;
use tardy_measure::pins::{Stimulated, Stimulation, stimulate};
use tardy_plot::numbers::{self, count, microseconds};
use tardy_recipe::plan::{dither_ns, period_ns};
use tardy_recipe::wrong;
use tardy_record::Series;
use tardy_record::line_name::LineName;
use tardy_record::pins::Line;

use tardy_args::GpioStimulateArgs;
use tardy_command::{Exit, output};

/// The result as JSON.
#[derive(Serialize)]
struct Answer {
    /// Rising edges of the line.
    rises: u64,
    /// The answers, in ns from the driven to the echoed edge; `None` without `--echo`.
    answers: Option<Row>,
}

/// Drives the line for the duration, or until Ctrl-C.
pub(crate) fn run(arguments: &GpioStimulateArgs) -> Result<Exit> {
    let chips = chips::all().map_err(|reason| anyhow!(reason))?;
    let line = |key: &'static str, name: &LineName| -> Result<Line> {
        let found = chips::find(name, &chips).map_err(|reason| wrong(key, reason))?;
        found.taken().map_or(Ok(found.line), |reason| Err(wrong(key, reason).into()))
    };
    let out = line("out", &arguments.out)?;
    let echo = arguments.echo.as_ref().map(|name| line("echo", name)).transpose()?;
    if echo.as_ref() == Some(&out) {
        return Err(wrong("echo", "is the line of --out; the answer needs a separate line").into());
    }
    let period_ns = period_ns(arguments.period)?;
    let order = Stimulation {
        exe: std::env::current_exe().context("cannot find the path of this program, which runs the guard")?,
        line: out,
        echo,
        period_ns,
        dither_ns: dither_ns(arguments.dither, period_ns)?,
        seed: arguments.seed,
        duration_ns: arguments.duration.map(|duration| duration.ns()),
    };
    output::report(&format!(
        "driving {} every {} us{}",
        order.line.place(),
        microseconds(period_ns as f64),
        if order.duration_ns.is_none() { "; Ctrl-C ends it" } else { "" }
    ));
    let done = stimulate(&order).map_err(|reason| anyhow!(reason))?;
    report(&done, arguments.json)?;
    Ok(Exit::Done)
}

fn report(done: &Stimulated, json: bool) -> Result<()> {
    if let Some(refused) = &done.refused {
        output::report(refused);
    }
    if json {
        let answers = done.answers.as_ref().map(row::of_series);
        return output::print_json(&Answer { rises: done.rises, answers });
    }
    output::print(&format!("{} rising edges\n", count(done.rises)))?;
    done.answers.as_ref().map_or(Ok(()), |answers| output::print(&describe(answers)))
}

/// The number and the latency of the answers, for the user.
fn describe(answers: &Series) -> String {
    let row = row::of_series(answers);
    let us = |ns: Option<i64>| ns.map_or_else(|| "n/a".to_owned(), |ns| microseconds(ns as f64));
    let quantile = |level: &str| {
        let found = row.quantiles.iter().find(|quantile| quantile.level == level);
        numbers::quantile(found.and_then(|quantile| quantile.value))
    };
    let missed = answers.tally.missed.get().unwrap_or(0);
    format!(
        "{} answered, {} not; driven to echoed, us: min {}, p50 {}, p99 {}, p99.9 {}, max {}\n",
        count(answers.tally.recorded),
        count(missed),
        us(row.min_ns),
        quantile("p50"),
        quantile("p99"),
        quantile("p99.9"),
        us(row.max_ns),
    )
}
