//! Reads CSV record by record, in memory that grows neither with the file nor with a record.
//!
//! [`csv_core`] splits the cells and handles quotation marks. It gets one line at a time, so that comments before the
//! rows can be read and an incomplete last line is detected. A quoted cell may continue on the next line.
//!
//! Rejected alternative: `csv::Reader`. Its record grows without a bound, and it drops comments and recognises only one kind.

use std::io::Read;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use crate::error::{ImportError, Result};
use crate::lines::{LINE_MAX, Lines};

/// More columns than any logic analyser has channels.
pub(crate) const COLUMN_MAX: usize = 1024;

/// The cells of one record.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    /// The line in which it begins, from 1.
    pub(crate) line: u64,
    /// Whether the file ends before the line does. Digits may be missing.
    pub(crate) unended: bool,
    text: &'a str,
    ends: &'a [usize],
}

impl<'a> Record<'a> {
    /// The cells, without quotation marks and the blanks around them.
    pub(crate) fn cells(self) -> impl Iterator<Item = &'a str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let cell = &self.text[start..*end];
            start = *end;
            // By RFC 4180, a blank before a quotation mark makes both a part of the cell. Writers do not intend that.
            if cell.starts_with(' ') { cell.trim().trim_matches('"').trim() } else { cell.trim() }
        })
    }
}

/// Reads records.
pub(crate) struct Records<R> {
    lines: Lines<R>,
    /// `None` before the first record.
    parser: Option<Reader>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl<R: Read> Records<R> {
    /// The records of `reader`.
    pub(crate) fn new(reader: R) -> Self {
        // One element more than the limits, since csv_core reports a full buffer as an error.
        let (text, ends) = (vec![0; LINE_MAX + 1], vec![0; COLUMN_MAX + 1]);
        Self { lines: Lines::new(reader), parser: None, text, ends }
    }

    /// The next record that is not empty; `None` at the end. Each comment before it, a line that begins with `;` or `#`, is
    /// passed to `comment` without that sign.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8, a record is longer than [`LINE_MAX`] or has more than [`COLUMN_MAX`]
    /// cells, or a quotation mark is not closed.
    pub(crate) fn next_record(&mut self, mut comment: impl FnMut(&str)) -> Result<Option<Record<'_>>> {
        let mut begun: Option<u64> = None;
        let (mut length, mut cells, mut unended, mut whole) = (0, 0, false, false);
        while !whole {
            let next = self.lines.next_line()?;
            let (number, text) = match &next {
                Some(line) => (line.number, line.whole()?.trim()),
                None => (0, ""),
            };
            let first = match (next, begun) {
                (None, None) => return Ok(None),
                (None, Some(first)) if !unended => return Err(open_quote(first)),
                (None, Some(first)) | (Some(_), Some(first)) => first,
                (Some(_), None) if text.is_empty() => continue,
                (Some(_), None) if text.starts_with([';', '#']) => {
                    comment(&text[1..]);
                    continue;
                }
                (Some(_), None) => number,
            };
            begun = Some(first);
            let ended = next.is_none();
            unended |= next.is_some_and(|line| line.unended);
            let parser = self.parser.get_or_insert_with(|| parser_of(text));
            // An empty input ends the last record.
            let parts: &[&[u8]] = if ended { &[b""] } else { &[text.as_bytes(), b"\n"] };
            for part in parts.iter().filter(|part| ended || !part.is_empty()) {
                let (result, _, written, found) =
                    parser.read_record(part, &mut self.text[length..], &mut self.ends[cells..]);
                (length, cells) = (length + written, cells + found);
                match result {
                    ReadRecordResult::InputEmpty => {}
                    ReadRecordResult::Record | ReadRecordResult::End => whole = true,
                    ReadRecordResult::OutputFull => return Err(too_long(first)),
                    ReadRecordResult::OutputEndsFull => return Err(too_many_columns(first)),
                }
                if cells > COLUMN_MAX {
                    return Err(too_many_columns(first));
                }
            }
        }
        let line = begun.unwrap_or_default();
        let text = std::str::from_utf8(&self.text[..length])
            .map_err(|_| ImportError::line(line, "record", "it is not UTF-8 text"))?;
        Ok(Some(Record { line, unended, text, ends: &self.ends[..cells] }))
    }
}

