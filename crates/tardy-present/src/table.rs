//! Tables of text: the first column and columns of words are left-aligned, numbers are right-aligned.

use crate::terminal_text::folded;

/// A table of text.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Index of the first column of words after the first column; all columns from it on are left-aligned.
    words_from: usize,
}

impl Table {
    /// A table with these column headings.
    pub fn new(head: &[&str]) -> Self {
        Self::with_words_from(head, usize::MAX)
    }

    /// A table of words, with all columns left-aligned.
    pub fn of_words(head: &[&str]) -> Self {
        Self::with_words_from(head, 1)
    }

    /// A table of numbers, whose columns from the index `words_from` on are words.
    pub fn with_words_from(head: &[&str], words_from: usize) -> Self {
        Self { rows: vec![head.iter().map(|text| (*text).to_owned()).collect()], words_from }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        tardy_analyse::stop::check();
        self.rows.push(row);
    }

    /// The headings of its columns, and its rows.
    pub fn heads_and_rows(&self) -> (&[String], &[Vec<String>]) {
        self.rows.split_first().map_or((&[], &[]), |(heads, rows)| (heads.as_slice(), rows))
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The table's lines, at most `width` wide if the columns fit: the gaps between them shrink from three spaces to
    /// one. If they do not, and numbers precede the words, the words of a row are below it.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.column_width(column)).collect();
        let content: usize = widths.iter().sum();
        let gaps = columns.saturating_sub(1).max(1);
        if content + gaps > width && (2..columns).contains(&self.words_from) {
            return self.stacked(width);
        }
        let gap = (width.saturating_sub(content) / gaps).clamp(1, 3);
        self.rows.iter().map(|row| line(row, &widths, gap, self.words_from)).collect()
    }

    fn stacked(&self, width: usize) -> Vec<String> {
        let number_of = |row: &Vec<String>| row.iter().take(self.words_from).cloned().collect();
        let numbers = Self { rows: self.rows.iter().map(number_of).collect(), words_from: usize::MAX };
        let mut lines = numbers.lines(width);
        let (heads, rows) = self.heads_and_rows();
        for (index, row) in rows.iter().enumerate().rev() {
            let words = heads.iter().zip(row).skip(self.words_from);
            let words: Vec<String> = words.map(|(head, word)| format!("{head}: {word}")).collect();
            let below = folded(&words.join(", "), width.saturating_sub(4));
            lines.splice(index + 2..index + 2, below.into_iter().map(|line| format!("    {line}")));
        }
        lines
    }

    fn column_width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

fn line(row: &[String], widths: &[usize], gap: usize, words_from: usize) -> String {
    let mut text = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        if column == 0 {
            text.push_str(&format!("{cell:<width$}"));
        } else if column >= words_from {
            text.push_str(&format!("{:gap$}{cell:<width$}", ""));
        } else {
            text.push_str(&format!("{:gap$}{cell:>width$}", ""));
        }
    }
    text.trim_end().to_owned()
}
