//! Histograms in few characters, inside the JSON of a run.
//!
//! A histogram is a list of `[lower, upper, count]`. It becomes a string of a mark and a word for each bin, with all numbers in base
//! 36. Bins have equal widths, double at the end of an octave, and follow each other or leave gaps of whole widths, so a
//! word is mostly the count: `COUNT`, `GAP:COUNT` after a gap of that many widths, with a `*` before it for each doubling of the
//! width, and `LOWER,WIDTH,COUNT` for any other bin, without a width if it has no end.

mod slices;

use serde_json::{Map, Value};

/// The first character of a histogram.
const MARK: char = '~';
/// The first character of a text that would begin with one of the marks.
const ESCAPE: char = '`';
/// The corrected histogram of a series that is the same as the measured one.
const SAME: &str = "~=";
/// The most doublings of a width in a word.
const DOUBLINGS_MAX: u32 = 8;

/// `value` with its histograms in few characters.
pub(crate) fn written(value: Value) -> Value {
    match value {
        Value::String(text) if text.starts_with([MARK, ESCAPE, slices::MARK, slices::OLD_MARK]) => {
            Value::String(format!("{ESCAPE}{text}"))
        }
        Value::Array(values) => match (bins(&values), slices::written(&values)) {
            (Some(bins), _) => Value::String(of_bins(&bins)),
            (None, Some(slices)) => Value::String(slices),
            (None, None) => Value::Array(values.into_iter().map(written).collect()),
        },
        Value::Object(mut members) => {
            let is_same = members.get("corrected").is_some_and(|corrected| {
                corrected.as_array().is_some_and(|bins| !bins.is_empty())
                    && members.get("measured") == Some(corrected)
            });
            if is_same {
                members.remove("corrected");
            }
            let mut members: Map<String, Value> =
                members.into_iter().map(|(key, value)| (key, written(value))).collect();
            if is_same {
                members.insert("corrected".to_owned(), SAME.into());
            }
            Value::Object(members)
        }
        other => other,
    }
}

/// The reverse of [`written`].
pub(crate) fn read(value: Value) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match text.chars().next() {
            Some(MARK) => Value::Array(
                to_bins(&text[1..]).ok_or_else(|| wrong(&text))?.into_iter().map(triple).collect(),
            ),
            Some(slices::MARK | slices::OLD_MARK) => {
                Value::Array(slices::read(&text).ok_or_else(|| wrong(&text))?)
            }
            Some(ESCAPE) => Value::String(text[1..].to_owned()),
            _ => Value::String(text),
        },
        Value::Array(values) => Value::Array(values.into_iter().map(read).collect::<Result<_, _>>()?),
        Value::Object(mut members) => {
            let is_same = members.get("corrected").and_then(Value::as_str) == Some(SAME);
            if is_same {
                members.remove("corrected");
            }
            let mut members = members
                .into_iter()
                .map(|(key, value)| Ok((key, read(value)?)))
                .collect::<Result<Map<_, _>, String>>()?;
            if let Some(measured) = members.get("measured").cloned().filter(|_| is_same) {
                members.insert("corrected".to_owned(), measured);
            }
            Value::Object(members)
        }
        other => other,
    })
}

fn wrong(text: &str) -> String {
    format!(
        "'{}' is not a histogram, or not the slices of a series",
        text.chars().take(40).collect::<String>()
    )
}

/// A bin: lower end, upper end, count.
type Bin = (i64, i64, u64);

fn triple((lower, upper, count): Bin) -> Value {
    Value::Array(vec![lower.into(), upper.into(), count.into()])
}

/// The bins that `values` are, if they are such and can be read again from their text.
fn bins(values: &[Value]) -> Option<Vec<Bin>> {
    let bin = |value: &Value| match value.as_array()?.as_slice() {
        [lower, upper, count] => Some((lower.as_i64()?, upper.as_i64()?, count.as_u64()?)),
        _ => None,
    };
    let bins = values.iter().map(bin).collect::<Option<Vec<Bin>>>()?;
    (!bins.is_empty() && to_bins(&of_bins(&bins)[1..]).as_ref() == Some(&bins)).then_some(bins)
}

