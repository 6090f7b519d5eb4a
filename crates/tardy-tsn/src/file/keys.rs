//! A table of the file: its keys, read one by one, and the mistakes in them.

use std::net::IpAddr;

use tardy_record::units::parse_duration_ns;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::values::{self, nearest};
use super::{FileError, Problem};
use crate::span::{Located, Span};

/// The mistakes found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<(Span, String)>,
}

impl Problems {
    pub(super) fn add(&mut self, span: Span, what: String) {
        self.found.push((span, what));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Reports each mistake once, with all its lines: several lines may use the same undefined class.
    pub(super) fn into_error(mut self, text: &str) -> FileError {
        self.found.sort_by_key(|(span, _)| *span);
        let mut problems: Vec<Problem> = Vec::new();
        for (span, what) in self.found {
            let line = span.line(text);
            match problems.iter_mut().find(|problem| problem.what == what) {
                None => problems.push(Problem { span, line, also_on: Vec::new(), what }),
                Some(first) if first.line == line || first.also_on.last() == Some(&line) => {}
                Some(first) => first.also_on.push(line),
            }
        }
        FileError { problems }
    }
}

/// The name of the outermost table.
const FILE: &str = "the file";

/// A value and its key.
pub(super) struct Value<'t> {
    pub(super) key: &'static str,
    pub(super) value: &'t DeValue<'t>,
    pub(super) span: Span,
}

/// The keys of one table. The reader requests every key that the table can have; those that were not requested are
/// unknown.
pub(super) struct Keys<'t> {
    entries: Vec<(&'t str, Span, &'t Spanned<DeValue<'t>>)>,
    asked: Vec<&'static str>,
    /// The table's name in messages: `[[flow]]`.
    title: String,
    pub(super) span: Span,
}

impl<'t> Keys<'t> {
    pub(super) fn of_file(root: &'t Spanned<DeTable<'t>>) -> Self {
        Self::new(FILE.to_owned(), root.get_ref(), Span::default())
    }

    pub(super) fn new(title: String, table: &'t DeTable<'t>, span: Span) -> Self {
        let entries = table
            .iter()
            .map(|(key, value)| (key.get_ref().as_ref(), Span::from(key.span()), value))
            .collect();
        Self { entries, asked: Vec::new(), title, span }
    }

