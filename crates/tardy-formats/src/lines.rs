//! Reads a text line by line, in memory that grows neither with the file nor with a line.

use std::io::Read;

use crate::error::{ImportError, Result};
use tardy_unpack::read_more;

/// The most bytes of a line that are kept. A histogram row of 4096 CPUs needs half of that.
pub const LINE_MAX: usize = 64 * 1024;
const BLOCK: usize = 256 * 1024;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without the line end. For a line longer than [`LINE_MAX`], its beginning.
    pub text: &'a str,
    /// Whether the line was longer than [`LINE_MAX`].
    pub cut: bool,
    /// Whether the file ended before the line did.
    pub unended: bool,
}

impl<'a> Line<'a> {
    /// The whole line. An error if it was too long to be kept.
    pub(crate) fn whole(self) -> Result<&'a str> {
        if self.cut {
            let reason = format!("it is longer than {LINE_MAX} bytes, the limit for a line");
            return Err(ImportError::line(self.number, "whole line", reason));
        }
        Ok(self.text)
    }
}

/// Reads lines.
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    ended: bool,
}

impl<R: Read> Lines<R> {
    /// The lines of `reader`.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: vec![0; BLOCK], start: 0, end: 0, number: 0, ended: false }
    }

    /// The number of lines read.
    pub(crate) fn read_lines(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// If it cannot be read or is not UTF-8.
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>> {
        let mut searched = self.start;
        loop {
            if let Some(at) = self.buffer[searched..self.end].iter().position(|byte| *byte == b'\n') {
                let (from, to) = (self.start, searched + at);
                self.start = to + 1;
                self.number += 1;
                return self.line(from, to, false).map(Some);
            }
            searched = self.end;
            if self.end - self.start >= LINE_MAX {
                return self.long_line().map(Some);
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                (searched, self.end, self.start) = (searched - self.start, self.end - self.start, 0);
            }
            if !self.fill()? {
                if self.start == self.end {
                    return Ok(None);
                }
                let (from, to) = (self.start, self.end);
                self.start = self.end;
                self.number += 1;
                return self.line(from, to, true).map(Some);
            }
        }
    }

    /// Reads more into the buffer. Returns whether there was more.
    fn fill(&mut self) -> Result<bool> {
        if !self.ended {
            let count = read_more(&mut self.reader, &mut self.buffer[self.end..])?;
            self.ended = count == 0;
            self.end += count;
        }
        Ok(!self.ended)
    }

    /// A line that does not fit: its beginning is kept and the rest skipped.
    fn long_line(&mut self) -> Result<Line<'_>> {
        self.number += 1;
        let kept: Vec<u8> = self.buffer[self.start..self.start + LINE_MAX].to_vec();
        self.start += LINE_MAX;
        let mut unended = true;
        loop {
            if let Some(at) = self.buffer[self.start..self.end].iter().position(|byte| *byte == b'\n') {
                self.start += at + 1;
                unended = false;
                break;
            }
            (self.start, self.end) = (0, 0);
            if !self.fill()? {
                break;
            }
        }
        // The returned text borrows from the buffer, so the kept part is put in front of the bytes that follow.
        let rest = self.end - self.start;
        let mut buffer = vec![0; BLOCK + LINE_MAX];
        buffer[..LINE_MAX].copy_from_slice(&kept);
        buffer[LINE_MAX..LINE_MAX + rest].copy_from_slice(&self.buffer[self.start..self.end]);
        self.buffer = buffer;
        (self.start, self.end) = (LINE_MAX, LINE_MAX + rest);
        let text = self.text(&self.buffer[..LINE_MAX], true)?;
        Ok(Line { number: self.number, text, cut: true, unended })
    }

    fn line(&self, from: usize, to: usize, unended: bool) -> Result<Line<'_>> {
        let bytes = &self.buffer[from..to];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let cut = bytes.len() > LINE_MAX;
        let text = self.text(&bytes[..bytes.len().min(LINE_MAX)], cut)?;
        Ok(Line { number: self.number, text, cut, unended })
    }

    /// `bytes` as text. If they are `cut` off, the last character may be incomplete.
    fn text<'a>(&self, bytes: &'a [u8], cut: bool) -> Result<&'a str> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(error) if cut && error.valid_up_to() + 4 > bytes.len() => {
                Ok(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
            }
            Err(_) => Err(ImportError::line(self.number, "whole line", "it is not UTF-8 text")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &[u8]) -> Vec<(u64, String, bool, bool)> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((line.number, line.text.to_owned(), line.cut, line.unended));
        }
        all
    }

    #[test]
    fn a_line_without_an_end_is_marked() {
        assert_eq!(all(b"a\r\nb"), [(1, "a".into(), false, false), (2, "b".into(), false, true)]);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_lines_follow() {
        for length in [LINE_MAX - 1, LINE_MAX, LINE_MAX + 1, 3 * BLOCK + 7] {
            let text = format!("first\n{}\nlast\n", "x".repeat(length));
            let lines = all(text.as_bytes());
            assert_eq!(lines.len(), 3, "{length}");
            assert_eq!(lines[1].1.len(), length.min(LINE_MAX));
            assert_eq!(lines[1].2, length > LINE_MAX, "{length}");
            assert_eq!(lines[2], (3, "last".into(), false, false));
        }
    }

    proptest! {
        #[test]
        fn every_line_of_a_text_is_returned(lines in prop::collection::vec("[a-z é]{0,40}", 0..50)) {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let read: Vec<String> = all(text.as_bytes()).into_iter().map(|line| line.1).collect();
            prop_assert_eq!(read, lines);
        }
    }
}
