//! One experiment with several seeds: how much its numbers depend on chance.
//!
//! With counted instructions one seed gives one maximum, to the nanosecond, however often it is run. Another seed delays the
//! load by other amounts, so the maxima of several seeds show how representative one maximum is.

use serde::Serialize;
use tardy_record::Run;

use tardy_analyse::phases;

/// A phase of one kernel over all seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeedsRow {
    /// The kernel.
    pub kernel: String,
    /// The phase's label.
    pub phase: String,
    /// Number of seeds.
    pub seeds: usize,
    /// Median over the seeds of the median latency, in ns.
    pub p50_ns: i64,
    /// The lowest of the maxima, in ns.
    pub least_max_ns: i64,
    /// The median of the maxima, in ns.
    pub median_max_ns: i64,
    /// The highest of the maxima, in ns.
    pub most_max_ns: i64,
}

/// The rows of each kernel, phase by phase. `kernels` are names with the runs of all seeds.
pub fn of(kernels: &[(String, Vec<&Run>)]) -> Vec<SeedsRow> {
    kernels.iter().flat_map(|(kernel, runs)| of_kernel(kernel, runs)).collect()
}

fn of_kernel(kernel: &str, runs: &[&Run]) -> Vec<SeedsRow> {
    let phases: Vec<_> = runs.iter().map(|run| phases::of(run)).collect();
    let count = phases.iter().map(Vec::len).min().unwrap_or(0);
    let row = |index: usize| {
        let all = || phases.iter().filter_map(|phases| phases[index].all.as_ref());
        let maxima = sorted(all().filter_map(|row| row.max_ns));
        let medians = sorted(all().filter_map(|row| Some(row.quantiles.first()?.value?.quoted_ns())));
        Some(SeedsRow {
            kernel: kernel.to_owned(),
            phase: phases.first()?[index].label.clone(),
            seeds: maxima.len(),
            p50_ns: median(&medians)?,
            least_max_ns: *maxima.first()?,
            median_max_ns: median(&maxima)?,
            most_max_ns: *maxima.last()?,
        })
    };
    (0..count).filter_map(row).collect()
}

fn sorted(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut sorted: Vec<i64> = values.collect();
    sorted.sort_unstable();
    sorted
}

/// The median of sorted values: the lower one of the two in the middle.
fn median(sorted: &[i64]) -> Option<i64> {
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_lower_one() {
        assert_eq!(median(&sorted([5, 1, 9].into_iter())), Some(5));
        assert_eq!(median(&sorted([5, 1, 9, 7].into_iter())), Some(5));
        assert_eq!(median(&[]), None);
    }
}
