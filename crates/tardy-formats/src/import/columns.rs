//! Bare columns: a latency and a count for each core, as plot scripts extract them from cyclictest's histogram.
//!
//! Examples are the OSADL's data files (blanks or tabs) and the CSV that the Raspberry Pi 4.14 article made with grep and tr.
//! They lack cyclictest's comments, and with them the unit, the threads, the readings beyond the histogram and the maximum.
//! tardy's exports have these in tardy's own comments. A first line may name the columns.

use std::io::Read;

use super::rows::{Rows, SUMS_DROPPED};
use super::{ImportOptions, cyclictest_text, number};
use crate::error::{ImportError, Result};
use crate::export::columns::{SERIES_MARK, SeriesComment};
use crate::imported::{Counts, Imported, ImportedPhase, Readings, Stream, Unit, in_ns};
use crate::lines::Lines;

const COLUMN_MAX: usize = 4096;

/// The words of a row, with any separator.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', '\t', ' ']).filter(|word| !word.is_empty())
}

/// The names in a header line, such as `time,core1,core2`, of which the first is the latency's. `None` if the line is
/// something else.
pub(crate) fn header(line: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = words(line).collect();
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"') && !name.contains([':', '='])
    };
    (names.len() >= 2 && names.len() <= COLUMN_MAX && names.iter().all(is_name))
        .then(|| names.into_iter().map(|name| name.trim_matches('"')).collect())
}

/// Whether the name of a column says that the rows are single wake-ups, such as those of ROS 2's rttest.
fn is_of_samples(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["iteration", "timestamp", "pagefault", "page_fault"].iter().any(|part| name.contains(part))
}

/// Imports columns.
pub(crate) fn import(reader: &mut dyn Read, options: &ImportOptions) -> Result<Imported> {
    let mut imported = cyclictest_text::without_readings();
    let mut own: Vec<SeriesComment> = Vec::new();
    let mut rows = Rows::default();
    let mut names: Vec<String> = Vec::new();
    let mut lines = Lines::new(reader);
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim();
        if let Some(comment) = text.strip_prefix(SERIES_MARK) {
            let read = SeriesComment::read(comment).ok_or_else(|| {
                ImportError::line(
                    line.number,
                    "comment",
                    "expected tardy's description of a series; the line is damaged",
                )
            })?;
            own.push(read);
            continue;
        }
        if text.starts_with("# Max Latencies") {
            let reason = "the file has cyclictest's maxima and overflows; import it with --as cyclictest";
            return Err(ImportError::line(line.number, "comment", reason));
        }
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        line.whole()?;
        if line.unended {
            imported.cut_short = true;
            continue;
        }
        if rows.width() == 0
            && names.is_empty()
            && let Some(header) = header(text)
        {
            if let Some(name) = header.iter().find(|name| is_of_samples(name)) {
                let reason = format!(
                    "the first line names a column '{name}': each row is a wake-up, not a latency and how often it was counted, and no importer \
                     reads such rows"
                );
                return Err(ImportError::line(line.number, "whole line", reason));
            }
            names = header[1..].iter().map(|name| name.chars().take(40).collect()).collect();
            continue;
        }
        let mut words = words(text);
        let value = number(words.next().unwrap_or(""), line.number, "latency")?;
        let counts = words.map(|word| number(word, line.number, "count")).collect::<Result<Vec<u64>>>()?;
        rows.push(value, &counts, line.number, COLUMN_MAX)?;
    }
    imported.last_line = Some(lines.read_lines());
    if own.is_empty() && rows.drop_sums() {
        imported.remarks.push(SUMS_DROPPED.to_owned());
    }
    // If all readings are beyond the rows, there are no rows, and only tardy's comments name the series.
    let columns = if rows.width() == 0 { own.len() } else { rows.width() };
    if columns == 0 {
        return Err(ImportError::field("the file", "it contains no row of a latency and counts"));
    }
    if !own.is_empty() && own.len() != columns {
        let reason = format!("{columns} columns, but comments on {} series", own.len());
        return Err(ImportError::field("the file", reason));
    }
    if !names.is_empty() && names.len() < columns {
        let reason =
            format!("the first line names {} columns of counts, but there are {columns}", names.len());
        return Err(ImportError::field("the file", reason));
    }
    let known = cyclictest_text::from_command(options, &mut imported);
    let unit = match own.first() {
        Some(_) => Unit::Us,
        None => {
            cyclictest_text::unit(options, known.as_ref(), None, &mut imported, "a file of bare columns")?
        }
    };
    if own.is_empty() {
        imported
            .remarks
            .push("bare columns do not name their tool; they are read as cyclictest's".to_owned());
        imported.remarks.push(
            "bare columns do not count the readings beyond them; the maxima shown are the highest rows with a count \
             and may be too low"
                .to_owned(),
        );
    }
    let mut streams = Vec::new();
    for column in 0..columns {
        let mut stream = stream(&mut rows, column, unit, own.get(column))?;
        if let Some(known) = &known {
            cyclictest_text::complete_from_command(&mut stream, known);
        }
        stream.label = stream.label.or_else(|| names.get(column).cloned());
        streams.push(stream);
    }
    imported.phases.push(ImportedPhase { label: "columns".to_owned(), streams });
    Ok(imported)
}

