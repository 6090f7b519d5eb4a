//! The cgroups of a process that limit its CPU time, and for how long their quotas stopped it.

use tardy_sys::kernel_files::KernelFiles;

use crate::watch::number::{lines, whole, words};

/// Where cgroup v2 is mounted.
pub(crate) const MOUNT: &str = "/sys/fs/cgroup";
/// Where distributions mount the hierarchies that limit CPU time: cgroup v2, and `cpu` of v1.
pub(crate) const MOUNTS: [&str; 4] =
    [MOUNT, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"];

/// The paths in /proc/self/cgroup of the hierarchies that limit CPU time (cgroups(7)).
pub(crate) fn paths(text: &str) -> Vec<String> {
    let path = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let limits_cpu = controllers.is_empty() || controllers.split(',').any(|one| one == "cpu");
        limits_cpu.then(|| path.to_owned())
    };
    text.lines().filter_map(path).collect()
}

/// A path and those above it, without the root, which has no quota.
pub(crate) fn ancestors(path: &str) -> Vec<String> {
    let path = path.trim_end_matches('/');
    let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
    ends.filter(|end| *end > 0).map(|end| path[..end].to_owned()).collect()
}

/// The file through which a process moves into the cgroup of this directory.
pub fn processes_of(directory: &str) -> String {
    format!("{directory}/cgroup.procs")
}

/// This process in another cgroup, until it is dropped. If the process ends before, there is nothing to undo.
#[derive(Debug)]
pub struct Membership {
    files: KernelFiles,
    /// The cgroup in which the process was.
    before: String,
}

impl Membership {
    /// Moves this process, with all its threads, into the cgroup `directory`. The kernel then lets them use every CPU of its cpuset.
    ///
    /// # Errors
    /// If this user may not do so, or the process could not return: a message for the user.
    pub fn enter(files: &KernelFiles, directory: &str) -> Result<Self, String> {
        let own = files.text("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let path = own.lines().find_map(|line| line.strip_prefix("0::"));
        let path = path.ok_or("this process is in no cgroup of version 2, so it cannot return to its own")?;
        let this = Self { files: files.clone(), before: format!("{MOUNT}{path}") };
        this.move_to(directory)?;
        Ok(this)
    }

    fn move_to(&self, directory: &str) -> Result<(), String> {
        let moved = self.files.write(&processes_of(directory), &std::process::id().to_string());
        moved.map_err(|error| {
            format!("{error}; the threads that measure have to be in that cgroup, which owns their CPU")
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // The process stays where it is until it ends, which nothing else depends on.
        let _ = self.move_to(&self.before);
    }
}

/// How often and for how long the quota of a cgroup stopped its threads (`cpu.stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Throttled {
    pub(crate) times: u64,
    pub(crate) ns: u64,
}

impl Throttled {
    /// `None` if the cgroup has no quota.
    pub(crate) fn parse(content: &[u8]) -> Option<Self> {
        let value = |name: &[u8]| {
            lines(content).find_map(|line| {
                let mut words = words(line);
                (words.next() == Some(name)).then(|| words.next().and_then(whole)).flatten()
            })
        };
        let us = value(b"throttled_usec").map(|us| us.saturating_mul(1000));
        Some(Self { times: value(b"nr_throttled")?, ns: us.or_else(|| value(b"throttled_time"))? })
    }
}

/// The paths of a process's cgroups that may limit its CPU time, and of those above them. `None` if it has ended.
pub fn of_process(files: &KernelFiles, pid: u32) -> Option<Vec<String>> {
    let text = files.text(&format!("/proc/{pid}/cgroup")).ok()?;
    let mut groups: Vec<String> = paths(&text).iter().flat_map(|path| ancestors(path)).collect();
    groups.sort_unstable();
    groups.dedup();
    Some(groups)
}

/// For how long their quotas stopped the threads of these cgroups until now, in ns, for those that have one. `None` if this process
/// does not see them.
pub fn throttled_ns(files: &KernelFiles, groups: &[String]) -> Option<Vec<(String, u64)>> {
    let mounts = || MOUNTS.iter().filter(|mount| files.exists(mount));
    mounts().next()?;
    let mut found = Vec::new();
    for group in groups {
        let directories = || mounts().map(|mount| format!("{mount}{group}"));
        // Of another cgroup namespace, otherwise.
        directories().find(|directory| files.exists(directory))?;
        let text = directories().find_map(|directory| files.bytes(&format!("{directory}/cpu.stat")).ok());
        let throttled = text.and_then(|text| Throttled::parse(&text));
        found.extend(throttled.map(|throttled| (group.clone(), throttled.ns)));
    }
    Some(found)
}
