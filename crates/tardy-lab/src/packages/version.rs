//! The order of Debian's version numbers (Debian Policy 5.6.12).
//!
//! Alternative not taken: `dpkg --compare-versions`, which would start a process for each of hundreds of comparisons.

use std::cmp::Ordering;

/// Compares two versions, `[EPOCH:]UPSTREAM[-REVISION]`. Any two texts can be compared. An epoch that is not a number
/// is part of the upstream version.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (a, b) = (Parts::of(a), Parts::of(b));
    a.epoch
        .cmp(&b.epoch)
        .then_with(|| compare_part(a.upstream, b.upstream))
        .then_with(|| compare_part(a.revision, b.revision))
}

/// The upstream release of a version, without epoch and revision.
pub fn upstream(version: &str) -> &str {
    Parts::of(version).upstream
}

struct Parts<'a> {
    epoch: u64,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Parts<'a> {
    fn of(version: &'a str) -> Self {
        let (epoch, rest) = match version.split_once(':') {
            Some((epoch, rest)) if epoch.bytes().all(|byte| byte.is_ascii_digit()) => {
                // An epoch too large for the type counts as the largest.
                (if epoch.is_empty() { 0 } else { epoch.parse().unwrap_or(u64::MAX) }, rest)
            }
            _ => (0, version),
        };
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, ""));
        Self { epoch, upstream, revision }
    }
}

/// Compares runs of non-digits and runs of digits in turn, the former by character and the latter by value.
fn compare_part(mut a: &str, mut b: &str) -> Ordering {
    while !(a.is_empty() && b.is_empty()) {
        let (word_a, word_b) =
            (take(&mut a, |byte| !byte.is_ascii_digit()), take(&mut b, |byte| !byte.is_ascii_digit()));
        let (digits_a, digits_b) =
            (take(&mut a, |byte| byte.is_ascii_digit()), take(&mut b, |byte| byte.is_ascii_digit()));
        let order = compare_words(word_a, word_b).then_with(|| compare_numbers(digits_a, digits_b));
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Removes and returns the leading bytes for which `is_wanted` is true.
fn take<'a>(text: &mut &'a str, is_wanted: impl Fn(u8) -> bool) -> &'a [u8] {
    // Digits are ASCII, so a run ends at a character boundary.
    let end = text.bytes().position(|byte| !is_wanted(byte)).unwrap_or(text.len());
    let (taken, rest) = text.split_at(end);
    *text = rest;
    taken.as_bytes()
}

fn compare_words(a: &[u8], b: &[u8]) -> Ordering {
    (0..a.len().max(b.len()))
        .map(|at| rank(a.get(at)).cmp(&rank(b.get(at))))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The order of characters: a tilde, the end of the text, letters, all others.
fn rank(byte: Option<&u8>) -> i32 {
    match byte {
        Some(b'~') => -1,
        None => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(*letter),
        Some(other) => i32::from(*other) + 256,
    }
}

/// Compares numbers of any length.
fn compare_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (without_leading_zeros(a), without_leading_zeros(b));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn without_leading_zeros(digits: &[u8]) -> &[u8] {
    let first = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
    &digits[first..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_order_follows_debian_policy() {
        // In ascending order.
        let ascending = [
            "6.1.192-2",
            "6.1.1920-1",
            "6.12.9-1~bpo12+1",
            "6.12.9-1",
            "6.12.117-1~~deb12u1",
            "6.12.117-1~deb12u1",
            "6.12.117-1",
            "6.12.117-1+b1",
            "6.12.117-1.1",
            "6.12.117a-1",
            "6.12.117+dfsg-1",
            "6.12.117.1-1",
            "1:0",
            "2:0~1",
            "2:0",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
            assert_eq!(compare(pair[1], pair[0]), Ordering::Greater, "{pair:?}");
        }
    }

    #[test]
    fn different_spellings_of_a_version_are_equal() {
        for (a, b) in [("1.0", "0:1.0"), ("1.0-0", "1.0"), ("1.01", "1.1"), ("", "0")] {
            assert_eq!(compare(a, b), Ordering::Equal, "{a} {b}");
        }
    }

    #[test]
    fn the_upstream_part_has_neither_epoch_nor_revision() {
        assert_eq!(upstream("6.12.117-1~deb12u1"), "6.12.117");
        assert_eq!(upstream("1:1.3.dfsg+really1.3.1-1+b1"), "1.3.dfsg+really1.3.1");
    }

    /// dpkg's own answer; `None` if dpkg is not installed.
    fn dpkg_compares_less(a: &str, b: &str) -> Option<bool> {
        let status =
            std::process::Command::new("dpkg").args(["--compare-versions", a, "lt", b]).status().ok()?;
        Some(status.success())
    }

    #[test]
    fn dpkg_agrees() {
        let versions =
            ["1.0-1", "1.0~rc1-1", "1.0+b-1", "1.0a-1", "1:0.1-1", "1.0-1~deb12u1", "1.00-1", "1.0-10"];
        for a in versions {
            for b in versions {
                let Some(less) = dpkg_compares_less(a, b) else {
                    eprintln!("skipped: dpkg is not installed");
                    return;
                };
                assert_eq!(compare(a, b) == Ordering::Less, less, "{a} {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_texts_are_ordered(a in "\\PC{0,12}", b in "[0-9a-c~+.:-]{0,8}", c in "[0-9a-c~+.:-]{0,8}") {
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
            prop_assert_eq!(compare(&b, &c), compare(&c, &b).reverse());
            if compare(&a, &b).is_le() && compare(&b, &c).is_le() {
                prop_assert!(compare(&a, &c).is_le());
            }
        }
    }
}
