//! Which tardy this is. The program knows it, and the crates of commands do not: they would be compiled again for each commit.

use std::sync::OnceLock;

static IDENTITY: OnceLock<&str> = OnceLock::new();

/// Names the program: version, commit and target. A second name is ignored.
pub fn set(identity: &'static str) {
    IDENTITY.get_or_init(|| identity);
}

/// The name; empty before [`set`].
pub fn get() -> &'static str {
    IDENTITY.get().copied().unwrap_or_default()
}
