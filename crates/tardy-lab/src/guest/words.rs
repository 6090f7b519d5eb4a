//! What a guest says to its host: lines of JSON through the emulator's port, and the bytes of files between them.
//!
//! The same idiom as between the house and its probe, because a person can read it in the file that it was written
//! to. A guest is hostile until parsed: [`Hearing`] takes any bytes and holds no more than it must.

use serde::{Deserialize, Serialize};
use tardy_record::lab::Settled;
use thiserror::Error;

/// Longest line that is listened to.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Longest file that is taken.
const FILE_BYTES_MAX: u64 = 1 << 28;

/// One thing that a guest says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It has booted; its first program runs.
    Booted {
        /// Since the kernel started, by the guest's clock.
        at_ns: u64,
    },
    /// Something for a person to read.
    Say {
        /// What.
        text: String,
    },
    /// The boot's own work is over, or the guest has waited long enough.
    Settled(Settled),
    /// So many bytes of a file follow the line.
    File {
        /// Its name, with no directory.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// That was all, and the machine ends.
    End {
        /// Exit status of the last command.
        status: u8,
        /// What went wrong, if anything did.
        trouble: Option<String>,
    },
}

impl Word {
    /// The word as a line.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("words are made of texts and numbers");
        line.push(b'\n');
        line
    }
}

/// A word, or a file that has arrived whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Any word but [`Word::File`].
    Word(Word),
    /// A file.
    File {
        /// Its name.
        name: String,
        /// What is in it.
        content: Vec<u8>,
    },
}

/// Why a guest was not understood.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum HearingError {
    /// Not a word.
    #[error("the guest said something that is no word of the lab's: {0}")]
    NoWord(String),
    /// A line without an end.
    #[error("the guest sent more than {LINE_BYTES_MAX} bytes without an end of line")]
    NoEnd,
    /// A name with directories in it, or none.
    #[error("the guest sent a file named '{0}', which is no plain file name")]
    Name(String),
    /// Larger than anything a guest should send.
    #[error("the guest announced a file of {0} bytes; at most {FILE_BYTES_MAX} are taken")]
    Size(u64),
}

/// Listens to a guest, however its words are cut into pieces on the way.
#[derive(Debug, Default)]
pub struct Hearing {
    pending: Vec<u8>,
    file: Option<(String, usize)>,
}

impl Hearing {
    /// Takes the next piece, and returns what is complete with it.
    ///
    /// # Errors
    /// When it is not what a guest says; nothing that follows makes sense then.
    pub fn take(&mut self, piece: &[u8]) -> Result<Vec<Heard>, HearingError> {
        self.pending.extend_from_slice(piece);
        let mut heard = Vec::new();
        while let Some(next) = self.next()? {
            heard.push(next);
        }
        Ok(heard)
    }

    /// Whether a line or a file has begun and not ended.
    pub fn is_in_the_middle(&self) -> bool {
        !self.pending.is_empty() || self.file.is_some()
    }

    fn next(&mut self) -> Result<Option<Heard>, HearingError> {
        if let Some((name, size)) = self.file.take() {
            if self.pending.len() < size {
                self.file = Some((name, size));
                return Ok(None);
            }
            let rest = self.pending.split_off(size);
            let content = std::mem::replace(&mut self.pending, rest);
            return Ok(Some(Heard::File { name, content }));
        }
        let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') else {
            let endless = self.pending.len() > LINE_BYTES_MAX;
            return if endless { Err(HearingError::NoEnd) } else { Ok(None) };
        };
        let rest = self.pending.split_off(end + 1);
        let line = std::mem::replace(&mut self.pending, rest);
        match serde_json::from_slice(&line) {
            Ok(Word::File { name, bytes }) => {
                self.expect_file(name, bytes)?;
                self.next()
            }
            Ok(word) => Ok(Some(Heard::Word(word))),
            Err(_) => Err(HearingError::NoWord(beginning(&line))),
        }
    }

    fn expect_file(&mut self, name: String, bytes: u64) -> Result<(), HearingError> {
        let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
        if !plain {
            return Err(HearingError::Name(name));
        }
        if bytes > FILE_BYTES_MAX {
            return Err(HearingError::Size(bytes));
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

    fn said() -> Vec<u8> {
        let mut bytes = Word::Booted { at_ns: 7 }.line();
        bytes.extend(Word::File { name: "a.run.json".into(), bytes: 5 }.line());
        bytes.extend(b"{}\n\n\n");
        bytes.extend(Word::End { status: 0, trouble: None }.line());
        bytes
    }

    #[test]
    fn words_and_files_arrive_whole_however_they_are_cut() {
        let whole = Hearing::default().take(&said()).unwrap();
        assert_eq!(whole.len(), 3);
        assert_eq!(whole[1], Heard::File { name: "a.run.json".into(), content: b"{}\n\n\n".to_vec() });
        let mut hearing = Hearing::default();
        let pieces: Vec<Heard> =
            said().iter().flat_map(|byte| hearing.take(std::slice::from_ref(byte)).unwrap()).collect();
        assert_eq!(pieces, whole);
        assert!(!hearing.is_in_the_middle());
    }

    #[test]
    fn a_guest_writes_no_file_of_the_hosts_choosing() {
        for name in ["../../etc/passwd", "", "/etc/passwd", ".profile", "a/b"] {
            let line = Word::File { name: name.into(), bytes: 1 }.line();
            assert_eq!(Hearing::default().take(&line), Err(HearingError::Name(name.into())));
        }
        let line = Word::File { name: "x".into(), bytes: u64::MAX }.line();
        assert_eq!(Hearing::default().take(&line), Err(HearingError::Size(u64::MAX)));
    }

    #[test]
    fn nonsense_is_quoted() {
        let error = Hearing::default().take(b"Kernel panic - not syncing\n").unwrap_err();
        assert_eq!(error, HearingError::NoWord("Kernel panic - not syncing".into()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_borne(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Hearing::default().take(&bytes);
        }
    }
}
