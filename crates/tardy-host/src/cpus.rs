//! The CPUs of this machine: which can be measured, which are isolated, and which are left for everything else.
//!
//! The affinity that a shell inherited is not the list of CPUs that can be measured. `isolcpus=` leaves the isolated CPUs out of the
//! affinity of process 1, and so of every process, and sched_setaffinity(2) to them succeeds all the same. A CPU in a cpuset
//! partition (Documentation/admin-guide/cgroup-v2.rst, "Cpuset") accepts only threads of the cgroup that owns it. So the list is made of the
//! CPUs online, and of what the kernel accepts.

use tardy_record::cpu_list;
use tardy_record::placement::{Placement, ProbeCgroup};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;

use crate::container;

/// Where cgroup v2 is mounted.
const CGROUPS: &str = "/sys/fs/cgroup";
/// The file through which a process moves into a cgroup.
const PROCESSES: &str = "cgroup.procs";
/// The number of directories in which partitions are searched for. A cgroup without the cpuset controller is none of them.
const CGROUPS_MAX: usize = 4096;

/// The CPUs of a machine, as this process sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Those that are online, in ascending order.
    pub online: Vec<u32>,
    /// Those of them to which a thread of this process can be pinned without leaving its cgroup.
    pub reachable: Vec<u32>,
    /// Those that are isolated at boot (`isolcpus=`) or by an isolated partition.
    pub isolated: Vec<u32>,
    /// The mask of this process, if somebody narrowed it on purpose, as taskset(1) does: it differs from that of process 1.
    pub chosen: Option<Vec<u32>>,
    /// The partitions of cpusets, the innermost first.
    pub partitions: Vec<Partition>,
    /// The container that this process runs in.
    pub container: Option<String>,
}

/// A cpuset that owns CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The directory of its cgroup.
    pub directory: String,
    /// The CPUs that its processes may use, in ascending order.
    pub cpus: Vec<u32>,
    /// Whether its CPUs are isolated.
    pub is_isolated: bool,
    /// Whether this process may move processes into it.
    pub is_open: bool,
    /// Whether the user named it.
    is_named: bool,
}

impl Cpus {
    /// CPUs that are alike, all of them available.
    #[must_use]
    pub fn alike(online: Vec<u32>) -> Self {
        Self { reachable: online.clone(), online, ..Self::default() }
    }

    /// The CPUs of this machine.
    ///
    /// # Errors
    /// If the kernel does not tell this process's CPUs: a message for the user.
    pub fn of_this_process(files: &KernelFiles) -> Result<Self, String> {
        let own = scheduling::affinity()
            .map_err(|error| format!("cannot read which CPUs this process may use: {error}"))?;
        let reachable = reachable().unwrap_or_else(|| own.clone());
        let online = listed(files, "/sys/devices/system/cpu/online").unwrap_or_else(|| reachable.clone());
        let partitions = partitions(files);
        let first = scheduling::affinity_of(1).ok();
        let is_inherited = first.as_ref().is_none_or(|first| *first == own);
        Ok(Self {
            isolated: isolated(files, &partitions, &online),
            reachable,
            online,
            chosen: (!is_inherited).then_some(own),
            partitions,
            container: container::name(files),
        })
    }

