//! The history of a kernel: a recipe's numbers on each version, and the steps between two versions.
//!
//! In the lab a boot is exact, and a seed is one of many: the same kernel has other numbers with another seed. So each version is run
//! with several seeds, and a step is claimed only if the values of the seeds before and after it are unlikely to be of one
//! distribution: by the exact permutation test of [`tardy_statistics::permutation`], corrected for the number of tests of the whole
//! history.

use serde::Serialize;
use tardy_analyse::lab;
use tardy_compare::difference::{self, Differences};
use tardy_compare::shape::{self, BinOfBoth};
use tardy_record::layout::COARSE;
use tardy_record::{Histogram, Run};
use tardy_statistics::median;
use tardy_statistics::permutation::{Statistic, floor, holm, test};

use crate::measure::{Measure, Number};

/// The numbers that are followed in each phase.
const NUMBERS: [Number; 4] =
    [Number::Quantile(50.0), Number::Quantile(99.0), Number::Quantile(99.9), Number::Max];
/// The greatest probability, over all tests of a history together, of claiming a step between equal kernels.
pub const MOST_P: f64 = 0.01;
/// Smaller steps are not claimed: 0.01 is 1 %.
pub const LEAST_CHANGE: f64 = 0.01;
/// The number of bins that are shown of those that moved.
const MOVED_MOST: usize = 8;
/// The least change of a bin's share of all wake-ups for it to be shown.
const MOVED_LEAST: f64 = 0.01;

/// A version of the kernel with its runs, one for each seed.
#[derive(Clone, Debug)]
pub struct Version {
    /// The name that boots exactly this kernel, such as `debian:6.12-rt=6.12.118-1`.
    pub spec: String,
    /// The runs with their files, in the order of the seeds.
    pub runs: Vec<(String, Run)>,
    /// Why boots of it have no run.
    pub problems: Vec<String>,
}

/// The history of a recipe over versions of the kernel, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelHistory {
    /// The recipe's name.
    pub recipe: String,
    /// The versions, in order.
    pub kernels: Vec<Kernel>,
    /// The numbers, in the order of the phases.
    pub lines: Vec<Line>,
    /// What lies between each version and the next, if both have runs.
    pub steps: Vec<Step>,
    /// How many tests were made.
    pub tests: usize,
    /// Why no step can be claimed with so few seeds; `None` if it can.
    pub too_few: Option<String>,
}

/// One version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// The name that boots exactly this kernel.
    pub spec: String,
    /// Its release as in `uname -r`.
    pub release: String,
    /// The SHA-256 of its image.
    pub image_sha256: String,
    /// The boots.
    pub boots: Vec<Boot>,
    /// Why boots of it have no numbers.
    pub problems: Vec<String>,
}

/// One boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Boot {
    /// The seed.
    pub seed: u64,
    /// The hash of all that its numbers depend on.
    pub identity: String,
    /// The run file.
    pub file: String,
}

/// A number of a phase over the versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The phase.
    pub phase: String,
    /// The number, such as `p99`.
    pub number: String,
    /// Its values in ns on each version, one for each seed; none if the version has none.
    pub values: Vec<Vec<f64>>,
}

impl Line {
    /// The lowest value, the median and the highest over the seeds of a version; `None` if it has none.
    pub fn spread(&self, version: usize) -> Option<[f64; 3]> {
        let values = &self.values[version];
        let lowest = values.iter().copied().min_by(f64::total_cmp)?;
        let highest = values.iter().copied().max_by(f64::total_cmp)?;
        Some([lowest, median::of(values)?, highest])
    }
}

/// What lies between two versions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The index of the version before.
    pub before: usize,
    /// The index of the version after.
    pub after: usize,
    /// The numbers that changed; none if no change exceeds the spread over the seeds.
    pub changes: Vec<Change>,
    /// What differs between the kernels.
    pub differences: Differences,
}

