//! The part of XML that rteval writes: elements, attributes, text and the five predefined entities.
//!
//! No other entities are expanded, nothing is fetched, and nesting is bounded. Even the smallest XML library does more.

use std::collections::BTreeMap;
use std::io::Read;

use crate::error::{ArchiveError, Result};

const DEPTH_MAX: usize = 32;
/// The largest document that is read, in bytes. A million bins for each of 64 threads fit.
const DOCUMENT_MAX: u64 = 256 << 20;

/// Reads `reader` to its end.
///
/// # Errors
/// If it cannot be read, or is longer than 256 MiB.
pub fn whole(reader: &mut dyn Read) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    reader.take(DOCUMENT_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > DOCUMENT_MAX {
        return Err(ArchiveError::TooMuch(format!(
            "is longer than {} MiB, the most that is read",
            DOCUMENT_MAX >> 20
        )));
    }
    Ok(text)
}

/// An event in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The beginning of an element. An empty element also has an end.
    Start(String, BTreeMap<String, String>),
    /// Text that is not only white space.
    Text(String),
    /// The end of an element.
    End(String),
}

/// Reads a document.
#[derive(Debug)]
pub struct Xml<'a> {
    rest: &'a str,
    line: u64,
    open: Vec<String>,
    pending_end: Option<String>,
}

impl<'a> Xml<'a> {
    /// A reader of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1, open: Vec::new(), pending_end: None }
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the document ended inside an element.
    pub fn is_cut_off(&self) -> bool {
        !self.open.is_empty()
    }

    /// The next event; `None` at the end.
    ///
    /// # Errors
    /// If an element is closed that is not the innermost open one, an attribute's value has no quotation marks, or elements
    /// are nested deeper than 32 levels.
    pub fn next_event(&mut self) -> Result<Option<Event>> {
        if let Some(name) = self.pending_end.take() {
            return Ok(Some(Event::End(name)));
        }
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            if !self.rest.starts_with('<') {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let text = self.take(end);
                if !text.trim().is_empty() {
                    return Ok(Some(Event::Text(unescaped(text.trim()))));
                }
                continue;
            }
            let passed = [("<!--", "-->"), ("<?", "?>"), ("<!", ">")];
            if let Some((_, close)) = passed.iter().find(|(open, _)| self.rest.starts_with(open)) {
                let end = self.rest.find(close).map_or(self.rest.len(), |at| at + close.len());
                self.take(end);
                continue;
            }
            let Some(end) = self.rest.find('>') else {
                // The document ends in a tag: an element that stays open marks it as cut off.
                self.take(self.rest.len());
                self.open.push(String::new());
                return Ok(None);
            };
            let line = self.line;
            let tag = self.take(end + 1);
            return self.tag(line, &tag[1..end]).map(Some);
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count() as u64;
        self.rest = rest;
        taken
    }

    fn tag(&mut self, line: u64, tag: &str) -> Result<Event> {
        if let Some(name) = tag.strip_prefix('/') {
            let name = name.trim();
            return match self.open.pop() {
                Some(open) if open == name => Ok(Event::End(open)),
                _ => Err(ArchiveError::field(
                    format!("line {line}, element"),
                    format!("</{}> does not close the innermost open element", short(name)),
                )),
            };
        }
        let (tag, closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut attributes = BTreeMap::new();
        let mut rest = rest.trim_start();
        while let Some((key, after)) = rest.split_once('=') {
            let after = after.trim_start();
            let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''));
            let value = quote.and_then(|quote| after[1..].split_once(quote));
            let Some((value, after)) = value else {
                return Err(ArchiveError::field(
                    format!("line {line}, {}", short(key)),
                    "its value has no quotation marks",
                ));
            };
            attributes.insert(key.trim().to_owned(), unescaped(value));
            rest = after.trim_start();
        }
        if closed {
            self.pending_end = Some(name.to_owned());
        } else {
            self.open.push(name.to_owned());
            if self.open.len() > DEPTH_MAX {
                return Err(ArchiveError::TooMuch(format!(
                    "is XML with more than {DEPTH_MAX} levels of nesting"
                )));
            }
        }
        Ok(Event::Start(name.to_owned(), attributes))
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

fn unescaped(text: &str) -> String {
    let mut plain = text.to_owned();
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
    {
        plain = plain.replace(entity, character);
    }
    plain
}
