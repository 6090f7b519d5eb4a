//! SHA-256 in hexadecimal, as in all records of the lab and of baselines.

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// A digest in hexadecimal.
pub fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
