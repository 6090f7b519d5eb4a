//! What a result of the lab depends on, as one number.

use tardy_record::lab::{Lab, Settled};

use crate::checksum::sha256;

/// SHA-256 over all of `lab` that is known before the guest starts.
pub(super) fn identity(lab: &Lab) -> String {
    let before = Lab { identity: String::new(), settled: Settled::default(), ..lab.clone() };
    sha256(&serde_json::to_vec(&before).expect("it is made of texts and numbers"))
}
