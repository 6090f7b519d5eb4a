//! What load processes say to those above them: lines on a pipe, one word each, few in a lifetime.

use std::io::{self, Read};

/// Longest text of a word; with its head it still fits into one write that nothing comes between (PIPE_BUF).
const TEXT_BYTES_MAX: usize = 2000;

/// Something that a part says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It has begun its work.
    Running,
    /// Its first pass, which is unlike the later ones, is over.
    FirstPassOver,
    /// What a person who waits should know now.
    Notice(String),
    /// What a reader of the run must know.
    Remark(String),
    /// It ends, or has ended, and not by design: how.
    Death(String),
}

impl Word {
    /// The word as a line.
    pub(super) fn to_line(&self, part: usize) -> String {
        let (name, text) = match self {
            Self::Running => ("running", ""),
            Self::FirstPassOver => ("first-pass-over", ""),
            Self::Notice(text) => ("notice", text.as_str()),
            Self::Remark(text) => ("remark", text.as_str()),
            Self::Death(text) => ("death", text.as_str()),
        };
        format!("{part} {name} {}\n", one_line(text))
    }

    /// The part and the word in a line; `None` for anything else.
    pub(super) fn from_line(line: &str) -> Option<(usize, Self)> {
        let (part, rest) = line.split_once(' ')?;
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let word = match name {
            "running" => Self::Running,
            "first-pass-over" => Self::FirstPassOver,
            "notice" => Self::Notice(text.to_owned()),
            "remark" => Self::Remark(text.to_owned()),
            "death" => Self::Death(text.to_owned()),
            _ => return None,
        };
        Some((part.parse().ok()?, word))
    }
}

/// The text without line ends and control characters, and not too long.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
    }
    line
}

/// Takes words off a pipe that does not wait.
#[derive(Debug, Default)]
pub(super) struct Listener {
    begun: Vec<u8>,
}

impl Listener {
    /// All whole words that have come, and whether the pipe is still open.
    pub(super) fn hear(&mut self, pipe: &mut impl Read) -> (Vec<(usize, Word)>, bool) {
        let mut chunk = [0; 4096];
        let open = loop {
            match pipe.read(&mut chunk) {
                Ok(0) => break false,
                Ok(read) => self.begun.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        let end = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let whole: Vec<u8> = self.begun.drain(..end).collect();
        let words = String::from_utf8_lossy(&whole).lines().filter_map(Word::from_line).collect();
        (words, open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_heard_as_they_were_said() {
        let said = [
            Word::Running,
            Word::FirstPassOver,
            Word::Notice("a b".to_owned()),
            Word::Remark(String::new()),
            Word::Death("é".to_owned()),
        ];
        let lines: String = said.iter().map(|word| word.to_line(12)).collect();
        let mut listener = Listener::default();
        let (first, rest) = lines.as_bytes().split_at(20);
        let (mut heard, open) = listener.hear(&mut &first[..]);
        assert!(!open, "a slice ends");
        heard.extend(listener.hear(&mut &rest[..]).0);
        assert_eq!(heard, said.map(|word| (12, word)));
    }

    #[test]
    fn a_text_cannot_forge_a_word_or_fill_a_pipe() {
        assert_eq!(Word::Death("x\n0 running ".to_owned()).to_line(1), "1 death x 0 running \n");
        assert!(Word::Death("é".repeat(9999)).to_line(1).len() < 2100);
        for line in ["", "x", "1", "1 ", "x running", "1 dancing", "-1 running"] {
            assert_eq!(Word::from_line(line), None, "{line}");
        }
    }
}
