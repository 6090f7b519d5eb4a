//! Where threads run, in the plan and in the report.

use tardy_plot::numbers::harmless;
use tardy_record::cpu_list;
use tardy_record::placement::Placement;

/// Where threads run on a machine with isolated CPUs or cpusets, and which CPUs are left out.
pub(crate) fn lines(placement: &Placement) -> Vec<String> {
    let mut lines = Vec::new();
    if !placement.housekeeping_cpus.is_empty() {
        lines.push(format!("loads run on CPU {}", cpu_list::format(&placement.housekeeping_cpus)));
    }
    lines.extend(placement.cgroups.iter().map(|cgroup| {
        format!(
            "CPU {} is measured in the cgroup {}",
            cpu_list::format(&cgroup.cpus),
            harmless(&cgroup.directory)
        )
    }));
    lines.extend(placement.remarks.iter().map(|remark| harmless(remark)));
    lines
}
