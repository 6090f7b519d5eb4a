//! Timers whose interval is in step with periodic noise.

use tardy_analyse::phase_lock::{InStep, Instead};
use tardy_record::units::format_duration_ns;

use crate::section::{Context, Section};
use tardy_plot::numbers::{harmless, period_text};

/// Timers in step with noise.
pub struct PhaseLock;

impl Section for PhaseLock {
    fn name(&self) -> &'static str {
        "phase lock"
    }

    fn notes(&self, context: &Context<'_>) -> Vec<String> {
        warnings(&context.findings.in_step)
    }
}

/// A warning for each interval that is in step with periodic noise, with what to do.
pub fn warnings(found: &[InStep]) -> Vec<String> {
    found.iter().map(warning).collect()
}

fn warning(found: &InStep) -> String {
    let several = |n: u32, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let with: Vec<String> = (found.with.iter())
        .map(|source| {
            let name = source.name.as_ref().map_or_else(String::new, |name| format!(" ({})", harmless(name)));
            let period = period_text(source.period_ns, source.period_ns * 1e-4);
            let (intervals, periods) =
                (several(source.intervals, "interval"), several(source.periods, "period"));
            format!("{intervals} for {periods} of {period}{name}")
        })
        .collect();
    let instead = match found.instead {
        Instead::DitherNs(ns) => {
            format!("--dither {} spreads its deadlines over all phases", format_duration_ns(ns))
        }
        Instead::IntervalNs(ns) => format!("--interval {} avoids this", format_duration_ns(ns)),
    };
    format!(
        "The timer of {} is in step with periodic noise: {}. It always meets the noise at the same phases, or never meets \
         it, so other phases are not measured; {instead}.",
        format_duration_ns(found.interval_ns),
        with.join("; ")
    )
}
