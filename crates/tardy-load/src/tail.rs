//! The last lines of a command's output, in constant memory.

use std::collections::VecDeque;

/// The number of bytes that are kept.
const KEPT_BYTES: usize = 4096;
/// The number of lines that are reported.
const LINES: usize = 3;

/// The end of a stream of bytes.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
}

impl Tail {
    /// Adds output.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(&bytes[bytes.len().saturating_sub(KEPT_BYTES)..]);
        let excess = self.bytes.len().saturating_sub(KEPT_BYTES);
        self.bytes.drain(..excess);
    }

    /// The last non-blank lines joined into one; empty if there are none.
    pub(super) fn last_lines(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> =
            text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
        super::messages::one_line(&lines[lines.len().saturating_sub(LINES)..].join(" / "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let mut tail = Tail::default();
        assert_eq!(tail.last_lines(), "");
        for line in 0..100_000 {
            tail.push(format!("line {line}\n\n").as_bytes());
        }
        assert_eq!(tail.last_lines(), "line 99997 / line 99998 / line 99999");
        tail.push(&[b'x'; 1_000_000]);
        assert!(tail.bytes.len() <= KEPT_BYTES);
        tail.push(b"\x1b[31m\xff\n");
        assert!(!tail.last_lines().contains('\x1b'));
    }
}
