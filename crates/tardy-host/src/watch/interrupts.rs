//! Interrupts by source and CPU, from /proc/interrupts.

use tardy_sys::kernel_files::KernelFiles;

use super::count_table::{CountTable, Kind};
use super::polled::Polled;

/// Watches interrupts.
pub(super) fn new(files: &KernelFiles, measured: &[u32]) -> CountTable {
    let kind = Kind {
        name: "interrupts",
        prefix: "irq",
        unit: "interrupts/s",
        quota: 192,
        add: |environment, total| environment.interrupts.push(total),
    };
    CountTable::new(kind, Polled::open(files, "/proc/interrupts"), measured)
}
