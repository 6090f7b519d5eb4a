//! A file of intervals: tables with a shortest and a longest time.

use toml::de::DeTable;

use super::FileError;
use super::keys::{Keys, Problems};
use crate::intervals::{Interval, Intervals, KEYS};
use crate::span::Span;

/// The longest time of an interval, in ns: no schedule could contain a longer one.
const MOST_NS: i64 = 10_000_000_000;

/// Parses a file of intervals.
///
/// # Errors
///
/// Every part without a meaning, with its line.
pub fn parse_intervals(text: &str) -> Result<Intervals, FileError> {
    let (root, mistakes) = DeTable::parse_recoverable(text);
    let mut problems = Problems::default();
    for mistake in mistakes {
        let span = mistake.span().map(Span::from).unwrap_or_default();
        problems.add(span, format!("this is not TOML: {}", mistake.message()));
    }
    let mut file = Keys::of_file(&root);
    let [talker, forwarding, gate, listener] = KEYS.map(|key| match file.table(key, &mut problems) {
        Some(table) => interval(table, &mut problems),
        None => {
            file.missing(key, "{ least = \"0s\", most = \"50us\" }", &mut problems);
            Interval::default()
        }
    });
    file.finish(&mut problems);
    if !problems.is_empty() {
        return Err(problems.into_error(text));
    }
    Ok(Intervals { talker, forwarding, gate, listener })
}

fn interval(mut keys: Keys<'_>, problems: &mut Problems) -> Interval {
    let span = keys.span;
    let mut time = |key: &'static str| {
        let time = keys.instant(key, problems);
        if time.is_none() {
            keys.missing(key, "\"50us\"", problems);
        }
        time.map_or(0, |time| time.value)
    };
    let interval = Interval { least_ns: time("least"), most_ns: time("most") };
    keys.finish(problems);
    if interval.least_ns > interval.most_ns {
        problems.add(span, "'least' is longer than 'most'; exchange them".to_owned());
    }
    if interval.least_ns < -MOST_NS || interval.most_ns > MOST_NS {
        problems.add(span, "the times of an interval are from -10s to 10s".to_owned());
    }
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: Intervals = Intervals {
        talker: Interval { least_ns: -300_000, most_ns: 40_000 },
        forwarding: Interval { least_ns: 12_345, most_ns: 90_000 },
        gate: Interval { least_ns: 0, most_ns: 1 },
        listener: Interval { least_ns: 7, most_ns: 7 },
    };

    #[test]
    fn a_written_file_reads_back_the_same() {
        assert_eq!(parse_intervals(&INTERVALS.text("measured")), Ok(INTERVALS));
    }

    #[test]
    fn what_has_no_meaning_is_reported_with_its_line() {
        let wrong = |text: &str| parse_intervals(text).unwrap_err().to_string();
        let text = INTERVALS.text("measured");
        assert!(wrong(&text.replace("gate", "gait")).contains("line 4"), "an unknown key");
        assert!(wrong(&text.replace("\"1ns\"", "\"one\"")).contains("line 4"), "not a time");
        assert!(wrong(&text.replace("\"-300us\"", "\"50us\"")).contains("'least' is longer than 'most'"));
        assert!(wrong("talker = { least = \"0s\" }\n").contains("most"), "a key is missing");
        assert!(wrong(&text.replace("\"90us\"", "\"20s\"")).contains("10s"), "too long");
    }
}