    /// The same CPUs, where those of the cgroup `directory`, an absolute path or a name under /sys/fs/cgroup, are measured from within it.
    ///
    /// # Errors
    /// If it is not a cgroup with a cpuset: a message for the user.
    pub fn within(mut self, files: &KernelFiles, directory: &str) -> Result<Self, String> {
        let directory = match directory.starts_with('/') {
            true => directory.trim_end_matches('/').to_owned(),
            false => format!("{CGROUPS}/{}", directory.trim_end_matches('/')),
        };
        if !files.exists(&format!("{directory}/{PROCESSES}")) {
            return Err(format!(
                "{directory} is not a cgroup; expected a directory with {PROCESSES}, such as {CGROUPS}/rt"
            ));
        }
        // cgroup v2, and v1.
        let lists = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"];
        let cpus = lists.iter().find_map(|list| listed(files, &format!("{directory}/{list}")));
        let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
            return Err(format!(
                "{directory} has no cpuset; enable it with: echo +cpuset > {}/cgroup.subtree_control",
                parent_of(&directory)
            ));
        };
        let is_isolated = cpus.iter().all(|cpu| self.isolated.contains(cpu));
        let partition = Partition {
            is_open: is_open(files, &directory),
            directory,
            cpus,
            is_isolated,
            is_named: true,
        };
        self.partitions.insert(0, partition);
        Ok(self)
    }

    /// All CPUs to measure: those that are online and can be measured, isolated ones included, unless the mask of this process was narrowed on
    /// purpose. Also what the user should know about the others, a sentence each.
    #[must_use]
    pub fn all(&self) -> (Vec<u32>, Vec<String>) {
        if let Some(named) = self.partitions.iter().find(|partition| partition.is_named) {
            return (named.cpus.clone(), Vec::new());
        }
        if let Some(chosen) = &self.chosen {
            let others = without(&self.online, chosen);
            let remark = format!(
                "CPU {} not measured: tardy was started with an affinity of CPU {}, as taskset does; --cpus names others",
                cpu_list::format(&others),
                cpu_list::format(chosen)
            );
            return (chosen.clone(), if others.is_empty() { Vec::new() } else { vec![remark] });
        }
        let (measured, others): (Vec<u32>, Vec<u32>) =
            self.online.iter().partition(|cpu| self.check(**cpu).is_ok());
        let remarks = others.iter().filter_map(|cpu| self.check(*cpu).err());
        (measured, remarks.map(|reason| format!("not measured: {reason}")).collect())
    }

    /// Those online that are not isolated.
    #[must_use]
    pub fn housekeeping(&self) -> Vec<u32> {
        without(&self.online, &self.isolated)
    }

    /// Checks that `cpu` can be measured.
    ///
    /// # Errors
    /// Why not: a message for the user.
    pub fn check(&self, cpu: u32) -> Result<(), String> {
        if !self.online.contains(&cpu) {
            let online = cpu_list::format(&self.online);
            return Err(format!("CPU {cpu} does not exist or is offline; online: {online}"));
        }
        if self.reachable.contains(&cpu) && self.owner(cpu).is_none_or(|owner| !owner.is_named) {
            return Ok(());
        }
        let available = cpu_list::format(&self.reachable);
        match (self.owner(cpu), &self.container) {
            (Some(owner), _) if owner.is_open => Ok(()),
            (Some(owner), _) => Err(format!(
                "CPU {cpu} belongs to the cgroup {0}, and this user may not move a process there; run tardy as root, or give this user \
                 {0}/{PROCESSES}",
                owner.directory
            )),
            (None, Some(container)) => Err(format!(
                "CPU {cpu} is online, but the cpuset of this container ({container}) leaves it out; available: {available}. Start the \
                 container with --cpuset-cpus"
            )),
            (None, None) => Err(format!(
                "CPU {cpu} is online, but the cpuset of tardy's cgroup leaves it out; available: {available}. --cgroup names a cgroup \
                 that has it"
            )),
        }
    }

    /// Where the threads of a run on `measured` are placed.
    #[must_use]
    pub fn placement(&self, measured: &[u32], remarks: Vec<String>) -> Placement {
        let mut cgroups: Vec<ProbeCgroup> = Vec::new();
        for cpu in measured {
            let Some(owner) = self.cgroup_of(*cpu) else { continue };
            match cgroups.iter_mut().find(|cgroup| cgroup.directory == owner) {
                Some(cgroup) => cgroup.cpus.push(*cpu),
                None => cgroups.push(ProbeCgroup { directory: owner.to_owned(), cpus: vec![*cpu] }),
            }
        }
        Placement { housekeeping_cpus: self.load_cpus(), cgroups, remarks }
    }

    /// The cgroup that a thread on `cpu` has to run in; `None` if it may run in this process's.
    #[must_use]
    pub fn cgroup_of(&self, cpu: u32) -> Option<&str> {
        let owner = self.owner(cpu)?;
        (owner.is_named || !self.reachable.contains(&cpu)).then_some(owner.directory.as_str())
    }

    /// The CPUs of loads and helpers: the housekeeping CPUs that this process can use; empty, for every CPU, if no CPU is isolated or there
    /// is no other.
    #[must_use]
    pub fn load_cpus(&self) -> Vec<u32> {
        match self.isolated.iter().any(|cpu| self.reachable.contains(cpu)) {
            true => without(&self.reachable, &self.isolated),
            false => Vec::new(),
        }
    }

    /// The CPUs that the supervisor may use, the best first: housekeeping CPUs in the mask of this process, in descending order, or any
    /// others.
    #[must_use]
    pub fn of_supervisor(&self) -> Vec<u32> {
        let candidates = |cpus: &[u32]| -> Vec<u32> {
            let mut cpus = without(cpus, &self.isolated);
            cpus.reverse();
            cpus
        };
        let chosen = self.chosen.as_deref().map(candidates).unwrap_or_default();
        let chosen: Vec<u32> = chosen.into_iter().filter(|cpu| self.reachable.contains(cpu)).collect();
        let rest = candidates(&self.reachable);
        match (chosen.is_empty(), rest.is_empty()) {
            (false, _) => chosen,
            (true, false) => rest,
            (true, true) => self.reachable.iter().rev().copied().collect(),
        }
    }

    /// The CPUs on which the kernel schedules a thread of `cpu` and its companions: one scheduling domain of deadline tasks.
    #[must_use]
    pub fn domain_of(&self, cpu: u32) -> Vec<u32> {
        if let Some(owner) = self.owner(cpu) {
            return owner.cpus.clone();
        }
        let is_isolated = self.isolated.contains(&cpu);
        self.reachable.iter().copied().filter(|other| self.isolated.contains(other) == is_isolated).collect()
    }

    /// The partition that owns `cpu`.
    fn owner(&self, cpu: u32) -> Option<&Partition> {
        self.partitions.iter().find(|partition| partition.cpus.contains(&cpu))
    }
}