/// A number that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The index of the line.
    pub line: usize,
    /// The median over the seeds before, in ns.
    pub from: f64,
    /// The median after, in ns.
    pub to: f64,
    /// The probability that so large a difference is chance, corrected for the number of tests.
    pub p: f64,
    /// The bins of the phase whose share of all wake-ups changed most, in ascending order.
    pub moved: Vec<MovedBin>,
}

/// A bin of a histogram whose share changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MovedBin {
    /// Its lower edge, in ns.
    pub lower_ns: i64,
    /// Its upper edge, in ns.
    pub upper_ns: i64,
    /// Its share of all wake-ups before.
    pub before: f64,
    /// Its share after.
    pub after: f64,
}

/// The history of `versions`, which are in order.
pub fn of(recipe: &str, versions: &[Version]) -> KernelHistory {
    let kernels: Vec<Kernel> = versions.iter().map(kernel).collect();
    let lines = lines(versions);
    let pairs = adjacent(versions);
    let tested = tested(&lines, &pairs);
    let corrected = holm(&tested.iter().map(|one| one.p).collect::<Vec<_>>());
    let mut steps: Vec<Step> = pairs.iter().map(|pair| step(versions, *pair)).collect();
    for (one, p) in tested.iter().zip(corrected) {
        let step = &mut steps[one.step];
        let is_claimed = p <= MOST_P && (one.to / one.from - 1.0).abs() >= LEAST_CHANGE;
        if is_claimed {
            let label = &lines[one.line].phase;
            let moved = moved([&versions[step.before], &versions[step.after]], label);
            step.changes.push(Change { line: one.line, from: one.from, to: one.to, p, moved });
        }
    }
    let too_few = too_few(versions, &pairs, tested.len());
    KernelHistory { recipe: recipe.to_owned(), kernels, lines, steps, tests: tested.len(), too_few }
}

fn kernel(version: &Version) -> Kernel {
    let lab = version.runs.first().and_then(|(_, run)| run.lab.as_ref());
    let boot = |(file, run): &(String, Run)| Boot {
        seed: run.plan.seed,
        identity: run.lab.as_ref().map(|lab| lab.identity.clone()).unwrap_or_default(),
        file: file.clone(),
    };
    let mut problems = version.problems.clone();
    problems.extend(
        version
            .runs
            .iter()
            .filter(|(_, run)| !run.validity.valid)
            .map(|(file, run)| format!("{file}: {}", tardy_compare::overview::reasons(run).join("; "))),
    );
    Kernel {
        spec: version.spec.clone(),
        release: lab.map(|lab| lab.kernel.release.clone()).unwrap_or_default(),
        image_sha256: lab.map(|lab| lab.kernel.sha256.clone()).unwrap_or_default(),
        boots: version.runs.iter().map(boot).collect(),
        problems,
    }
}

/// The phases of all runs, in the order of the first.
fn phases(versions: &[Version]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for phase in versions.iter().flat_map(|version| &version.runs).flat_map(|(_, run)| &run.phases) {
        if !labels.contains(&phase.label) {
            labels.push(phase.label.clone());
        }
    }
    labels
}

fn lines(versions: &[Version]) -> Vec<Line> {
    let mut lines = Vec::new();
    for phase in phases(versions) {
        for number in NUMBERS {
            let measure = Measure { phase: Some(phase.clone()), number };
            let of_version = |version: &Version| -> Vec<f64> {
                version.runs.iter().filter_map(|(_, run)| measure.of(run).ok()).collect()
            };
            let values: Vec<Vec<f64>> = versions.iter().map(of_version).collect();
            if values.iter().any(|values| !values.is_empty()) {
                lines.push(Line { phase: phase.clone(), number: number.to_string(), values });
            }
        }
    }
    lines
}

