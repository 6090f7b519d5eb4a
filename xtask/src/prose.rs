//! The text of a file that people read: comments and string literals of source, everything of a document.
//!
//! Code becomes NUL, so that no phrase extends over it. Comment marks become spaces and white space is collapsed, so
//! that a phrase is found across line breaks.

use crate::File;
use crate::rust_source::end_of_non_code;

/// Stands for code, which ends a phrase.
const CODE: char = '\0';

/// Prose in lower case with single spaces, and the line that each part of it is on.
#[derive(Debug)]
pub(crate) struct Prose {
    pub(crate) text: String,
    /// The byte of `text` at which each line begins.
    line_starts: Vec<usize>,
}

impl Prose {
    /// The prose of `file`; `None` if its kind is not one that people read as text.
    pub(crate) fn of(file: &File) -> Option<Self> {
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let is_script = ["scripts/", ".ci/"].iter().any(|directory| file.path.starts_with(directory));
        let raw = match name.rsplit_once('.') {
            Some((_, "rs")) => of_rust(&file.text),
            Some((_, "md")) => file.text.clone(),
            Some((_, "c" | "h")) => without_marks(&file.text, &['/', '*']),
            Some((_, "py" | "sh" | "toml")) => without_marks(&file.text, &['#']),
            _ if is_script || name == "Makefile" => without_marks(&file.text, &['#']),
            _ => return None,
        };
        Some(Self::collapsed(&raw))
    }

    fn collapsed(raw: &str) -> Self {
        let mut text = String::with_capacity(raw.len());
        let mut line_starts = vec![0];
        for c in raw.chars() {
            if !c.is_whitespace() {
                text.push(c.to_ascii_lowercase());
            } else if !text.ends_with(' ') {
                text.push(' ');
            }
            if c == '\n' {
                line_starts.push(text.len());
            }
        }
        Self { text, line_starts }
    }

    /// The line, counted from 1, that the byte `at` is on.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }
}

/// `text` with the comment marks at the beginning of each line replaced by spaces.
fn without_marks(text: &str, marks: &[char]) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start_matches([' ', '\t']);
        plain.push_str(&" ".repeat(line.len() - start.len()));
        let rest = start.trim_start_matches(marks);
        plain.push_str(&" ".repeat(start.len() - rest.len()));
        plain.push_str(rest);
    }
    plain
}

/// The comments and literals of Rust source; every other character that is not white space becomes NUL.
fn of_rust(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut prose = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_non_code(&chars, at);
        if end == at {
            prose.push(if chars[at].is_whitespace() { chars[at] } else { CODE });
            at += 1;
            continue;
        }
        let piece = &chars[at..end];
        if piece.starts_with(&['/', '/']) || piece.starts_with(&['/', '*']) {
            let comment: String = piece.iter().collect();
            prose.push_str(&without_marks(&comment, &['/', '!', '*']));
        } else if is_serialized_name(&chars[..at]) {
            prose.extend(piece.iter().map(|&c| if c == '\n' { c } else { CODE }));
        } else {
            push_literal(&mut prose, piece);
        }
        at = end;
    }
    prose
}

/// Whether a literal behind `before` is a name in a file format: `rename = "…"`. Those names do not change.
fn is_serialized_name(before: &[char]) -> bool {
    let tail: String = before[before.len().saturating_sub(24)..].iter().collect();
    tail.trim_end()
        .strip_suffix('=')
        .is_some_and(|key| ["rename", "alias"].iter().any(|name| key.trim_end().ends_with(name)))
}

/// The text of a literal, with NUL for its quotes and spaces for its line breaks.
fn push_literal(prose: &mut String, literal: &[char]) {
    prose.push(CODE);
    let mut inner = literal.iter().skip(1).peekable();
    while let Some(&c) = inner.next() {
        let escaped = if c == '\\' { inner.next().copied() } else { None };
        match (c, escaped) {
            (_, Some('\n')) => prose.push('\n'),
            (_, Some('n' | 't' | 'r')) => prose.push(' '),
            (_, Some(other)) => prose.push(other),
            ('"', None) => prose.push(CODE),
            (c, None) => prose.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(path: &str, text: &str) -> Prose {
        Prose::of(&File { path: path.to_owned(), text: text.to_owned() }).unwrap()
    }

    #[test]
    fn a_comment_continues_on_the_next_line() {
        let text = "/// One\n    /// two.\nfn three() {} // four\n";
        let prose = prose("a.rs", text);
        assert!(prose.text.contains("one two."), "{prose:?}");
        assert!(prose.text.contains("four"), "{prose:?}");
        assert!(!prose.text.contains("three"), "{prose:?}");
        assert_eq!(prose.line_of(prose.text.find("two").unwrap()), 2);
        assert_eq!(prose.line_of(prose.text.find("four").unwrap()), 3);
    }

    #[test]
    fn a_string_continues_behind_a_backslash() {
        let prose = prose("a.rs", "f(\"One \\\n      two\\nthree\", \"four\")");
        assert!(prose.text.contains("one two three"), "{prose:?}");
        assert!(!prose.text.contains("three four"), "{prose:?}");
    }

    #[test]
    fn the_name_of_a_field_in_a_file_is_not_prose() {
        let prose = prose("a.rs", "#[serde(rename = \"old name\")] f: u8, // new name");
        assert!(!prose.text.contains("old name"), "{prose:?}");
        assert!(prose.text.contains("new name"), "{prose:?}");
    }

    #[test]
    fn scripts_and_c_lose_their_comment_marks() {
        assert!(prose("scripts/x", "# one\n# two\n").text.contains("one two"));
        assert!(prose("kernel/x.c", "/* one\n * two */\n").text.contains("one two"));
        assert!(Prose::of(&File { path: "docs/report.png".to_owned(), text: String::new() }).is_none());
    }
}
