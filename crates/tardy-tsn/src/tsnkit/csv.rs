//! The tables of an instance: a header, then records whose cells may be quoted.

use super::{InstanceError, Part};

/// A table, of which one record at a time is in memory.
pub(super) struct Table<'a> {
    part: Part,
    text: &'a str,
    reader: csv::Reader<&'a [u8]>,
    columns: csv::StringRecord,
    record: csv::StringRecord,
}

/// A record of a table.
pub(super) struct Row<'t> {
    part: Part,
    text: &'t str,
    columns: &'t csv::StringRecord,
    record: &'t csv::StringRecord,
}

impl<'a> Table<'a> {
    /// Reads the header of `text` and checks that the `needed` columns are there.
    pub(super) fn of(part: Part, text: &'a str, needed: &[&str]) -> Result<Self, InstanceError> {
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
        let columns = reader.headers().cloned().unwrap_or_default();
        match needed.iter().find(|name| !columns.iter().any(|column| column == **name)) {
            Some(name) => {
                let reason = format!("column '{name}' is missing; expected TSNKit's {}", part.name());
                Err(InstanceError::at(part, 1, reason))
            }
            None => Ok(Self { part, text, reader, columns, record: csv::StringRecord::new() }),
        }
    }

    /// The next record that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Row<'_>> {
        // Reading cannot fail: the text is in memory and valid UTF-8, and records may have any number of cells.
        while self.reader.read_record(&mut self.record).unwrap_or(false) {
            if self.record.iter().any(|cell| !cell.is_empty()) {
                return Some(Row {
                    part: self.part,
                    text: self.text,
                    columns: &self.columns,
                    record: &self.record,
                });
            }
        }
        None
    }
}

impl Row<'_> {
    /// An error in this record.
    pub(super) fn wrong(&self, what: impl Into<String>) -> InstanceError {
        InstanceError::at(self.part, self.line(), what.into())
    }

    /// The line in which the record begins, from 1. The reader's position is before any empty lines that precede the
    /// record.
    fn line(&self) -> usize {
        let start = self.record.position().map_or(0, |position| position.byte() as usize);
        let (before, rest) = self.text.split_at_checked(start).unwrap_or((self.text, ""));
        let empty = &rest[..rest.len() - rest.trim_start_matches(['\r', '\n']).len()];
        1 + before.matches('\n').count() + empty.matches('\n').count()
    }

    fn text(&self, column: &str) -> &str {
        let place = self.columns.iter().position(|name| name == column);
        place.and_then(|place| self.record.get(place)).unwrap_or("")
    }

    /// An integer from 0 to `most`. TSNKit also writes such numbers as `4000.0`.
    pub(super) fn number(&self, column: &str, most: u64) -> Result<u64, InstanceError> {
        let text = self.text(column);
        let whole = text.strip_suffix(".0").unwrap_or(text);
        let number = whole.parse().ok().filter(|number: &u64| *number <= most);
        number.ok_or_else(|| self.wrong(format!("{column}: '{text}' is not a whole number from 0 to {most}")))
    }

    /// A link, `(0, 1)`: from one node to another.
    pub(super) fn link(&self, column: &str) -> Result<(u32, u32), InstanceError> {
        let text = self.text(column);
        let ends = text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'))
            .and_then(|text| text.split_once(','));
        let ends = ends.and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
        ends.ok_or_else(|| self.wrong(format!("{column}: '{text}' is not a link such as (0, 1)")))
    }

    /// A list with one node, `[13]`.
    pub(super) fn only_node(&self, column: &str) -> Result<u32, InstanceError> {
        let text = self.text(column);
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).map(str::trim);
        match inner {
            Some(list) if list.contains(',') => Err(self.wrong(format!(
                "{column}: {text} has several listeners; only streams to one listener are simulated"
            ))),
            Some(node) => {
                node.parse().map_err(|_| self.wrong(format!("{column}: '{text}' is not a node such as [13]")))
            }
            None => Err(self.wrong(format!("{column}: '{text}' is not a list of nodes such as [13]"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_line_with_any_line_ending_and_after_empty_lines() {
        for text in ["id,link\n1,\"(0, 1)\"\n\n2,x\n", "id,link\r\n1,\"(0,\r\n1)\"\r\n2,x"] {
            let mut table = Table::of(Part::Task, text, &["id", "link"]).unwrap();
            assert_eq!(table.next().unwrap().link("link").unwrap(), (0, 1));
            let row = table.next().unwrap();
            assert_eq!(row.number("id", 9).unwrap(), 2);
            assert!(row.link("link").unwrap_err().to_string().contains("line 4"), "{text:?}");
            assert!(table.next().is_none());
        }
    }
}
