//! How different two neighbouring parts of a series are: the energy distance of their values.

/// A split of a series: `at` is the first index of the right part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split {
    pub(super) at: usize,
    pub(super) divergence: f64,
}

/// Sums of the distances of all pairs of values.
pub(super) struct Distances {
    /// The sum over the first i and the first j values, at i × (n + 1) + j.
    sums: Vec<f64>,
    row: usize,
}

impl Distances {
    /// The distances of all pairs: memory and time grow with the square of the length.
    pub(super) fn of(series: &[f64]) -> Self {
        let row = series.len() + 1;
        let mut sums = vec![0.0; row * row];
        for (i, a) in series.iter().enumerate() {
            let mut of_row = 0.0;
            for (j, b) in series.iter().enumerate() {
                of_row += (a - b).abs();
                sums[(i + 1) * row + j + 1] = sums[i * row + j + 1] + of_row;
            }
        }
        Self { sums, row }
    }

    /// The sum of the distances between values of two ranges.
    fn between(&self, a: std::ops::Range<usize>, b: std::ops::Range<usize>) -> f64 {
        let at = |i: usize, j: usize| self.sums[i * self.row + j];
        at(a.end, b.end) - at(a.start, b.end) - at(a.end, b.start) + at(a.start, b.start)
    }

    /// The sum of the distances of all pairs within a range.
    fn within(&self, range: std::ops::Range<usize>) -> f64 {
        0.5 * self.between(range.clone(), range)
    }

    /// The split with the highest divergence of values from `start` to `end`, over all beginnings of the right part and all of
    /// its ends; `None` for fewer than two values.
    ///
    /// For parts of n and m values it is 2/(m+n) times the sum of distances between them, minus for each part its mean
    /// distance times mn/(m+n).
    pub(super) fn best_split(&self, start: usize, end: usize) -> Option<Split> {
        let splits = (start + 1..end).flat_map(|at| (at + 1..=end).map(move |right_end| (at, right_end)));
        splits.map(|(at, right_end)| self.split(start, at, right_end)).fold(None, better)
    }

    /// The split with the highest divergence of all values from `start` to `end`.
    pub(super) fn best_split_of_all(&self, start: usize, end: usize) -> Option<Split> {
        (start + 1..end).map(|at| self.split(start, at, end)).fold(None, better)
    }

    fn split(&self, start: usize, at: usize, end: usize) -> Split {
        let mean = |range: std::ops::Range<usize>| match range.len() {
            1 => 0.0,
            count => 2.0 * self.within(range) / (count as f64 - 1.0),
        };
        let (n, m) = ((at - start) as f64, (end - at) as f64);
        let apart = 2.0 * self.between(start..at, at..end);
        Split { at, divergence: (apart - m * mean(start..at) - n * mean(at..end)) / (m + n) }
    }
}

/// The first one of equal splits.
fn better(best: Option<Split>, split: Split) -> Option<Split> {
    match best {
        Some(best) if best.divergence >= split.divergence => Some(best),
        _ => Some(split),
    }
}

/// The best split of all parts of a series between these change points; the first of equal ones.
pub(super) fn best_of_parts(distances: &Distances, points: &[usize], len: usize) -> Option<Split> {
    let starts = std::iter::once(0).chain(points.iter().copied());
    let ends = points.iter().copied().chain(std::iter::once(len));
    starts.zip(ends).filter_map(|(start, end)| distances.best_split(start, end)).fold(None, better)
}
