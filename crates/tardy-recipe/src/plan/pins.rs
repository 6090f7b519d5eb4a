//! GPIO lines and the CPU of the thread that uses them.

use tardy_host::gpio::chips;
use tardy_record::line_name::LineName;
use tardy_record::pins::Line;
use tardy_record::plan::TimerPlan;

use super::machine::{Machine, Pins};
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};
use crate::values::CpuSelection;

/// The line that the option `key` of `probe` must name.
pub(super) fn required_line(
    probe: &str,
    key: &'static str,
    name: Option<&LineName>,
    machine: &Machine,
) -> Result<Line, UsageError> {
    let needs = || {
        let reason =
            format!("{probe} needs a line, for example --{key} gpiochip0:17; `tardy gpio list` lists them");
        wrong(key, reason)
    };
    line(key, name.ok_or_else(needs)?, machine)
}

/// The line that the option `key` names.
pub(super) fn line(key: &'static str, name: &LineName, machine: &Machine) -> Result<Line, UsageError> {
    let found = match &machine.pins {
        Pins::Known(chips) => chips::find(name, chips).map_err(|reason| wrong(key, reason))?,
        Pins::Elsewhere => return Ok(chips::elsewhere(name)),
    };
    match found.taken() {
        Some(reason) => Err(wrong(key, reason)),
        None => Ok(found.line),
    }
}

/// The CPU of the only thread that uses the lines: as given, or the last that this process may use, because most interrupts go
/// to the first.
pub(super) fn cpu(recipe: &Recipe, timer: &TimerPlan) -> Result<u32, UsageError> {
    match timer.threads.as_slice() {
        [one] => Ok(one.cpu),
        [.., last] if *recipe.timer.cpus() == CpuSelection::All => Ok(last.cpu),
        _ => Err(wrong("cpus", "one thread uses the GPIO lines; give one CPU, or remove the option")),
    }
}
