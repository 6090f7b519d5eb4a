//! The rows of a histogram in JSON: an object with a number as each key and a count as each value.
//!
//! A file can have millions of them. A row has room for two edges, so that it becomes a bin without a copy.

use std::cmp::Ordering;

/// The most rows without a count that are remembered to find duplicate keys.
const EMPTY_MAX: usize = 1 << 20;
/// The most digits before the point of a key: thousandths of it fit in 63 bits.
const DIGITS_MAX: usize = 15;

/// A row with a count. It has the size of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    thousandths: i64,
    count: u64,
    /// Room for the second edge of a bin.
    _edge: i64,
}

/// The key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its value, in thousandths.
    pub thousandths: i64,
    /// Whether it has a decimal point.
    pub is_fraction: bool,
}

impl Key {
    /// The key at the beginning of `bytes` and its length. It has at most 15 digits, and three after a point.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let digit = |at: usize| bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10);
        let (mut value, mut at) = (0i64, 0);
        while let Some(digit) = digit(at).filter(|_| at < DIGITS_MAX) {
            value = value * 10 + i64::from(digit);
            at += 1;
        }
        if at == 0 || digit(at).is_some() {
            return None;
        }
        let mut thousandths = value * 1000;
        if bytes.get(at) != Some(&b'.') {
            return Some((Self { thousandths, is_fraction: false }, at));
        }
        let point = at;
        at += 1;
        let mut place = 100;
        while let Some(digit) = digit(at) {
            thousandths += place * i64::from(digit);
            place /= 10;
            at += 1;
        }
        (1..=3).contains(&(at - point - 1)).then_some((Self { thousandths, is_fraction: true }, at))
    }

    /// The key that `text` is. `None` if it is not a number.
    pub(super) fn of(text: &str) -> Option<Self> {
        Self::parse(text.as_bytes()).filter(|(_, length)| *length == text.len()).map(|(key, _)| key)
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.thousandths / 1000, self.thousandths % 1000);
        if self.is_fraction { write!(formatter, "{whole}.{rest:03}") } else { write!(formatter, "{whole}") }
    }
}

/// Why a row is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The key in thousandths appears twice.
    Twice(i64),
    /// Too many rows without a count are out of order.
    TooManyEmpty,
}

/// The rows of an object.
#[derive(Debug, Default)]
pub struct Rows {
    /// The rows with a count. In order, unless [`Self::is_unordered`].
    bins: Vec<Row>,
    /// The keys of the rows without a count, at most [`EMPTY_MAX`]; those of ordered rows until the end only.
    empty: Vec<i64>,
    /// Whether there were more rows without a count.
    has_forgotten: bool,
    is_unordered: bool,
    lowest: Option<Key>,
    /// The highest key, and the last one as long as the rows are in order.
    highest: Option<Key>,
    first_fraction: Option<Key>,
    /// The least distance between two neighbours, in thousandths.
    distance: Option<i64>,
}

impl Rows {
    /// The lowest key.
    pub fn lowest(&self) -> Option<Key> {
        self.lowest
    }

    /// The highest key.
    pub fn highest(&self) -> Option<Key> {
        self.highest
    }

    /// The first key with a decimal point.
    pub fn first_fraction(&self) -> Option<Key> {
        self.first_fraction
    }

    /// The least distance between two neighbouring keys, or of the lowest from 0, in thousandths.
    pub fn width(&self) -> Option<i64> {
        let lowest = self.lowest.map(|key| key.thousandths);
        self.distance.into_iter().chain(lowest).min()
    }

