//! What a source's Kconfig files say about options: which a user can set, and what they depend on.
//!
//! It is a part of the language only (Documentation/kbuild/kconfig-language.rst): enough for messages, and to leave out options that
//! follow from others. Which values a configuration has is decided by the source's own Kconfig.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is known about the options of a source.
#[derive(Debug, Default)]
pub(crate) struct Options {
    by_name: BTreeMap<String, Definition>,
}

#[derive(Debug, Default)]
struct Definition {
    /// Whether a user can set it.
    has_prompt: bool,
    depends_on: Vec<String>,
}

impl Options {
    /// Reads the Kconfig files below `tree`. Those that cannot be read are left out.
    pub(crate) fn of(tree: &Path) -> Self {
        let mut options = Self::default();
        let mut directories = vec![tree.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().filter_map(Result::ok) {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && !path.ends_with(".git") => directories.push(path),
                    Ok(kind) if kind.is_file() && is_kconfig(&path) => {
                        options.read(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
                    }
                    _ => {}
                }
            }
        }
        options
    }

    fn read(&mut self, text: &str) {
        let mut current: Option<&mut Definition> = None;
        let mut is_help = false;
        for line in text.lines() {
            let is_indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            let rest = rest.trim();
            if !is_indented && !line.is_empty() {
                is_help = false;
                current = match word {
                    "config" | "menuconfig" => Some(self.by_name.entry(rest.to_owned()).or_default()),
                    _ => None,
                };
                continue;
            }
            let Some(definition) = current.as_deref_mut().filter(|_| !is_help) else { continue };
            match word {
                "help" | "---help---" => is_help = true,
                "bool" | "tristate" | "int" | "hex" | "string" | "prompt" => {
                    definition.has_prompt |= rest.starts_with(['"', '\'']);
                }
                "depends" => definition.depends_on.extend(rest.strip_prefix("on ").map(str::to_owned)),
                _ => {}
            }
        }
    }

    /// Whether a user can set the option.
    pub(crate) fn has_prompt(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|definition| definition.has_prompt)
    }

    /// Why an option may not have the value that was requested.
    pub(crate) fn reason(&self, name: &str) -> String {
        let Some(definition) = self.by_name.get(name) else {
            return "this source has no option of that name".to_owned();
        };
        let depends_on: Vec<String> = definition.depends_on.iter().map(|one| format!("({one})")).collect();
        match (definition.has_prompt, depends_on.is_empty()) {
            (false, _) => "it follows from other options and cannot be set itself".to_owned(),
            (true, true) => "it is part of a choice or of a menu, or another option sets it".to_owned(),
            (true, false) => format!("it depends on {}", depends_on.join(" and ")),
        }
    }
}

fn is_kconfig(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("Kconfig"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_dependencies_are_read() {
        let tree = tempfile::tempdir().unwrap();
        let text = "menu \"x\"\nconfig RT\n\tbool \"Fully preemptible\"\n\tdepends on EXPERT && SUPPORTS\n\tselect A\n\thelp\n\t  \
                    depends on taste\nconfig A\n\tbool\nconfig HZ\n\tint\n\tdefault 250\nconfig NR\n\tint \"CPUs\"\nendmenu\n";
        fs::create_dir(tree.path().join("kernel")).unwrap();
        fs::write(tree.path().join("kernel/Kconfig.preempt"), text).unwrap();
        fs::write(tree.path().join("kernel/other"), "config B\n\tbool \"no file of Kconfig\"\n").unwrap();
        let options = Options::of(tree.path());
        let with_prompt: Vec<bool> =
            ["RT", "A", "HZ", "NR", "B"].iter().map(|name| options.has_prompt(name)).collect();
        assert_eq!(with_prompt, [true, false, false, true, false]);
        let reasons: Vec<String> = ["RT", "A", "NR", "B"].iter().map(|name| options.reason(name)).collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }
}
