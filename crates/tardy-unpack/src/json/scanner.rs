//! Reads the text of JSON from a stream, token by token, in bounded memory.

use std::io::Read;

use super::rows::Key;
use super::{Value, short};
use crate::error::{ArchiveError, Result};
use crate::read_more;

const BLOCK: usize = 256 * 1024;
/// The longest line that is repaired.
const LINE_MAX: usize = 64 * 1024;
/// The longest token, apart from texts. This many bytes are in the buffer before a token is read.
const TOKEN_MAX: usize = 4096;
/// The longest text, in bytes. A command line has at most 2 MiB (ARG_MAX), usually a few hundred bytes.
const TEXT_MAX: usize = 4 << 20;

/// A position in JSON text.
pub(super) struct Scanner<'a> {
    reader: &'a mut dyn Read,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    ended: bool,
    line: u64,
    /// Where the line begins, relative to the buffer.
    line_start: isize,
    /// Whether an error was the end of the text.
    is_incomplete: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(reader: &'a mut dyn Read) -> Self {
        Self {
            reader,
            buffer: vec![0; BLOCK],
            at: 0,
            end: 0,
            ended: false,
            line: 1,
            line_start: 0,
            is_incomplete: false,
        }
    }

    /// Reads until the buffer has `least` bytes, or all that are left.
    fn fill(&mut self, least: usize) -> Result<()> {
        if self.ended || self.end - self.at >= least {
            return Ok(());
        }
        self.buffer.copy_within(self.at..self.end, 0);
        self.line_start -= self.at as isize;
        (self.end, self.at) = (self.end - self.at, 0);
        while self.end < least && !self.ended {
            let count = read_more(&mut *self.reader, &mut self.buffer[self.end..])?;
            self.ended = count == 0;
            self.end += count;
        }
        Ok(())
    }

    /// Skips white space. Returns the next byte without reading it; `None` at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            while let Some(byte) = self.buffer[..self.end].get(self.at) {
                match byte {
                    b' ' | b'\t' | b'\r' => {}
                    b'\n' => {
                        self.line += 1;
                        self.line_start = self.at as isize + 1;
                    }
                    other => return Ok(Some(*other)),
                }
                self.at += 1;
            }
            self.fill(TOKEN_MAX)?;
            if self.at == self.end {
                return Ok(None);
            }
        }
    }

    /// Skips the byte that [`Self::peek`] returned.
    #[inline]
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Skips white space and `byte`. `what` describes it in an error.
    pub(super) fn expect(&mut self, byte: u8, what: &str) -> Result<()> {
        match self.peek()? {
            Some(found) if found == byte => self.skip(),
            found => return Err(self.unexpected(found, what)),
        }
        Ok(())
    }

    /// The next member of an object if it is a row of a histogram: a number as key, and a count. Otherwise nothing is
    /// read.
    #[inline]
    pub(super) fn row(&mut self) -> Result<Option<(Key, u64)>> {
        self.fill(TOKEN_MAX)?;
        let bytes = &self.buffer[self.at..self.end];
        let Some((key, mut at)) = bytes.get(1..).and_then(Key::parse) else { return Ok(None) };
        at += 1;
        if bytes.get(at..at + 2) != Some(b"\":") {
            return Ok(None);
        }
        at += 2;
        while bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        let begin = at;
        let mut count = 0u64;
        while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            count = count.wrapping_mul(10).wrapping_add(u64::from(digit));
            at += 1;
        }
        // 19 digits are below 2^64. Another zero in front is not JSON.
        let is_count = (1..=19).contains(&(at - begin)) && (bytes[begin] != b'0' || at == begin + 1);
        let is_whole = bytes.get(at).is_some_and(|byte| matches!(byte, b',' | b'}') || *byte <= b' ');
        if !is_count || !is_whole {
            return Ok(None);
        }
        self.at += at;
        Ok(Some((key, count)))
    }

    /// The text whose opening quotation mark is next.
    pub(super) fn text(&mut self) -> Result<String> {
        self.skip();
        let mut text = Vec::new();
        loop {
            let rest = &self.buffer[self.at..self.end];
            let stop = rest.iter().position(|byte| matches!(byte, b'"' | b'\\') || *byte < b' ');
            let plain = &rest[..stop.unwrap_or(rest.len())];
            text.extend_from_slice(plain);
            self.at += plain.len();
            if text.len() > TEXT_MAX {
                let reason = format!("a text is longer than {} MiB, the limit", TEXT_MAX >> 20);
                return Err(self.error(&reason));
            }
            match stop.map(|_| self.buffer[self.at]) {
                None => {
                    self.fill(TOKEN_MAX)?;
                    if self.at == self.end {
                        return Err(self.incomplete());
                    }
                }
                Some(b'"') => break,
                Some(b'\\') => self.escaped(&mut text)?,
                Some(_) => return Err(self.not_json("a text contains a control character")),
            }
        }
        let text = String::from_utf8(text).map_err(|_| self.not_json("a text is not UTF-8"))?;
        self.skip();
        Ok(text)
    }

    /// Reads an escape sequence, and appends its character to `text`.
    fn escaped(&mut self, text: &mut Vec<u8>) -> Result<()> {
        self.fill(TOKEN_MAX)?;
        let Some(byte) = self.buffer[..self.end].get(self.at + 1).copied() else {
            return Err(self.incomplete());
        };
        self.at += 2;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut code = self.code_unit()?;
                // A surrogate and the next one are a character beyond the first 65,536.
                if (0xd800..0xdc00).contains(&code) && self.buffer[self.at..self.end].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.code_unit()?.wrapping_sub(0xdc00);
                    code = if low < 0x400 { 0x1_0000 + ((code - 0xd800) << 10) + low } else { u32::MAX };
                }
                let Some(character) = char::from_u32(code) else {
                    return Err(self.not_json("an escape sequence is not a character"));
                };
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.not_json("an escape sequence is not known")),
        };
        text.push(plain);
        Ok(())
    }

    /// The four hexadecimal digits of an escape sequence.
    fn code_unit(&mut self) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(byte) = self.buffer[..self.end].get(self.at) else { return Err(self.incomplete()) };
            let Some(digit) = char::from(*byte).to_digit(16) else {
                return Err(self.not_json("an escape sequence is not hexadecimal"));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    /// A number, `true`, `false` or `null`. The numbers `nan` and `inf` are not JSON, but C programs print them for the
    /// mean of no readings, and Python and JavaScript `NaN` and `Infinity`: they are null.
    pub(super) fn word(&mut self) -> Result<Value> {
        self.fill(TOKEN_MAX)?;
        let rest = &self.buffer[self.at..self.end];
        let ends =
            |byte: &u8| *byte <= b' ' || matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[');
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let word = String::from_utf8_lossy(&rest[..length]);
        let value = match &*word {
            "null" | "nan" | "-nan" | "inf" | "-inf" | "NaN" | "Infinity" | "-Infinity" => Some(Value::Null),
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => number(&word),
        };
        match value {
            Some(value) => {
                self.at += length;
                Ok(value)
            }
            None if length == rest.len() && self.ended => Err(self.incomplete()),
            None => Err(self.not_json(&format!("'{}' is not a value", short(&word)))),
        }
    }

    /// The text after the next quotation mark, if its writer did not escape it: everything up to the line's last quotation mark
    /// and comma. Also returns the error of parsing the line as JSON. `None` if the line is valid.
    pub(super) fn unescaped_text(&mut self) -> Result<Option<(String, ArchiveError)>> {
        self.fill(LINE_MAX)?;
        let rest = &self.buffer[self.at..self.end.min(self.at + LINE_MAX)];
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        let Some(text) = rest[1..length].strip_suffix(b"\",") else { return Ok(None) };
        let object = [b"{\"\":".as_slice(), &rest[..=length]].concat();
        let mut object = object.as_slice();
        let mut line = Scanner::new(&mut object);
        (line.line, line.line_start) = (self.line, 4 + self.line_start - self.at as isize);
        let error = match super::Parser::of(&mut line).document() {
            Err(error) if !line.is_incomplete => error,
            _ => return Ok(None),
        };
        let text = text.iter().copied().filter(|byte| *byte >= b' ').collect();
        let Ok(text) = String::from_utf8(text) else { return Err(error) };
        self.at += length - 1;
        Ok(Some((text, error)))
    }

    /// An error at this position.
    #[cold]
    pub(super) fn error(&self, reason: &str) -> ArchiveError {
        let column = (self.at as isize - self.line_start).max(0) + 1;
        ArchiveError::field(format!("line {}, column {column}", self.line), reason)
    }

    #[cold]
    pub(super) fn not_json(&self, reason: &str) -> ArchiveError {
        self.error(&format!("not JSON: {reason}"))
    }

    /// The error for `found` in place of `expected`.
    #[cold]
    pub(super) fn unexpected(&mut self, found: Option<u8>, expected: &str) -> ArchiveError {
        match found {
            None => self.incomplete(),
            Some(found) => {
                let found = char::from(found).escape_default();
                self.not_json(&format!("expected {expected}, found '{found}'"))
            }
        }
    }

    #[cold]
    fn incomplete(&mut self) -> ArchiveError {
        self.is_incomplete = true;
        self.error(
            "the document is incomplete: it was cut off, or the tool was killed while writing; incomplete JSON cannot be \
             imported",
        )
    }
}

/// The number `word`, with JSON's syntax (RFC 8259, section 6).
fn number(word: &str) -> Option<Value> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let magnitude = word.strip_prefix('-').unwrap_or(word);
    let whole = digits(magnitude);
    if whole == 0 || (whole > 1 && magnitude.starts_with('0')) {
        return None;
    }
    let mut rest = &magnitude[whole..];
    if let Ok(count) = word.parse()
        && rest.is_empty()
    {
        return Some(Value::Count(count));
    }
    if let Ok(negative) = word.parse()
        && rest.is_empty()
    {
        return Some(Value::Negative(negative));
    }
    for marks in [&["."][..], &["e+", "e-", "E+", "E-", "e", "E"]] {
        if let Some(after) = marks.iter().find_map(|mark| rest.strip_prefix(mark)) {
            let length = digits(after);
            if length == 0 {
                return None;
            }
            rest = &after[length..];
        }
    }
    let number = word.parse::<f64>().ok().filter(|number| rest.is_empty() && number.is_finite());
    number.map(Value::Real)
}
