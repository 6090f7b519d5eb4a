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

use crate::cgroups::{MOUNT, processes_of};
use crate::container;

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

/// Why a CPU cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Obstacle<'c> {
    /// It does not exist, or is offline.
    Offline,
    /// The cgroup that owns it, into which this process may move none.
    Closed(&'c str),
    /// The cpuset of the container of this name leaves it out.
    Container(&'c str),
    /// The cpuset of this process's cgroup leaves it out.
    Cpuset,
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
        // Files of another machine say nothing about where threads can run here.
        if !files.is_real() {
            return Ok(Self::alike(own));
        }
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
            false => format!("{MOUNT}/{}", directory.trim_end_matches('/')),
        };
        if !files.exists(&processes_of(&directory)) {
            return Err(format!(
                "{directory} is not a cgroup; expected a directory with cgroup.procs, such as {MOUNT}/rt"
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
        let partition =
            Partition { is_open: is_open(files, &directory), directory, cpus, is_isolated, is_named: true };
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
        let mut measured = Vec::new();
        let mut others: Vec<(Obstacle<'_>, Vec<u32>)> = Vec::new();
        for cpu in self.online.iter().copied() {
            match self.obstacle(cpu) {
                None => measured.push(cpu),
                Some(obstacle) => match others.iter_mut().find(|(other, _)| *other == obstacle) {
                    Some((_, cpus)) => cpus.push(cpu),
                    None => others.push((obstacle, vec![cpu])),
                },
            }
        }
        let remark = |(obstacle, cpus): (Obstacle<'_>, Vec<u32>)| {
            format!("CPU {} not measured: {}", cpu_list::format(&cpus), self.describe(obstacle))
        };
        (measured, others.into_iter().map(remark).collect())
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
        match self.obstacle(cpu) {
            None => Ok(()),
            Some(obstacle) => Err(format!("CPU {cpu} cannot be measured: {}", self.describe(obstacle))),
        }
    }

    /// What prevents measuring `cpu`.
    fn obstacle(&self, cpu: u32) -> Option<Obstacle<'_>> {
        let owner = self.owner(cpu);
        match owner {
            _ if !self.online.contains(&cpu) => Some(Obstacle::Offline),
            Some(owner) if owner.is_named || !self.reachable.contains(&cpu) => {
                (!owner.is_open).then_some(Obstacle::Closed(&owner.directory))
            }
            _ if self.reachable.contains(&cpu) => None,
            _ => Some(self.container.as_deref().map_or(Obstacle::Cpuset, Obstacle::Container)),
        }
    }

    /// The reason, and what to do, in a sentence.
    fn describe(&self, obstacle: Obstacle<'_>) -> String {
        let available = cpu_list::format(&self.reachable);
        match obstacle {
            Obstacle::Offline => {
                format!("it does not exist or is offline; online: {}", cpu_list::format(&self.online))
            }
            Obstacle::Closed(directory) => format!(
                "it belongs to the cgroup {directory}, into which this user may move no process; run tardy as root, or give this user \
                 {}",
                processes_of(directory)
            ),
            Obstacle::Container(name) => format!(
                "the cpuset of this container ({name}) leaves it out; available: {available}. Start the container with --cpuset-cpus"
            ),
            Obstacle::Cpuset => format!(
                "the cpuset of tardy's cgroup leaves it out; available: {available}. --cgroup names a cgroup that has it"
            ),
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
    let known = at_boot.into_iter().chain(in_partitions).filter(|cpu| online.contains(cpu));
    cpu_list::distinct(known)
}

/// The valid partitions of cpusets, the innermost first.
pub(crate) fn partitions(files: &KernelFiles) -> Vec<Partition> {
    let mut found = Vec::new();
    let mut directories = vec![MOUNT.to_owned()];
    let mut next = 0;
    while let Some(directory) = directories.get(next).cloned() {
        next += 1;
        let children =
            files.names(&directory).unwrap_or_default().into_iter().map(|name| format!("{directory}/{name}"));
        let with_cpuset = children.filter(|child| files.exists(&format!("{child}/cpuset.cpus.partition")));
        directories.extend(with_cpuset.take(CGROUPS_MAX.saturating_sub(directories.len())));
        let Ok(state) = files.text(&format!("{directory}/cpuset.cpus.partition")) else { continue };
        let cpus = listed(files, &format!("{directory}/cpuset.cpus.effective")).unwrap_or_default();
        // `root invalid (reason)` is a partition that does not own its CPUs.
        if !matches!(state.trim(), "root" | "isolated") || cpus.is_empty() {
            continue;
        }
        let is_isolated = state.trim() == "isolated";
        found.push(Partition {
            is_open: is_open(files, &directory),
            directory,
            cpus,
            is_isolated,
            is_named: false,
        });
    }
    found.reverse();
    found
}

/// Whether this process may move processes into the cgroup.
fn is_open(files: &KernelFiles, directory: &str) -> bool {
    files.check_writable(&processes_of(directory)).is_ok()
}

fn parent_of(directory: &str) -> &str {
    directory.rsplit_once('/').map_or("/", |(parent, _)| parent)
}

fn without(cpus: &[u32], others: &[u32]) -> Vec<u32> {
    cpus.iter().copied().filter(|cpu| !others.contains(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four CPUs, of which the last is isolated at boot.
    fn isolated() -> Cpus {
        Cpus { isolated: vec![3], ..Cpus::alike(vec![0, 1, 2, 3]) }
    }

    /// Four CPUs, of which the last is in an isolated partition.
    fn partitioned(is_open: bool) -> Cpus {
        let rt = Partition {
            directory: "/sys/fs/cgroup/rt".to_owned(),
            cpus: vec![3],
            is_isolated: true,
            is_open,
            is_named: false,
        };
        Cpus { reachable: vec![0, 1, 2], partitions: vec![rt], ..isolated() }
    }

    #[test]
    fn isolated_cpus_are_measured_like_others_and_do_no_other_work() {
        let cpus = isolated();
        assert_eq!(cpus.all(), (vec![0, 1, 2, 3], Vec::new()));
        assert_eq!((cpus.housekeeping(), cpus.load_cpus()), (vec![0, 1, 2], vec![0, 1, 2]));
        assert_eq!(cpus.of_supervisor(), [2, 1, 0]);
        assert_eq!((cpus.domain_of(3), cpus.domain_of(0)), (vec![3], vec![0, 1, 2]));
        assert_eq!(cpus.check(3), Ok(()));
        assert_eq!(
            cpus.check(4).unwrap_err(),
            "CPU 4 cannot be measured: it does not exist or is offline; online: 0-3"
        );
        assert!(Cpus::alike(vec![0, 1]).load_cpus().is_empty(), "loads use every CPU");
        let all_isolated = Cpus { isolated: vec![0, 1], ..Cpus::alike(vec![0, 1]) };
        assert_eq!((all_isolated.of_supervisor(), all_isolated.load_cpus()), (vec![1, 0], vec![]));
    }

    #[test]
    fn a_mask_that_was_narrowed_on_purpose_is_kept_unless_cpus_are_named() {
        let cpus = Cpus { chosen: Some(vec![0, 1]), ..isolated() };
        let (measured, remarks) = cpus.all();
        assert_eq!(measured, [0, 1]);
        assert!(
            remarks[0].starts_with("CPU 2-3 not measured: tardy was started with an affinity of CPU 0-1"),
            "{remarks:?}"
        );
        assert_eq!((cpus.check(3), cpus.of_supervisor()), (Ok(()), vec![1, 0]));
        // `taskset 8 tardy run` measures the isolated CPU, and the supervisor is elsewhere.
        let cpus = Cpus { chosen: Some(vec![3]), ..isolated() };
        assert_eq!((cpus.all().0, cpus.of_supervisor()), (vec![3], vec![2, 1, 0]));
    }

    #[test]
    fn a_cpu_of_a_partition_is_measured_in_its_cgroup() {
        let cpus = partitioned(true);
        assert_eq!(cpus.all(), (vec![0, 1, 2, 3], Vec::new()));
        let placement = cpus.placement(&[1, 3], Vec::new());
        assert_eq!((placement.cgroup_of(1), placement.cgroup_of(3)), (None, Some("/sys/fs/cgroup/rt")));
        assert!(placement.housekeeping_cpus.is_empty(), "the cpuset keeps loads away");
        let (measured, remarks) = partitioned(false).all();
        assert_eq!(measured, [0, 1, 2]);
        assert!(
            remarks[0].starts_with("CPU 3 not measured: it belongs to the cgroup /sys/fs/cgroup/rt"),
            "{remarks:?}"
        );
    }

    #[test]
    fn a_cpu_that_a_cpuset_takes_away_is_refused_with_who_took_it() {
        let cpus = Cpus { reachable: vec![0, 1], ..Cpus::alike(vec![0, 1, 2, 3]) };
        assert!(
            cpus.check(2)
                .unwrap_err()
                .contains("the cpuset of tardy's cgroup leaves it out; available: 0-1. --cgroup")
        );
        let cpus = Cpus { container: Some("docker".to_owned()), ..cpus };
        assert!(
            cpus.check(2)
                .unwrap_err()
                .contains("the cpuset of this container (docker) leaves it out; available: 0-1")
        );
        let (measured, remarks) = cpus.all();
        assert_eq!((measured, remarks.len()), (vec![0, 1], 1));
        assert!(remarks[0].starts_with("CPU 2-3 not measured: the cpuset of this container"), "{remarks:?}");
    }

    #[test]
    fn partitions_are_found_where_they_are_valid() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join("sys/fs/cgroup").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let group = |name: &str, state: &str, cpus: &str| {
            write(&format!("{name}/cpuset.cpus.partition"), state);
            write(&format!("{name}/cpuset.cpus.effective"), cpus);
            write(&format!("{name}/cgroup.procs"), "");
        };
        group("rt", "root\n", "2-3\n");
        group("rt/inner", "isolated\n", "4\n");
        group("broken", "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n", "5\n");
        group("usual", "member\n", "0-1\n");
        write("without/cgroup.procs", "");
        let files = KernelFiles::under(root.path());
        let found: Vec<(String, Vec<u32>, bool)> =
            partitions(&files).into_iter().map(|one| (one.directory, one.cpus, one.is_isolated)).collect();
        let expected = [("/sys/fs/cgroup/rt/inner", vec![4], true), ("/sys/fs/cgroup/rt", vec![2, 3], false)];
        assert_eq!(found, expected.map(|(name, cpus, is_isolated)| (name.to_owned(), cpus, is_isolated)));
        let within = Cpus::alike(vec![0, 1, 2, 3]).within(&files, "usual").unwrap();
        assert_eq!((within.all().0, within.cgroup_of(1)), (vec![0, 1], Some("/sys/fs/cgroup/usual")));
        let error = Cpus::default().within(&files, "without").unwrap_err();
        assert!(error.contains("echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control"), "{error}");
        assert!(Cpus::default().within(&files, "/nowhere").unwrap_err().contains("/nowhere is not a cgroup"));
    }
}
