//! The words for one kind of readings, on plots, in captions and in comparisons.

/// What the readings of a series are called. Every text is a part of a sentence or a heading, in plain text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Heading of the section that shows the distribution.
    pub distribution: &'static str,
    /// What is measured of a reading: `latency`, `length`.
    pub quantity: &'static str,
    /// Heading of the section that shows the tail.
    pub tail: &'static str,
    /// What a plot of the tail shows of the readings, as in "The share of wake-ups *at least as late as each latency*".
    pub exceeding: &'static str,
    /// The adjective: `late` or `long`.
    pub degree: &'static str,
    /// The axis of their values, with the unit.
    pub axis: &'static str,
    /// The highest of them.
    pub peak: &'static str,
    /// Their values.
    pub values: &'static str,
    /// The comparative: `later` or `longer`.
    pub more: &'static str,
    /// All series of a phase together.
    pub pooled: &'static str,
}

/// Terms for latencies of wake-ups.
pub const LATENCY: Terms = Terms {
    distribution: "How late",
    quantity: "latency",
    tail: "How rare is late",
    exceeding: "at least as late as each latency",
    degree: "late",
    axis: "latency, µs",
    peak: "highest latency",
    values: "latencies",
    more: "later",
    pooled: "all CPUs",
};
