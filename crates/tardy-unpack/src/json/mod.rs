//! Reads untrusted JSON from a stream in bounded memory. Errors name the path of a field.
//!
//! A document is kept as a tree, except for its large parts: the rows of histograms are kept as pairs of numbers ([`Rows`]),
//! and the elements of arrays, which no known format uses for results, are checked and dropped.
//!
//! Rejected alternative: serde_json reads a stream too, but it keeps each text whole, however long, and does not accept
//! the numbers that C programs print.

mod rows;
mod scanner;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use crate::error::{ArchiveError, Result};
use rows::Flaw;
pub use rows::{Key, Rows};
use scanner::Scanner;

/// The deepest nesting. The formats here have at most six levels.
const DEPTH_MAX: usize = 32;
/// The most memory for everything except rows, in bytes. 4096 threads with ten fields each need a third of it.
const KEPT_MAX: usize = 32 << 20;
/// The most rows with a count: a million for each of 64 threads.
const ROWS_MAX: usize = 64_000_000;
/// The memory that a member of an object and an object need, in addition to their texts.
const MEMBER_SIZE: usize = 128;
const OBJECT_SIZE: usize = 1024;

/// A document whose root is an object.
///
/// # Errors
/// If it is not JSON, is nested deeper than 32 levels, is too large, or an object has a key twice.
pub fn parse(reader: &mut dyn Read) -> Result<Object> {
    Parser::of(&mut Scanner::new(reader)).document()
}

/// Reads a document like [`parse`]. If the text of the root's member `unescaped` makes the document invalid, since its
/// writer did not escape it, the text is read up to the end of its line. Also returns whether that was necessary.
///
/// # Errors
/// As [`parse`].
pub fn parse_unescaped(reader: &mut dyn Read, unescaped: &'static str) -> Result<(Object, bool)> {
    let mut scanner = Scanner::new(reader);
    let mut parser = Parser { unescaped: Some(unescaped), ..Parser::of(&mut scanner) };
    let document = parser.document();
    match (document, parser.repaired.take()) {
        (Ok(document), repaired) => Ok((document, repaired.is_some())),
        // If the repair did not suffice, the first error is the relevant one.
        (Err(_), Some(error)) | (Err(error), None) => Err(error),
    }
}

/// A value.
#[derive(Debug)]
enum Value {
    Null,
    Bool(bool),
    Count(u64),
    Negative(i64),
    Real(f64),
    Text(String),
    /// Its elements are not kept.
    Array,
    Object(Box<Members>),
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Bool(value) => value.fmt(formatter),
            Self::Count(value) => value.fmt(formatter),
            Self::Negative(value) => value.fmt(formatter),
            Self::Real(value) => fmt::Debug::fmt(value, formatter),
            Self::Text(value) => write!(formatter, "{:?}", short(value)),
            Self::Array => formatter.write_str("an array"),
            Self::Object(_) => formatter.write_str("an object"),
        }
    }
}

/// The members of an object.
#[derive(Debug, Default)]
struct Members {
    /// The members that are rows of a histogram.
    rows: Rows,
    /// All others.
    named: BTreeMap<String, Value>,
}

/// The beginning of a text from a file, for a message.
fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// Makes values of tokens.
struct Parser<'s, 'r> {
    scanner: &'s mut Scanner<'r>,
    /// The member of the root that its writer may not have escaped.
    unescaped: Option<&'static str>,
    /// The error that was repaired.
    repaired: Option<ArchiveError>,
    /// The memory for everything except rows.
    kept: usize,
    /// The number of rows with a count.
    rows: usize,
    rows_max: usize,
}

impl<'s, 'r> Parser<'s, 'r> {
    fn of(scanner: &'s mut Scanner<'r>) -> Self {
        Self { scanner, unescaped: None, repaired: None, kept: 0, rows: 0, rows_max: ROWS_MAX }
    }

    fn document(&mut self) -> Result<Object> {
        let value = self.value(0)?;
        if self.scanner.peek()?.is_some() {
            return Err(self.scanner.not_json("there is text after the end of the document"));
        }
        match value {
            Value::Object(members) => Ok(Object { path: String::new(), members: *members }),
            _ => Err(ArchiveError::field("the document", "is not a JSON object")),
        }
    }

