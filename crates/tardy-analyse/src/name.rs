//! Names of runs, series and phases.

use serde::{Deserialize, Serialize};
use tardy_record::program::Timing;
use tardy_record::series::{Quantity, SeriesKind};
use tardy_record::{Run, Series};

/// Names a run without a name after the file `file_name`. A run of the lab is named after its kernel instead.
pub fn after_file(run: &mut Run, file_name: &str) {
    if run.origin.name.is_none() && run.lab.is_none() {
        run.origin.name = Some(stem(file_name).to_owned());
    }
}

/// The name of a run file without its ending.
pub fn stem(file_name: &str) -> &str {
    let stem = file_name.strip_suffix(".run.json").or_else(|| file_name.strip_suffix(".json"));
    stem.unwrap_or(file_name)
}

/// The name of `series`: its label, such as `cpu 1`. An unpinned thread is not named after a CPU.
pub fn of(series: &Series) -> String {
    match series.timer() {
        Some(timer) if !timer.pinned => format!("thread {}, unpinned", timer.cpu),
        _ => series.label.clone(),
    }
}

/// Whether `series` is from a timer thread that was not pinned to a CPU.
pub fn is_unpinned(series: &Series) -> bool {
    series.timer().is_some_and(|timer| !timer.pinned)
}

/// The kind of readings that are counted in a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readings {
    /// Wake-ups of threads.
    #[default]
    WakeUps,
    /// Periods of a kernel tracer, which measures the noise in each period.
    Periods,
    /// Frames through a switch.
    Frames,
    /// Gaps in which a loop did not run.
    Gaps,
    /// Reactions on a pin.
    Reactions,
    /// Intervals between the edges of a captured signal.
    Intervals,
    /// Toggles of a pin that is driven high and low.
    Toggles,
    /// Cycles of a program's thread, other than its wake-ups.
    Cycles,
    /// Round trips over a network.
    RoundTrips,
    /// Samples of another tool that measures noise.
    Samples,
}

impl Readings {
    /// The readings of `series`.
    pub fn of(series: &Series) -> Self {
        match (&series.kind, series.quantity) {
            (SeriesKind::Flow(_), _) => Self::Frames,
            (SeriesKind::Gaps(_), _) => Self::Gaps,
            (SeriesKind::RoundTrip(_), _) => Self::RoundTrips,
            (SeriesKind::Reaction(_), _) | (SeriesKind::Capture(_), Quantity::Latency) => Self::Reactions,
            (SeriesKind::Capture(_), _) => Self::Intervals,
            (SeriesKind::Program(program), _) if program.timing != Timing::WakeUp => Self::Cycles,
            (_, Quantity::Execution) => Self::Cycles,
            (SeriesKind::Edges(_), _) | (_, Quantity::Spacing) => Self::Toggles,
            (SeriesKind::Foreign(_), Quantity::Noise) => Self::Samples,
            (_, Quantity::Noise) => Self::Periods,
            (_, Quantity::Latency) => Self::WakeUps,
        }
    }

    /// The readings of `runs`: those of the first series with latencies, else of the first with toggles, else gaps.
    pub fn of_runs(runs: &[&Run]) -> Self {
        let all = || runs.iter().flat_map(|run| &run.series);
        let late = |series: &&Series| series.gaps().is_none() && series.edges().is_none();
        let first = all().find(late).or_else(|| all().find(|series| series.gaps().is_none()));
        let first = first.or_else(|| all().next());
        first.map_or(Self::default(), Self::of)
    }

    /// Whether both can be drawn on the same axis. Gaps and toggles share an axis only with their own kind.
    pub fn shares_axis_with(self, other: Self) -> bool {
        let is_latency = |readings| !matches!(readings, Self::Gaps | Self::Toggles);
        self == other || is_latency(self) && is_latency(other)
    }

    /// The noun in the singular.
    pub fn one(self) -> &'static str {
        match self {
            Self::WakeUps => "wake-up",
            Self::Periods => "period",
            Self::Frames => "frame",
            Self::Gaps => "gap",
            Self::Reactions => "reaction",
            Self::Toggles => "toggle",
            Self::Intervals => "interval",
            Self::Cycles => "cycle",
            Self::RoundTrips => "round trip",
            Self::Samples => "sample",
        }
    }

    /// The noun behind a count: `wake-up` for 1, else `wake-ups`.
    pub fn noun(self, count: u64) -> &'static str {
        if count == 1 { self.one() } else { self.name() }
    }

    /// The noun in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Self::WakeUps => "wake-ups",
            Self::Periods => "periods",
            Self::Frames => "frames",
            Self::Gaps => "gaps",
            Self::Reactions => "reactions",
            Self::Intervals => "intervals",
            Self::Toggles => "toggles",
            Self::Cycles => "cycles",
            Self::RoundTrips => "round trips",
            Self::Samples => "samples",
        }
    }
}

/// `labels`, with the number of the phase (from its index in `phases`) after those that occur more than once.
pub fn distinct(labels: &[String], phases: &[usize]) -> Vec<String> {
    let several = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
    let named = |(label, phase): (&String, &usize)| {
        if several(label) { format!("{label}, phase {}", phase + 1) } else { label.clone() }
    };
    labels.iter().zip(phases).map(named).collect()
}

/// The name of `run` among others: its own name, or else the kernel of a run in the lab, such as `debian:6.12-rt`, or else
/// its id.
pub fn of_run(run: &Run) -> String {
    let of_lab = || run.lab.as_ref().map(|lab| of_kernel(&lab.kernel.spec));
    run.origin.name.clone().or_else(of_lab).unwrap_or_else(|| run.origin.id.clone())
}

/// The names of several runs, with the id after those that occur more than once.
pub fn of_runs(runs: &[&Run]) -> Vec<String> {
    let names: Vec<String> = runs.iter().map(|run| of_run(run)).collect();
    with_ids(names, runs)
}

/// `names` of `runs`, with the id after those that occur more than once.
fn with_ids(names: Vec<String>, runs: &[&Run]) -> Vec<String> {
    let several = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let with_id = |(name, run): (&String, &&Run)| {
        if several(name) && *name != run.origin.id {
            format!("{name}, {}", run.origin.id)
        } else {
            name.clone()
        }
    };
    names.iter().zip(runs).map(with_id).collect()
}

/// The kernel as requested, without directories, which are specific to the machine that ran the lab.
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