    /// The rows with a count, in ascending order, as `bin` converts a key in thousandths and its count. If the result has 24
    /// bytes, like a bin with two edges, it replaces the rows in memory.
    pub fn into_bins<B>(self, bin: impl Fn(i64, u64) -> B) -> Vec<B> {
        self.bins.into_iter().map(|row| bin(row.thousandths, row.count)).collect()
    }

    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, key: Key, count: u64) -> Result<(), Flaw> {
        let at = key.thousandths;
        match self.highest.map(|highest| at - highest.thousandths) {
            Some(distance) if distance > 0 => {
                if !self.is_unordered {
                    self.distance = Some(self.distance.map_or(distance, |least| least.min(distance)));
                }
                self.highest = Some(key);
            }
            Some(_) => self.accept_disorder(at)?,
            None => (self.lowest, self.highest) = (Some(key), Some(key)),
        }
        if key.is_fraction {
            self.first_fraction.get_or_insert(key);
        }
        if self.lowest.is_some_and(|lowest| at < lowest.thousandths) {
            self.lowest = Some(key);
        }
        if count > 0 {
            self.bins.push(Row { thousandths: at, count, _edge: 0 });
        } else if self.empty.len() < EMPTY_MAX {
            self.empty.push(at);
        } else if self.is_unordered {
            return Err(Flaw::TooManyEmpty);
        } else {
            self.has_forgotten = true;
        }
        Ok(())
    }

    /// Accepts a row at `at`, which is not above all earlier rows.
    #[cold]
    fn accept_disorder(&mut self, at: i64) -> Result<(), Flaw> {
        if self.is_unordered {
            return Ok(());
        }
        // Up to here, all rows are in order.
        let is_known = self.bins.binary_search_by_key(&at, |bin| bin.thousandths).is_ok()
            || self.empty.binary_search(&at).is_ok();
        if is_known {
            return Err(Flaw::Twice(at));
        }
        if self.has_forgotten {
            return Err(Flaw::TooManyEmpty);
        }
        self.is_unordered = true;
        Ok(())
    }

    /// Puts the rows in order after the last one.
    pub(super) fn finish(&mut self) -> Result<(), Flaw> {
        if self.is_unordered {
            self.bins.sort_unstable_by_key(|bin| bin.thousandths);
            self.empty.sort_unstable();
            self.distance = None;
            let (mut bins, mut empty) = (self.bins.iter().peekable(), self.empty.iter().peekable());
            let mut before = None;
            loop {
                let at = match (bins.peek(), empty.peek()) {
                    (None, None) => break,
                    (Some(bin), Some(at)) if bin.thousandths.cmp(at) == Ordering::Less => bin.thousandths,
                    (Some(bin), None) => bin.thousandths,
                    (_, Some(at)) => **at,
                };
                if bins.next_if(|bin| bin.thousandths == at).is_none() {
                    empty.next();
                }
                match before.replace(at).map(|before| at - before) {
                    Some(0) => return Err(Flaw::Twice(at)),
                    Some(distance) => {
                        self.distance = Some(self.distance.map_or(distance, |least| least.min(distance)));
                    }
                    None => {}
                }
            }
        }
        self.empty = Vec::new();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> Key {
        Key::of(text).unwrap_or_else(|| panic!("{text}"))
    }

    fn of(rows: &[(&str, u64)]) -> Result<Rows, Flaw> {
        let mut all = Rows::default();
        for (text, count) in rows {
            all.push(key(text), *count)?;
        }
        all.finish()?;
        Ok(all)
    }

    #[test]
    fn keys_are_numbers_with_up_to_three_decimals() {
        for (text, thousandths) in [("0", 0), ("7", 7000), ("0.500", 500), ("12.5", 12_500), ("007", 7000)] {
            assert_eq!(key(text).thousandths, thousandths, "{text}");
        }
        assert_eq!((key("0.500").to_string(), key("7").to_string()), ("0.500".to_owned(), "7".to_owned()));
        assert_eq!(key("999999999999999").thousandths, 999_999_999_999_999_000);
        for text in ["", "-1", "+1", "1.", ".5", "1e3", "1.2345", "1000000000000000", "7 ", "x"] {
            assert_eq!(Key::of(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_that_appears_twice_is_found_in_any_order() {
        let cases: [&[(&str, u64)]; 6] = [
            &[("7", 1), ("7", 1)],
            &[("7", 0), ("7", 1)],
            &[("7", 1), ("8", 0), ("9", 1), ("8", 3)],
            &[("9", 1), ("7", 1), ("9", 0)],
            &[("9", 1), ("7", 0), ("7", 0)],
            &[("9", 1), ("7", 0), ("8", 1), ("7", 2)],
        ];
        for rows in cases {
            assert!(matches!(of(rows), Err(Flaw::Twice(_))), "{rows:?}");
        }
    }

    #[test]
    fn rows_without_a_count_beyond_the_limit_must_be_in_order() {
        let mut rows = Rows::default();
        for at in 1..=EMPTY_MAX as i64 + 1 {
            rows.push(Key { thousandths: at * 1000, is_fraction: false }, 0).unwrap();
        }
        assert_eq!(rows.push(key("0"), 1), Err(Flaw::TooManyEmpty));
        assert_eq!(rows.push(key("8"), 1), Err(Flaw::Twice(8000)));
    }

    proptest! {
        #[test]
        fn the_order_of_rows_does_not_matter(
            rows in prop::collection::btree_map(0..3000i64, 0..3u64, 0..40).prop_flat_map(|map| {
                let sorted: Vec<(i64, u64)> = map.into_iter().collect();
                (Just(sorted.clone()), Just(sorted).prop_shuffle())
            })
        ) {
            let make = |rows: &[(i64, u64)]| {
                let mut all = Rows::default();
                for (at, count) in rows {
                    all.push(Key { thousandths: *at, is_fraction: false }, *count).unwrap();
                }
                all.finish().unwrap();
                (all.lowest(), all.highest(), all.width(), all.into_bins(|at, count| (at, count)))
            };
            let (sorted, shuffled) = rows;
            let made = make(&shuffled);
            prop_assert_eq!(&made, &make(&sorted));
            let gaps = sorted.windows(2).map(|pair| pair[1].0 - pair[0].0);
            prop_assert_eq!(made.2, gaps.chain(sorted.first().map(|row| row.0)).min());
        }
    }
}