fn of_bins(bins: &[Bin]) -> String {
    let (mut end, mut width) = (0i128, 0i128);
    let mut words = Vec::with_capacity(bins.len());
    for (lower, upper, count) in bins {
        let of_bin = i128::from(*upper) - i128::from(*lower);
        let gap = i128::from(*lower) - end;
        let doublings = (0..=DOUBLINGS_MAX).find(|times| width > 0 && width << times == of_bin);
        let count_of = base36(i128::from(*count));
        words.push(match doublings {
            _ if *upper == i64::MAX => format!("{},,{count_of}", base36(i128::from(*lower))),
            Some(times) if gap >= 0 && gap % of_bin == 0 => {
                let stars = "*".repeat(times as usize);
                let gap = if gap == 0 { String::new() } else { format!("{}:", base36(gap / of_bin)) };
                format!("{stars}{gap}{count_of}")
            }
            _ => format!("{},{},{count_of}", base36(i128::from(*lower)), base36(of_bin)),
        });
        (end, width) = (i128::from(*upper), of_bin);
    }
    format!("{MARK}{}", words.join(" "))
}

fn to_bins(text: &str) -> Option<Vec<Bin>> {
    let (mut end, mut width) = (0i128, 0i128);
    let mut bins = Vec::new();
    for word in text.split(' ') {
        let (lower, upper, count) = match word.split(',').collect::<Vec<_>>().as_slice() {
            [lower, "", count] => (from_base36(lower)?, i128::from(i64::MAX), from_base36(count)?),
            [lower, width, count] => {
                let lower = from_base36(lower)?;
                (lower, lower.checked_add(from_base36(width)?)?, from_base36(count)?)
            }
            [word] => {
                let rest = word.trim_start_matches('*');
                let doublings =
                    u32::try_from(word.len() - rest.len()).ok().filter(|times| *times <= DOUBLINGS_MAX)?;
                let of_bin = width << doublings;
                let (gap, count) = rest.split_once(':').unwrap_or(("0", rest));
                let lower = end.checked_add(from_base36(gap)?.checked_mul(of_bin)?)?;
                (lower, lower.checked_add(of_bin)?, from_base36(count)?)
            }
            _ => return None,
        };
        bins.push((i64::try_from(lower).ok()?, i64::try_from(upper).ok()?, u64::try_from(count).ok()?));
        (end, width) = (upper, upper - lower);
    }
    Some(bins)
}

fn base36(number: i128) -> String {
    let mut digits = Vec::new();
    let mut rest = number.unsigned_abs();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    digits.extend((number < 0).then_some('-'));
    digits.iter().rev().collect()
}

fn from_base36(text: &str) -> Option<i128> {
    i64::from_str_radix(text, 36)
        .map(i128::from)
        .or_else(|_| u64::from_str_radix(text, 36).map(i128::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn bins_of_an_octave_are_their_counts() {
        let bins = vec![
            (7072, 7104, 2),
            (7104, 7136, 47),
            (7168, 7200, 44),
            (7264, 7328, 36),
            (1 << 40, i64::MAX, 1),
        ];
        assert_eq!(of_bins(&bins), "~5gg,w,2 1b 1:18 *1:10 e13wu1og,,1");
        assert_eq!(to_bins(&of_bins(&bins)[1..]), Some(bins));
    }

    #[test]
    fn texts_and_equal_histograms_survive() {
        let value = json!({
            "measured": [[-5, -3, 1], [1, 2, 18_446_744_073_709_551_615u64]],
            "corrected": [[-5, -3, 1], [1, 2, 18_446_744_073_709_551_615u64]],
            "text": "~=", "other": "`", "empty": [], "points": [[1, 2]], "three": [[3, 1, 2]],
        });
        let short = written(value.clone());
        assert_eq!(short["corrected"], "~=");
        assert_eq!(read(short).unwrap(), value);
    }

    #[test]
    fn an_impossible_word_is_an_error() {
        for text in ["~*********1", "~1,2", "~zzzzzzzzzzzzz,zzzzzzzzzzzz,1", "~", "~é"] {
            assert!(read(json!(text)).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bins_survive(bins in prop::collection::vec((any::<i64>(), any::<i64>(), any::<u64>()), 1..20)) {
            let value = Value::Array(bins.into_iter().map(triple).collect());
            prop_assert_eq!(read(written(value.clone())).unwrap(), value);
        }
    }
}
