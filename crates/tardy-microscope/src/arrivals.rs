//! How many interrupts can come in a time, from the shortest times in which so many came.

use tardy_record::census::InterruptEntry;

/// The number of interrupts that can come within `window_ns`, by the distances that were observed: never fewer than came in any such
/// time of the run.
///
/// Of n interrupts in a row, the first and the last are at least the n-th distance apart. If the window is longer than the longest
/// distance that was kept, it is divided: in each part of that length come as many as the distance has intervals.
pub(crate) fn possible(interrupt: &InterruptEntry, window_ns: u64) -> u64 {
    let InterruptEntry { count, distances_ns, .. } = interrupt;
    let in_remainder =
        |window: u64| 1 + distances_ns.iter().filter(|distance| **distance <= window).count() as u64;
    match distances_ns.last() {
        None => (*count).min(1),
        Some(0) => *count,
        Some(longest) => {
            let parts = window_ns / longest;
            let possible =
                parts.saturating_mul(distances_ns.len() as u64) + in_remainder(window_ns % longest);
            possible.min(*count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupt(count: u64, distances: &[u64]) -> InterruptEntry {
        let distances_ns = distances.to_vec();
        InterruptEntry { name: String::new(), count, longest: 0, total: 0, distances_ns }
    }

    #[test]
    fn a_window_contains_as_many_as_came_in_it() {
        let timer = interrupt(1_000, &[10, 1_000, 1_010]);
        for (window, expected) in [(0, 1), (9, 1), (10, 2), (999, 2), (1_000, 3), (1_010, 4), (2_020, 7)] {
            assert_eq!(possible(&timer, window), expected, "{window}");
        }
    }

    #[test]
    fn there_are_never_more_than_came() {
        assert_eq!(possible(&interrupt(1, &[]), 1_000_000), 1);
        assert_eq!(possible(&interrupt(0, &[]), 1_000_000), 0);
        assert_eq!(possible(&interrupt(3, &[5, 10]), 1_000_000), 3);
        assert_eq!(possible(&interrupt(9, &[0, 0]), 0), 9);
    }

    #[test]
    fn no_window_of_a_sequence_has_more() {
        // Times in ns, of which each window of each length is counted.
        let times: Vec<u64> = (0..200_u64).map(|n| n * 40 + (n * n * 7919) % 39).collect();
        let distance = |n: usize| times.windows(n).map(|some| some[n - 1] - some[0]).min().unwrap();
        let interrupt = interrupt(times.len() as u64, &(2..12).map(distance).collect::<Vec<_>>());
        for window in (0..3_000).step_by(13) {
            let most = times
                .iter()
                .map(|from| times.iter().filter(|at| (*from..=from + window).contains(at)).count())
                .max();
            assert!(possible(&interrupt, window) >= most.unwrap() as u64, "{window}");
        }
    }
}
