//! A kernel file whose text was replaced.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tardy_sys::kernel_files::KernelFiles;

use crate::journal::{Undo, Undone, tagged};

/// Directories in which tardy changes files.
const PLACES: [&str; 3] = ["/proc/sys/", "/proc/irq/", "/sys/"];

/// A file of /proc/sys, /proc/irq, /sys or tracefs whose text was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplacedFile {
    /// The file.
    pub path: String,
    /// Its old text.
    pub old: String,
    /// The text that tardy wrote, if the file's content is the text that was written. A file that contains another text
    /// when it is to be restored was changed by another process, and is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
}

impl Undo for ReplacedFile {
    fn kind(&self) -> &'static str {
        super::REPLACED_FILE.name
    }

    fn describe(&self) -> String {
        format!("{}, which was '{}'", self.path, self.old)
    }

    fn to_json(&self) -> Value {
        tagged(self.kind(), self)
    }

    fn undo(&self, files: &KernelFiles) -> Result<Undone, String> {
        if !is_changed_by_tardy(&self.path) {
            return Err(format!("{} is not a file that tardy changes", self.path));
        }
        self.restore(files)
    }
}

impl ReplacedFile {
    /// Writes the old text back, wherever the file is.
    ///
    /// # Errors
    /// The kernel's error, with the path.
    pub(super) fn restore(&self, files: &KernelFiles) -> Result<Undone, String> {
        let Self { path, old, new } = self;
        if let Some(new) = new {
            let now = files.text(path).map_err(|error| error.to_string())?;
            if now == *old {
                return Ok(Undone::WasSo);
            }
            if now != *new {
                let what = format!("{path} was '{old}', tardy wrote '{new}', and now it is '{now}'");
                return Ok(Undone::LeftAlone(what));
            }
        }
        files.write(path, old).map(|()| Undone::Done).map_err(|error| error.to_string())
    }
}

/// Whether tardy may have changed the file at `path`; the journal may come from another user.
fn is_changed_by_tardy(path: &str) -> bool {
    PLACES.iter().any(|place| path.starts_with(place)) && !path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_tardy_changes_are_restored() {
        for (path, expected) in [
            ("/proc/sys/kernel/x", true),
            ("/proc/irq/24/smp_affinity_list", true),
            ("/sys/x", true),
            ("/etc/passwd", false),
            ("/proc/1/mem", false),
            ("/sys/../etc/passwd", false),
        ] {
            assert_eq!(is_changed_by_tardy(path), expected, "{path}");
            let file = ReplacedFile { path: path.to_owned(), old: String::new(), new: None };
            let undone = file.undo(&KernelFiles::under(std::path::Path::new("/nonexistent")));
            assert_eq!(undone.unwrap_err().contains("is not a file that tardy changes"), !expected, "{path}");
        }
    }

    #[test]
    fn a_text_written_by_another_process_stays() {
        let root = tempfile::tempdir().unwrap();
        let files = KernelFiles::under(root.path());
        std::fs::create_dir_all(root.path().join("sys")).unwrap();
        let file = ReplacedFile { path: "/sys/x".to_owned(), old: "1".to_owned(), new: Some("2".to_owned()) };
        for (found, left) in [("2", "1"), ("1", "1"), ("3", "3")] {
            std::fs::write(root.path().join("sys/x"), found).unwrap();
            let undone = file.undo(&files).unwrap();
            assert_eq!(files.text("/sys/x").unwrap(), left);
            assert_eq!(matches!(undone, Undone::LeftAlone(_)), found == "3", "{undone:?}");
        }
    }

    #[test]
    fn an_entry_of_an_earlier_version_is_read() {
        let entry: Value = serde_json::from_str(r#"{"kind":"file","path":"/sys/x","old":"1"}"#).unwrap();
        let undo = (super::super::REPLACED_FILE.read)(&entry).unwrap();
        assert_eq!(undo.describe(), "/sys/x, which was '1'");
        assert_eq!(undo.to_json(), entry);
    }
}