/// The CPUs to which a thread of this process can be pinned: the kernel reduces a request for every CPU to them. The mask of this thread
/// stays as it is; that of another one, which ends here, changes.
fn reachable() -> Option<Vec<u32>> {
    let every = || scheduling::set_affinity_to_all().and_then(|()| scheduling::affinity());
    std::thread::spawn(every).join().ok()?.ok()
}

/// The list of CPUs in a file; `None` if there is no such file, or its content is not a list.
pub(crate) fn listed(files: &KernelFiles, path: &str) -> Option<Vec<u32>> {
    cpu_list::parse(files.text(path).ok()?.trim())
}

/// CPUs isolated at boot or by a partition.
fn isolated(files: &KernelFiles, partitions: &[Partition], online: &[u32]) -> Vec<u32> {
    let at_boot = listed(files, "/sys/devices/system/cpu/isolated").unwrap_or_default();
    let in_partitions = partitions.iter().filter(|one| one.is_isolated).flat_map(|one| one.cpus.clone());
    let mut cpus: Vec<u32> =
        at_boot.into_iter().chain(in_partitions).filter(|cpu| online.contains(cpu)).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The valid partitions of cpusets, the innermost first.
pub(crate) fn partitions(files: &KernelFiles) -> Vec<Partition> {
    let mut found = Vec::new();
    let mut directories = vec![CGROUPS.to_owned()];
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned() {
        next += 1;
        let children = files.names(&directory).unwrap_or_default().into_iter().map(|name| format!("{directory}/{name}"));
        let with_cpuset = children.filter(|child| files.exists(&format!("{child}/cpuset.cpus.partition")));
        directories.extend(with_cpuset.take(CGROUPS_MAX.saturating_sub(directories.len())));
        let Ok(state) = files.text(&format!("{directory}/cpuset.cpus.partition")) else { continue };
        let cpus = listed(files, &format!("{directory}/cpuset.cpus.effective")).unwrap_or_default();
        // `root invalid (reason)` is a partition that does not own its CPUs.
        if !matches!(state.trim(), "root" | "isolated") || cpus.is_empty() {
            continue;
        }
        let is_isolated = state.trim() == "isolated";
        found.push(Partition { is_open: is_open(files, &directory), directory, cpus, is_isolated, is_named: false });
    }
    found.reverse();
    found
}

/// Whether this process may move processes into the cgroup.
fn is_open(files: &KernelFiles, directory: &str) -> bool {
    files.check_writable(&format!("{directory}/{PROCESSES}")).is_ok()
}

fn parent_of(directory: &str) -> &str {
    directory.rsplit_once('/').map_or("/", |(parent, _)| parent)
}

fn without(cpus: &[u32], others: &[u32]) -> Vec<u32> {
    cpus.iter().copied().filter(|cpu| !others.contains(cpu)).collect()
}
