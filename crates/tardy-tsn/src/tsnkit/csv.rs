//! Comma-separated values, line by line: a header, then fields that may be quoted.

use super::{InstanceError, Part};

/// A table that is read line by line.
pub(super) struct Table<'a> {
    part: Part,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    columns: Vec<String>,
}

/// A line of a table.
pub(super) struct Row<'t> {
    part: Part,
    line: usize,
    columns: &'t [String],
    fields: Vec<String>,
}

impl<'a> Table<'a> {
    /// Reads the header of `text` and checks that it has the required columns.
    pub(super) fn of(part: Part, text: &'a str, needed: &[&str]) -> Result<Self, InstanceError> {
        let mut lines = text.lines().enumerate();
        let header = lines.next().map_or("", |(_, line)| line);
        let columns = fields(header);
        match needed.iter().find(|name| !columns.iter().any(|column| column == *name)) {
            Some(name) => Err(InstanceError::at(
                part,
                1,
                format!("there is no column '{name}'; this should be TSNKit's {}", part.name()),
            )),
            None => Ok(Self { part, lines, columns }),
        }
    }

    /// The next line that is not empty.
    pub(super) fn next(&mut self) -> Option<Row<'_>> {
        let (line, text) = self.lines.by_ref().find(|(_, text)| !text.trim().is_empty())?;
        Some(Row { part: self.part, line: line + 1, columns: &self.columns, fields: fields(text) })
    }
}

impl Row<'_> {
    /// A problem with this line.
    pub(super) fn wrong(&self, what: impl Into<String>) -> InstanceError {
        InstanceError::at(self.part, self.line, what.into())
    }

    fn text(&self, column: &str) -> &str {
        let place = self.columns.iter().position(|name| name == column);
        place.and_then(|place| self.fields.get(place)).map_or("", |field| field.trim())
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
            Some(list) if list.contains(',') => Err(self
                .wrong(format!("{column}: {text} are several listeners; only streams to one are simulated"))),
            Some(node) => {
                node.parse().map_err(|_| self.wrong(format!("{column}: '{text}' is not a node such as [13]")))
            }
            None => Err(self.wrong(format!("{column}: '{text}' is not a list of nodes such as [13]"))),
        }
    }
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => {
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}
