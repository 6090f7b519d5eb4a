//! What a result of the lab depends on, as one number.

use sha2::{Digest, Sha256};
use tardy_record::lab::{Lab, Settled};

/// SHA-256 of `bytes` in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 over all of `lab` that is known before the guest starts.
pub(super) fn identity(lab: &Lab) -> String {
    let before = Lab { identity: String::new(), settled: Settled::default(), ..lab.clone() };
    sha256(&serde_json::to_vec(&before).expect("it is made of texts and numbers"))
}
