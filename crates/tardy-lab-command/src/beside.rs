//! Where the files are that come with tardy and that the lab needs.

use std::path::{Path, PathBuf};

/// Paths of the file `name`: next to the program `tardy`, and in the `lib/tardy` of the prefix in whose `bin` a package has it.
pub(crate) fn places(tardy: &Path, name: &str) -> Vec<PathBuf> {
    let directory = tardy.parent().unwrap_or(Path::new("."));
    let mut places = vec![directory.join(name)];
    places.extend(directory.parent().map(|prefix| prefix.join("lib/tardy").join(name)));
    places
}
