//! Text for a terminal of 80 columns: broken at spaces, coloured where colours are wanted, with nothing in it that a
//! terminal would obey.

/// Columns that lines are broken for.
pub(crate) const WIDTH: usize = 80;
/// Where the text of a finding begins.
pub(crate) const INDENT: usize = 8;

/// Text without anything that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Breaks a text at spaces; a word that is longer than a line after a slash in it, or where it must.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text = printable(text);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        for (index, piece) in pieces(word, width).into_iter().enumerate() {
            let length = piece.chars().count();
            if index > 0 || (used > 0 && used + 1 + length > width) {
                lines.push(String::new());
                used = 0;
            }
            let line = lines.last_mut().expect("there is always one");
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(piece);
            used += length;
        }
    }
    lines
}

/// A word in pieces that fit.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((end, _)) = rest.char_indices().nth(width) {
        let (line, _) = rest.split_at(end);
        // A slash at the very start is no place to break a path.
        let cut = line.rfind('/').filter(|slash| *slash > 1).map_or(end, |slash| slash + 1);
        pieces.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    pieces.push(rest);
    pieces
}

/// How a piece of text looks where colours are wanted.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Bold,
    Faint,
    Good,
    Middling,
    Bad,
    Remedy,
}

impl Style {
    /// The escape's number (ECMA-48, SGR).
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("1;32"),
            Self::Middling => Some("1;33"),
            Self::Bad => Some("1;31"),
            Self::Remedy => Some("36"),
        }
    }
}

/// The text so far.
pub(crate) struct Paper {
    pub(crate) text: String,
    colour: bool,
}

impl Paper {
    pub(crate) fn new(colour: bool) -> Self {
        Self { text: String::new(), colour }
    }

    pub(crate) fn styled(&mut self, text: &str, style: Style) {
        match style.code().filter(|_| self.colour) {
            Some(code) => {
                self.text.push_str("\u{1b}[");
                self.text.push_str(code);
                self.text.push('m');
                self.text.push_str(text);
                self.text.push_str("\u{1b}[0m");
            }
            None => self.text.push_str(text),
        }
    }

    pub(crate) fn line(&mut self, text: &str, style: Style) {
        self.styled(text, style);
        self.text.push('\n');
    }

    pub(crate) fn indented(&mut self, text: &str, style: Style) {
        self.text.push_str(&" ".repeat(INDENT));
        self.line(text, style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_broken_and_short_ones_kept() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("aaaaaaa b", 3), ["aaa", "aaa", "a b"]);
        assert_eq!(wrapped("x /sys/devices/cpu0/online", 14), ["x", "/sys/devices/", "cpu0/online"]);
        assert_eq!(wrapped("äöüäöü", 4), ["äöüä", "öü"]);
        assert_eq!(wrapped("", 3), [""]);
    }
}
