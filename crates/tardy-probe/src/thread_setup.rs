//! Sets up a measuring thread: its CPU, and its scheduling policy if granted.

use tardy_record::plan::Policy;
use tardy_sys::scheduling::{self, Scheduling};

use super::order::Granted;
use super::timer::{refusal, set_other};

/// Pins this thread to `cpu`, unless it is a `fake`, and sets `policy`. If the policy is refused, the thread runs as
/// SCHED_OTHER: a degraded measurement that is reported as such is better than none. Returns the granted scheduling,
/// and messages for the user about refused requests.
///
/// # Errors
/// If the CPU is not available.
pub(super) fn set_up(
    cpu: u32,
    policy: Policy,
    priority: u32,
    fake: bool,
) -> Result<(Granted, Vec<String>), String> {
    if !fake {
        scheduling::set_affinity(&[cpu]).map_err(|error| {
            format!(
                "cannot pin to CPU {cpu}: {error}; `tardy check --full` lists the CPUs online and this process's cpuset"
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
    set_other()?;
    Ok((Granted { policy: Policy::Other, priority: 0, pinned: true }, vec![refusal(policy, &error)]))
}
