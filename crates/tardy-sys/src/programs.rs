//! Finds programs by name.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// The file that the shell would run by this name, from the directories in `PATH`.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn programs_are_found_in_path() {
        assert!(find("sh").is_some_and(|file| file.is_absolute()));
        assert_eq!(find("no-such-program-of-tardy"), None);
    }
}
