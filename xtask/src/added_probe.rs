//! A probe that a check adds to a copy of this repository: the changes that a new probe needs, as data.
//!
//! `xtask/added_probe/` holds the probe's new files, each at its path in the repository, and `insertions.txt`, the lines to
//! insert into existing files. Its format is like a diff: `+++ FILE`, and in it an existing line after a space and the lines
//! that follow it, each after a `+`. The existing line occurs once in its file. Nothing is removed or replaced.

use std::fs;
use std::path::Path;

use crate::{File, Repository};

/// The directory of the data.
const DATA: &str = "xtask/added_probe/";
/// The lines for existing files.
const INSERTIONS: &str = "xtask/added_probe/insertions.txt";

/// What adding the probe changes.
#[derive(Debug)]
pub struct AddedProbe {
    /// New files, with their paths in the repository.
    pub new: Vec<File>,
    /// Existing files, with their new text.
    pub changed: Vec<File>,
}

impl AddedProbe {
    /// The probe in `repository`'s data, applied to its files.
    ///
    /// # Errors
    /// If an insertion does not fit the file, or a new file exists.
    pub fn to(repository: &Repository) -> Result<Self, String> {
        let is_data = |file: &&File| file.path.starts_with(DATA) && file.path != INSERTIONS;
        let new = repository.files.iter().filter(is_data).map(|file| {
            let path = file.path[DATA.len()..].to_owned();
            match text_of(repository, &path) {
                Some(_) => Err(format!("{}: {path} exists", file.path)),
                None => Ok(File { path, text: file.text.clone() }),
            }
        });
        let new = new.collect::<Result<_, _>>()?;
        let insertions = text_of(repository, INSERTIONS).ok_or(format!("{INSERTIONS}: does not exist"))?;
        Ok(Self { new, changed: changed(repository, insertions)? })
    }

    /// Writes the new and the changed files into `root`, a copy of the repository.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, root: &Path) -> Result<(), String> {
        for file in self.new.iter().chain(&self.changed) {
            let path = root.join(&file.path);
            let written = path.parent().map_or(Ok(()), fs::create_dir_all);
            let written = written.and_then(|()| fs::write(&path, &file.text));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn text_of<'r>(repository: &'r Repository, path: &str) -> Option<&'r str> {
    repository.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
}

/// The existing files with the lines of `insertions`.
fn changed(repository: &Repository, insertions: &str) -> Result<Vec<File>, String> {
    let mut files: Vec<File> = Vec::new();
    // The byte of the current file at which the next line is inserted.
    let mut at = None;
    for (number, line) in insertions.lines().enumerate() {
        let wrong = |reason: &str| format!("{INSERTIONS}:{}: {reason}", number + 1);
        if let Some(path) = line.strip_prefix("+++ ") {
            let text = text_of(repository, path).ok_or_else(|| wrong("the file does not exist"))?;
            files.push(File { path: path.to_owned(), text: text.to_owned() });
            at = None;
            continue;
        }
        let file = files.last_mut().ok_or_else(|| wrong("expected '+++ FILE' first"))?;
        if let Some(anchor) = line.strip_prefix(' ') {
            at = Some(end_of_only(&file.text, anchor).map_err(|reason| wrong(&reason))?);
        } else if let Some(line) = line.strip_prefix('+') {
            let start = at.ok_or_else(|| wrong("expected a line of the file before it"))?;
            file.text.insert_str(start, &format!("{line}\n"));
            at = Some(start + line.len() + 1);
        } else {
            return Err(wrong("expected a line that begins with '+' or a space"));
        }
    }
    Ok(files)
}

/// The byte after the only line of `text` that equals `anchor`.
fn end_of_only(text: &str, anchor: &str) -> Result<usize, String> {
    let mut end = 0;
    let mut ends = Vec::new();
    for line in text.split_inclusive('\n') {
        end += line.len();
        if line.trim_end_matches('\n') == anchor {
            ends.push(end);
        }
    }
    match ends[..] {
        [end] => Ok(end),
        [] => Err("the file does not have this line".to_owned()),
        _ => Err(format!("the file has this line {} times", ends.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(insertions: &str, file: &str) -> Result<AddedProbe, String> {
        AddedProbe::to(&Repository::of(&[
            (INSERTIONS, insertions),
            ("xtask/added_probe/new.rs", "new"),
            ("a.rs", file),
        ]))
    }

    #[test]
    fn lines_are_inserted_after_the_line_that_they_name() {
        let added = added("+++ a.rs\n two\n+2.1\n+2.2\n three\n+3.1\n", "one\ntwo\nthree\n").unwrap();
        assert_eq!((added.changed[0].path.as_str(), added.new[0].path.as_str()), ("a.rs", "new.rs"));
        assert_eq!(added.changed[0].text, "one\ntwo\n2.1\n2.2\nthree\n3.1\n");
    }

    #[test]
    fn an_insertion_that_does_not_fit_is_an_error() {
        for (insertions, file, reason) in [
            ("+++ a.rs\n two\n+3\n", "one\n", "insertions.txt:2: the file does not have this line"),
            ("+++ a.rs\n two\n+3\n", "two\ntwo\n", "insertions.txt:2: the file has this line 2 times"),
            ("+++ b.rs\n", "", "insertions.txt:1: the file does not exist"),
            ("+++ a.rs\n+3\n", "", "insertions.txt:2: expected a line of the file before it"),
        ] {
            let error = added(insertions, file).unwrap_err();
            assert!(error.ends_with(reason), "{error}");
        }
    }

    #[test]
    fn a_new_file_that_exists_is_an_error() {
        let files = [(INSERTIONS, ""), ("xtask/added_probe/a.rs", ""), ("a.rs", "")];
        assert!(AddedProbe::to(&Repository::of(&files)).unwrap_err().ends_with("a.rs exists"));
    }
}