fn stream(rows: &mut Rows, column: usize, unit: Unit, own: Option<&SeriesComment>) -> Result<Stream> {
    let bins = rows.take_bins(column, unit);
    let mut counts = Counts { bins, resolution_ns: unit.ns() as u64, ..Counts::default() };
    let place = format!("column {}", column + 1);
    counts.total(&place)?;
    let mut label = None;
    if let Some(own) = own {
        label = Some(own.label.clone());
        if own.beyond > 0 {
            let from_ns = in_ns(rows.reach().cast_signed(), unit, &place)?;
            counts.add_overflows(from_ns, own.beyond);
        }
        (counts.min_ns, counts.max_ns) = (own.min_ns, own.max_ns);
        counts.max_is_stated = own.max_ns.is_some();
        counts.max_at_least = own.max_ns.is_none();
        counts.max_ns = counts.max_ns.or(counts.bins.last().map(|bin| bin.lower_ns));
        if let (Some(first), Some(min)) = (counts.bins.first_mut(), own.min_ns) {
            first.lower_ns = first.lower_ns.min(min);
        }
    } else {
        counts.max_at_least = true;
        counts.min_ns = counts.bins.first().map(|bin| bin.lower_ns);
        counts.max_ns = counts.bins.last().map(|bin| bin.lower_ns);
    }
    if counts.bins.is_empty() {
        (counts.min_ns, counts.max_ns) = (None, None);
    }
    counts.check(&place)?;
    let mut stream = Stream::of_thread(column as u32, Readings::Counts(Box::new(counts)));
    stream.cpu = label.as_ref().and_then(|label: &String| label.strip_prefix("cpu ")?.parse().ok());
    stream.label = label;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(text: &str) -> Result<Imported> {
        import(&mut text.as_bytes(), &ImportOptions { unit: Some(Unit::Us), ..ImportOptions::default() })
    }

    #[test]
    fn a_column_of_sums_is_not_a_thread() {
        let threads = |text: &str| imported(text).unwrap().phases[0].streams.len();
        assert_eq!(threads("1 3 4 7\n2 1 4 5\n3 0 1 1\n"), 2);
        assert_eq!(threads("1 3 4 7\n2 1 4 6\n3 0 1 1\n"), 3, "one row is not a sum");
        assert_eq!(threads("1 3 4 7\n"), 3, "one row may be a sum by chance");
        assert_eq!(threads("1 3 3\n2 1 1\n"), 2, "two threads with the same counts");
    }

    #[test]
    fn comments_with_more_information_are_not_ignored() {
        let error = imported("# Histogram\n1 3\n# Max Latencies: 00093\n").unwrap_err().to_string();
        assert!(error.contains("line 3, comment") && error.contains("--as cyclictest"), "{error}");
    }
}
