//! The slices of a series in few characters.
//!
//! Slices have mostly the same bins, with similar counts, so they become a table: the times, the bins that any slice has, and a row
//! of counts for each bin. The parts are separated by semicolons, and all numbers are in base 36. A time is `LENGTH`, or `GAP:LENGTH`
//! after a gap; the first word is the start. A row has a word for each slice, empty without a count. A row of a rare bin begins
//! with a `!`, and names the slices that have it: `SKIPPED`, or `SKIPPED:COUNT` for another count than 1.
//!
//! The bin with the most readings has the row that is the hardest to compress, and slices mostly have equally many readings. So after the bins
//! comes the number of that bin, and its row has the sums of the slices instead. Links of an older version, with another mark, have
//! neither.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Bin, base36, bins, from_base36, of_bins, to_bins, triple};

/// The first character of the slices of a series.
pub(super) const MARK: char = '^';
/// The same in links of an older version: every row has counts.
pub(super) const OLD_MARK: char = '|';
/// The first character of a row of a rare bin.
const RARE: char = '!';
/// A bin is rare if at most one in so many slices has it.
const RARE_BELOW: usize = 4;

/// A slice: start, end, bins.
type Slice = (u64, u64, Vec<Bin>);

/// `values` as text, if they are slices that can be read again from it.
pub(super) fn written(values: &[Value]) -> Option<String> {
    let slices = values.iter().map(slice).collect::<Option<Vec<Slice>>>()?;
    let mut rows: BTreeMap<(i64, i64), Vec<Option<u64>>> = BTreeMap::new();
    for (place, (_, _, of_slice)) in slices.iter().enumerate() {
        for (lower, upper, count) in of_slice {
            let row = rows.entry((*lower, *upper)).or_insert_with(|| vec![None; slices.len()]);
            row[place] = Some(*count);
        }
    }
    let all: Vec<Bin> = rows.keys().map(|(lower, upper)| (*lower, *upper, 0)).collect();
    let mut rows: Vec<Vec<Option<u64>>> = rows.into_values().collect();
    let sum = |row: &[Option<u64>]| row.iter().flatten().fold(0u64, |sum, count| sum.saturating_add(*count));
    let highest = (0..rows.len()).max_by_key(|row| sum(&rows[*row]))?;
    rows[highest] = (0..slices.len())
        .map(|place| rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row[place].unwrap_or(0))))
        .collect();
    let head = [times(&slices)?, of_bins(&all)[1..].to_owned(), base36(highest as i128)];
    let parts: Vec<String> = head.into_iter().chain(rows.iter().map(|row| written_row(row))).collect();
    let text = format!("{MARK}{}", parts.join(";"));
    (read(&text).as_deref() == Some(values)).then_some(text)
}

/// The slices that `text` holds.
pub(super) fn read(text: &str) -> Option<Vec<Value>> {
    let mut parts = text.strip_prefix([MARK, OLD_MARK])?.split(';');
    let times = read_times(parts.next()?)?;
    let all = to_bins(parts.next()?)?;
    let of_sums = match text.starts_with(MARK) {
        true => Some(usize::try_from(number(parts.next()?)?).ok()?),
        false => None,
    };
    let mut rows = all.iter().map(|_| read_row(parts.next()?)).collect::<Option<Vec<_>>>()?;
    if let Some(of_sums) = of_sums {
        let sums = std::mem::take(rows.get_mut(of_sums)?);
        rows[of_sums] = counts_of(&sums, &rows, times.len())?;
    }
    let mut of_slices: Vec<Vec<Value>> = vec![Vec::new(); times.len()];
    for ((lower, upper, _), row) in all.into_iter().zip(rows) {
        for (place, count) in row {
            of_slices.get_mut(place)?.push(triple((lower, upper, count)));
        }
    }
    let slices = times.into_iter().zip(of_slices);
    let value =
        |((start, end), histogram)| json!({ "start_ns": start, "end_ns": end, "histogram": histogram });
    parts.next().is_none().then(|| slices.map(value).collect())
}

/// The counts of the bin whose row has the sums of the slices.
fn counts_of(
    sums: &[(usize, u64)],
    others: &[Vec<(usize, u64)>],
    slices: usize,
) -> Option<Vec<(usize, u64)>> {
    let mut rest = vec![0u64; slices];
    for (place, sum) in sums {
        *rest.get_mut(*place)? = *sum;
    }
    for (place, count) in others.iter().flatten() {
        let of_slice = rest.get_mut(*place)?;
        *of_slice = of_slice.checked_sub(*count)?;
    }
    Some(rest.into_iter().enumerate().filter(|(_, count)| *count > 0).collect())
}

fn slice(value: &Value) -> Option<Slice> {
    let members = value.as_object().filter(|members| members.len() == 3)?;
    let time = |name| members.get(name)?.as_u64();
    Some((time("start_ns")?, time("end_ns")?, bins(members.get("histogram")?.as_array()?)?))
}

