//! The answer to a request.

use serde_json::Value;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// What the page reads.
    pub value: Value,
    /// Content that is not JSON: a report, a figure, the files of an export one after the other.
    pub content: Vec<u8>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, content: Vec::new() }
    }
}
