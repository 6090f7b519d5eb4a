//! How a late wake-up fills the periods that passed during it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tardy_record::layout::FINE;
use tardy_record::missed_periods::{fill, filled_beyond, filled_sum_ns, missed_behind};

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
