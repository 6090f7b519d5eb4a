//! The `use` declarations of Rust source, one entry for each name that they import.

use std::ops::Range;

use crate::rust_source::words;

/// One name that a `use` declaration imports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The byte of the code at which the last name of the path is.
    pub(crate) at: usize,
    /// The bytes of the whole declaration.
    pub(crate) statement: Range<usize>,
    /// Whether it is `pub`, with no limit such as `pub(crate)`.
    pub(crate) is_public: bool,
    /// The path, as written; a glob's path is that of the module.
    pub(crate) path: Vec<String>,
    /// The name in this module; `None` for a glob.
    pub(crate) name: Option<String>,
}

/// Every import in code (see [`crate::rust_source::code_only`]).
pub(crate) fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut before = (0, "");
    for (start, word) in words(code) {
        let (before_at, before_word) = std::mem::replace(&mut before, (start, word));
        if word != "use" {
            continue;
        }
        let begin = start + "use".len();
        // `impl Trait + use<'a>` is a bound.
        let Some(length) = code[begin..].find(';').filter(|_| !code[begin..].trim_start().starts_with('<'))
        else {
            continue;
        };
        let statement = start..begin + length;
        let is_public = before_word == "pub" && code[before_at + "pub".len()..start].trim().is_empty();
        let mut tree = Tree { tokens: tokens(code, begin..statement.end), next: 0, found: Vec::new() };
        tree.read(&[]);
        found.extend(tree.found.into_iter().map(|(at, path, name)| Import {
            at,
            statement: statement.clone(),
            is_public,
            path,
            name,
        }));
    }
    found
}

/// The words, braces, commas and stars of a declaration, with their bytes. `::` is left out, since it adds no
/// information.
fn tokens(code: &str, declaration: Range<usize>) -> Vec<(usize, &str)> {
    let text = &code[declaration.clone()];
    let marks = text.match_indices(['{', '}', ',', '*']);
    let mut tokens: Vec<(usize, &str)> = words(text).chain(marks).collect();
    tokens.sort_unstable();
    tokens.into_iter().map(|(at, token)| (declaration.start + at, token)).collect()
}

struct Tree<'code> {
    tokens: Vec<(usize, &'code str)>,
    next: usize,
    found: Vec<(usize, Vec<String>, Option<String>)>,
}

impl Tree<'_> {
    /// Reads one branch, and what is in its braces, below `prefix`.
    fn read(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let mut at = 0;
        while let Some(&(here, token)) = self.tokens.get(self.next) {
            match token {
                "," | "}" => break,
                "{" => return self.read_braces(&path),
                "*" => {
                    self.next += 1;
                    self.found.push((here, path, None));
                    return;
                }
                "as" => {
                    let name = self.tokens.get(self.next + 1).map(|(_, name)| (*name).to_owned());
                    self.next += 2;
                    self.found.push((at, without_self(path), name));
                    return;
                }
                name => {
                    at = here;
                    path.push(name.to_owned());
                    self.next += 1;
                }
            }
        }
        let path = without_self(path);
        if let Some(name) = path.last().cloned().filter(|_| at > 0) {
            self.found.push((at, path, Some(name)));
        }
    }

    fn read_braces(&mut self, path: &[String]) {
        self.next += 1;
        while let Some(&(_, token)) = self.tokens.get(self.next) {
            match token {
                "}" => {
                    self.next += 1;
                    return;
                }
                "," => self.next += 1,
                _ => self.read(path),
            }
        }
    }
}

/// `a::b::self` is `a::b`.
fn without_self(mut path: Vec<String>) -> Vec<String> {
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_tree_is_an_import() {
        let code = "use a::b;\npub use crate::{c::{self, D as E}, f::*, g,};\npub(crate) use super::h;";
        let found: Vec<String> = imports(code)
            .iter()
            .map(|import| {
                let name = import.name.as_deref().unwrap_or("*");
                format!("{}{} {name}", if import.is_public { "pub " } else { "" }, import.path.join("::"))
            })
            .collect();
        assert_eq!(
            found,
            [
                "a::b b",
                "pub crate::c c",
                "pub crate::c::D E",
                "pub crate::f *",
                "pub crate::g g",
                "super::h h"
            ]
        );
    }

    #[test]
    fn a_bound_is_not_an_import() {
        assert!(imports("fn f<'a>() -> impl Sized + use<'a> { g(); }").is_empty());
    }
}
