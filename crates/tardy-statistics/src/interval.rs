//! Confidence intervals.

/// The ends of a confidence interval. An end is `None` if the data do not determine it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// The lower end.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

impl Ends {
    /// Whether the interval contains `value`; an end that is not determined excludes nothing.
    pub fn contain(&self, value: f64) -> bool {
        self.low.is_none_or(|low| low <= value) && self.high.is_none_or(|high| value <= high)
    }

    /// Whether the two intervals have a value in common.
    pub fn overlap(&self, other: &Self) -> bool {
        let is_below = |a: &Self, b: &Self| matches!((a.high, b.low), (Some(high), Some(low)) if high < low);
        !is_below(self, other) && !is_below(other, self)
    }
}