    /// The next value, which is inside `depth` others.
    fn value(&mut self, depth: usize) -> Result<Value> {
        match self.scanner.peek()? {
            Some(b'{' | b'[') if depth == DEPTH_MAX => Err(ArchiveError::TooMuch(format!(
                "is JSON with more than {DEPTH_MAX} levels of nesting, which no known format has"
            ))),
            Some(b'{') => Ok(Value::Object(Box::new(self.object(depth + 1)?))),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => {
                let text = self.scanner.text()?;
                self.keep(text.len())?;
                Ok(Value::Text(text))
            }
            Some(b',' | b':' | b'}' | b']') | None => {
                let found = self.scanner.peek()?;
                Err(self.scanner.unexpected(found, "a value"))
            }
            Some(_) => self.scanner.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        self.scanner.skip();
        if self.scanner.peek()? == Some(b']') {
            self.scanner.skip();
            return Ok(Value::Array);
        }
        loop {
            let (kept, rows) = (self.kept, self.rows);
            drop(self.value(depth)?);
            (self.kept, self.rows) = (kept, rows);
            match self.scanner.peek()? {
                Some(b',') => self.scanner.skip(),
                Some(b']') => break,
                found => return Err(self.scanner.unexpected(found, "a comma or the end of the array")),
            }
        }
        self.scanner.skip();
        Ok(Value::Array)
    }

    fn object(&mut self, depth: usize) -> Result<Members> {
        self.scanner.skip();
        self.keep(OBJECT_SIZE)?;
        let mut members = Members::default();
        if self.scanner.peek()? == Some(b'}') {
            self.scanner.skip();
            return Ok(members);
        }
        loop {
            match self.scanner.peek()? {
                Some(b'"') => {}
                found => return Err(self.scanner.unexpected(found, "a key")),
            }
            match self.scanner.row()? {
                Some((key, count)) => self.row(&mut members.rows, key, count)?,
                None => self.member(&mut members, depth)?,
            }
            match self.scanner.peek()? {
                Some(b',') => self.scanner.skip(),
                Some(b'}') => break,
                found => return Err(self.scanner.unexpected(found, "a comma or the end of the object")),
            }
        }
        members.rows.finish().map_err(|flaw| self.flaw(&flaw))?;
        self.scanner.skip();
        Ok(members)
    }

    #[inline]
    fn row(&mut self, rows: &mut Rows, key: Key, count: u64) -> Result<()> {
        rows.push(key, count).map_err(|flaw| self.flaw(&flaw))?;
        self.rows += usize::from(count > 0);
        if self.rows > self.rows_max {
            return Err(ArchiveError::TooMuch(format!(
                "has histograms with more than {} rows, the most that are read",
                self.rows_max
            )));
        }
        Ok(())
    }

    fn member(&mut self, members: &mut Members, depth: usize) -> Result<()> {
        let key = self.scanner.text()?;
        let is_known = members.named.contains_key(&key);
        if is_known {
            return Err(self.twice(&key));
        }
        self.keep(MEMBER_SIZE + key.len())?;
        self.scanner.expect(b':', "a colon")?;
        let value = match self.unescaped_text(&key, depth)? {
            Some(text) => Value::Text(text),
            None => self.value(depth)?,
        };
        match (Key::of(&key), value) {
            (Some(key), Value::Count(count)) => self.row(&mut members.rows, key, count)?,
            (_, value) => drop(members.named.insert(key, value)),
        }
        Ok(())
    }

    /// The text of the member `key` if it is not escaped.
    fn unescaped_text(&mut self, key: &str, depth: usize) -> Result<Option<String>> {
        if depth > 1 || self.unescaped != Some(key) || self.scanner.peek()? != Some(b'"') {
            return Ok(None);
        }
        let Some((text, error)) = self.scanner.unescaped_text()? else { return Ok(None) };
        self.repaired = Some(error);
        Ok(Some(text))
    }

    /// Counts memory that is kept.
    fn keep(&mut self, size: usize) -> Result<()> {
        self.kept += size;
        if self.kept > KEPT_MAX {
            return Err(ArchiveError::TooMuch(format!(
                "needs more than {} MiB for values other than histograms, which no known format does",
                KEPT_MAX >> 20
            )));
        }
        Ok(())
    }

    #[cold]
    fn twice(&self, key: &str) -> ArchiveError {
        self.scanner.error(&format!("the key '{}' appears twice in one object", short(key)))
    }

    #[cold]
    fn flaw(&self, flaw: &Flaw) -> ArchiveError {
        match flaw {
            Flaw::Twice(thousandths) => {
                let is_fraction = thousandths % 1000 > 0;
                self.twice(&Key { thousandths: *thousandths, is_fraction }.to_string())
            }
            Flaw::TooManyEmpty => ArchiveError::TooMuch(
                "has a histogram with too many rows of 0 out of order; sort the rows, or remove those of 0"
                    .to_owned(),
            ),
        }
    }
}

/// A JSON object with its path, for errors.
#[derive(Debug)]
pub struct Object {
    path: String,
    members: Members,
}

impl Object {
    /// The path of the member `key`.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Whether there is a member `key`, rows of a histogram apart.
    pub fn has(&self, key: &str) -> bool {
        self.members.named.contains_key(key)
    }

