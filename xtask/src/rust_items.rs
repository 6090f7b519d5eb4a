//! Items of Rust source: inline modules, and what is compiled for tests only.

use std::ops::Range;

use crate::rust_source::words;

/// A module with its body in the same file.
#[derive(Debug)]
pub(crate) struct InlineModule {
    pub(crate) name: String,
    /// The bytes of its braces and what is between them.
    pub(crate) body: Range<usize>,
}

/// The inline modules of code, an outer one before those inside it.
pub(crate) fn inline_modules(code: &str) -> Vec<InlineModule> {
    let words: Vec<(usize, &str)> = words(code).collect();
    let modules = words.windows(2).filter(|pair| pair[0].1 == "mod").filter_map(|pair| {
        let (at, name) = pair[1];
        let open = at + name.len() + code[at + name.len()..].find(|c: char| !c.is_whitespace())?;
        let close = code[open..].starts_with('{').then(|| end_of_braces(code, open))?;
        Some(InlineModule { name: name.to_owned(), body: open..close })
    });
    modules.collect()
}

/// The byte behind the brace that closes the one at `open`.
fn end_of_braces(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return open + offset + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The items that are compiled for tests only, each from its attribute to its end, as bytes of code.
pub(crate) fn test_items(code: &str) -> Vec<Range<usize>> {
    ["#[cfg(test", "#[cfg(all(test"]
        .iter()
        .flat_map(|attribute| code.match_indices(attribute))
        .filter(|(at, attribute)| {
            !code[at + attribute.len()..].starts_with(|c: char| c == '_' || c.is_alphanumeric())
        })
        .map(|(at, _)| at..end_of_item(code, at))
        .collect()
}

/// The end of the item that begins at `from` with its attributes: its `;`, or the brace that closes its body.
fn end_of_item(code: &str, from: usize) -> usize {
    let mut brackets = 0_usize;
    for (offset, c) in code[from..].char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            ';' if brackets == 0 => return from + offset + 1,
            '{' if brackets == 0 => return end_of_braces(code, from + offset),
            '}' if brackets == 0 => return from + offset,
            _ => {}
        }
    }
    code.len()
}

/// `code` with every item that is compiled for tests only replaced by spaces. Line breaks stay where they are.
pub(crate) fn without_tests(code: &str) -> String {
    let tests = test_items(code);
    code.char_indices()
        .map(|(at, c)| if c != '\n' && tests.iter().any(|test| test.contains(&at)) { ' ' } else { c })
        .collect()
}

/// The names of the modules in separate files that are compiled for tests only.
pub(crate) fn test_modules(code: &str) -> Vec<String> {
    test_items(code)
        .into_iter()
        .filter_map(|test| {
            let item = code[test].strip_suffix(';')?;
            let declaration = item.rsplit(']').next()?.trim();
            Some(
                declaration
                    .strip_prefix("pub ")
                    .unwrap_or(declaration)
                    .strip_prefix("mod ")?
                    .trim()
                    .to_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_tests_are_removed_whole() {
        let code = "\
a; #[cfg(test)] #[allow(x)] use b::{c, d};
#[cfg(test)] fn e(f: [u8; 3]) -> [u8; 3] { g; { h } } i
struct J { #[cfg(test)] k: u8 }
#[cfg(all(test, unix))] const L: u8 = 1; m #[cfg(testing)] n; #[cfg(any(test, unix))] o;";
        let kept: String = without_tests(code).split_whitespace().collect();
        assert_eq!(kept, "a;;istructJ{}m#[cfg(testing)]n;#[cfg(any(test,unix))]o;");
    }

    #[test]
    fn modules_of_tests_are_named() {
        let code = "#[cfg(test)]\nmod a;\nmod b;\n#[cfg(test)]\npub mod c;\n#[cfg(test)]\nmod d {}";
        assert_eq!(test_modules(code), ["a", "c"]);
    }

    #[test]
    fn an_inline_module_has_its_body() {
        let modules = inline_modules("mod a { mod b { } } mod c;");
        let found: Vec<_> =
            modules.iter().map(|module| (module.name.as_str(), module.body.clone())).collect();
        assert_eq!(found, [("a", 6..19), ("b", 14..17)]);
    }
}
