//! Runs loads without a measurement: `tardy load NAME` reports the rates that this machine achieves.

use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use tardy_record::load::LoadResult;
use tardy_record::load_spec::LoadSpec;
use tardy_sys::signals::{EndSignals, wait_readable};

use super::{LoadContext, LoadError, Loads};

/// The time between two reports of the rates.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Runs the loads for `duration`, or until SIGINT, SIGTERM or SIGHUP if it is `None`. Writes the rates to `progress`
/// every second, and the totals at the end. Ends early if every part has died. Returns the results, including deaths.
///
/// Blocks the three signals in this thread permanently, so it is for a process that does nothing else.
///
/// # Errors
/// Those of [`Loads::start`].
pub fn run_alone(
    specs: &[LoadSpec],
    context: &LoadContext,
    duration: Option<Duration>,
    progress: &mut dyn Write,
) -> Result<Vec<LoadResult>, LoadError> {
    let fail =
        |source| LoadError::Start { what: "signals cannot be waited for", path: context.exe.clone(), source };
    let signals = EndSignals::catch().map_err(fail)?;
    let mut tell = |text: &str| {
        let _ = writeln!(progress, "tardy: {text}");
    };
    let mut loads = Loads::start_telling(specs, context, &mut tell)?;
    let start = Instant::now();
    let mut teller = Teller::new(&loads);
    loads.begin_phase(0, 0);
    for second in 1.. {
        let next = TELL_EVERY * second;
        let wake = duration.map_or(next, |duration| duration.min(next));
        let asked_to_end = wait_until(start + wake, &signals).map_err(fail)?;
        loads.read(start.elapsed().as_nanos() as u64);
        // A closed pipe only ends the output; the load continues.
        let _ = teller.tell_rates(&loads, start.elapsed(), progress);
        if asked_to_end || duration.is_some_and(|duration| wake >= duration) || !loads.any_alive() {
            break;
        }
    }
    let lasted = start.elapsed();
    loads.end_phase(lasted.as_nanos() as u64);
    let results = loads.stop();
    let _ = tell_totals(&results, lasted, progress);
    Ok(results)
}

/// Waits until `deadline`; returns true if a signal arrived first.
fn wait_until(deadline: Instant, signals: &EndSignals) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        wait_readable(&[signals.as_raw_fd()], left.as_nanos() as u64)?;
        if signals.take().is_some() {
            return Ok(true);
        }
    }
}

/// The counts at the previous report.
struct Teller {
    at: Duration,
    done: Vec<u64>,
}

impl Teller {
    fn new(loads: &Loads) -> Self {
        Self { at: Duration::ZERO, done: loads.latest().map(|(.., done, _)| done).collect() }
    }

    fn tell_rates(&mut self, loads: &Loads, at: Duration, out: &mut dyn Write) -> io::Result<()> {
        let seconds = (at - self.at).as_secs_f64().max(1e-9);
        let mut line = format!("{:4.0} s", at.as_secs_f64());
        for ((name, unit, done, alive), before) in loads.latest().zip(&mut self.done) {
            let rate = done.saturating_sub(*before) as f64 / seconds;
            *before = done;
            line += &match (alive, unit.is_empty()) {
                (false, _) => format!("  {name} dead"),
                (true, true) => format!("  {name} alive"),
                (true, false) => format!("  {name} {rate:.0} {unit}/s"),
            };
        }
        self.at = at;
        writeln!(out, "{line}")
    }
}

fn tell_totals(results: &[LoadResult], lasted: Duration, out: &mut dyn Write) -> io::Result<()> {
    let seconds = lasted.as_secs_f64();
    for result in results {
        writeln!(out, "{} for {seconds:.1} s:", result.spec)?;
        for part in &result.parts {
            let (first, last) = (part.done.first().copied(), part.done.last().copied());
            let done = last.unwrap_or_default().saturating_sub(first.unwrap_or_default());
            if !part.unit.is_empty() {
                let rate = done as f64 / seconds.max(1e-9);
                writeln!(out, "  {}: {done} {unit}, {rate:.0} {unit}/s", part.name, unit = part.unit)?;
            }
            for death in &part.deaths {
                writeln!(
                    out,
                    "  {}: died within {:.1} s: {}",
                    part.name,
                    death.at_ns as f64 / 1e9,
                    death.how
                )?;
            }
        }
        for remark in &result.remarks {
            writeln!(out, "  {remark}")?;
        }
    }
    out.flush()
}
