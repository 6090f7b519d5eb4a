//! The words of a kernel's command line, and how two command lines differ.

use serde::Serialize;

/// A parameter that two command lines differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name of the parameter.
    pub name: String,
    /// Its words in the first command line; none if it is not there.
    pub from: Vec<String>,
    /// Its words in the second.
    pub to: Vec<String>,
}

impl std::fmt::Display for Change {
    /// The words as they become, or that they are left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (from, to) = (self.from.join(" "), self.to.join(" "));
        match (from.is_empty(), to.is_empty()) {
            (true, _) => write!(f, "{to}"),
            (_, true) => write!(f, "without {from}"),
            _ => write!(f, "{to} instead of {from}"),
        }
    }
}

/// Splits a command line at blanks outside double quotes, as the kernel does (lib/cmdline.c, next_arg).
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_quoted) = (String::new(), false);
    for c in line.chars() {
        is_quoted ^= c == '"';
        if c.is_whitespace() && !is_quoted {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        } else {
            word.push(c);
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The parameters that the command lines differ in: first those of `from`, in its order, then those that only `to` has. The words of a
/// parameter that occurs several times belong together.
pub fn changes(from: &str, to: &str) -> Vec<Change> {
    let (from, to) = (by_name(from), by_name(to));
    let words = |all: &[(String, Vec<String>)], name: &str| {
        all.iter().find(|(known, _)| known == name).map(|(_, words)| words.clone()).unwrap_or_default()
    };
    let added = to.iter().filter(|(name, _)| !from.iter().any(|(known, _)| known == name));
    let names = from.iter().chain(added).map(|(name, _)| name);
    names
        .map(|name| Change { name: name.clone(), from: words(&from, name), to: words(&to, name) })
        .filter(|change| change.from != change.to)
        .collect()
}

/// The command line `from` with some of its changes made.
pub fn with(from: &str, made: &[&Change]) -> String {
    let from = by_name(from);
    let change = |name: &str| made.iter().find(|change| change.name == name);
    let kept = from.iter().flat_map(|(name, words)| change(name).map_or(words, |change| &change.to));
    let is_added = |change: &&&Change| !from.iter().any(|(name, _)| *name == change.name);
    let added = made.iter().filter(is_added).flat_map(|change| &change.to);
    kept.chain(added).cloned().collect::<Vec<_>>().join(" ")
}

/// The words by the name of their parameter, in the order of the first word of each.
fn by_name(line: &str) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for word in split(line) {
        // The kernel takes - and _ in names of parameters as the same.
        let name = word.split('=').next().unwrap_or_default().trim_matches('"').replace('-', "_");
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, words)) => words.push(word),
            None => all.push((name, vec![word])),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blanks_in_quotes_do_not_end_a_word() {
        assert_eq!(
            split("  quiet dyndbg=\"file a.c +p\"  preempt=full"),
            ["quiet", "dyndbg=\"file a.c +p\"", "preempt=full"]
        );
        assert!(split("").is_empty());
    }

    #[test]
    fn parameters_differ_by_their_words() {
        let (from, to) =
            ("quiet preempt=none console=a console=b", "preempt=full console=a console=b nohz=off");
        let all = changes(from, to);
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["without quiet", "preempt=full instead of preempt=none", "nohz=off"]);
        assert_eq!(with(from, &[&all[1]]), "quiet preempt=full console=a console=b");
        assert_eq!(with(from, &all.iter().collect::<Vec<_>>()), "preempt=full console=a console=b nohz=off");
        assert!(changes("nohz-full=1 a", "a nohz-full=1").is_empty());
    }

    proptest! {
        #[test]
        fn all_changes_lead_from_one_line_to_the_other(
            from in "([a-d](=[0-2])? ){0,6}",
            to in "([a-d](=[0-2])? ){0,6}",
        ) {
            let all = changes(&from, &to);
            let made = with(&from, &all.iter().collect::<Vec<_>>());
            prop_assert!(changes(&made, &to).is_empty(), "{} is not {}", made, to);
            prop_assert!(changes(&from, &with(&from, &[])).is_empty());
        }
    }
}
