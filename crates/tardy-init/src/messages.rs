//! The messages from a guest to its host: lines of JSON through the emulator's port, and the bytes of files between
//! them.
//!
//! The supervisor and its probe use the same human-readable format. A guest's output is not trusted: [`Decoder`]
//! accepts any bytes and buffers at most one line or one file.

use serde::{Deserialize, Serialize};
use tardy_record::lab::Settled;
use thiserror::Error;

/// The longest line that is accepted.
const LINE_BYTES_MAX: usize = 1 << 20;
/// The longest file that is accepted.
const FILE_BYTES_MAX: u64 = 1 << 28;

/// A message from a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The guest has booted, and its first program runs.
    Booted {
        /// The time since the kernel started, in ns by the guest's clock.
        at_ns: u64,
    },
    /// A line that a command in the guest wrote.
    Output {
        /// The line, without its end.
        text: String,
    },
    /// The CPUs are idle after the boot, or the time limit has passed.
    Idle(Settled),
    /// A file's content follows the line.
    File {
        /// Its name, without a directory.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// The last message: the machine ends.
    End {
        /// The exit status of the last command.
        status: u8,
        /// The error that ended the guest's work early.
        error: Option<String>,
    },
}

impl Message {
    /// The message as a line.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("a message is made of texts and numbers");
        line.push(b'\n');
        line
    }
}

/// A message or a complete file.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// Any message except [`Message::File`].
    Message(Message),
    /// A complete file.
    File {
        /// Its name.
        name: String,
        /// Its content.
        content: Vec<u8>,
    },
}

/// Why a guest's output cannot be decoded.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// A line that is not a message.
    #[error("the guest sent a line that is not a message: {0}")]
    NotAMessage(String),
    /// A line without an end.
    #[error("the guest sent more than {LINE_BYTES_MAX} bytes without an end of line")]
    LineTooLong,
    /// A file name that is empty, hidden, or contains a directory.
    #[error("the guest sent a file named '{0}', which is not a plain file name")]
    FileName(String),
    /// A file that exceeds the maximum length.
    #[error("the guest announced a file of {0} bytes; the most is {FILE_BYTES_MAX}")]
    FileTooLong(u64),
}

/// Decodes a guest's output, which arrives in pieces of any length.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    file: Option<(String, usize)>,
}

impl Decoder {
    /// Adds the next piece, and returns the messages and files that it completes.
    ///
    /// # Errors
    /// If the bytes are not a guest's messages. The rest of the output cannot be decoded then.
    pub fn decode(&mut self, piece: &[u8]) -> Result<Vec<Received>, DecodeError> {
        self.pending.extend_from_slice(piece);
        let mut received = Vec::new();
        while let Some(next) = self.next()? {
            received.push(next);
        }
        Ok(received)
    }

    fn next(&mut self) -> Result<Option<Received>, DecodeError> {
        if let Some((name, size)) = self.file.take() {
            if self.pending.len() < size {
                self.file = Some((name, size));
                return Ok(None);
            }
            let rest = self.pending.split_off(size);
            let content = std::mem::replace(&mut self.pending, rest);
            return Ok(Some(Received::File { name, content }));
        }
        let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') else {
            let is_too_long = self.pending.len() > LINE_BYTES_MAX;
            return if is_too_long { Err(DecodeError::LineTooLong) } else { Ok(None) };
        };
        let rest = self.pending.split_off(end + 1);
        let line = std::mem::replace(&mut self.pending, rest);
        match serde_json::from_slice(&line) {
            Ok(Message::File { name, bytes }) => {
                self.expect_file(name, bytes)?;
                self.next()
            }
            Ok(message) => Ok(Some(Received::Message(message))),
            Err(_) => Err(DecodeError::NotAMessage(beginning(&line))),
        }
    }

    fn expect_file(&mut self, name: String, bytes: u64) -> Result<(), DecodeError> {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !is_plain {
            return Err(DecodeError::FileName(name));
        }
        if bytes > FILE_BYTES_MAX {
            return Err(DecodeError::FileTooLong(bytes));
        }
        self.file = Some((name, bytes as usize));
        Ok(())
    }
}

fn beginning(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(120)]).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn output() -> Vec<u8> {
        let mut bytes = Message::Booted { at_ns: 7 }.line();
        bytes.extend(Message::File { name: "a.run.json".into(), bytes: 5 }.line());
        bytes.extend(b"{}\n\n\n");
        bytes.extend(Message::End { status: 0, error: None }.line());
        bytes
    }

    #[test]
    fn messages_and_files_are_complete_however_they_are_cut() {
        let whole = Decoder::default().decode(&output()).unwrap();
        assert_eq!(whole.len(), 3);
        assert_eq!(whole[1], Received::File { name: "a.run.json".into(), content: b"{}\n\n\n".to_vec() });
        let mut decoder = Decoder::default();
        let pieces: Vec<Received> =
            output().iter().flat_map(|byte| decoder.decode(std::slice::from_ref(byte)).unwrap()).collect();
        assert_eq!(pieces, whole);
        assert!(decoder.pending.is_empty() && decoder.file.is_none());
    }

    #[test]
    fn a_file_name_that_leaves_the_directory_is_refused() {
        for name in ["../../etc/passwd", "", "/etc/passwd", ".profile", "a/b"] {
            let line = Message::File { name: name.into(), bytes: 1 }.line();
            assert_eq!(Decoder::default().decode(&line), Err(DecodeError::FileName(name.into())));
        }
        let line = Message::File { name: "x".into(), bytes: u64::MAX }.line();
        assert_eq!(Decoder::default().decode(&line), Err(DecodeError::FileTooLong(u64::MAX)));
    }

    #[test]
    fn an_error_quotes_the_line() {
        let error = Decoder::default().decode(b"Kernel panic - not syncing\n").unwrap_err();
        assert_eq!(error, DecodeError::NotAMessage("Kernel panic - not syncing".into()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Decoder::default().decode(&bytes);
        }
    }
}
