//! The way to a target, and why a run was not sent.

use std::time::Duration;

use tardy_archive::Address;

/// The secret by which a server knows the sender. It is never shown.
#[derive(Clone)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Why a run was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Another attempt may succeed, after this time if the target said one.
    Later(String, Option<Duration>),
    /// No run can be sent until a person does something.
    Stopped(String),
    /// The target will never take this run.
    Refused(String),
}

/// The way to a target.
pub trait Sender {
    /// Sends a compressed run file. Returns whether the target had it before. When it returns, the target has it on its disk.
    ///
    /// # Errors
    /// Why it was not sent.
    fn send(&mut self, address: &Address, compressed: &[u8]) -> Result<bool, Failure>;
}
