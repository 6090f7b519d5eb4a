//! Numbers as CSV (RFC 4180), for spreadsheets and data frames.

use std::fmt::{Display, Write as _};

/// A table as CSV: a line of heads, then the lines in the order in which they were added.
#[derive(Clone, Debug)]
pub struct Csv {
    text: String,
}

impl Csv {
    /// A table with these heads and without lines. The heads are constants without separators.
    pub fn new(heads: &[&str]) -> Self {
        Self { text: heads.join(",") + "\n" }
    }

    /// Adds a line. Values are numbers, empty, or texts from [`cell`].
    pub fn line(&mut self, values: &[&dyn Display]) {
        for (index, value) in values.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            let _ = write!(self.text, "{separator}{value}");
        }
        self.text.push('\n');
    }

    /// The text of the file.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// A text as a cell, in quotes if it has a separator in it. An apostrophe precedes a text that a spreadsheet would execute as a
/// formula.
pub fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_with_a_separator_is_one_cell() {
        let mut csv = Csv::new(&["name", "count", "share"]);
        csv.line(&[&cell("cpu 1"), &12, &0.25]);
        csv.line(&[&cell("board 7, \"new\"\nkernel"), &-3, &""]);
        let expected = "name,count,share\ncpu 1,12,0.25\n\"board 7, \"\"new\"\"\nkernel\",-3,\n";
        assert_eq!(csv.into_text(), expected);
    }

    #[test]
    fn a_spreadsheet_executes_no_cell() {
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(cell("@SUM(A1,A2)"), "\"'@SUM(A1,A2)\"");
        assert_eq!(cell("a-b"), "a-b");
    }
}
