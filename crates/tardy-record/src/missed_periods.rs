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
