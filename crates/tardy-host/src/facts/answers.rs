//! Facts that only system calls can provide.

use std::collections::BTreeMap;

use tardy_sys::clock_properties::{CLOCKS, least_read_cost_ns, resolution_ns};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::kernel_log::KernelLog;
use tardy_sys::uname::uname;

/// Results of system calls; `None` for calls that were not made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemAnswers {
    /// `uname -r`; used if /proc/sys/kernel/osrelease is missing.
    pub release: Option<String>,
    /// `uname -v`; used if /proc/sys/kernel/version is missing.
    pub version: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// clock_getres(2) by the clock's name, in ns.
    pub resolution_ns: BTreeMap<String, u64>,
    /// Cost of one reading of the monotonic clock, in ns.
    pub read_cost_ns: Option<u64>,
    /// The kernel's messages in its log, or the reason why it is not readable.
    pub log: Option<Result<String, String>>,
}

impl SystemAnswers {
    /// No answers: for another machine, known only from a copy of its /proc, /sys and /boot.
    pub fn none() -> Self {
        Self::default()
    }

    /// Makes the system calls, which take well under 1 ms, and reads the log, about 1 us for each of its records.
    pub fn ask() -> Self {
        let name = uname().ok();
        let resolution = CLOCKS
            .iter()
            .filter_map(|(name, clock)| Some(((*name).to_owned(), resolution_ns(*clock).ok()?)))
            .collect();
        Self {
            release: name.as_ref().map(|name| name.release.clone()),
            version: name.as_ref().map(|name| name.version.clone()),
            machine: name.map(|name| name.machine),
            resolution_ns: resolution,
            read_cost_ns: Some(least_read_cost_ns()),
            log: Some(KernelLog::messages(&KernelFiles::real()).map_err(|error| error.reason())),
        }
    }

    /// The text after the last `marker` in the log, to the end of its line.
    pub(super) fn logged(&self, marker: &str) -> Option<&str> {
        let log = self.log.as_ref()?.as_ref().ok()?;
        let (_, after) = log.rsplit_once(marker)?;
        after.lines().next().map(str::trim)
    }
}
