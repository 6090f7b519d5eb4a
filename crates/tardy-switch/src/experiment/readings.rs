//! What is read of the clock's keepers.

use std::fs;

use tardy_record::Knowable;
use tardy_record::switch::Ptp;
use tardy_sys::clock_discipline;

/// Whether ptp4l and phc2sys run, and what the kernel thinks of its clock.
pub(super) fn ptp() -> Ptp {
    let running = commands();
    let runs = |name: &str| running.as_ref().map(|all| all.iter().any(|command| command == name));
    let clock = clock_discipline::read().ok();
    Ptp {
        ptp4l: runs("ptp4l").into(),
        phc2sys: runs("phc2sys").into(),
        synchronised: clock.map(|clock| clock.synchronised).into(),
        estimated_error_us: clock
            .map_or(Knowable::Unknown, |clock| Knowable::Known(clock.estimated_error_us)),
    }
}

/// The names of all commands that run; nothing where /proc is not to be had.
fn commands() -> Option<Vec<String>> {
    let entries = fs::read_dir("/proc").ok()?;
    let command = |entry: fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        Some(fs::read_to_string(entry.path().join("comm")).ok()?.trim_end().to_owned())
    };
    Some(entries.flatten().filter_map(command).collect())
}
