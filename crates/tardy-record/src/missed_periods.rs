//! Missed periods: the deadlines that pass while a wake-up is late.
//!
//! A wake-up of latency L on a schedule of interval I has passed k = ⌊L/I⌋ + 1 deadlines. The first is recorded with
//! L; the other k−1 are missed, and waited L−I, L−2I, …. Tools that skip them (cyclictest, rtla) underestimate
//! latency: `docs/accounting.md` has the arithmetic.

use crate::layout::FINE;

/// The number of further deadlines, k−1, that a wake-up passed if it is `late_ns` after its own.
#[inline]
pub const fn missed_behind(late_ns: i64, interval_ns: u64) -> u64 {
    if late_ns <= 0 { 0 } else { late_ns as u64 / interval_ns }
}

/// Calls `add(bin, count)` for the bins of [`FINE`] that hold the waits `late_ns − j · interval_ns`, for j from 1 to
/// `missed`. Takes at most as many steps as there are bins, however long the stall.
#[inline]
pub fn fill(late_ns: i64, interval_ns: u64, missed: u64, mut add: impl FnMut(usize, u64)) {
    let mut left = missed;
    let mut wait = late_ns as u64;
    while left > 0 {
        wait = wait.saturating_sub(interval_ns);
        let bin = FINE.index(wait);
        let in_bin = ((wait - FINE.edges(bin).0 as u64) / interval_ns + 1).min(left);
        add(bin, in_bin);
        left -= in_bin;
        wait = wait.saturating_sub((in_bin - 1) * interval_ns);
    }
}

/// The sum of the waits that [`fill`] adds.
pub const fn filled_sum_ns(late_ns: i64, interval_ns: u64, missed: u64) -> i64 {
    missed as i64 * late_ns - (interval_ns * (missed * (missed + 1) / 2)) as i64
}

/// The number of those waits that are longer than `limit_ns`.
pub const fn filled_beyond(late_ns: i64, interval_ns: u64, missed: u64, limit_ns: u64) -> u64 {
    // Without a schedule nothing is missed and the interval is 0.
    if missed == 0 || late_ns <= 0 || late_ns as u64 <= limit_ns {
        return 0;
    }
    // L − jI > X  ⇔  j < (L − X) / I
    let beyond = (late_ns as u64 - limit_ns - 1) / interval_ns;
    if beyond < missed { beyond } else { missed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_stall_of_3_4_ms_at_1_ms_is_one_recorded_and_three_missed() {
        assert_eq!(missed_behind(3_400_000, 1_000_000), 3);
        let mut waits = Vec::new();
        fill(3_400_000, 1_000_000, 3, |bin, count| waits.push((bin, count)));
        let bins = [2_400_000, 1_400_000, 400_000].map(|wait| (FINE.index(wait), 1));
        assert_eq!(waits, bins);
        assert_eq!(filled_sum_ns(3_400_000, 1_000_000, 3), 4_200_000);
        assert_eq!(filled_beyond(3_400_000, 1_000_000, 3, 1_000_000), 2);
        assert_eq!(filled_beyond(3_400_000, 0, 0, 1_000_000), 0, "nothing is missed without a schedule");
    }

    #[test]
    fn early_and_punctual_wakeups_miss_nothing() {
        assert_eq!(missed_behind(-5, 100), 0);
        assert_eq!(missed_behind(99, 100), 0);
        assert_eq!(missed_behind(100, 100), 1);
    }

    proptest! {
        #[test]
        fn filling_by_bins_equals_filling_one_by_one(late in 0i64..5_000_000_000, interval in 20_000u64..3_000_000) {
            let missed = missed_behind(late, interval);
            let mut expected: BTreeMap<usize, u64> = BTreeMap::new();
            let (mut sum, mut beyond) = (0i64, 0u64);
            for j in 1..=missed {
                let wait = late as u64 - j * interval;
                *expected.entry(FINE.index(wait)).or_default() += 1;
                sum += wait as i64;
                beyond += u64::from(wait > 1_000_000);
            }
            let mut filled: BTreeMap<usize, u64> = BTreeMap::new();
            fill(late, interval, missed, |bin, count| *filled.entry(bin).or_default() += count);
            prop_assert_eq!(filled, expected);
            prop_assert_eq!(filled_sum_ns(late, interval, missed), sum);
            prop_assert_eq!(filled_beyond(late, interval, missed, 1_000_000), beyond);
        }
    }
}