    /// The value of a key.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value<'t>> {
        self.asked.push(key);
        let (_, _, value) = self.entries.iter().find(|(name, ..)| *name == key)?;
        Some(Value { key, value: value.get_ref(), span: value.span().into() })
    }

    /// Reports every key that was not requested.
    pub(super) fn finish(self, problems: &mut Problems) {
        for (name, span, _) in &self.entries {
            if self.asked.contains(name) {
                continue;
            }
            let advice = match nearest(name, self.asked.iter().copied()) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => format!("it has {}", self.asked.join(", ")),
            };
            problems.add(*span, format!("{} has no key '{name}'; {advice}", self.title));
        }
    }

    /// Whether a key is present, whatever its value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, ..)| *name == key)
    }

    /// Reports a missing key, unless its value was already reported as invalid.
    pub(super) fn missing(&self, key: &str, example: &str, problems: &mut Problems) {
        if self.has(key) {
            return;
        }
        problems.add(self.span, format!("{} has no {key}; add {key} = {example}", self.title));
    }

    pub(super) fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<String>> {
        let value = self.take(key)?;
        value.text(problems).map(|text| text.map(str::to_owned))
    }

    pub(super) fn texts(&mut self, key: &'static str, problems: &mut Problems) -> Vec<String> {
        self.list(key, problems)
            .iter()
            .filter_map(|value| value.text(problems))
            .map(|text| text.value.to_owned())
            .collect()
    }

    pub(super) fn list(&mut self, key: &'static str, problems: &mut Problems) -> Vec<Value<'t>> {
        self.take(key).and_then(|value| value.list(problems)).unwrap_or_default()
    }

    /// A whole number from `range`.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<i64>,
        problems: &mut Problems,
    ) -> Option<Located<i64>> {
        self.take(key)?.number(range, problems)
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        problems: &mut Problems,
    ) -> Option<Located<T>> {
        let value = self.take(key)?;
        let text = value.text(problems)?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            problems.add(text.span, format!("{key} is one of {}, not '{}'", known.join(", "), text.value));
        }
        found.map(|(_, meaning)| Located::new(*meaning, text.span))
    }

    /// A duration in nanoseconds.
    pub(super) fn duration(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<u64>> {
        self.take(key)?.duration(problems)
    }

    /// A rate in bits per second.
    pub(super) fn rate(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<u64>> {
        let value = self.take(key)?;
        value.parsed(problems, values::rate)
    }

    /// A share such as `0.1%`, in parts per million.
    pub(super) fn share(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<u32>> {
        let value = self.take(key)?;
        value.parsed(problems, values::share_ppm)
    }

    pub(super) fn mac(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<[u8; 6]>> {
        let value = self.take(key)?;
        value.parsed(problems, values::mac)
    }

    pub(super) fn address(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<IpAddr>> {
        let value = self.take(key)?;
        value.parsed(problems, |text| {
            text.parse().map_err(|_| format!("'{text}' is not an address; write one such as 10.0.0.1"))
        })
    }

    pub(super) fn instant(&mut self, key: &'static str, problems: &mut Problems) -> Option<Located<i64>> {
        let value = self.take(key)?;
        value.parsed(problems, values::instant)
    }

    pub(super) fn interface(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
    ) -> Option<Located<String>> {
        let value = self.take(key)?;
        value.parsed(problems, |text| {
            let wrong = || {
                format!(
                    "'{text}' is not the name of a network interface: 1 to 15 letters, digits, '_', '-', '.' or '@', and neither \
                     '-' nor '.' first"
                )
            };
            if values::is_interface_name(text) { Ok(text.to_owned()) } else { Err(wrong()) }
        })
    }

    /// The table of a key.
    pub(super) fn table(&mut self, key: &'static str, problems: &mut Problems) -> Option<Keys<'t>> {
        let title = format!("[{key}]");
        self.take(key)?.table(title, problems)
    }

    /// The prefix in the headers of tables inside this one, such as `switch.`.
    fn prefix(&self) -> String {
        match self.title.trim_matches(['[', ']']) {
            FILE => String::new(),
            name => format!("{name}."),
        }
    }

    /// The tables of a key, whether written `[key]` or `[[key]]`.
    pub(super) fn tables(&mut self, key: &'static str, problems: &mut Problems) -> Vec<Keys<'t>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        if let DeValue::Table(table) = value.value {
            return vec![Keys::new(format!("[{}{key}]", self.prefix()), table, value.span)];
        }
        let title = format!("[[{}{key}]]", self.prefix());
        let tables = value.list(problems).unwrap_or_default();
        tables.iter().filter_map(|table| table.table(title.clone(), problems)).collect()
    }
}

impl<'t> Value<'t> {
    fn wrong_kind<T>(&self, wanted: &str, problems: &mut Problems) -> Option<T> {
        let kind = self.value.type_str();
        problems.add(self.span, format!("{} is {wanted}, not {} {kind}", self.key, article(kind)));
        None
    }

    pub(super) fn text(&self, problems: &mut Problems) -> Option<Located<&'t str>> {
        match self.value {
            DeValue::String(text) => Some(Located::new(text.as_ref(), self.span)),
            _ => self.wrong_kind("a string in quotes", problems),
        }
    }

    pub(super) fn parsed<T>(
        &self,
        problems: &mut Problems,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let text = self.text(problems)?;
        match parse(text.value) {
            Ok(value) => Some(Located::new(value, self.span)),
            Err(wrong) => {
                problems.add(self.span, format!("{}: {wrong}", self.key));
                None
            }
        }
    }

    pub(super) fn duration(&self, problems: &mut Problems) -> Option<Located<u64>> {
        self.parsed(problems, |text| parse_duration_ns(text).map_err(|error| error.to_string()))
    }

    pub(super) fn number(
        &self,
        range: std::ops::RangeInclusive<i64>,
        problems: &mut Problems,
    ) -> Option<Located<i64>> {
        let DeValue::Integer(integer) = self.value else {
            return self.wrong_kind("a whole number", problems);
        };
        let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let fitting = number.filter(|number| range.contains(number));
        if fitting.is_none() {
            let (least, most) = (range.start(), range.end());
            let prefix = if integer.radix() == 16 { "0x" } else { "" };
            problems.add(
                self.span,
                format!("{} is from {least} to {most}, not {prefix}{}", self.key, integer.as_str()),
            );
        }
        fitting.map(|number| Located::new(number, self.span))
    }

    pub(super) fn flag(&self, problems: &mut Problems) -> Option<bool> {
        match self.value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.wrong_kind("true or false", problems),
        }
    }

    pub(super) fn list(&self, problems: &mut Problems) -> Option<Vec<Value<'t>>> {
        match self.value {
            DeValue::Array(list) => Some(
                list.iter()
                    .map(|item| Value { key: self.key, value: item.get_ref(), span: item.span().into() })
                    .collect(),
            ),
            _ => self.wrong_kind("a list in brackets", problems),
        }
    }

    pub(super) fn table(&self, title: String, problems: &mut Problems) -> Option<Keys<'t>> {
        match self.value {
            DeValue::Table(table) => Some(Keys::new(title, table, self.span)),
            _ => self.wrong_kind("a table", problems),
        }
    }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}