/// The indices of each version with runs and of the next such version.
fn adjacent(versions: &[Version]) -> Vec<[usize; 2]> {
    let with_runs: Vec<usize> = (0..versions.len()).filter(|at| !versions[*at].runs.is_empty()).collect();
    with_runs.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// A test of one number between two versions.
struct Tested {
    step: usize,
    line: usize,
    from: f64,
    to: f64,
    p: f64,
}

fn tested(lines: &[Line], pairs: &[[usize; 2]]) -> Vec<Tested> {
    let mut all = Vec::new();
    for (step, [before, after]) in pairs.iter().enumerate() {
        for (line, Line { values, .. }) in lines.iter().enumerate() {
            let (a, b) = (&values[*before], &values[*after]);
            // The same seeds give the same p-value, so a history does not depend on anything else.
            if let (Ok(permutation), Some(from), Some(to)) =
                (test(a, b, Statistic::RankSum, 1), median::of(a), median::of(b))
            {
                all.push(Tested { step, line, from, to, p: permutation.p });
            }
        }
    }
    all
}

fn too_few(versions: &[Version], pairs: &[[usize; 2]], tests: usize) -> Option<String> {
    let best = pairs.iter().map(|[a, b]| floor(versions[*a].runs.len(), versions[*b].runs.len()));
    let best = best.fold(f64::INFINITY, f64::min);
    let least = (best * tests as f64).min(1.0);
    (!pairs.is_empty() && least > MOST_P).then(|| {
        format!(
            "no step can be claimed: with so few seeds, a test of {tests} cannot find a probability below {least:.2}, and {MOST_P} is \
             required; use more seeds"
        )
    })
}

fn step(versions: &[Version], [before, after]: [usize; 2]) -> Step {
    let first = |at: usize| &versions[at].runs[0].1;
    let mut differences = difference::between(first(before), first(after));
    // Of each boot, and of the files that follow from the kernel.
    differences.facts.retain(|one| !one.name.starts_with("lab: "));
    Step { before, after, changes: Vec::new(), differences }
}

/// The bins of the phase `label` whose share changed most, over all seeds.
fn moved(versions: [&Version; 2], label: &str) -> Vec<MovedBin> {
    let [before, after] = versions.map(|version| over_all_seeds(version, label));
    let totals = [&before, &after].map(|histogram| histogram.total().max(1) as f64);
    let bin = |bin: BinOfBoth| MovedBin {
        lower_ns: bin.lower_ns,
        upper_ns: bin.upper_ns,
        before: bin.counts[0] as f64 / totals[0],
        after: bin.counts[1] as f64 / totals[1],
    };
    let mut moved: Vec<MovedBin> = shape::bins_of_both(&before, &after).into_iter().map(bin).collect();
    moved.retain(|bin| bin.change() >= MOVED_LEAST);
    moved.sort_by(|a, b| b.change().total_cmp(&a.change()));
    moved.truncate(MOVED_MOST);
    moved.sort_by_key(|bin| bin.lower_ns);
    moved
}

impl MovedBin {
    fn change(&self) -> f64 {
        (self.after - self.before).abs()
    }
}

/// The wake-ups of a phase over all seeds, in coarse bins.
fn over_all_seeds(version: &Version, label: &str) -> Histogram {
    let mut all = Histogram::default();
    for (_, run) in &version.runs {
        let is_of_phase = |phase: usize| run.phases.get(phase).is_some_and(|phase| phase.label == label);
        let series = run.own_series().filter(|series| series.is_of_wakeups() && is_of_phase(series.phase));
        // Guests record in one layout, which fits itself.
        series.for_each(|series| drop(all.merge(series.quoted())));
    }
    all.coarsened(COARSE)
}

/// The length of an instruction on the machine of these runs in ns; `None` if its clock did not count instructions.
pub fn instruction_ns(run: &Run) -> Option<u64> {
    match run.lab.as_ref()?.clock {
        tardy_record::lab::LabClock::Instructions { shift } => Some(lab::instruction_ns(shift)),
        _ => None,
    }
}

impl KernelHistory {
    /// The values as CSV: kernel, release, phase, number, seed, ns.
    pub fn csv(&self) -> String {
        let mut text = "kernel,release,phase,number,seed,ns\n".to_owned();
        for line in &self.lines {
            for (kernel, values) in self.kernels.iter().zip(&line.values) {
                for (boot, value) in kernel.boots.iter().zip(values) {
                    let phase = line.phase.replace([',', '"', '\n'], " ");
                    text += &format!(
                        "{},{},{phase},{},{},{value}\n",
                        kernel.spec, kernel.release, line.number, boot.seed
                    );
                }
            }
        }
        text
    }

    /// The steps with changes.
    pub fn claimed(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| !step.changes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab_run() -> Run {
        let text = include_bytes!("../../tardy-present/tests/runs/lab-standard.run.json");
        tardy_record::file::from_text(text).unwrap()
    }

    /// A version whose latencies in the last phase are `factor` times those of the run, and differ a little with the seed.
    fn version(spec: &str, seeds: u64, factor: f64) -> Version {
        let run = |seed: u64| {
            let mut run = lab_run();
            run.plan.seed = seed;
            let last = run.phases.len() - 1;
            for series in run.series.iter_mut().filter(|series| series.phase == last) {
                let scale = factor * (1.0 + seed as f64 / 100.0);
                let scaled = |ns: i64| (ns as f64 * scale) as i64;
                let bins = series.measured.bins().iter();
                let bins: Vec<(i64, i64, u64)> =
                    bins.map(|bin| (scaled(bin.lower_ns), scaled(bin.lower_ns) + 1, bin.count)).collect();
                let histogram = Histogram::from_bins(bins.into_iter().map(Into::into).collect()).unwrap();
                series.corrected = series.corrected.as_ref().map(|_| histogram.clone());
                series.measured = histogram;
                series.max_ns = series.max_ns.map(|ns| scaled(ns) + 1);
            }
            (format!("{spec}-{seed}.run.json"), run)
        };
        Version { spec: spec.to_owned(), runs: (1..=seeds).map(run).collect(), problems: Vec::new() }
    }

    #[test]
    fn a_step_is_claimed_where_it_exceeds_the_spread_over_seeds() {
        let versions = [
            version("one", 10, 1.0),
            version("two", 10, 1.01),
            version("three", 10, 2.0),
            version("four", 10, 2.0),
        ];
        let history = of("lab-quick", &versions);
        assert_eq!(history.too_few, None);
        assert_eq!(history.steps.len(), 3);
        let claimed: Vec<[usize; 2]> = history.claimed().map(|step| [step.before, step.after]).collect();
        assert_eq!(claimed, [[1, 2]]);
        let step = &history.steps[1];
        let last = history.lines.last().unwrap().phase.clone();
        for change in &step.changes {
            assert_eq!(history.lines[change.line].phase, last, "the idle phase did not change");
            assert!((change.to / change.from - 1.98).abs() < 0.05, "{change:?}");
            assert!(change.p <= MOST_P && !change.moved.is_empty(), "{change:?}");
            let moved: f64 = change.moved.iter().map(|bin| bin.after - bin.before).sum();
            assert!(change.moved.iter().any(|bin| bin.after < bin.before) && moved.abs() <= 1.0);
        }
    }

    #[test]
    fn few_seeds_claim_nothing_and_it_is_said() {
        let history = of("lab-quick", &[version("one", 3, 1.0), version("two", 3, 2.0)]);
        assert_eq!(history.claimed().count(), 0);
        assert!(history.too_few.unwrap().contains("use more seeds"));
    }

    #[test]
    fn a_version_without_runs_is_stepped_over() {
        let failed = Version { spec: "two".into(), runs: Vec::new(), problems: vec!["it panicked".into()] };
        let history = of("lab-quick", &[version("one", 10, 1.0), failed, version("three", 10, 2.0)]);
        assert_eq!(history.kernels[1].problems, ["it panicked"]);
        let steps: Vec<[usize; 2]> = history.claimed().map(|step| [step.before, step.after]).collect();
        assert_eq!(steps, [[0, 2]]);
        let csv = history.csv();
        assert!(csv.starts_with("kernel,release,phase,number,seed,ns\none,"));
        let rows: usize = history.lines.iter().flat_map(|line| &line.values).map(Vec::len).sum();
        assert_eq!(csv.lines().count(), 1 + rows);
    }
}
