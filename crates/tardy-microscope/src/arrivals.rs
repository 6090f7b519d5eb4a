//! How many interrupts can come in a time, from the shortest times in which so many came.

use crate::counted::Vector;

/// The number of interrupts that can come within `window_ns`, by the distances that were observed: never fewer than came in any such
/// time of the run.
///
/// Of n interrupts in a row, the first and the last are at least the n-th distance apart. If the window is longer than the longest
/// distance that was kept, it is divided: in each part of that length come as many as the distance has intervals.
pub(crate) fn possible(vector: &Vector, window_ns: u64) -> u64 {
    let known: Vec<u64> =
        vector.distances_ns.iter().copied().take_while(|distance| *distance != u64::MAX).collect();
    let in_remainder = |window: u64| 1 + known.iter().filter(|distance| **distance <= window).count() as u64;
    match known.last() {
        None => vector.count.min(1),
        Some(0) => vector.count,
        Some(longest) => {
            let parts = window_ns / longest;
            let possible = parts.saturating_mul(known.len() as u64) + in_remainder(window_ns % longest);
            possible.min(vector.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(count: u64, distances: &[u64]) -> Vector {
        Vector { entry: 0, count, distances_ns: distances.to_vec() }
    }

    #[test]
    fn a_window_contains_as_many_as_came_in_it() {
        let timer = vector(1_000, &[10, 1_000, 1_010, u64::MAX]);
        for (window, expected) in [(0, 1), (9, 1), (10, 2), (999, 2), (1_000, 3), (1_010, 4), (2_020, 7)] {
            assert_eq!(possible(&timer, window), expected, "{window}");
        }
    }

    #[test]
    fn there_are_never_more_than_came() {
        assert_eq!(possible(&vector(1, &[]), 1_000_000), 1);
        assert_eq!(possible(&vector(0, &[]), 1_000_000), 0);
        assert_eq!(possible(&vector(3, &[5, 10]), 1_000_000), 3);
        assert_eq!(possible(&vector(9, &[0, 0]), 0), 9);
    }

    #[test]
    fn no_window_of_a_sequence_has_more() {
        // Times in ns, of which each window of each length is counted.
        let times: Vec<u64> = (0..200_u64).map(|n| n * 40 + (n * n * 7919) % 39).collect();
        let distance = |n: usize| times.windows(n).map(|some| some[n - 1] - some[0]).min().unwrap();
        let vector = vector(times.len() as u64, &(2..12).map(distance).collect::<Vec<_>>());
        for window in (0..3_000).step_by(13) {
            let most = times
                .iter()
                .map(|from| times.iter().filter(|at| (*from..=from + window).contains(at)).count())
                .max();
            assert!(possible(&vector, window) >= most.unwrap() as u64, "{window}");
        }
    }
}
