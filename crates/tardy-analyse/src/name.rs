//! What series and phases are called.

use tardy_record::Series;

/// What to call `series`: its label, such as `cpu 1`; a thread that was pinned to no CPU is not named after one.
pub fn of(series: &Series) -> String {
    match series.timer() {
        Some(timer) if !timer.pinned => format!("thread {}, unpinned", timer.cpu),
        _ => series.label.clone(),
    }
}

/// `labels` with the number of the phase, from its index in `phases`, behind those that occur more than once.
pub fn told_apart(labels: &[String], phases: &[usize]) -> Vec<String> {
    let several = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
    let told = |(label, phase): (&String, &usize)| {
        if several(label) { format!("{label}, phase {}", phase + 1) } else { label.clone() }
    };
    labels.iter().zip(phases).map(told).collect()
}
