//! How long the CPU quotas of a program's cgroups stopped it, as the kernel counts it.
//!
//! No event of the kernel reports that a cgroup has used up its quota, and a thread that is stopped by it looks like one that waits
//! for its turn. The count is read in each round, so that it is known for the rounds that a cycle overlaps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tardy_host::cgroups;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;

/// How many readings of a process are kept: of some seconds.
const KEPT_MAX: usize = 64;
/// Of so many processes.
const PROCESSES_MAX: usize = 16;

/// The time for which the quotas of a process stopped it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// In ns, of all CPUs together, in the rounds around the time that was requested.
    pub ns: u64,
    /// The path of the cgroup that stopped it for longest.
    pub group: String,
}

/// What was read at a time, on the monotonic clock; `None` if it could not be read.
type Reading = (u64, Option<Vec<(String, u64)>>);

/// Readings of all processes.
#[derive(Debug, Default)]
pub struct Quotas {
    readings: BTreeMap<u32, VecDeque<Reading>>,
    /// The cgroups in which each process was seen at last.
    groups: BTreeMap<u32, Vec<String>>,
}

impl Quotas {
    /// Reads the counts of these processes.
    pub fn read(&mut self, files: &KernelFiles, pids: &BTreeSet<u32>) {
        self.readings.retain(|pid, _| pids.contains(pid));
        self.groups.retain(|pid, _| pids.contains(pid));
        for pid in pids.iter().take(PROCESSES_MAX) {
            // The cgroups of a process that has ended still have the count.
            if let Some(groups) = cgroups::of_process(files, *pid) {
                self.groups.insert(*pid, groups);
            }
            let groups = self.groups.get(pid);
            let throttled = groups.and_then(|groups| cgroups::throttled_ns(files, groups));
            self.add(*pid, monotonic_ns(), throttled);
        }
    }

    fn add(&mut self, pid: u32, at_ns: u64, throttled: Option<Vec<(String, u64)>>) {
        let readings = self.readings.entry(pid).or_default();
        if readings.len() == KEPT_MAX {
            readings.pop_front();
        }
        readings.push_back((at_ns, throttled));
    }

    /// For how long quotas stopped the process in the rounds that overlap this time. `None` if that is unknown.
    pub fn stopped(&self, pid: u32, from_ns: u64, to_ns: u64) -> Option<Stopped> {
        let readings = self.readings.get(&pid)?;
        let begin = readings.iter().rev().find(|(at_ns, _)| *at_ns <= from_ns)?.1.as_ref()?;
        let end = readings.iter().find(|(at_ns, _)| *at_ns >= to_ns)?;
        let before = |group: &str| begin.iter().find(|(known, _)| known == group).map_or(0, |(_, ns)| *ns);
        let advances = end.1.as_ref()?.iter().map(|(group, ns)| (ns.saturating_sub(before(group)), group));
        let (ns, group) = advances.max().map_or((0, String::new()), |(ns, group)| (ns, group.clone()));
        Some(Stopped { ns, group })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(readings: &[(u64, Option<u64>)]) -> Quotas {
        let mut quotas = Quotas::default();
        for (at_ns, ns) in readings {
            quotas.add(7, *at_ns, ns.map(|ns| vec![("/a".to_owned(), 5), ("/a/b".to_owned(), ns)]));
        }
        quotas
    }

    #[test]
    fn the_count_is_that_of_the_rounds_that_the_time_overlaps() {
        let quotas = quotas(&[(100, Some(10)), (200, Some(10)), (300, Some(50)), (400, Some(60))]);
        let ns = |from_ns, to_ns| quotas.stopped(7, from_ns, to_ns).map(|stopped| stopped.ns);
        assert_eq!((ns(110, 190), ns(210, 290), ns(190, 310)), (Some(0), Some(40), Some(50)));
        assert_eq!(quotas.stopped(7, 210, 290).unwrap().group, "/a/b");
        assert_eq!((ns(90, 150), quotas.stopped(8, 210, 290)), (None, None));
    }

    #[test]
    fn what_could_not_be_read_is_unknown() {
        let quotas = quotas(&[(100, Some(10)), (200, Some(30)), (300, None)]);
        assert_eq!(quotas.stopped(7, 110, 190).map(|stopped| stopped.ns), Some(20));
        assert_eq!((quotas.stopped(7, 210, 290), quotas.stopped(7, 310, 390)), (None, None));
    }
}