fn times(slices: &[Slice]) -> Option<String> {
    let mut before = slices.first()?.0;
    let mut words = vec![base36(before.into())];
    for (start, end, _) in slices {
        let (gap, length) = (start.checked_sub(before)?, end.checked_sub(*start)?);
        let gap = if gap == 0 { String::new() } else { format!("{}:", base36(gap.into())) };
        words.push(format!("{gap}{}", base36(length.into())));
        before = *end;
    }
    Some(words.join(" "))
}

fn read_times(text: &str) -> Option<Vec<(u64, u64)>> {
    let mut words = text.split(' ');
    let mut before = number(words.next()?)?;
    words
        .map(|word| {
            let (gap, length) = word.split_once(':').unwrap_or(("0", word));
            let start = before.checked_add(number(gap)?)?;
            before = start.checked_add(number(length)?)?;
            Some((start, before))
        })
        .collect()
}

fn written_row(row: &[Option<u64>]) -> String {
    let known: Vec<(usize, u64)> =
        row.iter().enumerate().filter_map(|(place, count)| Some((place, (*count)?))).collect();
    if known.len() * RARE_BELOW > row.len() {
        let word = |count: &Option<u64>| count.map_or_else(String::new, |count| base36(count.into()));
        return row.iter().map(word).collect::<Vec<_>>().join(" ");
    }
    let mut next = 0;
    let words = known.into_iter().map(|(place, count)| {
        let skipped = base36((place - next) as i128);
        next = place + 1;
        if count == 1 { skipped } else { format!("{skipped}:{}", base36(count.into())) }
    });
    format!("{RARE}{}", words.collect::<Vec<_>>().join(" "))
}

/// The slices with a count, and the counts.
fn read_row(text: &str) -> Option<Vec<(usize, u64)>> {
    let Some(rare) = text.strip_prefix(RARE) else {
        let words = text.split(' ').enumerate().filter(|(_, word)| !word.is_empty());
        return words.map(|(place, word)| Some((place, number(word)?))).collect();
    };
    let mut next = 0usize;
    rare.split(' ')
        .map(|word| {
            let (skipped, count) = word.split_once(':').unwrap_or((word, "1"));
            let place = next.checked_add(usize::try_from(number(skipped)?).ok()?)?;
            next = place.checked_add(1)?;
            Some((place, number(count)?))
        })
        .collect()
}

fn number(text: &str) -> Option<u64> {
    u64::try_from(from_base36(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slice(start: u64, end: u64, bins: &[Bin]) -> Value {
        let histogram: Vec<Value> = bins.iter().map(|bin| triple(*bin)).collect();
        json!({ "start_ns": start, "end_ns": end, "histogram": histogram })
    }

    #[test]
    fn slices_become_a_table() {
        let bin = |count| (100, 110, count);
        let slices = [
            slice(1_000, 2_000, &[bin(70), (120, 130, 1)]),
            slice(2_000, 3_000, &[bin(71)]),
            slice(3_500, 4_000, &[bin(72)]),
            slice(4_000, 5_000, &[bin(1), (200, i64::MAX, 2)]),
        ];
        let text = written(&slices).unwrap();
        assert_eq!(text, "^rs rs rs dw:dw rs;2s,a,0 1:0 5k,,0;0;1z 1z 20 3;!0;!3:2");
        assert_eq!(read(&text).as_deref(), Some(&slices[..]));
        let old = "|rs rs rs dw:dw rs;2s,a,0 1:0 5k,,0;1y 1z 20 1;!0;!3:2";
        assert_eq!(read(old).as_deref(), Some(&slices[..]));
    }

    #[test]
    fn other_values_and_damaged_texts_are_none() {
        assert_eq!(written(&[]), None);
        assert_eq!(written(&[json!({ "start_ns": 1, "end_ns": 2, "histogram": [] })]), None);
        assert_eq!(written(&[slice(2, 1, &[(0, 1, 1)])]), None, "an end before the start");
        for text in [
            "",
            "|",
            "|1 1",
            "|1 1;0,1,0",
            "|1 1;0,1,0;1 1",
            "|1 1;0,1,0;!1",
            "|1 1;0,1,0;1;1",
            "|1 é;0,1,0;1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_slices_survive(
            slices in prop::collection::vec((0u64..1 << 50, prop::collection::vec((0i64..60, 1u64..1_000), 1..9)), 1..40)
        ) {
            let mut at = 5;
            let slices: Vec<Value> = slices
                .into_iter()
                .map(|(length, counts)| {
                    let bins: BTreeMap<i64, u64> = counts.into_iter().collect();
                    let bins: Vec<Bin> = bins.into_iter().map(|(place, count)| (place * 8, place * 8 + 8, count)).collect();
                    at += length;
                    slice(at - length, at, &bins)
                })
                .collect();
            let text = written(&slices).unwrap();
            prop_assert_eq!(read(&text), Some(slices));
        }
    }
}
