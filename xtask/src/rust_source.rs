//! The structure of Rust source that the rules need: code, comments and literals, words, and functions.

/// `text` with every character of a comment, string or character literal replaced by a space. Line breaks stay.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_non_code(&chars, at);
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    code
}

/// The end of the comment or literal that begins at `at`; `at` itself if none begins there.
pub(crate) fn end_of_non_code(chars: &[char], at: usize) -> usize {
    let next = chars.get(at + 1).copied();
    match chars[at] {
        '/' if next == Some('/') => find(chars, at, |c| c == '\n'),
        '/' if next == Some('*') => end_of_block_comment(chars, at),
        '"' => end_of_string(chars, at),
        '\'' => end_of_char(chars, at),
        // r"", r#""#, br"" and cr"" have no escapes. An identifier may end in r as well.
        'r' if !begins_inside_word(chars, at) => end_of_raw_string(chars, at),
        _ => at,
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|&c| is_end(c)).map_or(chars.len(), |offset| from + offset)
}

fn begins_inside_word(chars: &[char], at: usize) -> bool {
    let start = chars[..at].iter().rposition(|&c| !is_word(c)).map_or(0, |before| before + 1);
    !matches!(chars[start..at], [] | ['b' | 'c'])
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn end_of_block_comment(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut here = at;
    while here < chars.len() {
        match chars[here..] {
            ['/', '*', ..] => (depth, here) = (depth + 1, here + 2),
            ['*', '/', ..] => (depth, here) = (depth - 1, here + 2),
            _ => here += 1,
        }
        if depth == 0 {
            break;
        }
    }
    here
}

fn end_of_string(chars: &[char], at: usize) -> usize {
    let mut here = at + 1;
    while here < chars.len() {
        match chars[here] {
            '\\' => here += 2,
            '"' => return here + 1,
            _ => here += 1,
        }
    }
    chars.len()
}

/// A quote begins a character or a lifetime; only a character has a second quote after one character or an escape.
fn end_of_char(chars: &[char], at: usize) -> usize {
    match chars[at + 1..] {
        ['\\', _, ..] => (find(chars, at + 3, |c| c == '\'') + 1).min(chars.len()),
        [c, '\'', ..] if c != '\'' => at + 3,
        _ => at,
    }
}

fn end_of_raw_string(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return at;
    }
    let mut here = open + 1;
    while here < chars.len() {
        if chars[here] == '"' && chars[here + 1..].iter().take_while(|&&c| c == '#').count() >= hashes {
            return here + 1 + hashes;
        }
        here += 1;
    }
    chars.len()
}

/// The words of code, each with its first byte.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + code[rest..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |length| start + length);
        rest = end;
        Some((start, &code[start..end]))
    })
}

/// The line, counted from 1, that the byte `at` is on.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The lines of a text, for finding many positions in it.
#[derive(Debug)]
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(breaks).collect() }
    }

    /// The line, counted from 1, that the byte `at` is on.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function<'code> {
    pub(crate) name: &'code str,
    pub(crate) first_line: usize,
    pub(crate) lines: usize,
}

/// Every function in code that has a body, functions inside functions included.
pub(crate) fn functions(code: &str) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    let mut words = words(code).peekable();
    while let Some((start, word)) = words.next() {
        // Without a name it is a type: fn(u32) -> u32.
        let Some(&(name_start, name)) = words.peek().filter(|_| word == "fn") else { continue };
        if !code[start + 2..name_start].trim().is_empty() {
            continue;
        }
        let Some(end) = end_of_body(code, name_start) else { continue };
        let first_line = line_of(code, start);
        found.push(Function { name, first_line, lines: line_of(code, end) - first_line + 1 });
    }
    found
}

/// The end of the body of the function whose signature continues at `from`; `None` if it has no body.
fn end_of_body(code: &str, from: usize) -> Option<usize> {
    let mut brackets = 0_usize;
    let mut braces = 0_usize;
    for (offset, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            // A semicolon inside brackets is in an array's type: [u8; 4].
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces = braces.checked_sub(1)?;
                // A block inside brackets is an array's length: [u8; { 4 }].
                if braces == 0 && brackets == 0 {
                    return Some(from + offset);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        let text = r####"
            a // unsafe
            b /* unsafe /* nested */ unsafe */ c
            "unsafe \" unsafe" d '"' e '\'' f '\u{7d}' g
            r"unsafe\" h r#"unsafe " unsafe"# i br##"unsafe"## j b"unsafe" k
        "####;
        let kept: String = code_only(text).split_whitespace().collect();
        // The prefixes b and br remain; they do no harm.
        assert_eq!(kept, "abcdefghibjbk");
    }

    #[test]
    fn lifetimes_are_code() {
        let text = "fn f<'a>(x: &'a str) -> &'a str { 'outer: loop { break 'outer } }";
        assert_eq!(code_only(text), text);
    }

    #[test]
    fn an_identifier_that_ends_in_r_opens_no_raw_string() {
        assert_eq!(code_only("for\"x}\" r#type"), "for     r#type");
    }

    #[test]
    fn code_only_keeps_the_lines() {
        let text = "/* a\nb */ c\n\"d\ne\"";
        assert_eq!(code_only(text).matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn every_function_with_a_body_has_its_length() {
        let code = "\
fn one() {}
trait T { fn none(&self); }
fn three(a: [u8; 3], f: fn(u8) -> u8) -> [u8; 3]
where u8: Copy {
    a }
const F: fn() = one;
impl X { pub(crate) unsafe fn two() {
    if true { } else { } } }";
        let found: Vec<(&str, usize, usize)> =
            functions(code).iter().map(|f| (f.name, f.first_line, f.lines)).collect();
        assert_eq!(found, [("one", 1, 1), ("three", 3, 3), ("two", 7, 2)]);
    }
}
