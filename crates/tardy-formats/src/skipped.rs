//! The share of periods that a tool skipped, from interval, cycles and duration.
//!
//! cyclictest does not count the periods that pass during a late wake-up, but they are missing from its cycles: a run of
//! length D with an interval of I should have D/I cycles. The result is a range, since durations are known to a second or a
//! minute. A range that includes zero gives no result.

/// The lowest and highest possible share of skipped periods, from 0 to 1. `None` if it may be zero, as in a short run whose
/// duration is known to a second.
pub fn share(cycles: u64, interval_ns: u64, duration_ns: (u64, u64)) -> Option<(f64, f64)> {
    let of = |duration_ns: u64| 1.0 - cycles as f64 * interval_ns as f64 / duration_ns as f64;
    let (shortest, longest) = duration_ns;
    if cycles == 0 || interval_ns == 0 || shortest == 0 || longest < shortest {
        return None;
    }
    let (low, high) = (of(shortest), of(longest));
    // If there are more cycles than the time allows, the interval or the duration is wrong.
    if high < 0.0 || low <= 0.0 {
        return None;
    }
    Some((low, high.min(1.0)))
}

/// A message for the user.
pub(crate) fn sentence((low, high): (f64, f64)) -> String {
    let per_cent = |share: f64| format!("{:.1}", share * 100.0);
    let (low, high) = (per_cent(low), per_cent(high));
    let range = if low == high { low } else { format!("{low} to {high}") };
    format!(
        "{range} % of the periods have no reading (from interval, cycles and duration); they passed during late wake-ups"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard kernels of the AT91SAM article: an interval of 1 ms, durations to the minute.
    #[test]
    fn a_fifth_of_the_periods_is_missing_in_the_articles_standard_kernels() {
        let minutes = |hours: u64, minutes: u64| (hours * 60 + minutes) * 60_000_000_000;
        for (cycles, duration_ns, expected) in
            [(31_919_110, minutes(11, 9), 20.5), (30_618_980, minutes(11, 2), 22.9)]
        {
            let exact = share(cycles, 1_000_000, (duration_ns, duration_ns)).unwrap().0 * 100.0;
            assert!((exact - expected).abs() < 0.06, "{exact}");
            let half = 30_000_000_000;
            let (low, high) = share(cycles, 1_000_000, (duration_ns - half, duration_ns + half)).unwrap();
            assert!(low * 100.0 < exact && exact < high * 100.0 && high - low < 0.002);
        }
    }

    #[test]
    fn a_share_that_may_be_zero_is_not_reported() {
        let second = 1_000_000_000;
        assert_eq!(share(49_730, 200_000, (9 * second, 11 * second)), None);
        assert_eq!(share(0, 200_000, (second, second)), None);
        assert_eq!(share(10, 0, (second, second)), None);
        assert_eq!(share(10, 200_000, (0, second)), None);
        assert_eq!(share(60_000, 200_000, (second, second)), None, "more cycles than the time allows");
    }
}
