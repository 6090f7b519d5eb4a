//! Text for a terminal: folded at spaces, with optional colours and without control characters.

/// Width of a line in columns.
pub const WIDTH: usize = 80;
/// The column in which the text of a finding begins.
pub const INDENT: usize = 8;

/// Text without control characters.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Folds a text at spaces. A word longer than a line is broken after a slash if it has one, or else at the end of the
/// line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
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

/// A word in pieces that fit into a line.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some((end, _)) = rest.char_indices().nth(width) {
        let (line, _) = rest.split_at(end);
        // A path is not broken after the slash at its beginning.
        let cut = line.rfind('/').filter(|slash| *slash > 1).map_or(end, |slash| slash + 1);
        pieces.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    pieces.push(rest);
    pieces
}

/// The style of a piece of text if colours are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without escapes.
    Plain,
    /// Bold: headings and conclusions.
    Bold,
    /// Faint: notes.
    Faint,
    /// Bold green.
    Good,
    /// Bold yellow.
    Middling,
    /// Bold red: alarms.
    Bad,
    /// Cyan: the remedy.
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

    /// `text` in this style, with ANSI escapes if `colour` is set.
    pub fn paint(self, text: &str, colour: bool) -> String {
        match self.code().filter(|_| colour) {
            Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            None => text.to_owned(),
        }
    }
}

/// A text under construction.
pub struct TerminalText {
    /// The text so far.
    pub text: String,
    colour: bool,
}

impl TerminalText {
    /// An empty text, with ANSI escapes if `colour` is set.
    pub fn new(colour: bool) -> Self {
        Self { text: String::new(), colour }
    }

    /// Adds `text`.
    pub fn styled(&mut self, text: &str, style: Style) {
        self.text.push_str(&style.paint(text, self.colour));
    }

    /// Adds `text` and ends the line.
    pub fn line(&mut self, text: &str, style: Style) {
        self.styled(text, style);
        self.text.push('\n');
    }

    /// Adds a line that begins at [`INDENT`].
    pub fn indented(&mut self, text: &str, style: Style) {
        self.text.push_str(&" ".repeat(INDENT));
        self.line(text, style);
    }
}

/// Text in lines of at most `width` columns, folded at spaces; all lines except the first are indented by two columns.
pub fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// Text with its first letter in upper case.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Text of the terminal as a page shows it: `µs` for the unit `us`, and a no-break space before units.
pub fn typographic(text: &str) -> String {
    let mut typeset = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        typeset.push_str(before);
        let unit = [("us", "µs"), ("ms", "ms"), ("%", "%")].into_iter().find_map(|(unit, sign)| {
            let behind = after.strip_prefix(unit)?;
            (!behind.starts_with(|c: char| c.is_alphanumeric())).then_some((sign, behind))
        });
        rest = match unit.filter(|_| before.ends_with(|c: char| c.is_ascii_digit())) {
            Some((sign, behind)) => {
                typeset.push('\u{a0}');
                typeset.push_str(sign);
                behind
            }
            None => {
                typeset.push(' ');
                after
            }
        };
    }
    typeset + rest
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

    #[test]
    fn units_stay_with_their_numbers() {
        assert_eq!(typographic("12 us, usually 3 used by us"), "12\u{a0}µs, usually 3 used by us");
        assert_eq!(typographic("at most 1,000 us"), "at most 1,000\u{a0}µs");
        assert_eq!(typographic("8.9 % of 7 ms"), "8.9\u{a0}% of 7\u{a0}ms");
    }
}
