//! Who asks.

use std::net::IpAddr;

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Somebody without a token.
    Anyone(IpAddr),
    /// The holder of this token.
    Token(String),
}

impl Who {
    /// The name in the audit log.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Anyone(address) => address.to_string(),
            Self::Token(name) => name.clone(),
        }
    }
}
