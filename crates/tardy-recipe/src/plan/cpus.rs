//! The CPUs to measure, and the CPU of tardy's supervisor.

use super::machine::Machine;
use crate::usage_error::{UsageError, wrong};
use crate::values::CpuSelection;

/// The CPUs to measure.
pub(super) fn measured(selection: &CpuSelection, machine: &Machine) -> Result<Vec<u32>, UsageError> {
    let CpuSelection::List(cpus) = selection else { return Ok(machine.allowed.clone()) };
    match cpus.iter().find(|cpu| !machine.allowed.contains(cpu)) {
        Some(cpu) => Err(wrong("cpus", machine.no_such_cpu(*cpu))),
        None => Ok(cpus.clone()),
    }
}

/// The CPU of tardy's supervisor: `given`, or the last CPU that is not measured. If all CPUs are measured, the first, which
/// usually does the machine's housekeeping already.
pub(super) fn housekeeping(
    given: Option<u32>,
    measured: &[u32],
    machine: &Machine,
) -> Result<u32, UsageError> {
    if let Some(cpu) = given {
        return match machine.allowed.contains(&cpu) {
            true => Ok(cpu),
            false => Err(wrong("housekeeping_cpu", machine.no_such_cpu(cpu))),
        };
    }
    let spare = machine.allowed.iter().rev().find(|cpu| !measured.contains(cpu));
    spare
        .or(machine.allowed.first())
        .copied()
        .ok_or_else(|| wrong("cpus", "no CPU is available to this process"))
}
