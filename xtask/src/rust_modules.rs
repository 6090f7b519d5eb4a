//! The modules of a crate's source and the paths with which they refer to each other.
//!
//! A path is resolved through `crate`, `super`, `self`, child modules, imports and re-exports. The name after the last
//! module is an item of that module. Code of tests is left out. Not detected: paths inside macro definitions other than
//! `$crate::`, and names that a macro generates.

use std::collections::{BTreeMap, BTreeSet};

use crate::Repository;
use crate::rust_items::{inline_modules, test_modules, without_tests};
use crate::rust_source::{Lines, code_only, words};
use crate::use_tree::{Import, imports};

/// A module's place in its crate: the names from the root down. The root's is empty.
pub(crate) type ModulePath = Vec<String>;

/// Words that define an item.
const DEFINING: &[&str] =
    &["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];
/// A longer chain of re-exports is taken for a circle.
const LONGEST_CHAIN: usize = 16;

/// The modules of one crate.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    modules: BTreeMap<ModulePath, Module>,
}

#[derive(Debug, Default)]
struct Module {
    file: String,
    /// The paths in its code, each with its line.
    paths: Vec<(usize, Vec<String>)>,
    /// The names that it imports, with their meanings.
    bindings: BTreeMap<String, Vec<String>>,
    /// The modules from which it imports all items.
    globs: Vec<(usize, Vec<String>)>,
    /// The names of its items.
    items: BTreeSet<String>,
}

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    module: ModulePath,
    /// Whether the whole path is modules, and so names no item.
    is_module: bool,
}

/// A reference from one module to another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// The crates of a repository, each by its directory, such as `crates/tardy-sys`.
pub(crate) fn crates_of(repository: &Repository) -> BTreeMap<String, Modules> {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    let mut tests: BTreeSet<(String, ModulePath)> = BTreeSet::new();
    for file in repository.rust_files() {
        let Some((krate, rest)) = file.path.split_once("/src/") else { continue };
        let module = module_of_file(rest);
        let code = code_only(&file.text);
        for name in test_modules(&code) {
            let mut test = module.clone();
            test.push(name);
            tests.insert((krate.to_owned(), test));
        }
        crates.entry(krate.to_owned()).or_default().add(&module, &file.path, &without_tests(&code));
    }
    for (krate, modules) in &mut crates {
        modules.modules.retain(|path, _| {
            (1..=path.len()).all(|length| !tests.contains(&(krate.clone(), path[..length].to_vec())))
        });
    }
    crates
}

/// The module that the file `rest`, a path below `src/`, holds.
fn module_of_file(rest: &str) -> ModulePath {
    let mut parts: ModulePath = rest.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_root = parts.len() == 1 && matches!(parts[0].as_str(), "lib" | "main");
    if is_root || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

impl Modules {
    /// Whether there is a module `path`.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        self.modules.contains_key(path)
    }

    /// Every reference from one module to another, with the first place of each.
    pub(crate) fn references(&self) -> BTreeMap<(ModulePath, ModulePath), Reference> {
        let mut found = BTreeMap::new();
        for (from, module) in &self.modules {
            let mut refer = |line: usize, to: ModulePath| {
                if to != *from {
                    found
                        .entry((from.clone(), to))
                        .or_insert_with(|| Reference { file: module.file.clone(), line });
                }
            };
            for (line, path) in &module.paths {
                if let Some(target) = self.resolve(from, path, 0).filter(|target| !target.is_module) {
                    refer(*line, target.module);
                }
            }
            for (line, path) in &module.globs {
                if let Some(target) = self.resolve(from, path, 0) {
                    refer(*line, target.module);
                }
            }
        }
        found
    }

    fn add(&mut self, root: &ModulePath, file: &str, code: &str) {
        let inline = inline_modules(code);
        let lines = Lines::of(code);
        let module_at = |at: usize| -> ModulePath {
            let inner = inline.iter().filter(|module| module.body.contains(&at));
            root.iter().cloned().chain(inner.map(|module| module.name.clone())).collect()
        };
        for start in std::iter::once(0).chain(inline.iter().map(|module| module.body.start)) {
            self.modules.entry(module_at(start)).or_default().file = file.to_owned();
        }
        let imports = imports(code);
        for import in &imports {
            self.modules.entry(module_at(import.at)).or_default().import(lines.line_of(import.at), import);
        }
        for (at, path) in paths(code) {
            if !imports.iter().any(|import| import.statement.contains(&at)) {
                self.modules.entry(module_at(at)).or_default().paths.push((lines.line_of(at), path));
            }
        }
        let words: Vec<(usize, &str)> = words(code).collect();
        for pair in words.windows(2) {
            if DEFINING.contains(&pair[0].1) {
                self.modules.entry(module_at(pair[0].0)).or_default().items.insert(pair[1].1.to_owned());
            }
        }
    }

    /// Where `path` leads in the module `from`; `None` if it leads to another crate or to a local name.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<Target> {
        let mut here = from.clone();
        let mut rest = path;
        let mut is_rooted = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => here.clear(),
                "super" => drop(here.pop()?),
                "self" => {}
                _ => break,
            }
            is_rooted = true;
            rest = others;
        }
        if !is_rooted {
            let (first, others) = rest.split_first()?;
            let target = self.lookup(&here, first, depth)?;
            return if target.is_module { self.descend(target.module, others, depth) } else { Some(target) };
        }
        self.descend(here, rest, depth)
    }

    fn descend(&self, mut here: ModulePath, rest: &[String], depth: usize) -> Option<Target> {
        for name in rest {
            match self.lookup(&here, name, depth) {
                Some(target) if target.is_module => here = target.module,
                Some(target) => return Some(target),
                None => return Some(Target { module: here, is_module: false }),
            }
        }
        self.has(&here).then_some(Target { module: here, is_module: true })
    }

    /// What `name` is in the module `here`: a child, something imported, or one of its items.
    fn lookup(&self, here: &ModulePath, name: &str, depth: usize) -> Option<Target> {
        let child: ModulePath = here.iter().cloned().chain([name.to_owned()]).collect();
        if self.has(&child) {
            return Some(Target { module: child, is_module: true });
        }
        let module = self.modules.get(here).filter(|_| depth < LONGEST_CHAIN)?;
        if module.items.contains(name) {
            return Some(Target { module: here.clone(), is_module: false });
        }
        if let Some(path) = module.bindings.get(name) {
            return self.resolve(here, path, depth + 1);
        }
        module.globs.iter().find_map(|(_, path)| {
            let glob =
                self.resolve(here, path, depth + 1).filter(|glob| glob.is_module && glob.module != *here)?;
            self.lookup(&glob.module, name, depth + 1)
        })
    }
}

