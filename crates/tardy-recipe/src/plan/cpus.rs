//! The CPUs to measure, and the CPU of tardy's supervisor.

use super::machine::Machine;
use crate::usage_error::{UsageError, wrong};
use crate::values::CpuSelection;

/// The CPUs to measure, and what the user should know about those that are left out.
pub(super) fn measured(
    selection: &CpuSelection,
    machine: &Machine,
) -> Result<(Vec<u32>, Vec<String>), UsageError> {
    let cpus = match selection {
        CpuSelection::All => {
            let (cpus, remarks) = machine.cpus.all();
            return match (cpus.is_empty(), remarks.first()) {
                (false, _) => Ok((cpus, remarks)),
                (true, Some(reason)) => Err(wrong("cpus", reason)),
                (true, None) => Err(wrong("cpus", "no CPU is available to this process")),
            };
        }
        CpuSelection::Isolated if machine.cpus.isolated.is_empty() => {
            let reason = "no CPU is isolated; `tardy check --full` states how to isolate one";
            return Err(wrong("cpus", reason));
        }
        CpuSelection::Isolated => machine.cpus.isolated.clone(),
        CpuSelection::Housekeeping => machine.cpus.housekeeping(),
        CpuSelection::List(cpus) => cpus.clone(),
    };
    match cpus.iter().find_map(|cpu| machine.cpus.check(*cpu).err()) {
        Some(reason) => Err(wrong("cpus", reason)),
        None if cpus.is_empty() => {
            Err(wrong("cpus", "every CPU is isolated; name CPUs, or use --cpus isolated"))
        }
        None => Ok((cpus, Vec::new())),
    }
}

/// The CPU of tardy's supervisor: `given`, or the last housekeeping CPU that is not measured. If all of them are measured, the first,
/// which usually does the machine's housekeeping already.
pub(super) fn housekeeping(
    given: Option<u32>,
    measured: &[u32],
    machine: &Machine,
) -> Result<u32, UsageError> {
    if let Some(cpu) = given {
        return match machine.cpus.reachable.contains(&cpu) {
            true => Ok(cpu),
            false => {
                let reason = machine.cpus.check(cpu).err();
                let elsewhere = || format!("CPU {cpu} belongs to another cgroup than tardy's supervisor");
                Err(wrong("housekeeping_cpu", reason.unwrap_or_else(elsewhere)))
            }
        };
    }
    let candidates = machine.cpus.of_supervisor();
    let spare = candidates.iter().find(|cpu| !measured.contains(cpu));
    spare.or(candidates.last()).copied().ok_or_else(|| wrong("cpus", "no CPU is available to this process"))
}
