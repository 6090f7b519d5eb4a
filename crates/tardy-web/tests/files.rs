//! The files that the tests open.

use std::path::{Path, PathBuf};

/// A directory of the repository.
fn directory(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The files of a directory of the repository with one of these endings, by name.
pub(crate) fn files(path: &str, endings: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(directory(path))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .filter(|(name, _)| endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending)))
        .collect();
    files.sort();
    assert!(files.len() > 1, "{path} has no files");
    files
}

/// One file of the repository.
pub(crate) fn file(path: &str) -> Vec<u8> {
    std::fs::read(directory(path)).unwrap()
}

/// Other tools' files.
pub(crate) fn fixtures() -> Vec<(String, Vec<u8>)> {
    files("crates/tardy-formats/tests/fixtures", &[])
}

/// Run files of every kind of measurement, of this version and of earlier ones.
pub(crate) fn run_files() -> Vec<(String, Vec<u8>)> {
    let mut all = files("crates/tardy/tests/run_files", &[".run.json"]);
    all.extend(files("crates/tardy-present/tests/runs", &[".run.json"]));
    all.extend(files("examples", &[".run.json"]));
    all
}