impl Module {
    fn import(&mut self, line: usize, import: &Import) {
        match &import.name {
            None => self.globs.push((line, import.path.clone())),
            Some(name) => {
                self.paths.push((line, import.path.clone()));
                self.bindings.insert(name.clone(), import.path.clone());
            }
        }
    }
}

/// Every path of at least two names in code, with the byte at which it begins.
fn paths(code: &str) -> Vec<(usize, Vec<String>)> {
    let mut found: Vec<(usize, Vec<String>)> = Vec::new();
    let mut path: Option<(usize, Vec<String>)> = None;
    let mut end = 0;
    for (at, word) in words(code) {
        let between = &code[end..at];
        match &mut path {
            Some((_, names)) if between.trim() == "::" => names.push(word.to_owned()),
            _ => {
                found.extend(path.take());
                // A name after a dot is a method or field; one after `::` continues what is not a plain path: `<T>::f`.
                let is_start = !between.trim_end().ends_with("::") && !is_field(between);
                let is_visibility =
                    code[..at].trim_end().ends_with("(in") || between.trim_end().ends_with("(in");
                path = (is_start && !is_visibility).then(|| (at, vec![word.to_owned()]));
            }
        }
        end = at + word.len();
    }
    found.extend(path);
    found.retain(|(_, names)| names.len() > 1);
    found
}

fn is_field(between: &str) -> bool {
    let between = between.trim_end();
    between.ends_with('.') && !between.ends_with("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        crates_of(&Repository::of(&files))["crates/x"]
            .references()
            .into_iter()
            .map(|((from, to), place)| {
                let file = place.file.rsplit('/').next().unwrap_or_default().to_owned();
                format!("{}→{} {file}:{}", from.join("::"), to.join("::"), place.line)
            })
            .collect()
    }

    #[test]
    fn paths_and_imports_lead_to_modules() {
        let found = references(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            (
                "a.rs",
                "use crate::{\n    b::T, c::inner::{self, U},\n};\nfn f() { inner::g(); super::c::h() }",
            ),
            ("b.rs", "fn t() -> std::io::Result<()> { self::t().b::<a::T>() }"),
            ("c/mod.rs", "mod inner;\nfn h() { inner::g() }"),
            ("c/inner.rs", "use super::h;"),
        ]);
        assert_eq!(
            found,
            ["a→b a.rs:2", "a→c a.rs:4", "a→c::inner a.rs:2", "c→c::inner mod.rs:2", "c::inner→c inner.rs:1"]
        );
    }

    #[test]
    fn a_re_export_leads_to_the_module_that_defines_the_item() {
        let found = references(&[
            ("lib.rs", "mod a;\nmod b;\npub use b::T;\npub use b::inner::*;"),
            ("a.rs", "use crate::T;\nuse crate::U as V;\nuse crate::own;"),
            ("b.rs", "pub mod inner;\npub struct T;"),
            ("b/inner.rs", "pub fn other() {}\npub struct U;"),
        ]);
        assert_eq!(
            found,
            ["→b lib.rs:3", "→b::inner lib.rs:4", "a→ a.rs:3", "a→b a.rs:1", "a→b::inner a.rs:2"]
        );
    }

    #[test]
    fn tests_are_left_out() {
        let found = references(&[
            ("lib.rs", "mod a;\nmod b;"),
            (
                "a.rs",
                "#[cfg(test)]\nuse crate::b::T;\n#[cfg(test)]\nmod tests {\n use crate::b::T; }\n#[cfg(test)]\nmod fake;",
            ),
            ("a/fake.rs", "use crate::b::T;"),
            ("b.rs", "#[cfg(test)]\n#[derive(Debug)]\nstruct U { a: [u8; 3], b: crate::a::T }\n"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn an_inline_module_is_a_module() {
        let found = references(&[
            ("lib.rs", "mod a;\nmod b;"),
            (
                "a.rs",
                "mod inner { fn f() { super::g(); crate::b::h() } }\nfn g() { for x in crate::b::all() {} }",
            ),
            ("b.rs", "pub(in crate::a) fn h() {}"),
        ]);
        assert_eq!(found, ["a→b a.rs:2", "a::inner→a a.rs:1", "a::inner→b a.rs:1"]);
    }
}
