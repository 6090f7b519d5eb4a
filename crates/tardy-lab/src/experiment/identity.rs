//! A run's identity: a hash of everything that its results depend on.

use tardy_record::lab::{Lab, Settled};

use crate::checksum::sha256;

/// The SHA-256 of everything in `lab` that is known before the guest starts.
pub(super) fn identity(lab: &Lab) -> String {
    let before = Lab { identity: String::new(), settled: Settled::default(), ..lab.clone() };
    sha256(&serde_json::to_vec(&before).expect("the record is made of texts and numbers"))
}
