//! The cgroups of this process that limit its CPU time.

/// Where distributions mount the hierarchies that limit CPU time: cgroup v2, and `cpu` of v1.
pub(crate) const MOUNTS: [&str; 4] =
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"];

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
