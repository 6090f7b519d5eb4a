//! A kernel file that is changed for a while.

use tardy_sys::kernel_files::KernelFiles;

use super::{Entry, Place, Setting};

/// A changed setting. Dropping it writes back what was there.
#[derive(Debug)]
pub struct Changed {
    files: KernelFiles,
    path: String,
    old: String,
    entry: Option<Entry>,
}

impl Changed {
    /// Writes `new` into the file at `path`, after noting in the journal of `place` what it held. Nothing is written,
    /// and nothing noted, where it holds that already.
    ///
    /// # Errors
    /// In words, if it cannot be read, noted or written.
    pub fn make(place: &Place, files: &KernelFiles, path: &str, new: &str) -> Result<Option<Self>, String> {
        let old = files.text(path).map_err(|error| error.to_string())?;
        if old == new { Ok(None) } else { Self::make_undone_by(place, files, path, new, &old).map(Some) }
    }

    /// Writes `new` into a file that takes commands and is not read back as it is written; `undo` takes it back.
    ///
    /// # Errors
    /// In words, if it cannot be noted or written.
    pub fn make_undone_by(
        place: &Place,
        files: &KernelFiles,
        path: &str,
        new: &str,
        undo: &str,
    ) -> Result<Self, String> {
        let entry = place.note(&Setting::File { path: path.to_owned(), old: undo.to_owned() })?;
        let mut changed =
            Self { files: files.clone(), path: path.to_owned(), old: undo.to_owned(), entry: Some(entry) };
        match files.write(path, new) {
            Ok(()) => Ok(changed),
            Err(error) => {
                // The kernel refused, so there is nothing to put back.
                if let Some(entry) = changed.entry.take() {
                    entry.strike();
                }
                Err(format!("{error} ('{new}')"))
            }
        }
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take()
            && self.files.write(&self.path, &self.old).is_ok()
        {
            entry.strike();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_was_there_comes_back() {
        let root = tempfile::tempdir().unwrap();
        let (place, files) = (Place::at(&root.path().join("journal")), KernelFiles::under(root.path()));
        fs::write(root.path().join("x"), "1\n").unwrap();
        let entries = || fs::read_dir(root.path().join("journal")).map_or(0, Iterator::count);
        {
            let changed = Changed::make(&place, &files, "/x", "2").unwrap();
            assert!(changed.is_some());
            assert_eq!((files.text("/x").unwrap().as_str(), entries()), ("2", 1));
        }
        assert_eq!((files.text("/x").unwrap().as_str(), entries()), ("1", 0));
        assert!(Changed::make(&place, &files, "/x", "1").unwrap().is_none(), "nothing to change");
        assert!(Changed::make(&place, &files, "/y", "1").is_err());
        assert_eq!(entries(), 0);
    }
}
