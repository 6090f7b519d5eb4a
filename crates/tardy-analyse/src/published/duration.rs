//! Durations in the form that articles state them: `44 h 30 min`, `about 2.5 h`, `more than 5 h`.

/// A duration as stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stated {
    /// This long, in ns.
    Exactly(f64),
    /// Roughly this long.
    About(f64),
    /// This long or longer.
    AtLeast(f64),
}

/// Reads a duration; `None` if the text is not one.
pub(super) fn parse(text: &str) -> Option<Stated> {
    for prefix in ["about ", "around ", "almost "] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return length_ns(rest).map(Stated::About);
        }
    }
    for prefix in ["at least ", "more than "] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return length_ns(rest).map(Stated::AtLeast);
        }
    }
    length_ns(text).map(Stated::Exactly)
}

/// Numbers with units, such as `44 h 30 min`, in ns.
fn length_ns(text: &str) -> Option<f64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() || !words.len().is_multiple_of(2) {
        return None;
    }
    let part = |pair: &[&str]| {
        let unit = match pair[1] {
            "h" => 3600e9,
            "min" => 60e9,
            "s" => 1e9,
            _ => return None,
        };
        Some(pair[0].parse::<f64>().ok().filter(|number| *number >= 0.0)? * unit)
    };
    words.chunks(2).map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_the_articles_are_parsed() {
        let h = 3600e9;
        for (text, expected) in [
            ("12 h", Some(Stated::Exactly(12.0 * h))),
            ("44 h 30 min", Some(Stated::Exactly(44.5 * h))),
            ("about 2.5 h", Some(Stated::About(2.5 * h))),
            ("more than 5 h", Some(Stated::AtLeast(5.0 * h))),
            ("at least 3 h", Some(Stated::AtLeast(3.0 * h))),
            ("a night", None),
            ("", None),
            ("12", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
