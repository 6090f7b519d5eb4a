//! Text in ASCII, for terminals whose locale does not promise UTF-8.

/// The text in ASCII. Columns keep their width if there is room for it.
pub fn of(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        let replacement = ascii_of(character);
        if matches!(character, '≥' | '≤') && ascii.ends_with("  ") {
            ascii.pop();
        }
        match replacement {
            "" => ascii.push(if character.is_ascii() { character } else { '?' }),
            replacement => ascii.push_str(replacement),
        }
    }
    ascii
}

/// What an ASCII terminal shows for a character; empty if it has no replacement.
fn ascii_of(character: char) -> &'static str {
    match character {
        '█' | '▉' | '▊' | '▋' | '▌' => "#",
        '▍' | '▎' | '▏' | '\u{a0}' | '\u{202f}' => " ",
        '░' => ".",
        '│' => "|",
        '┊' | '⋮' => ":",
        '–' | '—' | '−' | '─' => "-",
        '…' => "...",
        '≥' => ">=",
        '≤' => "<=",
        'µ' | 'μ' => "u",
        '°' => "deg ",
        '×' => "x",
        '±' => "+/-",
        '→' => "->",
        '·' | '•' => "*",
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        '½' => "1/2",
        '²' => "^2",
        'ö' => "oe",
        'ü' => "ue",
        'ä' => "ae",
        'é' => "e",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_is_shown() {
        assert_eq!(of("2.2–3.3 │███▌ 12"), "2.2-3.3 |#### 12");
        assert_eq!(of("a   ≥400 b"), "a  >=400 b", "the column keeps its width");
        assert_eq!(of("≥400µs, 54 °C…\u{4e2d}"), ">=400us, 54 deg C...?");
    }
}
