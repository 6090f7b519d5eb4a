//! Little-endian numbers in kernel images and in the observer's file.

/// A number of at most eight bytes.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The four bytes at an index.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(number(bytes.get(at..at.checked_add(4)?)?) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_is_the_lowest() {
        assert_eq!(number(&[1, 2]), 0x0201);
        assert_eq!(word(&[0, 1, 2, 3, 0x84], 1), Some(0x8403_0201));
        assert_eq!(word(&[0; 5], 2), None);
        assert_eq!(word(&[0; 5], usize::MAX), None);
    }
}
