//! What only system calls can tell.

use std::collections::BTreeMap;

use tardy_sys::clock_properties::{CLOCKS, least_read_cost_ns, resolution_ns};
use tardy_sys::kernel_log;
use tardy_sys::uname::uname;

/// What only system calls can tell of a machine; absent where nobody could be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemAnswers {
    /// `uname -r`, where /proc/sys/kernel/osrelease does not say it.
    pub release: Option<String>,
    /// `uname -v`, where /proc/sys/kernel/version does not say it.
    pub version: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// What clock_getres(2) says, by the clock's name, in ns.
    pub resolution_ns: BTreeMap<String, u64>,
    /// What one reading of the monotonic clock costs, in ns.
    pub read_cost_ns: Option<u64>,
    /// What the kernel's log holds, or why it may not be read.
    pub log: Option<Result<String, String>>,
}

impl SystemAnswers {
    /// No answers: the machine is one of files.
    pub fn none() -> Self {
        Self::default()
    }

    /// Asks the kernel that this runs on. Takes well under a millisecond, and about as long again for the log.
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
            log: Some(kernel_log::read_all().map_err(|error| error.to_string())),
        }
    }

    /// What follows `marker` to the end of its line, where the log last has it.
    pub(super) fn logged(&self, marker: &str) -> Option<&str> {
        let log = self.log.as_ref()?.as_ref().ok()?;
        let (_, after) = log.rsplit_once(marker)?;
        after.lines().next().map(str::trim)
    }
}