    /// Removes and returns the object `key`.
    ///
    /// # Errors
    /// If it is not an object.
    pub fn object(&mut self, key: &str) -> Result<Option<Object>> {
        let path = self.path_of(key);
        self.members.named.remove(key).map(|value| Self::of(value, path)).transpose()
    }

    fn of(value: Value, path: String) -> Result<Self> {
        match value {
            Value::Object(members) => Ok(Self { path, members: *members }),
            _ => Err(ArchiveError::field(path, "is not an object")),
        }
    }

    /// The objects in this one with their keys.
    ///
    /// # Errors
    /// If a member is not an object.
    pub fn into_objects(self) -> Result<Vec<(String, Object)>> {
        if let Some(key) = self.members.rows.lowest() {
            return Err(ArchiveError::field(self.path_of(&key.to_string()), "is not an object"));
        }
        let of = |(key, value): (String, Value)| {
            let path = format!("{}.{key}", self.path);
            Ok((key, Self::of(value, path)?))
        };
        self.members.named.into_iter().map(of).collect()
    }

    /// The rows of this object, which is a histogram.
    ///
    /// # Errors
    /// If a member is not a row.
    pub fn into_rows(self) -> Result<Rows> {
        match self.members.named.first_key_value() {
            None => Ok(self.members.rows),
            Some((key, Value::Count(_))) => {
                let reason = format!("'{}' is not the value of a row; expected a number", short(key));
                Err(ArchiveError::field(self.path_of(key), reason))
            }
            Some((key, value)) => {
                Err(ArchiveError::field(self.path_of(key), format!("{value} is not a count")))
            }
        }
    }

    /// The text `key`; `None` if it is missing or not a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.members.named.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The count `key`; `None` if it is missing.
    ///
    /// # Errors
    /// If it is not a whole number from 0 up.
    pub fn count(&self, key: &str) -> Result<Option<u64>> {
        match self.members.named.get(key) {
            None => Ok(None),
            Some(Value::Count(count)) => Ok(Some(*count)),
            Some(value) => Err(ArchiveError::field(self.path_of(key), format!("{value} is not a count"))),
        }
    }

    /// The whole number `key`; `None` if it is missing.
    ///
    /// # Errors
    /// If it is not a whole number of 63 bits.
    pub fn whole(&self, key: &str) -> Result<Option<i64>> {
        let Some(value) = self.members.named.get(key) else { return Ok(None) };
        let whole = match value {
            Value::Count(count) => i64::try_from(*count).ok(),
            Value::Negative(negative) => Some(*negative),
            _ => None,
        };
        whole.map(Some).ok_or_else(|| {
            ArchiveError::field(self.path_of(key), format!("{value} is not a whole number of 63 bits"))
        })
    }

    /// A number; `None` if it is missing or not a number, as the mean of no readings.
    ///
    /// # Errors
    /// If it is a text, an array or an object.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        match self.members.named.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Count(count)) => Ok(Some(*count as f64)),
            Some(Value::Negative(negative)) => Ok(Some(*negative as f64)),
            Some(Value::Real(number)) => Ok(Some(*number)),
            Some(value) => Err(ArchiveError::field(self.path_of(key), format!("{value} is not a number"))),
        }
    }

    /// `value` of the member `key`, which must be there.
    ///
    /// # Errors
    /// If it is `None`.
    pub fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| ArchiveError::field(self.path_of(key), "is missing"))
    }
}

#[cfg(test)]
mod tests;
