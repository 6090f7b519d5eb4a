//! Reads untrusted JSON: size and depth are checked before parsing, and errors name the path of a field.

use std::io::Read;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{ImportError, Result};

/// The largest JSON or XML document that is read, in bytes. A million bins for each of 64 threads fit.
pub(crate) const DOCUMENT_MAX: u64 = 256 << 20;
/// The deepest nesting. The formats here have at most six levels.
const DEPTH_MAX: usize = 32;

/// Reads `reader` to its end. An error if it is longer than [`DOCUMENT_MAX`].
pub(crate) fn whole(reader: &mut dyn Read) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    reader.take(DOCUMENT_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > DOCUMENT_MAX {
        return Err(ImportError::TooMuch(format!(
            "is longer than {} MiB, the most that is read",
            DOCUMENT_MAX >> 20
        )));
    }
    Ok(text)
}

/// `text` with null for the numbers `nan`, `-nan`, `inf` and `-inf`, which are not JSON: C programs print them for the mean
/// of no readings. `None` if there are none.
fn without_nan(text: &[u8]) -> Option<Vec<u8>> {
    const NUMBERS: [&[u8]; 4] = [b"-nan", b"nan", b"-inf", b"inf"];
    let mut replaced = Vec::new();
    let (mut copied, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'-' | b'n' | b'i' if !in_string && at >= copied => {
                let ends = |number: &&&[u8]| {
                    let after = text[at + number.len()..].first();
                    after.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']'))
                };
                let found = NUMBERS.iter().filter(|number| text[at..].starts_with(number)).find(ends);
                if let Some(number) = found {
                    replaced.extend_from_slice(&text[copied..at]);
                    replaced.extend_from_slice(b"null");
                    copied = at + number.len();
                }
            }
            _ => {}
        }
    }
    if copied == 0 {
        return None;
    }
    replaced.extend_from_slice(&text[copied..]);
    Some(replaced)
}

/// Parses `text`. An error if it is nested deeper than [`DEPTH_MAX`] or an object has a key twice.
pub(crate) fn parse(text: &[u8]) -> Result<Value> {
    check_depth(text)?;
    let replaced = without_nan(text);
    let text = replaced.as_deref().unwrap_or(text);
    serde_json::from_slice::<Distinct>(text).map(|distinct| distinct.0).map_err(|error| {
        let what = if error.is_eof() {
            "the document is incomplete: it was cut off, or the tool was killed while writing; incomplete JSON \
             cannot be imported"
                .to_owned()
        } else {
            // serde_json puts the place at the end; here it comes first.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or(&words);
            if error.is_data() { words.to_owned() } else { format!("not JSON: {words}") }
        };
        ImportError::line(error.line() as u64, &format!("column {}", error.column()), what)
    })
}

/// A value whose objects have no duplicate keys. With duplicates, the valid value would be unknown.
struct Distinct(Value);

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(DistinctVisitor).map(Self)
    }
}

struct DistinctVisitor;

impl<'de> Visitor<'de> for DistinctVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> std::result::Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Distinct(value)) = sequence.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let shown: String = key.chars().filter(|c| !c.is_control()).take(40).collect();
                return Err(A::Error::custom(format!("the key '{shown}' appears twice in one object")));
            }
            let Distinct(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

fn check_depth(text: &[u8]) -> Result<()> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(ImportError::TooMuch(format!(
                        "is JSON with more than {DEPTH_MAX} levels of nesting, which no known format has"
                    )));
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// A JSON object with its path, for errors.
#[derive(Clone)]
pub(crate) struct Object<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    pub(crate) fn root(value: &'a Value) -> Result<Self> {
        let map =
            value.as_object().ok_or_else(|| ImportError::field("the document", "is not a JSON object"))?;
        Ok(Self { path: String::new(), map })
    }

    pub(crate) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a String> {
        self.map.keys()
    }

    pub(crate) fn object(&self, key: &str) -> Result<Option<Object<'a>>> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let map =
            value.as_object().ok_or_else(|| ImportError::field(self.path_of(key), "is not an object"))?;
        Ok(Some(Object { path: self.path_of(key), map }))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.map.get(key)?.as_str()
    }

    pub(crate) fn count(&self, key: &str) -> Result<Option<u64>> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let count = value.as_u64();
        count
            .map(Some)
            .ok_or_else(|| ImportError::field(self.path_of(key), format!("{value} is not a count")))
    }

    pub(crate) fn whole(&self, key: &str) -> Result<Option<i64>> {
        let Some(value) = self.map.get(key) else { return Ok(None) };
        let whole = value.as_i64();
        whole.map(Some).ok_or_else(|| {
            ImportError::field(self.path_of(key), format!("{value} is not a whole number of 63 bits"))
        })
    }

    /// A number; `None` if it is missing or not a number, as the mean of no readings.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(value) = self.map.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number
            .map(Some)
            .ok_or_else(|| ImportError::field(self.path_of(key), format!("{value} is not a number")))
    }

    pub(crate) fn required<T>(&self, key: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| ImportError::field(self.path_of(key), "is missing"))
    }
}
