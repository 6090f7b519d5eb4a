//! Requirements, and forms of their outcome.

use std::path::PathBuf;

use tardy_gate::Requirement;
use tardy_gate::forms::{self, FORMS, Form};

/// A requirement.
pub fn requirement(text: &str) -> Result<Requirement, String> {
    text.parse()
}

/// The form with this name.
pub fn form(name: &str) -> Result<&'static Form, String> {
    let names = || FORMS.iter().map(|form| form.name).collect::<Vec<_>>().join(", ");
    forms::by_name(name).ok_or_else(|| format!("there is no form '{name}'; choose one of {}", names()))
}

/// A form and its file.
#[derive(Clone, Debug)]
pub struct WrittenForm {
    /// The form.
    pub form: &'static Form,
    /// Its file.
    pub path: PathBuf,
}

/// A form and its file from `FORM=FILE`.
pub fn written_form(text: &str) -> Result<WrittenForm, String> {
    let (name, path) = text.split_once('=').ok_or("write FORM=FILE, such as junit=gate.xml")?;
    if path.is_empty() {
        return Err(format!("the file after '{name}=' is missing"));
    }
    Ok(WrittenForm { form: form(name)?, path: path.into() })
}
