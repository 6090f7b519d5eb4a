//! The characters of the terminal: UTF-8, or ASCII if the locale does not promise UTF-8.

use std::borrow::Cow;

use tardy_present::ascii;

/// The characters that the output may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    is_utf8: bool,
    is_dumb: bool,
}

impl Charset {
    /// The characters of this process's terminal.
    pub fn of_terminal() -> Self {
        Self::of(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// The characters of output that is not written to a terminal, so that TERM does not matter.
    pub fn of_file() -> Self {
        Self { is_dumb: false, ..Self::of_terminal() }
    }

    /// The first of LC_ALL, LC_CTYPE and LANG that is not empty is the locale; the default locale is ASCII.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default().to_lowercase();
        let term = set(&"TERM");
        Self {
            is_utf8: locale.contains("utf-8") || locale.contains("utf8"),
            is_dumb: term.is_none_or(|term| term == "dumb"),
        }
    }

    /// Whether the terminal cannot move its cursor.
    pub fn is_dumb(self) -> bool {
        self.is_dumb
    }

    /// The text in these characters. Columns keep their width if there is room for it.
    pub fn encode(self, text: &str) -> Cow<'_, str> {
        if text.is_ascii() || (self.is_utf8 && !self.is_dumb) {
            return text.into();
        }
        ascii::of(text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Charset {
        Charset::of(|name| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let is_utf8 = |variables: &[(&str, &str)]| of(variables).is_utf8;
        assert!(is_utf8(&[("LANG", "de_DE.UTF-8")]) && is_utf8(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(is_utf8(&[("LC_ALL", ""), ("LC_CTYPE", "en_GB.UTF-8"), ("LANG", "C")]));
        assert!(!is_utf8(&[]) && !is_utf8(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!is_utf8(&[("LC_ALL", "C"), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C.UTF-8")]));
        assert!(!is_utf8(&[("LC_CTYPE", "POSIX"), ("LANG", "C.UTF-8")]));
    }

    #[test]
    fn a_terminal_without_a_name_is_dumb() {
        assert!(of(&[]).is_dumb() && of(&[("TERM", "dumb")]).is_dumb() && of(&[("TERM", "")]).is_dumb());
        assert!(!of(&[("TERM", "vt100")]).is_dumb());
    }

    #[test]
    fn a_terminal_that_may_not_be_utf8_gets_ascii() {
        let ascii = of(&[("LANG", "C"), ("TERM", "vt100")]);
        assert_eq!(ascii.encode("≥400"), ">=400");
        let dumb = of(&[("LANG", "C.UTF-8"), ("TERM", "dumb")]);
        assert_eq!(dumb.encode("│"), "|");
        let utf8 = of(&[("LANG", "C.UTF-8"), ("TERM", "vt100")]);
        assert_eq!(utf8.encode("≥400"), "≥400");
    }
}
