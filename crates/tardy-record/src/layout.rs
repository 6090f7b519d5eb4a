//! The log-linear layout of histograms: the bin of a value.
//!
//! Each octave (power of two) is divided into the same number of bins, so a bin's width is a constant share of its
//! value: with [`FINE`], 128 bins per octave, under 0.8 %. Values below 128 ns have one bin each. All arithmetic is
//! on integers, so that a value falls into the same bin on every machine.
//!
//! Alternative not taken: cyclictest's linear bins of 1 us. They need a range that is chosen beforehand, and values
//! beyond it, which matter most, are lost.

/// A log-linear layout: the number of significant bits and the largest magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLinear {
    /// 2 to this power is the number of bins per octave.
    bits: u32,
}

/// The layout of recorded histograms: 128 bins per octave.
pub const FINE: LogLinear = LogLinear { bits: 7 };
/// The layout of time slices: 16 bins per octave, which contain those of [`FINE`].
pub const COARSE: LogLinear = LogLinear { bits: 4 };
/// Magnitudes from here on (2^40 ns, about 18 minutes) share the last bin, whose upper edge is `i64::MAX`.
pub const RANGE_BITS: u32 = 40;

impl LogLinear {
    /// The number of bins for magnitudes from 0 up; the last bin holds everything beyond 2^[`RANGE_BITS`].
    pub const fn bin_count(self) -> usize {
        (((RANGE_BITS - self.bits + 1) << self.bits) + 1) as usize
    }

    /// The bin that holds `magnitude`.
    #[inline(always)]
    pub const fn index(self, magnitude: u64) -> usize {
        let sub_bins = 1u64 << self.bits;
        if magnitude < sub_bins {
            return magnitude as usize;
        }
        if magnitude >> RANGE_BITS != 0 {
            return self.bin_count() - 1;
        }
        self.regular_index(magnitude)
    }

    /// The bin that contains bin `index` of [`FINE`].
    #[inline(always)]
    pub const fn of_fine(self, index: usize) -> usize {
        if index < 1 << FINE.bits {
            return self.index(index as u64);
        }
        let finer_bits = FINE.bits - self.bits;
        // The first octave of FINE that is divided is that many octaves further here.
        (index >> finer_bits) + ((finer_bits as usize) << self.bits)
    }

    /// The smallest magnitude whose octave is divided into bins.
    pub const fn regular_from(self) -> u64 {
        1 << self.bits
    }

    /// The bin that holds `magnitude`, which must be at least [`Self::regular_from`] and under 2^[`RANGE_BITS`]; for
    /// other magnitudes the result is meaningless.
    #[inline(always)]
    pub const fn regular_index(self, magnitude: u64) -> usize {
        let octave = (magnitude | 1).ilog2().wrapping_sub(self.bits);
        // The leading 1 of the octave accounts for the bins of the octaves below.
        ((octave as u64) << self.bits).wrapping_add(magnitude >> (octave % u64::BITS)) as usize
    }

    /// The half-open range of values [lower, upper) in bin `index`.
    ///
    /// # Panics
    /// If there is no such bin.
    pub const fn edges(self, index: usize) -> (i64, i64) {
        assert!(index < self.bin_count(), "no such bin");
        if index == self.bin_count() - 1 {
            return (1 << RANGE_BITS, i64::MAX);
        }
        let sub_bins = 1usize << self.bits;
        if index < sub_bins {
            return (index as i64, index as i64 + 1);
        }
        let octave = (index >> self.bits) - 1;
        let lower = ((sub_bins | (index & (sub_bins - 1))) as i64) << octave;
        (lower, lower + (1 << octave))
    }

    /// The half-open range of negative values whose magnitude falls into bin `index`.
    pub const fn negative_edges(self, index: usize) -> (i64, i64) {
        let (lower, upper) = self.edges(index);
        (if upper == i64::MAX { -i64::MAX } else { 1 - upper }, 1 - lower)
    }

    /// The edges of the bin that holds `value`, whatever its sign.
    pub const fn edges_of(self, value: i64) -> (i64, i64) {
        if value < 0 {
            self.negative_edges(self.index(value.unsigned_abs()))
        } else {
            self.edges(self.index(value as u64))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_each_other_without_a_gap() {
        for layout in [FINE, COARSE] {
            let mut expected = 0;
            for index in 0..layout.bin_count() {
                let (lower, upper) = layout.edges(index);
                assert_eq!(lower, expected, "bin {index}");
                assert!(upper > lower);
                expected = upper;
            }
            assert_eq!(expected, i64::MAX);
        }
    }

    #[test]
    fn a_fine_bin_is_under_eight_per_mille_wide() {
        for index in 128..FINE.bin_count() - 1 {
            let (lower, upper) = FINE.edges(index);
            assert!((upper - lower) * 1000 <= lower * 8);
        }
    }

    #[test]
    fn a_fine_bin_lies_in_its_coarse_bin() {
        for index in 0..FINE.bin_count() {
            let lower = FINE.edges(index).0;
            assert_eq!(COARSE.of_fine(index), COARSE.index(lower.unsigned_abs()), "bin {index}");
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin(value in prop_oneof![any::<i64>(), -5000i64..5000, -2_000_000_000i64..2_000_000_000]) {
            prop_assume!(value != i64::MIN && value != i64::MAX);
            for layout in [FINE, COARSE] {
                let (lower, upper) = layout.edges_of(value);
                prop_assert!(lower <= value && value < upper, "{value} not in [{lower}, {upper})");
            }
        }

        #[test]
        fn fine_bins_nest_in_coarse_ones(value in 0i64..i64::MAX) {
            let (fine, coarse) = (FINE.edges_of(value), COARSE.edges_of(value));
            prop_assert!(coarse.0 <= fine.0 && fine.1 <= coarse.1);
        }
    }
}
