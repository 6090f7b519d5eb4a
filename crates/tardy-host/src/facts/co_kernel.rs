//! Detects a co-kernel: Xenomai, EVL or RTAI.

use tardy_record::facts::Fact;
use tardy_sys::kernel_files::KernelFiles;

/// Finds the co-kernel; `none` if none of its files exists.
pub(super) fn find(files: &KernelFiles) -> Fact<String> {
    if let Ok(version) = files.text("/proc/xenomai/version") {
        return Fact::known(format!("Xenomai {version}").trim_end().to_owned(), "/proc/xenomai/version");
    }
    for (path, core) in [
        ("/proc/xenomai", "Xenomai"),
        ("/dev/evl/control", "EVL"),
        ("/sys/class/evl", "EVL"),
        ("/sys/devices/virtual/evl", "EVL"),
        ("/proc/rtai", "RTAI"),
    ] {
        if files.exists(path) {
            return Fact::known(core.to_owned(), path);
        }
    }
    let how = "no /proc/xenomai, /dev/evl, /sys/class/evl or /proc/rtai";
    match files.text("/proc/ipipe/version") {
        Ok(version) => Fact::known("none".to_owned(), format!("{how}; only I-pipe {version}")),
        Err(_) => Fact::known("none".to_owned(), how),
    }
}
