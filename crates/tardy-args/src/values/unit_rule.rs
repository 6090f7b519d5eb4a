//! The unit of other tools' files, for all or for those whose name matches a pattern.

use tardy_formats::Unit;

/// `--unit us`, or `--unit PATTERN=us`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitRule {
    /// The pattern; `None` for all files.
    pub pattern: Option<String>,
    /// The unit.
    pub unit: Unit,
}

impl UnitRule {
    /// Whether the rule is for the file of this name: its path, or an archive's member after its archive's path and a colon. A
    /// pattern without a slash is compared with the end of the path after the last slash.
    pub fn applies_to(&self, name: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let last = name.rsplit(['/', ':']).next().unwrap_or(name);
        let compared = if pattern.contains('/') { name } else { last };
        matches(pattern.as_bytes(), compared.as_bytes())
    }
}

/// Parses `us`, `ns`, or one of them after a pattern and `=`.
///
/// # Errors
/// A message with the expected form.
pub fn unit_rule(text: &str) -> Result<UnitRule, String> {
    let (pattern, unit) = match text.rsplit_once('=') {
        Some((pattern, unit)) => (Some(pattern.to_owned()), unit),
        None => (None, text),
    };
    let unit = match unit {
        "us" => Unit::Us,
        "ns" => Unit::Ns,
        other => {
            return Err(format!(
                "'{other}' is not a unit: expected us, ns or PATTERN=UNIT, for example '*.hist=us'"
            ));
        }
    };
    match pattern.as_deref() {
        Some("") => Err("the pattern before '=' is empty; leave '=' out to mean all files".to_owned()),
        _ => Ok(UnitRule { pattern, unit }),
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any bytes and `?` for one. Linear in memory, and at most
/// quadratic in time.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut in_text) = (0, 0);
    // The last star, and the place in the text from which the part after it is tried.
    let mut retry: Option<(usize, usize)> = None;
    while in_text < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at, in_text));
                at += 1;
            }
            Some(byte) if *byte == b'?' || *byte == text[in_text] => {
                at += 1;
                in_text += 1;
            }
            _ => match &mut retry {
                Some((star, from)) => {
                    *from += 1;
                    (at, in_text) = (*star + 1, *from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_compared_with_the_file_name_or_with_the_whole_path() {
        let applies = |rule: &str, name: &str| unit_rule(rule).unwrap().applies_to(name);
        assert!(applies("us", "anything"));
        assert!(applies("*.hist=us", "old/board-1.hist") && !applies("*.hist=us", "old.hist/board-1.txt"));
        assert!(applies("old/*=ns", "old/a/b.txt") && !applies("old/*=ns", "new/old/b.txt"));
        assert!(applies("board-?.txt=us", "all.tar:x/board-1.txt"));
        assert!(applies("a=b*=us", "a=b.txt"), "the last '=' separates");
        assert!(applies("*a*b*=us", "xxaxxbxx") && !applies("*a*b*=us", "xxbxxaxx"));
    }

    #[test]
    fn another_unit_is_refused_with_an_example() {
        assert!(unit_rule("ms").unwrap_err().contains("'*.hist=us'"));
        assert!(unit_rule("*.txt=").unwrap_err().contains("'' is not a unit"));
        assert!(unit_rule("=us").unwrap_err().contains("empty"));
    }
}
