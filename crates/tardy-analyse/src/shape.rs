//! A distribution in a few dozen numbers: how many readings are in each quarter of an octave. Enough to draw many runs next to each
//! other, and small enough to keep of each.

use serde::{Deserialize, Serialize};
use tardy_record::Series;

/// Rows per octave.
pub const ROWS_AN_OCTAVE: f64 = 4.0;
/// Latencies below this, in ns, share the lowest row.
const FLOOR_NS: f64 = 125.0;

/// The number of readings in each row. Rows without readings are left out, and the others are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape(pub Vec<(i32, u64)>);

impl Shape {
    /// That of all readings of `series`.
    pub fn of<'a>(series: impl IntoIterator<Item = &'a Series>) -> Self {
        let mut rows = std::collections::BTreeMap::<i32, u64>::new();
        for bin in series.into_iter().flat_map(|series| series.quoted().bins()) {
            let count = rows.entry(row(bin.lower_ns)).or_default();
            *count = count.saturating_add(bin.count);
        }
        Self(rows.into_iter().filter(|(_, count)| *count > 0).collect())
    }
}

/// The row of a bin that begins at `lower_ns`.
pub fn row(lower_ns: i64) -> i32 {
    // About half a bin is added, so that rounding does not move a bin at a power of two into the row below.
    (libm::log2((lower_ns as f64 * 1.01).max(FLOOR_NS)) * ROWS_AN_OCTAVE).floor() as i32
}

/// The lowest latency of a row, in ns.
pub fn edge(row: i32) -> f64 {
    libm::pow(2.0, f64::from(row) / ROWS_AN_OCTAVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_at_its_edge() {
        for lower in [128_i64, 1024, 4096, 1 << 20] {
            assert!((edge(row(lower)) - lower as f64).abs() < 1e-6 * lower as f64, "{lower}");
        }
        assert_eq!(row(0), row(-5_000), "the lowest row has what is early, too");
        assert!(row(1_000_000) > row(990_000 / 2));
    }
}
