//! The name of a run.

/// Longest name, in characters.
const LENGTH_MAX: usize = 60;

/// A name of a run; `None` if the text is empty.
pub type RunName = Option<String>;

/// A name of at most 60 characters in one line.
///
/// # Errors
/// A message with the rule that `text` breaks.
pub fn run_name(text: &str) -> Result<RunName, String> {
    let text = text.trim();
    if text.chars().any(char::is_control) {
        return Err("a name is one line, without control characters".to_owned());
    }
    match text.chars().count() {
        0 => Ok(None),
        1..=LENGTH_MAX => Ok(Some(text.to_owned())),
        length => Err(format!("a name has at most {LENGTH_MAX} characters, and this one has {length}")),
    }
}
