//! Places in a file, so that errors and findings can point at them.

use std::ops::Deref;

/// A byte range of the file; `end` is exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl From<std::ops::Range<usize>> for Span {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl Span {
    /// The range from the start of this span to the end of `last`.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start.min(last.start), end: self.end.max(last.end) }
    }

    /// Line and column of the start in `text`, both from 1, the column in characters.
    pub fn line_and_column(self, text: &str) -> (usize, usize) {
        let before = text.get(..self.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The line of the start in `text`, from 1.
    pub fn line(self, text: &str) -> usize {
        self.line_and_column(text).0
    }
}

/// A value and its place in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its place; a default value has the place of the table or list to which it belongs.
    pub span: Span,
}

impl<T> Located<T> {
    /// `value` at `span`.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// The result of `change` at the same place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), span: self.span }
    }
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "eins\nzwölf = 3\n";
        let at = |start| Span { start, end: start + 1 }.line_and_column(text);
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(5), (2, 1));
        assert_eq!(at(text.find('3').unwrap()), (2, 9));
        assert_eq!(at(99), (3, 1));
    }
}
