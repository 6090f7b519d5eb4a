//! SHA-256 in base64, as in a content security policy.

use sha2::{Digest, Sha256};

pub(crate) fn of(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text.as_bytes());
    let mut encoded = String::new();
    for chunk in digest.chunks(3) {
        let mut word = [0u8; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(word);
        for i in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * i) & 63) as usize] as char;
            encoded.push(if i <= chunk.len() { letter } else { '=' });
        }
    }
    encoded
}
