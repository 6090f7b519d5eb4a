//! The content of a request and of its answer. Any host that returns it unchanged is a peer; `tardy reflect` adds how long it took.

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 48;

const REQUEST: [u8; 8] = *b"tardy-rq";
const ANSWER: [u8; 8] = *b"tardy-an";

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// A number of the run, so that answers to another run are ignored.
    pub run: u64,
    /// The number of the request, from 0.
    pub sequence: u64,
    /// How long the peer had the request, in ns; `None` if the peer does not say so.
    pub peer_ns: Option<u64>,
    /// Whether `tardy reflect` made it from a request.
    pub is_answer: bool,
}

impl Message {
    /// A request.
    pub fn request(run: u64, sequence: u64) -> Self {
        Self { run, sequence, peer_ns: None, is_answer: false }
    }

    /// The answer of a peer that had the request for `peer_ns`.
    pub fn answered(self, peer_ns: Option<u64>) -> Self {
        Self { peer_ns, is_answer: true, ..self }
    }

    /// Writes it into `bytes`, of which it uses the first [`MESSAGE_BYTES`].
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(&self, bytes: &mut [u8]) {
        let words = [self.run, self.sequence, self.peer_ns.map_or(0, |ns| ns.max(1))];
        bytes[..8].copy_from_slice(if self.is_answer { &ANSWER } else { &REQUEST });
        for (place, word) in bytes[8..MESSAGE_BYTES].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }

    /// Reads it; `None` if it is something else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..MESSAGE_BYTES)?;
        let word = |index: usize| {
            let place = 8 + index * 8;
            bytes[place..place + 8].try_into().map_or(0, u64::from_be_bytes)
        };
        let is_answer = match &bytes[..8] {
            kind if *kind == REQUEST => false,
            kind if *kind == ANSWER => true,
            _ => return None,
        };
        let peer_ns = Some(word(2)).filter(|ns| *ns > 0);
        Some(Self { run: word(0), sequence: word(1), peer_ns, is_answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let mut bytes = [0xff; MESSAGE_BYTES + 4];
        for message in [Message::request(1, 2), Message::request(u64::MAX, 3).answered(Some(5))] {
            message.write(&mut bytes);
            assert_eq!(Message::read(&bytes), Some(message));
        }
        assert_eq!(Message::read(&bytes[..MESSAGE_BYTES - 1]), None);
        bytes[0] = b'x';
        assert_eq!(Message::read(&bytes), None);
    }
}
