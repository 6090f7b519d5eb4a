//! HdrHistogram's interval log: one interval for each series, tagged with its name.

use serde_json::json;
use tardy_record::{Run, Series};

use super::{Rows, name, shown};
use crate::error::ExportError;
use crate::hdr;
use crate::imported::Unit;

/// The beginning of a comment with the exact extremes of a series, which the encoding rounds.
pub(crate) const SERIES_MARK: &str = "[tardy series ";

/// The text of `run`.
pub(super) fn text(run: &Run) -> Result<String, ExportError> {
    if let Some(series) = shown(run).find(|series| series.measured.has_no_distribution()) {
        let label = name(run, series);
        return Err(ExportError::NoPlace {
            format: "hdr-log",
            what: format!("readings with only a count and extremes ({label})"),
            instead: "export to cyclictest, csv, json or openmetrics".to_owned(),
        });
    }
    let mut text = "#[Logged with tardy: values are in ns]\n#[Histogram log format version 1.3]\n".to_owned();
    if let Some(seconds) = crate::dates::parse_rfc3339(&run.origin.started_at) {
        text.push_str(&format!(
            "#[StartTime: {seconds}.000 (seconds since epoch), {}]\n",
            run.origin.started_at
        ));
    }
    let mut lines = String::new();
    for series in shown(run) {
        let tag = escaped(&name(run, series));
        let own = json!({ "tag": tag, "min_ns": series.min_ns, "max_ns": series.max_ns });
        let own = if series.max_at_least {
            json!({ "tag": tag, "min_ns": series.min_ns, "max_ns": series.max_ns, "max_at_least": true })
        } else {
            own
        };
        let own = if series.tally.recorded > 0 { own } else { json!({ "tag": tag }) };
        text.push_str(&format!("#{SERIES_MARK}{own}]\n"));
        let counts = counts(series)?;
        lines.push_str(&format!(
            "Tag={tag},0.000,{}.{:03},{:.3},{}\n",
            series.counted_ns / 1_000_000_000,
            series.counted_ns / 1_000_000 % 1000,
            series.max_ns.unwrap_or(0) as f64 / 1e6,
            hdr::encode(&counts)
        ));
    }
    text.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    Ok(text + &lines)
}

/// Values in ns with their counts. Readings beyond the histogram count as the maximum.
fn counts(series: &Series) -> Result<Vec<(u64, u64)>, ExportError> {
    let rows = Rows::of(series, Unit::Ns, "hdr-log")?;
    let max = series.max_ns.unwrap_or(0).max(0) as u64;
    let mut counts: Vec<(u64, u64)> = rows.counts.into_iter().collect();
    if rows.beyond > 0 {
        counts.push((max, rows.beyond));
    }
    Ok(counts)
}

/// A name as a tag. Bytes other than letters, digits, `-`, `.` and `_` become `%` and two hex digits.
fn escaped(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => (byte as char).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// The name from which [`escaped`] made `tag`.
pub(crate) fn unescaped(tag: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = tag.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).chars().take(200).collect()
}
