//! The origin of a run: the host, the boot, the time and the command.

use std::time::SystemTime;

use tardy_record::run::Origin;
use tardy_sys::kernel_files::KernelFiles;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::identity;

/// The origin of this command's run. A field is empty if its file cannot be read.
pub fn of_this_command(started: SystemTime, fake: Option<u64>) -> Origin {
    let read = |path: &str| KernelFiles::real().text(path).unwrap_or_default().trim().to_owned();
    let since_epoch = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let unique = since_epoch.subsec_nanos() ^ std::process::id().rotate_left(20);
    Origin {
        id: format!("{}-{unique:08x}", stamp(started)),
        name: None,
        host: if fake.is_some() { "fake".to_owned() } else { read("/proc/sys/kernel/hostname") },
        boot_id: read("/proc/sys/kernel/random/boot_id"),
        started_at: rfc3339(started),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        build: identity::get().to_owned(),
        trial: None,
    }
}

/// The UTC time as in `20261121-093000`.
pub fn stamp(time: SystemTime) -> String {
    rfc3339(time).replace(['-', ':', 'Z'], "").replace('T', "-")
}

/// The UTC time in whole seconds, as in `2026-11-21T09:30:00Z`.
pub fn rfc3339(time: SystemTime) -> String {
    OffsetDateTime::from(time).truncate_to_second().format(&Rfc3339).unwrap_or_default()
}
