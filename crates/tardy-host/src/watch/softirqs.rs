//! Softirqs by kind and CPU, from /proc/softirqs.

use tardy_sys::kernel_files::KernelFiles;

use super::count_table::{CountTable, Kind};
use super::polled::Polled;

/// Watches softirqs.
pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> CountTable {
    let kind = Kind {
        name: "softirqs",
        prefix: "softirq",
        unit: "softirqs/s",
        quota: 64,
        add: |environment, total| environment.softirqs.push(total),
    };
    CountTable::new(kind, Polled::open(files, "/proc/softirqs"), measured)
}
