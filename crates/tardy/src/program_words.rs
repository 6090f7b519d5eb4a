//! A program and its arguments in one text, split as a shell would: no shell runs, so that what ends the program ends it and not
//! a shell around it.

use crate::resolve::{UsageError, wrong};

/// The words of `text`, with `line` for `{line}` in each.
///
/// # Errors
/// If there is none, or a quote is left open.
pub(crate) fn of(text: &str, line: &str) -> Result<Vec<String>, UsageError> {
    let words = split(text).ok_or_else(|| wrong("by", format!("a quote is left open in: {text}")))?;
    if words.is_empty() {
        return Err(wrong("by", "no program is named; give it and its arguments in one text"));
    }
    Ok(words.iter().map(|word| word.replace("{line}", line)).collect())
}

/// Words are parted by blanks; quotes of either kind keep blanks, and what is between them is taken as it is.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if letter == '"' || letter == '\'' => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if letter.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_by_blanks_and_kept_together_by_quotes() {
        let words = of("  python3 'a b.py' --out={line} -x \"it's\"\t'' ", "gpiochip0:17").unwrap();
        assert_eq!(words, ["python3", "a b.py", "--out=gpiochip0:17", "-x", "it's", ""]);
        for (text, told) in [("", "no program"), ("  ", "no program"), ("a 'b", "a quote is left open")] {
            let error = of(text, "x").unwrap_err();
            assert!(error.reason.contains(told), "{text}: {}", error.reason);
        }
    }
}
