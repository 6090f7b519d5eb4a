//! Which tardy this is: version, commit and target.

/// The version, the commit it was built from if that is known, `modified` if the tree had changes, and the target, as in
/// `0.1.0 (e7189ff00000, modified, x86_64-unknown-linux-gnu)`. The build script sets commit and target.
pub(crate) fn identity() -> &'static str {
    const COMMIT: &str = env!("TARDY_COMMIT");
    if COMMIT.is_empty() {
        concat!(env!("CARGO_PKG_VERSION"), " (", env!("TARDY_TARGET"), ")")
    } else {
        concat!(env!("CARGO_PKG_VERSION"), " (", env!("TARDY_COMMIT"), ", ", env!("TARDY_TARGET"), ")")
    }
}
