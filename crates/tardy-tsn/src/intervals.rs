//! How long a machine takes where a switch file has one number or none: from the shortest to the longest time, as measured.
//!
//! `tardy tsn test --intervals` measures and writes them, and `tardy tsn synthesize --intervals` widens windows to them.

use std::fmt::{self, Write as _};

use tardy_record::units::format_signed_duration_ns;

/// The shortest and the longest time of something, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The shortest time. Negative: before.
    pub least_ns: i64,
    /// The longest time; not less.
    pub most_ns: i64,
}

impl Interval {
    /// The interval of all these times; `None` if there is none.
    pub fn of(times_ns: impl IntoIterator<Item = i64>) -> Option<Self> {
        times_ns.into_iter().fold(None, |interval: Option<Self>, ns| {
            let Self { least_ns, most_ns } = interval.unwrap_or(Self { least_ns: ns, most_ns: ns });
            Some(Self { least_ns: least_ns.min(ns), most_ns: most_ns.max(ns) })
        })
    }
}

/// The intervals of a network. Times on the wire, which follow from sizes and rates, are not part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    /// From a frame's launch time to its entry into the queue of the first switch's port. Negative if ETF releases frames early.
    pub talker: Interval,
    /// From the last bit at a switch to the entry into the queue of the next port.
    pub forwarding: Interval,
    /// From the opening of a gate, or from a frame's entry into the queue if that is later, to the start of its transmission.
    pub gate: Interval,
    /// From the last bit at the listener to its time stamp.
    pub listener: Interval,
}

/// The keys of a file of intervals, in its order.
pub(crate) const KEYS: [&str; 4] = ["talker", "forwarding", "gate", "listener"];

impl Intervals {
    /// The intervals in the order of [`KEYS`].
    fn in_order(&self) -> [Interval; 4] {
        [self.talker, self.forwarding, self.gate, self.listener]
    }

    /// A file with these intervals. `remark` is its first line, without the `#`.
    pub fn text(&self, remark: &str) -> String {
        let mut text = format!("# {remark}\n");
        for (key, interval) in KEYS.into_iter().zip(self.in_order()) {
            let _ = writeln!(
                text,
                "{key} = {{ least = \"{}\", most = \"{}\" }}",
                format_signed_duration_ns(interval.least_ns),
                format_signed_duration_ns(interval.most_ns)
            );
        }
        text
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (key, interval)) in KEYS.into_iter().zip(self.in_order()).enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(
                f,
                "{separator}{key} {} to {}",
                format_signed_duration_ns(interval.least_ns),
                format_signed_duration_ns(interval.most_ns)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_contains_all_its_times() {
        assert_eq!(Interval::of([5, -3, 4]), Some(Interval { least_ns: -3, most_ns: 5 }));
        assert_eq!(Interval::of([]), None);
    }
}
