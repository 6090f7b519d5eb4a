//! A measuring thread takes its seat: its CPU, and its scheduling policy as far as that is granted.

use tardy_record::plan::Policy;
use tardy_sys::scheduling::{self, Scheduling};

use super::order::Granted;
use super::timer::refusal;

/// Pins this thread to `cpu`, unless it only pretends (`fake`), and gives it `policy`. One that is refused leaves the
/// thread as SCHED_OTHER: a degraded measurement that says so helps more than none. What was granted, and what was
/// refused, in words.
///
/// # Errors
/// If its CPU cannot be had at all.
pub(super) fn take(
    cpu: u32,
    policy: Policy,
    priority: u32,
    fake: bool,
) -> Result<(Granted, Vec<String>), String> {
    if !fake {
        scheduling::set_affinity(&[cpu]).map_err(|error| {
            format!(
                "cpu {cpu} cannot be had: {error}; see `tardy check` for the CPUs online, and this process's cpuset"
            )
        })?;
    }
    let wanted = match policy {
        Policy::Fifo => Scheduling::Fifo(priority),
        Policy::Rr => Scheduling::Rr(priority),
        Policy::Other | Policy::Deadline => Scheduling::Other,
    };
    let granted = Granted { policy, priority, pinned: true };
    let Err(error) = scheduling::set(wanted) else { return Ok((granted, Vec::new())) };
    scheduling::set(Scheduling::Other).map_err(|error| format!("SCHED_OTHER was refused: {error}"))?;
    Ok((Granted { policy: Policy::Other, priority: 0, pinned: true }, vec![refusal(policy, &error)]))
}
