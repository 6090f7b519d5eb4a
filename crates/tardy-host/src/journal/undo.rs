//! The journal's interface to a change: describing, storing, reading and undoing it.
//!
//! The journal does not depend on the code that changes settings. Each module with a change implements [`Undo`] and
//! provides a [`Kind`], which maps an entry that a crashed process left to the module's code. Alternative not chosen:
//! one enum of all changes, which would make the journal depend on every module that changes a setting.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tardy_sys::kernel_files::KernelFiles;

/// A change to the system, with everything needed to undo it.
pub trait Undo: Debug + Send {
    /// The name of its [`Kind`].
    fn kind(&self) -> &'static str;

    /// What was changed, as a noun phrase for messages.
    fn describe(&self) -> String;

    /// The change as a JSON object, which [`Kind::read`] reads back.
    fn to_json(&self) -> Value;

    /// Restores the setting. Undoing a change that is already undone is not an error.
    ///
    /// An entry may come from a file that another user wrote, so implementations must refuse to write or remove
    /// anything that tardy does not change.
    ///
    /// # Errors
    /// A message for the user.
    fn undo(&self, files: &KernelFiles) -> Result<Undone, String>;
}

/// The result of undoing a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undone {
    /// The setting has its old value.
    Done,
    /// The setting already had its old value: it was never changed, or another process restored it.
    WasSo,
    /// Another process has changed the setting since, so it was left alone. Contains a description for the user.
    LeftAlone(String),
}

/// A kind of change.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The value of `kind` in an entry.
    pub name: &'static str,
    /// Reads an entry's change.
    pub read: fn(&Value) -> Result<Box<dyn Undo>, String>,
    /// Whether changes of this kind are undone before all others: a running tracer overrides restored settings.
    pub first: bool,
}

/// `change` as a JSON object with its kind in it.
pub fn tagged(kind: &str, change: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(change).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("kind".to_owned(), Value::from(kind));
    }
    value
}

/// Reads a change of type `T` from an entry: the usual [`Kind::read`].
///
/// # Errors
/// If the entry does not have the fields of `T`.
pub fn read<T: Undo + DeserializeOwned + 'static>(value: &Value) -> Result<Box<dyn Undo>, String> {
    let change: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    Ok(Box::new(change))
}
