//! Tables with a header line, whose cells may be quoted.

use crate::instance::{InputError, Source};

/// A table.
pub struct Table<'a> {
    source: Source,
    reader: csv::Reader<&'a [u8]>,
    header: Vec<String>,
}

/// A record of a table.
pub struct Record {
    source: Source,
    line: usize,
    cells: csv::StringRecord,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    name: &'static str,
    place: usize,
}

impl<'a> Table<'a> {
    /// Reads the header of `text`.
    pub fn of(source: Source, text: &'a str) -> Self {
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
        let header =
            reader.headers().map(|header| header.iter().map(str::to_owned).collect()).unwrap_or_default();
        Self { source, reader, header }
    }

    /// The column with this name.
    ///
    /// # Errors
    ///
    /// The header does not have it.
    pub fn column(&self, name: &'static str) -> Result<Column, InputError> {
        self.optional_column(name).ok_or_else(|| {
            let what = format!("column '{name}' is missing; the columns are {}", self.header.join(", "));
            InputError::at(self.source, 1, what)
        })
    }

    /// The column with this name; `None` if the header does not have it.
    pub fn optional_column(&self, name: &'static str) -> Option<Column> {
        let place = self.header.iter().position(|column| column == name)?;
        Some(Column { name, place })
    }

    /// The records that are not empty.
    pub fn records(self) -> impl Iterator<Item = Record> + 'a {
        let source = self.source;
        // The text is in memory and valid UTF-8, and a record may have any number of cells: reading it cannot fail.
        self.reader.into_records().map_while(Result::ok).filter_map(move |cells| {
            let line = cells.position().map_or(0, |position| position.line() as usize);
            cells.iter().any(|cell| !cell.is_empty()).then_some(Record { source, line, cells })
        })
    }
}

impl Record {
    /// The line of the record, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// An error in this record.
    pub fn wrong(&self, what: impl Into<String>) -> InputError {
        InputError::at(self.source, self.line, what)
    }

    /// The text of a cell.
    pub fn text(&self, column: Column) -> &str {
        self.cells.get(column.place).unwrap_or("")
    }

    /// A whole number from `range`; it may be written with a fraction of zero.
    ///
    /// # Errors
    ///
    /// The cell contains something else.
    pub fn number(&self, column: Column, range: std::ops::RangeInclusive<u64>) -> Result<u64, InputError> {
        let text = self.text(column);
        let number = text.trim_end_matches('0').strip_suffix('.').unwrap_or(text).parse().ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            self.wrong(format!("{}: '{text}' is not a whole number from {least} to {most}", column.name))
        })
    }

    /// The ends of a link, written `(0, 1)`.
    ///
    /// # Errors
    ///
    /// The cell contains something else.
    pub fn link(&self, column: Column) -> Result<(u64, u64), InputError> {
        let text = self.text(column);
        match numbers(text, '(', ')').as_deref() {
            Some([from, to]) => Ok((*from, *to)),
            _ => Err(self.wrong(format!("{}: '{text}' is not a link such as (0, 1)", column.name))),
        }
    }

    /// A list of nodes, written `[13]` or `[13, 14]`; at least one.
    ///
    /// # Errors
    ///
    /// The cell contains something else.
    pub fn nodes(&self, column: Column) -> Result<Vec<u64>, InputError> {
        let text = self.text(column);
        numbers(text, '[', ']').filter(|nodes| !nodes.is_empty()).ok_or_else(|| {
            self.wrong(format!("{}: '{text}' is not a list of nodes such as [13] or [13, 14]", column.name))
        })
    }
}

/// Numbers with commas between them, in brackets.
fn numbers(text: &str, open: char, close: char) -> Option<Vec<u64>> {
    let inner = text.strip_prefix(open)?.strip_suffix(close)?;
    let inner = inner.trim().trim_end_matches(',');
    inner.split(',').map(|part| part.trim().parse().ok()).collect()
}
