//! Shortens text from files for messages.

use std::borrow::Cow;

/// The most characters of text from a file that a message repeats.
pub const EXCERPT_MAX: usize = 300;

/// `text`, or its beginning and its end if it is longer than [`EXCERPT_MAX`] characters.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let Some((middle, _)) = text.char_indices().nth(EXCERPT_MAX) else { return Cow::Borrowed(text) };
    let half = EXCERPT_MAX / 2;
    let beginning: String = text[..middle].chars().take(half).collect();
    let end: String = text.chars().rev().take(half).collect();
    let end: String = end.chars().rev().collect();
    Cow::Owned(format!("{beginning} … {end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(excerpt("short"), "short");
        let whole = "é".repeat(EXCERPT_MAX);
        assert_eq!(excerpt(&whole), whole);
        let long = format!("from {} to", "x".repeat(300_000));
        let shown = excerpt(&long);
        assert!(
            shown.starts_with("from ") && shown.ends_with(" to") && shown.chars().count() < 310,
            "{shown}"
        );
    }
}
