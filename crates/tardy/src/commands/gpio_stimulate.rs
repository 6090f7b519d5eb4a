//! `tardy gpio stimulate`: edges for another board, and how long that one took to answer them.

use anyhow::{Context, Result, anyhow};
use tardy_analyse::row;
use tardy_host::gpio::chips;
use tardy_measure::pins::{Stimulated, Stimulation, stimulate};
use tardy_present::latency::{self, count, microseconds};
use tardy_record::Series;
use tardy_record::pins::Line;
use tardy_record::units::parse_duration_ns;

use super::output;
use crate::args::GpioStimulateArgs;
use crate::exit::Exit;
use crate::resolve::wrong;
use crate::resolve_stimulus;

/// Drives the line until the time is over, or Ctrl-C.
pub(crate) fn run(arguments: &GpioStimulateArgs) -> Result<Exit> {
    let chips = chips::all().map_err(|reason| anyhow!(reason))?;
    let line = |key: &'static str, text: &str| -> Result<Line> {
        let found = chips::find(text.trim(), &chips).map_err(|reason| wrong(key, reason))?;
        found.taken().map_or(Ok(found.line), |reason| Err(wrong(key, reason).into()))
    };
    let out = line("out", &arguments.out)?;
    let echo = arguments.echo.as_deref().map(|text| line("echo", text)).transpose()?;
    if echo.as_ref() == Some(&out) {
        return Err(wrong("echo", "the answer needs a line of its own").into());
    }
    let period_ns = resolve_stimulus::period(Some(&arguments.period))?;
    let order = Stimulation {
        exe: std::env::current_exe()
            .context("tardy does not find its own program, which serves as the guard")?,
        line: out,
        echo,
        period_ns,
        dither_ns: resolve_stimulus::dither(arguments.dither.as_deref(), period_ns)?,
        seed: arguments.seed,
        duration_ns: match &arguments.duration {
            Some(text) => {
                Some(parse_duration_ns(text).map_err(|error| wrong("duration", error.to_string()))?)
            }
            None => None,
        },
    };
    output::tell(&format!(
        "{} is driven every {} us{}",
        order.line.place(),
        microseconds(period_ns as f64),
        if order.duration_ns.is_none() { "; Ctrl-C ends it" } else { "" }
    ));
    let done = stimulate(&order).map_err(|reason| anyhow!(reason))?;
    tell(&done)?;
    Ok(Exit::Done)
}

fn tell(done: &Stimulated) -> Result<()> {
    if let Some(refused) = &done.refused {
        output::tell(refused);
    }
    output::print(&format!("{} rising edges\n", count(done.rises)))?;
    done.answers.as_ref().map_or(Ok(()), |answers| output::print(&in_words(answers)))
}

/// How long the answers took.
fn in_words(answers: &Series) -> String {
    let row = row::of_series(answers);
    let us = |ns: Option<i64>| ns.map_or_else(|| "n/a".to_owned(), |ns| microseconds(ns as f64));
    let quantile = |level: &str| {
        let found = row.quantiles.iter().find(|quantile| quantile.level == level);
        latency::quantile(found.and_then(|quantile| quantile.value))
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
