//! Scales, which convert values to positions, and their ticks.

/// A linear or logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A linear axis of values from `low` to `high` between the positions `from` and `to`.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { logarithmic: false, low, high, from, to }
    }

    /// A logarithmic axis of values from `low`, which is above 0, to `high`.
    pub fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = if low > 0.0 { low } else { 1e-9 };
        let high = if high > low { high } else { low * 10.0 };
        Self { logarithmic: true, low, high, from, to }
    }

    /// The position of `value`, or of the nearer end if it is off the axis.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Lowest value on the axis.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Highest value on the axis.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The axis as text for the page's script: kind, values and positions.
    pub fn data(&self) -> String {
        let kind = if self.logarithmic { "log" } else { "lin" };
        format!("{kind} {:e} {:e} {} {}", self.low, self.high, self.from, self.to)
    }

    /// Values for labelled ticks, about `wanted` on a linear axis, one per decade on a logarithmic one (fewer if
    /// they do not fit; 1, 2 and 5 of each decade if there would be one label or none).
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        if !self.logarithmic {
            return multiples(self.low, self.high, nice((self.high - self.low) / wanted.max(1) as f64));
        }
        let (first, last) = (decade_above(self.low), libm::log10(self.high * 1.000_001).floor() as i32);
        if last <= first {
            return self.steps_of_decades().filter(|value| (self.low..=self.high).contains(value)).collect();
        }
        let every = ((last - first + 1).max(1) as usize).div_ceil(wanted.max(1)) as i32;
        (first..=last)
            .filter(|decade| decade.rem_euclid(every) == 0)
            .map(|decade| 10f64.powi(decade))
            .collect()
    }

    /// 1, 2 and 5 of each decade of a logarithmic axis, and of the decades next to it.
    fn steps_of_decades(&self) -> impl Iterator<Item = f64> + use<> {
        let (first, last) = (decade_above(self.low) - 1, libm::log10(self.high).ceil() as i32);
        (first..=last).flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)))
    }

    /// Values for hairlines between the ticks of a logarithmic axis: 2, 3, … 9 of each decade.
    pub fn minor_ticks(&self) -> Vec<f64> {
        if !self.logarithmic {
            return Vec::new();
        }
        let (first, last) = (decade_above(self.low) - 1, libm::log10(self.high).floor() as i32);
        let inside = |value: &f64| *value > self.low && *value < self.high;
        (first..=last)
            .flat_map(|decade| (2..10).map(move |i| f64::from(i) * 10f64.powi(decade)))
            .filter(inside)
            .collect()
    }
}

fn decade_above(value: f64) -> i32 {
    libm::log10(value * 0.999_999).ceil() as i32
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// The smallest of 1, 2, 5 times a power of ten that is not below `value`.
pub fn nice(value: f64) -> f64 {
    let power = libm::pow(10.0, libm::log10(value.max(1e-12)).floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value * 0.999_999).unwrap_or(10.0 * power)
}

/// Values for about `wanted` ticks between two times in ns, on whole seconds, minutes or hours.
pub fn time_ticks(from_ns: f64, to_ns: f64, wanted: usize) -> Vec<f64> {
    const STEPS_S: [f64; 22] = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0,
        3600.0, 7200.0, 21_600.0, 43_200.0, 86_400.0,
    ];
    let least = (to_ns - from_ns) / wanted.max(1) as f64;
    let step = STEPS_S.into_iter().map(|s| s * 1e9).find(|step| *step >= least);
    multiples(from_ns, to_ns, step.unwrap_or_else(|| nice(least / 86.4e12) * 86.4e12))
}

/// A time from the start of the run, in the unit that suits an axis of `span_ns`: `20 s`, `5 min`, `3 h`.
pub fn time_label(ns: f64, span_ns: f64) -> String {
    let (factor, unit) = match span_ns {
        span if span < 180e9 => (1e9, "s"),
        span if span < 3.0 * 3600e9 => (60e9, "min"),
        span if span < 3.0 * 86_400e9 => (3600e9, "h"),
        _ => (86_400e9, "d"),
    };
    let value = (ns / factor * 100.0).round() / 100.0;
    format!("{}\u{a0}{unit}", if value == 0.0 { 0.0 } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(Scale::linear(0.0, 104.0, 0.0, 1.0).ticks(6), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Scale::logarithmic(1.0, 1000.0, 0.0, 1.0).ticks(9), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::logarithmic(4.0, 80.0, 0.0, 1.0).ticks(9), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(Scale::logarithmic(11.0, 60.0, 0.0, 1.0).ticks(9), [20.0, 50.0]);
        assert_eq!(time_ticks(0.0, 60e9, 6), [0.0, 10e9, 20e9, 30e9, 40e9, 50e9, 60e9]);
        assert_eq!(time_label(90e9, 300e9), "1.5\u{a0}min");
    }

    proptest! {
        #[test]
        fn every_value_has_a_position(value in -1e12f64..1e12, low in -1e6f64..1e6, span in 0.0f64..1e9) {
            for scale in [Scale::linear(low, low + span, 10.0, 90.0), Scale::logarithmic(low, low + span, 10.0, 90.0)] {
                prop_assert!((10.0..=90.0).contains(&scale.at(value)));
            }
        }
    }
}
