//! The version in a kernel release.

/// Major and minor version of a release, such as (6, 12); `None` if it does not begin with a version.
pub fn major_minor(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::major_minor;

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(major_minor("6.12.43+deb13-rt-amd64"), Some((6, 12)));
        assert_eq!(major_minor("3.2-rt"), Some((3, 2)));
        assert_eq!(major_minor("next"), None);
        assert_eq!(major_minor(""), None);
    }
}
