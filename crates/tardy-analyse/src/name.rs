//! What runs, series and phases are called.

use serde::Serialize;
use tardy_record::series::{Quantity, SeriesKind};
use tardy_record::{Run, Series};

/// What to call `series`: its label, such as `cpu 1`; a thread that was pinned to no CPU is not named after one.
pub fn of(series: &Series) -> String {
    match series.timer() {
        Some(timer) if !timer.pinned => format!("thread {}, unpinned", timer.cpu),
        _ => series.label.clone(),
    }
}

/// What is counted in a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readings {
    /// Of threads.
    #[default]
    WakeUps,
    /// Of one of the kernel's tracers, which looks how much of each was taken away.
    Periods,
    /// That came through a switch.
    Frames,
    /// In which a loop stood still.
    Gaps,
    /// On a pin.
    Reactions,
    /// Between the edges of a captured signal.
    Intervals,
    /// Of a pin that is made high and low as fast as it can be.
    Toggles,
    /// Of another tool that looks for noise.
    Samples,
}

impl Readings {
    /// Of `series`.
    pub fn of(series: &Series) -> Self {
        match (&series.kind, series.quantity) {
            (SeriesKind::Flow(_), _) => Self::Frames,
            (SeriesKind::Gaps(_), _) => Self::Gaps,
            (SeriesKind::Reaction(_), _) | (SeriesKind::Capture(_), Quantity::Latency) => Self::Reactions,
            (SeriesKind::Capture(_), _) => Self::Intervals,
            (SeriesKind::Edges(_), _) | (_, Quantity::Spacing) => Self::Toggles,
            (SeriesKind::Foreign(_), Quantity::Noise) => Self::Samples,
            (_, Quantity::Noise) => Self::Periods,
            (_, Quantity::Latency) => Self::WakeUps,
        }
    }

    /// Of `runs`: what those of the first series are. Toggles only where nothing is late, and gaps only where there is nothing
    /// else: they have plots of their own.
    pub fn of_runs(runs: &[&Run]) -> Self {
        let all = || runs.iter().flat_map(|run| &run.series);
        let late = |series: &&Series| series.gaps().is_none() && series.edges().is_none();
        let first = all().find(late).or_else(|| all().find(|series| series.gaps().is_none()));
        let first = first.or_else(|| all().next());
        first.map_or(Self::default(), Self::of)
    }

    /// What they are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::WakeUps => "wake-ups",
            Self::Periods => "periods",
            Self::Frames => "frames",
            Self::Gaps => "gaps",
            Self::Reactions => "reactions",
            Self::Intervals => "intervals",
            Self::Toggles => "toggles",
            Self::Samples => "samples",
        }
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

/// What to call `run` beside others: a run of the lab by its kernel, such as `debian:6.12-rt`, any other by its id.
pub fn of_run(run: &Run) -> String {
    run.lab.as_ref().map_or_else(|| run.origin.id.clone(), |lab| of_kernel(&lab.kernel.spec))
}

/// What to call each of several runs: those that would be called the same have their id besides.
pub fn of_runs(runs: &[&Run]) -> Vec<String> {
    let names: Vec<String> = runs.iter().map(|run| of_run(run)).collect();
    with_ids(names, runs)
}

/// `names` of `runs`, with the id behind those that occur more than once.
pub fn with_ids(names: Vec<String>, runs: &[&Run]) -> Vec<String> {
    let several = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let told = |(name, run): (&String, &&Run)| {
        if several(name) && *name != run.origin.id {
            format!("{name}, {}", run.origin.id)
        } else {
            name.clone()
        }
    };
    names.iter().zip(runs).map(told).collect()
}

/// A kernel as it was asked for, without the directories of a path: those are of the machine that ran the lab.
fn of_kernel(spec: &str) -> String {
    let is_path = spec.contains('/') && !spec.starts_with("debian:");
    if !is_path {
        return spec.to_owned();
    }
    let (image, options) = spec.split_once(',').unwrap_or((spec, ""));
    let file = image.trim_matches(['\'', '"']).rsplit('/').next().unwrap_or(image);
    match format!(",{options}").split_once(",append=") {
        Some((_, append)) => format!("{file},append={append}"),
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_named_without_its_directories() {
        for (spec, name) in [
            ("debian:6.12-rt", "debian:6.12-rt"),
            ("debian:6.12,append=preempt=none", "debian:6.12,append=preempt=none"),
            ("/boot/vmlinuz-6.1.0,modules=/lib/modules/6.1.0", "vmlinuz-6.1.0"),
            ("./bzImage,modules=/lib/m,append='a b'", "bzImage,append='a b'"),
            ("/boot/vmlinuz-7.0,append=preempt=lazy", "vmlinuz-7.0,append=preempt=lazy"),
        ] {
            assert_eq!(of_kernel(spec), name);
        }
    }
}
