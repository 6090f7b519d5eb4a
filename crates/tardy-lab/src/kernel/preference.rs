//! The choice among several Debian packages of the same kernel.

use std::cmp::Ordering;

use super::packaging::is_unsigned;
use crate::packages::{PackageVersion, version};

/// The order of preference: the greater package is used.
///
/// A higher version is preferred. If a version was built for two releases of Debian (`6.12.117-1` and
/// `6.12.117-1~deb12u1`), the build for the older release is preferred: the programs in its headers run on both
/// releases, so modules can be built against it on both. A signed package is preferred to the unsigned package of the
/// same build.
pub(super) fn preference(a: &PackageVersion, b: &PackageVersion) -> Ordering {
    let ((source_a, release_a), (source_b, release_b)) = (rebuild(&a.version), rebuild(&b.version));
    version::compare(source_a, source_b)
        .then_with(|| release_b.cmp(&release_a))
        .then_with(|| version::compare(&a.version, &b.version))
        .then_with(|| is_unsigned(&b.name).cmp(&is_unsigned(&a.name)))
        .then_with(|| a.name.cmp(&b.name))
}

/// The version of the sources, without the suffix of a rebuild for an older release.
pub(super) fn of_source(version: &str) -> &str {
    rebuild(version).0
}

/// The version without the suffix of a rebuild for an older release, and that release's number: 12 for `~deb12u1` and
/// `~bpo12+1`.
fn rebuild(version: &str) -> (&str, u32) {
    let rebuilt = version.rsplit_once('~').and_then(|(source, suffix)| {
        let digits = suffix.strip_prefix("deb").or_else(|| suffix.strip_prefix("bpo"))?;
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        Some((source, digits[..end].parse().ok()?))
    });
    rebuilt.unwrap_or((version, u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_version_then_older_release_then_signed() {
        let ascending = [
            ("a", "6.12.95-1~bpo12+1"),
            ("a", "6.12.95-2"),
            ("a", "6.12.117-1"),
            ("a-unsigned", "6.12.117-1~deb12u1"),
            ("a", "6.12.117-1~deb12u1"),
            ("a", "6.12.118-1"),
        ]
        .map(|(name, version)| PackageVersion { name: name.into(), version: version.into() });
        for pair in ascending.windows(2) {
            assert_eq!(preference(&pair[0], &pair[1]), Ordering::Less, "{pair:?}");
        }
    }
}
