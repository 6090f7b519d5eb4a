//! Versions of kernels, and ranges of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Numbers of a version that are compared: 6.12.118.
const NUMBERS: usize = 3;
/// More than any of these numbers. Their product fits into the integers of the index.
const BASE: i64 = 1_000_000;

/// The beginning of a kernel's release as numbers: 6.12.118 of `6.12.118-rt-amd64`. A missing number is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelVersion([u32; NUMBERS]);

impl KernelVersion {
    /// The version of a release. `None` if it does not begin with a number.
    pub fn of_release(release: &str) -> Option<Self> {
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        Some(Self(numbers(release[..end].trim_end_matches('.'))?.0))
    }

    /// The version as one number, which orders as versions do.
    pub fn ordinal(self) -> i64 {
        self.0.iter().fold(0, |sum, number| sum * BASE + i64::from(*number))
    }
}

impl fmt::Display for KernelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0[0], self.0[1], self.0[2])
    }
}

/// Versions from one to another, ends included: `6.1..6.12`, `6.6..`, `..5.10`, or all of one: `6.12`, which 6.12.118 is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRange {
    from: KernelVersion,
    to: KernelVersion,
}

impl KernelRange {
    /// Whether it contains `version`.
    pub fn contains(self, version: KernelVersion) -> bool {
        (self.from..=self.to).contains(&version)
    }

    /// The least and the greatest version as numbers.
    pub fn ordinals(self) -> [i64; 2] {
        [self.from.ordinal(), self.to.ordinal()]
    }
}

/// The numbers of a version, and how many there are. `None` if it is not one.
fn numbers(text: &str) -> Option<([u32; NUMBERS], usize)> {
    let mut numbers = [0; NUMBERS];
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > NUMBERS {
        return None;
    }
    for (number, part) in numbers.iter_mut().zip(&parts) {
        *number = part.parse().ok().filter(|number| i64::from(*number) < BASE)?;
    }
    Some((numbers, parts.len()))
}

impl FromStr for KernelRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a version; expected one as 6.12, or a range as 6.1..6.12");
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        if from.is_empty() && to.is_empty() {
            return Err(wrong());
        }
        let first = if from.is_empty() { [0; NUMBERS] } else { numbers(from).ok_or_else(wrong)?.0 };
        let mut last = [BASE as u32 - 1; NUMBERS];
        if !to.is_empty() {
            let (given, count) = numbers(to).ok_or_else(wrong)?;
            last[..count].copy_from_slice(&given[..count]);
        }
        if first > last {
            return Err(format!("{from} is later than {to}; write the range as {to}..{from}"));
        }
        Ok(Self { from: KernelVersion(first), to: KernelVersion(last) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(range: &str, release: &str) -> bool {
        range.parse::<KernelRange>().unwrap().contains(KernelVersion::of_release(release).unwrap())
    }

    #[test]
    fn a_range_includes_every_version_of_its_ends() {
        assert!(contains("6.12", "6.12.118-rt-amd64") && !contains("6.12", "6.1.120"));
        assert!(contains("6.1..6.12", "6.12.118") && contains("6.1..6.12", "6.1.0-rt"));
        assert!(!contains("6.1..6.12", "6.13-rc1") && !contains("6.1..6.12", "5.10.2"));
        assert!(contains("..5.10", "3.18.11-rt6") && contains("6.6..", "7.3.1"));
        assert!(contains("6.12.118", "6.12.118+deb12") && !contains("6.12.118", "6.12.117"));
    }

    #[test]
    fn what_is_not_a_range_is_refused_with_the_form() {
        for text in ["", "..", "6.x", "6.1.2.3", "new", "-1..6"] {
            let error = text.parse::<KernelRange>().unwrap_err();
            assert!(error.contains("6.1..6.12"), "{error}");
        }
        assert!("6.12..6.1".parse::<KernelRange>().unwrap_err().contains("6.1..6.12"));
        assert_eq!(KernelVersion::of_release("unknown"), None);
    }
}
