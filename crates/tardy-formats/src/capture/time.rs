//! Conversion from a file's ticks to nanoseconds.

use tardy_record::capture::ResolvedBy;

/// The longest capture, in ns (2^60, 36 years).
const NS_MAX: u128 = 1 << 60;
/// Picoseconds in a nanosecond.
pub(super) const NANOSECOND_PS: u64 = 1000;
/// Picoseconds in a second.
const SECOND_PS: u64 = 1_000_000_000_000;

/// The length of a tick: a fraction of ns in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeBase {
    multiply: u64,
    divide: u64,
    /// As [`tardy_record::capture::CaptureSeries::resolution_ps`].
    pub(crate) resolution_ps: u64,
    /// The source of the resolution.
    pub(crate) resolved_by: ResolvedBy,
}

impl TimeBase {
    /// For ticks of `fs` femtoseconds.
    pub(crate) fn of_femtoseconds(fs: u64, resolved_by: ResolvedBy) -> Self {
        Self::new(fs.max(1), 1_000_000, fs.div_ceil(1000), resolved_by)
    }

    /// For `rate` ticks per second; `rate` is not 0.
    pub(crate) fn of_rate(rate: u64) -> Self {
        Self::new(1_000_000_000, rate.max(1), SECOND_PS.div_ceil(rate.max(1)), ResolvedBy::SampleRate)
    }

    fn new(multiply: u64, divide: u64, resolution_ps: u64, resolved_by: ResolvedBy) -> Self {
        let common = greatest_common_divisor(multiply, divide);
        Self {
            multiply: multiply / common,
            divide: divide / common,
            resolution_ps: resolution_ps.max(1),
            resolved_by,
        }
    }

    /// `ticks`, at most [`Self::ticks_max`], in whole ns, truncated.
    #[inline]
    pub(crate) fn ns(&self, ticks: u64) -> u64 {
        if self.multiply == 1 {
            return if self.divide == 1 { ticks } else { ticks / self.divide };
        }
        match ticks.checked_mul(self.multiply) {
            Some(product) if self.divide == 1 => product,
            Some(product) => product / self.divide,
            None => {
                let ns = u128::from(ticks) * u128::from(self.multiply) / u128::from(self.divide);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }

    /// A remark if the file's times are finer than 1 ns, the unit of readings.
    pub(crate) fn remark(&self) -> Option<String> {
        (self.resolution_ps < NANOSECOND_PS && self.resolved_by != ResolvedBy::Unstated)
            .then(|| "the file's times are finer than 1 ns; readings are truncated to whole ns".to_owned())
    }

    /// The latest time that can be represented, in ticks.
    pub(crate) fn ticks_max(&self) -> u64 {
        let ticks = NS_MAX * u128::from(self.divide) / u128::from(self.multiply);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_exact_in_every_scale() {
        let picoseconds = TimeBase::of_femtoseconds(1000, ResolvedBy::TimeScale);
        assert_eq!(
            (picoseconds.ns(999), picoseconds.ns(1000), picoseconds.ns(u64::MAX)),
            (0, 1, u64::MAX / 1000)
        );
        let hundred_us = TimeBase::of_femtoseconds(100_000_000_000, ResolvedBy::TimeScale);
        assert_eq!((hundred_us.ns(7), hundred_us.resolution_ps), (700_000, 100_000_000));
        let seconds = TimeBase::of_femtoseconds(1_000_000_000_000_000, ResolvedBy::TimeScale);
        assert_eq!(seconds.ns(seconds.ticks_max()), (1 << 60) / 1_000_000_000 * 1_000_000_000);
        let rate = TimeBase::of_rate(24_000_000);
        assert_eq!((rate.ns(1), rate.ns(3), rate.ns(24_000_000 * 3600)), (41, 125, 3_600_000_000_000));
        assert_eq!(rate.resolution_ps, 41_667);
        assert_eq!(TimeBase::of_rate(u64::MAX).ns(u64::MAX), 1_000_000_000);
    }
}
