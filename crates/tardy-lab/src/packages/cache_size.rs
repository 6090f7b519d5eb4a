//! What the cache takes on the disk.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;

use super::cache_directory::CacheDirectory;

/// The unit of `st_blocks` in bytes (stat(2)).
const BLOCK: u64 = 512;

/// What the cache takes on the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheSize {
    /// Its directories by name, such as `kernels`, with the bytes that they take. A file with several names counts where it is
    /// found first.
    pub parts: Vec<(String, u64)>,
}

impl CacheSize {
    /// Measures `cache`. What cannot be read counts as nothing.
    pub fn of(cache: &CacheDirectory) -> Self {
        let mut counted = BTreeSet::new();
        let mut parts: Vec<(String, u64)> = Vec::new();
        let Ok(entries) = fs::read_dir(cache.path()) else { return Self::default() };
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        // Kernels first: the guests that were kept share their images.
        paths.sort_by_key(|path| (!path.ends_with("kernels"), path.clone()));
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            parts.push((name, bytes(&path, &mut counted)));
        }
        parts.retain(|(_, bytes)| *bytes > 0);
        Self { parts }
    }

    /// All together, in bytes.
    pub fn total(&self) -> u64 {
        self.parts.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// What a directory takes, in bytes.
pub fn of_directory(path: &Path) -> u64 {
    bytes(path, &mut BTreeSet::new())
}

fn bytes(path: &Path, counted: &mut BTreeSet<(u64, u64)>) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    if metadata.nlink() > 1 && metadata.is_file() && !counted.insert((metadata.dev(), metadata.ino())) {
        return 0;
    }
    let own = metadata.blocks() * BLOCK;
    if !metadata.is_dir() {
        return own;
    }
    let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    own + entries.map(|entry| bytes(&entry.path(), counted)).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_names_counts_once_as_a_kernel() {
        let directory = tempfile::tempdir().unwrap();
        for part in ["kernels", "guests"] {
            fs::create_dir(directory.path().join(part)).unwrap();
        }
        fs::write(directory.path().join("kernels/a"), vec![1; 100_000]).unwrap();
        fs::hard_link(directory.path().join("kernels/a"), directory.path().join("guests/b")).unwrap();
        let size = CacheSize::of(&CacheDirectory::at(directory.path()));
        let part =
            |name: &str| size.parts.iter().find(|(part, _)| part == name).map_or(0, |(_, bytes)| *bytes);
        assert!(part("kernels") >= 100_000, "{size:?}");
        assert!(part("guests") < 100_000, "{size:?}");
        assert!((100_000..200_000).contains(&size.total()), "{size:?}");
    }
}
