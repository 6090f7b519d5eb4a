//! How long the CPU quota of a control group stopped tardy's threads: `cpu.stat` of its cgroup and of those above it
//! (Documentation/admin-guide/cgroup-v2.rst, "CPU Interface Files"; cgroup-v1: Documentation/scheduler/sched-bwc.rst).

use tardy_record::environment::Merge;
use tardy_sys::kernel_files::KernelFiles;

use crate::cgroups::{MOUNTS, Throttled, ancestors, paths};

use super::number::advance;
use super::polled::{Polled, Read};
use super::readings::{Head, Quota, Readings, Slot};
use super::{Round, Watcher};

/// Watches the quotas of all cgroups that this process is in.
pub(super) struct Cgroup {
    groups: Vec<Group>,
    quota: Quota,
}

/// One cgroup.
struct Group {
    path: String,
    file: Polled,
    last: Option<Throttled>,
    series: Slot,
    /// Since the last remark.
    since: Throttled,
}

impl Cgroup {
    pub(super) fn new(files: &KernelFiles) -> Self {
        let groups = paths(&files.text("/proc/self/cgroup").unwrap_or_default());
        let with_parents = groups.iter().flat_map(|path| ancestors(path));
        let mut found: Vec<Group> = Vec::new();
        for path in with_parents {
            if found.iter().any(|group| group.path == path) {
                continue;
            }
            let file = MOUNTS.iter().find_map(|at| Polled::open(files, &format!("{at}{path}/cpu.stat")).ok());
            found.extend(file.map(|file| Group {
                path,
                file,
                last: None,
                series: Slot::Unused,
                since: Throttled::default(),
            }));
        }
        Self { groups: found, quota: Quota(8) }
    }
}

impl Watcher for Cgroup {
    fn name(&self) -> &'static str {
        "cgroup quotas"
    }

    fn read(&mut self, round: &Round<'_>, readings: &mut Readings) {
        for group in &mut self.groups {
            group.read(round, readings, &mut self.quota);
        }
    }

    fn left_out(&self) -> Option<String> {
        self.groups.is_empty().then(|| "no cgroup of this process has a CPU quota".to_owned())
    }

    fn take_remarks(&mut self) -> Vec<String> {
        let remark = |group: &mut Group| {
            let Throttled { times, ns } = std::mem::take(&mut group.since);
            (times > 0).then(|| {
                format!(
                    "the CPU quota of cgroup {} was used up {times} times, which stopped its threads for {:.2} s altogether",
                    group.path,
                    ns as f64 / 1e9
                )
            })
        };
        self.groups.iter_mut().filter_map(remark).collect()
    }
}

impl Group {
    fn read(&mut self, round: &Round<'_>, readings: &mut Readings, quota: &mut Quota) {
        let Some(Read { content, seconds }) = self.file.read(round.room) else { return };
        let Some(now) = Throttled::parse(content) else { return };
        let (Some(before), Some(seconds)) = (self.last.replace(now), seconds) else { return };
        let by = Throttled { times: advance(before.times, now.times), ns: advance(before.ns, now.ns) };
        self.since = Throttled { times: self.since.times + by.times, ns: self.since.ns + by.ns };
        if self.series.is_unused() && by.times == 0 {
            return;
        }
        let ms_per_s = by.ns as f64 / 1e6 / seconds;
        readings.put(&mut self.series, quota, ms_per_s, ms_per_s, || Head {
            name: "throttled by quota",
            of: self.path.clone(),
            cpu: None,
            unit: "ms/s",
            merge: Merge::Mean,
            change: format!("cgroup {} throttled", self.path),
            change_unit: "ms/s",
            grain: 1.0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cgroup_above_can_have_a_quota() {
        assert_eq!(
            paths("2:cpuacct:/a\n1:cpu,memory:/b\n0::/user.slice/x.scope\n"),
            ["/b", "/user.slice/x.scope"]
        );
        assert_eq!(ancestors("/user.slice/x.scope"), ["/user.slice", "/user.slice/x.scope"]);
        assert_eq!(ancestors("/"), [""; 0]);
    }

    #[test]
    fn both_versions_of_the_statistics_are_read() {
        let expected = Some(Throttled { times: 3, ns: 88_000_000 });
        let second = b"usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 88000\n";
        assert_eq!(Throttled::parse(second), expected);
        assert_eq!(Throttled::parse(b"nr_periods 4\nnr_throttled 3\nthrottled_time 88000000\n"), expected);
        assert_eq!(Throttled::parse(b"usage_usec 9\n"), None);
    }
}
