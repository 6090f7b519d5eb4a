//! What a series is called.

use tardy_record::Series;

/// What to call `series`: its label, such as `cpu 1`; a thread that was pinned to no CPU is not named after one.
pub fn of(series: &Series) -> String {
    match series.timer() {
        Some(timer) if !timer.pinned => format!("thread {}, unpinned", timer.cpu),
        _ => series.label.clone(),
    }
}
