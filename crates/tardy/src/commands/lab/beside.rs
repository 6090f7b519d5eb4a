//! Where the files are that come with tardy and that the lab needs.

use std::path::{Path, PathBuf};

/// Paths of the file `name`: next to the program `own`, and in the `lib/tardy` of the prefix in whose `bin` a package has it.
pub(super) fn places(own: &Path, name: &str) -> Vec<PathBuf> {
    let directory = own.parent().unwrap_or(Path::new("."));
    let mut places = vec![directory.join(name)];
    places.extend(directory.parent().map(|prefix| prefix.join("lib/tardy").join(name)));
    places
}
