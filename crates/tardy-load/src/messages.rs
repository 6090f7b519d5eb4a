//! Messages from load processes to their parents: lines on a pipe, only a few per process.

use std::io::{self, Read};

/// Longest text of a message; with its header it fits into one atomic write (PIPE_BUF).
const TEXT_BYTES_MAX: usize = 2000;

/// A message about a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The part is working.
    Running,
    /// Its first pass, which differs from later ones, is over.
    FirstPassOver,
    /// A message for the waiting user.
    Notice(String),
    /// A remark for the reader of the run.
    Remark(String),
    /// The part is ending or has ended unexpectedly; the text describes how.
    Death(String),
}

impl Message {
    /// The message as a line.
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

    /// Parses a line into part and message; `None` for any other text.
    pub(super) fn from_line(line: &str) -> Option<(usize, Self)> {
        let (part, rest) = line.split_once(' ')?;
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let message = match name {
            "running" => Self::Running,
            "first-pass-over" => Self::FirstPassOver,
            "notice" => Self::Notice(text.to_owned()),
            "remark" => Self::Remark(text.to_owned()),
            "death" => Self::Death(text.to_owned()),
            _ => return None,
        };
        Some((part.parse().ok()?, message))
    }
}

/// The text without line ends and control characters, truncated to the longest length.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.len() > TEXT_BYTES_MAX {
        let end = (0..=TEXT_BYTES_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
    }
    line
}

/// Reads messages from a non-blocking pipe.
#[derive(Debug, Default)]
pub(super) struct MessageReader {
    begun: Vec<u8>,
}

impl MessageReader {
    /// All complete messages received so far, and whether the pipe is still open.
    pub(super) fn read(&mut self, pipe: &mut impl Read) -> (Vec<(usize, Message)>, bool) {
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
        let messages = String::from_utf8_lossy(&whole).lines().filter_map(Message::from_line).collect();
        (messages, open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_sent() {
        let sent = [
            Message::Running,
            Message::FirstPassOver,
            Message::Notice("a b".to_owned()),
            Message::Remark(String::new()),
            Message::Death("é".to_owned()),
        ];
        let lines: String = sent.iter().map(|message| message.to_line(12)).collect();
        let mut listener = MessageReader::default();
        let (first, rest) = lines.as_bytes().split_at(20);
        let (mut received, open) = listener.read(&mut &first[..]);
        assert!(!open, "a slice ends");
        received.extend(listener.read(&mut &rest[..]).0);
        assert_eq!(received, sent.map(|message| (12, message)));
    }

    #[test]
    fn a_text_cannot_forge_a_message_or_fill_the_pipe() {
        assert_eq!(Message::Death("x\n0 running ".to_owned()).to_line(1), "1 death x 0 running \n");
        assert!(Message::Death("é".repeat(9999)).to_line(1).len() < 2100);
        for line in ["", "x", "1", "1 ", "x running", "1 dancing", "-1 running"] {
            assert_eq!(Message::from_line(line), None, "{line}");
        }
    }
}
