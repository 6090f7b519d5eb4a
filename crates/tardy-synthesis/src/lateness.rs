//! How much later than planned a network can be, which windows are widened to.

use tardy_record::units::format_duration_ns;
use tardy_tsn::intervals::{Interval, Intervals};

/// Measured longest times are multiplied by this: another schedule finds the machine at other work, and takes longer.
const LONGER: i64 = 2;
/// Intervals are rounded to this, in ns, to the safe side: the solver's steps divide all times.
const STEP_NS: i64 = 1_000;

/// What windows are widened to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// How long a link is reserved after each frame, in ns ([`crate::instance::Instance::margin_ns`]).
    pub margin_ns: u64,
    /// How long talkers, gates and forwarding take; `None`: talkers and gates are exact, and forwarding takes the time in the file.
    pub intervals: Option<Intervals>,
}

impl Lateness {
    /// Only a margin.
    pub fn of_margin(margin_ns: u64) -> Self {
        Self { margin_ns, intervals: None }
    }

    /// A margin, and measured intervals: longest times are doubled.
    ///
    /// # Errors
    /// A time that cannot be: frames are forwarded, gates open and frames arrive before their time.
    pub fn of_measured(margin_ns: u64, measured: &Intervals) -> Result<Self, String> {
        for (name, interval) in
            [("forwarding", measured.forwarding), ("gate", measured.gate), ("listener", measured.listener)]
        {
            if interval.least_ns < 0 {
                let ns = format_duration_ns(interval.least_ns.unsigned_abs());
                return Err(format!(
                    "{name} begins {ns} before its time, which only a talker can; measure again, with clocks that agree"
                ));
            }
        }
        let intervals = Intervals {
            talker: longer(measured.talker),
            forwarding: longer(measured.forwarding),
            gate: longer(measured.gate),
            listener: longer(measured.listener),
        };
        Ok(Self { margin_ns, intervals: Some(intervals) })
    }
}

/// The interval with a longer longest time, rounded.
fn longer(Interval { least_ns, most_ns }: Interval) -> Interval {
    let most_ns = if most_ns > 0 { most_ns.saturating_mul(LONGER) } else { most_ns };
    Interval {
        least_ns: least_ns.div_euclid(STEP_NS) * STEP_NS,
        most_ns: -(-most_ns).div_euclid(STEP_NS) * STEP_NS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_times_are_doubled_and_rounded_to_the_safe_side() {
        let wide = |least_ns, most_ns| longer(Interval { least_ns, most_ns });
        assert_eq!(wide(12_345, 20_001), Interval { least_ns: 12_000, most_ns: 41_000 });
        assert_eq!(wide(-300_500, -1_500), Interval { least_ns: -301_000, most_ns: -1_000 });
    }

    #[test]
    fn a_gate_cannot_open_before_its_time() {
        let gate = Interval { least_ns: -5, most_ns: 10 };
        let refused = Lateness::of_measured(0, &Intervals { gate, ..Intervals::default() });
        assert!(refused.unwrap_err().contains("gate begins 5ns before"));
        let talker = Interval { least_ns: -5, most_ns: 10 };
        assert!(Lateness::of_measured(0, &Intervals { talker, ..Intervals::default() }).is_ok());
    }
}
