//! A program and its arguments in one text (`--by`), split as by a shell. No shell runs, because a signal to end the program
//! would end the shell instead.

use std::fmt;
use std::str::FromStr;

/// A program and its arguments; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLine {
    text: String,
    words: Vec<String>,
}

impl ProgramLine {
    /// The program and its arguments, with `line` in place of each `{line}`.
    pub fn words_for(&self, line: &str) -> Vec<String> {
        self.words.iter().map(|word| word.replace("{line}", line)).collect()
    }
}

impl FromStr for ProgramLine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = split(text).ok_or_else(|| format!("a quote is not closed in: {text}"))?;
        if words.is_empty() {
            return Err("no program given; expected a program and its arguments in one text".to_owned());
        }
        Ok(Self { text: text.to_owned(), words })
    }
}

impl fmt::Display for ProgramLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

crate::serde_as_text!(ProgramLine);

/// Splits at blanks outside quotes of either kind. Text in quotes is kept as it is. `None` if a quote is not closed.
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
    fn blanks_outside_quotes_separate_words() {
        let program: ProgramLine = "  python3 'a b.py' --out={line} -x \"it's\"\t'' ".parse().unwrap();
        let words = program.words_for("gpiochip0:17");
        assert_eq!(words, ["python3", "a b.py", "--out=gpiochip0:17", "-x", "it's", ""]);
        for (text, reason) in [("", "no program"), ("  ", "no program"), ("a 'b", "a quote is not closed")] {
            let error = text.parse::<ProgramLine>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
