//! A request as the functions that answer it see it.

use std::collections::BTreeMap;

use crate::access::who::Who;
use crate::answer::Refusal;

/// A request whose sender may make it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Who asks.
    pub(crate) who: Who,
    /// The parts of the path that a route names, such as `address`.
    pub(crate) parts: BTreeMap<String, String>,
    /// The query of the address, and the fields of a form that was posted.
    pub(crate) fields: Vec<(String, String)>,
    /// The content.
    pub(crate) body: Vec<u8>,
    /// The scheme and the host by which the server was asked, for addresses in feeds.
    pub(crate) base: String,
}

impl Request {
    /// A part of the path.
    pub(crate) fn part(&self, name: &str) -> &str {
        self.parts.get(name).map_or("", String::as_str)
    }

    /// A field; empty if it is missing.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// Refuses fields that are not among `known`, so that a search with a misspelt condition does not find everything.
    pub(crate) fn check_fields(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.fields.iter().find(|(field, _)| !known.contains(&field.as_str())) {
            Some((field, _)) if known.is_empty() => {
                Err(Refusal::wrong(format!("there is no parameter '{field}'; this has none")))
            }
            Some((field, _)) => Err(Refusal::wrong(format!(
                "there is no parameter '{field}'; known are {}",
                known.join(", ")
            ))),
            None => Ok(()),
        }
    }
}
