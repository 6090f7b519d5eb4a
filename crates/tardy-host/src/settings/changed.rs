//! A kernel setting that is changed until its guard is dropped.

use tardy_sys::kernel_files::KernelFiles;

use super::{ReplacedFile, ThreadRank};
use crate::journal::{Entry, Place, Undo, Undone};

/// The kinds of setting.
#[derive(Debug)]
enum Setting {
    File(ReplacedFile),
    Thread(ThreadRank),
}

impl Setting {
    fn as_undo(&self) -> &dyn Undo {
        match self {
            Self::File(file) => file,
            Self::Thread(thread) => thread,
        }
    }

    /// Restores the setting, which was checked before it was changed.
    fn restore(&self, files: &KernelFiles) -> Result<Undone, String> {
        match self {
            Self::File(file) => file.restore(files),
            Self::Thread(thread) => thread.undo(files),
        }
    }
}

/// A changed setting. Dropping it restores the old value.
#[derive(Debug)]
pub struct Changed {
    files: KernelFiles,
    setting: Setting,
    entry: Option<Entry>,
}

impl Changed {
    /// Records the old text in the journal of `place` and writes `new` into the file at `path`. Returns `None`, and
    /// changes nothing, if the file already contains `new`.
    ///
    /// # Errors
    /// If the file cannot be read or written, or the change cannot be recorded.
    pub fn make(place: &Place, files: &KernelFiles, path: &str, new: &str) -> Result<Option<Self>, String> {
        let old = files.text(path).map_err(|error| error.to_string())?;
        if old == new { Ok(None) } else { Self::make_undone_by(place, files, path, new, &old).map(Some) }
    }

    /// Writes `new` into a file that accepts commands, whose content is not the text that was written. Writing `undo`
    /// undoes it.
    ///
    /// # Errors
    /// If the file cannot be written, or the change cannot be recorded.
    pub fn make_undone_by(
        place: &Place,
        files: &KernelFiles,
        path: &str,
        new: &str,
        undo: &str,
    ) -> Result<Self, String> {
        let setting = Setting::File(ReplacedFile { path: path.to_owned(), old: undo.to_owned(), new: None });
        Self::noted(place, files, setting, |files| {
            files.write(path, new).map_err(|error| format!("{error} ('{new}')"))
        })
    }

    /// As [`Self::make`], for a file whose content is the text that was written. A value that another process writes
    /// later is not overwritten.
    ///
    /// # Errors
    /// As for [`Self::make`], and if the kernel changes `new` into something else.
    pub fn make_exactly(
        place: &Place,
        files: &KernelFiles,
        path: &str,
        new: &str,
    ) -> Result<Option<Self>, String> {
        let old = files.text(path).map_err(|error| error.to_string())?;
        if old == new {
            return Ok(None);
        }
        let setting = Setting::File(ReplacedFile {
            path: path.to_owned(),
            old: old.clone(),
            new: Some(new.to_owned()),
        });
        let changed = Self::noted(place, files, setting, |files| {
            files.write(path, new).map_err(|error| format!("{error} ('{new}')"))?;
            let made = files.text(path).map_err(|error| error.to_string())?;
            if made == new {
                return Ok(());
            }
            let back = files.write(path, &old).map_or_else(|error| format!("; {error}"), |()| String::new());
            Err(format!("wrote '{new}' to {path}, but it contains '{made}'{back}"))
        })?;
        Ok(Some(changed))
    }

    /// Gives a kernel thread another policy or priority.
    ///
    /// # Errors
    /// If the change cannot be recorded, or the kernel refuses it.
    pub fn make_thread(place: &Place, files: &KernelFiles, thread: &ThreadRank) -> Result<Self, String> {
        Self::noted(place, files, Setting::Thread(thread.clone()), |files| thread.make(files))
    }

    fn noted(
        place: &Place,
        files: &KernelFiles,
        setting: Setting,
        make: impl FnOnce(&KernelFiles) -> Result<(), String>,
    ) -> Result<Self, String> {
        if let Setting::File(file) = &setting {
            file.check()?;
        }
        let entry = place.note(setting.as_undo())?;
        match make(files) {
            Ok(()) => Ok(Self { files: files.clone(), setting, entry: Some(entry) }),
            Err(reason) => {
                // The kernel refused the change, so there is nothing to restore.
                entry.strike();
                Err(reason)
            }
        }
    }

    /// What was changed, as a noun phrase for messages.
    pub fn describe(&self) -> String {
        self.setting.as_undo().describe()
    }

    /// Restores the old value and returns the result.
    ///
    /// # Errors
    /// A message; the entry then stays in the journal.
    pub fn put_back(mut self) -> Result<Undone, String> {
        self.restore()
    }

    fn restore(&mut self) -> Result<Undone, String> {
        let Some(entry) = self.entry.take() else { return Ok(Undone::Done) };
        let undone = self.setting.restore(&self.files)?;
        entry.strike();
        Ok(undone)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PATH: &str = "/proc/sys/kernel/timer_migration";

    #[test]
    fn the_old_value_is_restored() {
        let root = tempfile::tempdir().unwrap();
        let (place, files) = (Place::at(&root.path().join("journal")), KernelFiles::under(root.path()));
        fs::create_dir_all(files.resolve(PATH).parent().unwrap()).unwrap();
        fs::write(files.resolve(PATH), "1\n").unwrap();
        let entries = || fs::read_dir(root.path().join("journal")).map_or(0, Iterator::count);
        for make in [Changed::make, Changed::make_exactly] {
            {
                let changed = make(&place, &files, PATH, "2").unwrap();
                assert!(changed.is_some());
                assert_eq!((files.text(PATH).unwrap().as_str(), entries()), ("2", 1));
            }
            assert_eq!((files.text(PATH).unwrap().as_str(), entries()), ("1", 0));
            assert!(make(&place, &files, PATH, "1").unwrap().is_none(), "nothing to change");
            assert!(make(&place, &files, "/proc/sys/kernel/core_pattern", "1").is_err());
            assert_eq!(entries(), 0);
        }
    }

    #[test]
    fn a_value_that_another_process_wrote_is_kept_and_reported() {
        let root = tempfile::tempdir().unwrap();
        let (place, files) = (Place::at(&root.path().join("journal")), KernelFiles::under(root.path()));
        fs::create_dir_all(files.resolve(PATH).parent().unwrap()).unwrap();
        fs::write(files.resolve(PATH), "1\n").unwrap();
        let changed = Changed::make_exactly(&place, &files, PATH, "2").unwrap().unwrap();
        files.write(PATH, "3").unwrap();
        assert!(matches!(changed.put_back(), Ok(Undone::LeftAlone(what)) if what.contains("now it is '3'")));
        assert_eq!(files.text(PATH).unwrap(), "3");
        fs::write(files.resolve(PATH), "1\n").unwrap();
        let changed = Changed::make_exactly(&place, &files, PATH, "2").unwrap().unwrap();
        fs::write(files.resolve(PATH), "1\n").unwrap();
        assert_eq!(changed.put_back(), Ok(Undone::WasSo), "it is reported to the caller");
        assert_eq!(fs::read_dir(root.path().join("journal")).unwrap().count(), 0);
    }
}
