//! Where the threads of a run are placed on a machine with isolated CPUs or cpusets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the probe's processes, the loads and the helpers run. The default is a machine whose CPUs are all alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Placement {
    /// The housekeeping CPUs, which loads, helpers and unpinned threads use; empty if they use every CPU that tardy may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub housekeeping_cpus: Vec<u32>,
    /// The cgroups that the probe's processes move into, because their cpusets own measured CPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroups: Vec<ProbeCgroup>,
    /// CPUs that are not measured although the request was for all of them, and why; one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A cgroup whose cpuset owns measured CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCgroup {
    /// Its directory, such as `/sys/fs/cgroup/rt`.
    pub directory: String,
    /// The CPUs on which its process measures, in ascending order.
    pub cpus: Vec<u32>,
}

impl Placement {
    /// Whether nothing differs from a machine whose CPUs are all alike.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The directory of the cgroup in which a thread on `cpu` has to run; `None` if it may run in tardy's own.
    #[must_use]
    pub fn cgroup_of(&self, cpu: u32) -> Option<&str> {
        let owner = self.cgroups.iter().find(|cgroup| cgroup.cpus.contains(&cpu));
        owner.map(|cgroup| cgroup.directory.as_str())
    }

    /// The CPUs on which an unpinned thread that begins on `cpu` may run, of all numbers below `end`: the housekeeping CPUs, or, on
    /// another CPU, those that are none. The kernel leaves out what does not exist or belongs to another cpuset.
    #[must_use]
    pub fn companions(&self, cpu: u32, end: u32) -> Vec<u32> {
        let is_for_all =
            |cpu: u32| self.housekeeping_cpus.is_empty() || self.housekeeping_cpus.contains(&cpu);
        (0..end).filter(|other| is_for_all(*other) == is_for_all(cpu)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unpinned_thread_stays_among_cpus_of_its_kind() {
        let everywhere = Placement::default();
        assert_eq!(everywhere.companions(3, 4), [0, 1, 2, 3]);
        let isolated = Placement { housekeeping_cpus: vec![0, 1], ..Placement::default() };
        assert_eq!(isolated.companions(1, 4), [0, 1]);
        assert_eq!(isolated.companions(3, 4), [2, 3]);
    }

    #[test]
    fn a_cpu_belongs_to_the_cgroup_that_measures_it() {
        let rt = ProbeCgroup { directory: "/sys/fs/cgroup/rt".to_owned(), cpus: vec![2, 3] };
        let placement = Placement { cgroups: vec![rt], ..Placement::default() };
        assert_eq!(placement.cgroup_of(3), Some("/sys/fs/cgroup/rt"));
        assert_eq!(placement.cgroup_of(1), None);
    }
}