/// A parser for records like `first`: their cells are separated by commas, or by tabs if there is no comma.
fn parser_of(first: &str) -> Reader {
    let delimiter = if first.contains('\t') && !first.contains(',') { b'\t' } else { b',' };
    ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build()
}

fn open_quote(line: u64) -> ImportError {
    ImportError::line(line, "record", "a quotation mark is opened and not closed before the end of the file")
}

fn too_long(line: u64) -> ImportError {
    let reason = format!("it is longer than {LINE_MAX} bytes; a quotation mark may not be closed");
    ImportError::line(line, "record", reason)
}

fn too_many_columns(line: u64) -> ImportError {
    ImportError::line(line, "record", format!("it has more than {COLUMN_MAX} columns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(u64, Vec<String>, bool)>> {
        let mut records = Records::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(record) = records.next_record(|_| ())? {
            all.push((record.line, record.cells().map(str::to_owned).collect(), record.unended));
        }
        Ok(all)
    }

    fn cells(text: &str) -> Vec<Vec<String>> {
        read(text).unwrap().into_iter().map(|(_, cells, _)| cells).collect()
    }

    #[test]
    fn quoted_cells_keep_commas_quotes_and_line_breaks() {
        let text = "\"a, b\",\"say \"\"x\"\"\",\"two\r\n\r\nlines\"\n1,2,3\n";
        assert_eq!(cells(text), [vec!["a, b", "say \"x\"", "two\n\nlines"], vec!["1", "2", "3"]]);
        assert_eq!(read(text).unwrap()[1].0, 4, "the line in which the record begins");
    }

    #[test]
    fn blanks_tabs_and_byte_order_marks_are_not_part_of_a_cell() {
        assert_eq!(cells(" a , \"b\" ,\n"), [["a", "b", ""]]);
        assert_eq!(cells("a\t\"b\tc\"\n0\t1,5\n"), [["a", "b\tc"], ["0", "1,5"]]);
        assert_eq!(cells("\u{feff}a,b\n"), [["a", "b"]]);
    }

    #[test]
    fn comments_are_delivered_and_empty_lines_skipped() {
        let mut comments = Vec::new();
        let mut records = Records::new("; one, \"two\n\n  # three\n0,1\n".as_bytes());
        let record = records.next_record(|comment| comments.push(comment.to_owned())).unwrap().unwrap();
        assert_eq!((record.line, record.cells().count()), (4, 2));
        assert_eq!(comments, [" one, \"two", " three"]);
    }

    #[test]
    fn a_record_without_its_end_is_marked() {
        assert_eq!(read("0,1\n1,0").unwrap()[1], (2, vec!["1".into(), "0".into()], true));
        assert_eq!(read("0,1\n1,\"0").unwrap()[1], (2, vec!["1".into(), "0".into()], true));
        assert_eq!(read("0,1\n").unwrap()[0], (1, vec!["0".into(), "1".into()], false));
    }

    #[test]
    fn an_open_quote_and_too_long_records_are_errors() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("0,1\n0,\"1\n2,3\n").starts_with("line 2, record: a quotation mark"));
        let lines = format!("0,1\n0,\"1\n{}", "2,3\n".repeat(LINE_MAX));
        let message = error(&lines);
        assert!(message.starts_with("line 2, record: it is longer than 65536 bytes"), "{message}");
        assert_eq!(cells(&format!("{}0\n", "0,".repeat(COLUMN_MAX - 1)))[0].len(), COLUMN_MAX);
        let wide = format!("{}0\n", "0,".repeat(COLUMN_MAX));
        assert!(error(&wide).starts_with("line 1, record: it has more than 1024 columns"));
        assert_eq!(cells(&format!("{}\n", "x".repeat(LINE_MAX)))[0][0].len(), LINE_MAX);
    }
}
