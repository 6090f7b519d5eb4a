//! The switches that are up: a file for each, with the steps that take it back.
//!
//! It lies in memory (`/run`), as the settings do: neither outlives a boot.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_sys::links;

use super::step::{Step, namespace};

/// Where the administrator's tardy keeps them.
const DIRECTORY: &str = "/run/tardy/switches";

/// The switch `name`, if it is up: one whose bridge is gone is not, nor is it where somebody made another of that name.
///
/// # Errors
/// In words, if its file is there and cannot be read, or the links cannot be listed.
pub fn up(shelf: &Shelf, name: &str) -> Result<Option<SwitchState>, String> {
    let there = links::find(name).map_err(|error| error.to_string())?.map(|link| link.index);
    Ok(shelf.find(name)?.filter(|state| there.is_some() && there == state.bridge_index))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let root = if error.kind() == ErrorKind::PermissionDenied { "; this needs root" } else { "" };
    format!("{} cannot be read: {error}{root}", path.display())
}

/// Where the files of switches lie.
#[derive(Clone, Debug)]
pub struct Shelf {
    directory: PathBuf,
}

/// A switch that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchState {
    /// Its bridge's name.
    pub name: String,
    /// The index of its bridge, by which it is told from another of that name.
    pub bridge_index: Option<u32>,
    /// The switch file as it was given.
    pub file: String,
    /// What takes it back, in the order in which it was done.
    pub steps: Vec<Step>,
    /// For each port with a shaper, the shaper as it was sent: the kernel cannot show a long one.
    pub shapers: Vec<(String, String)>,
    /// The classifier as it was sent.
    pub classifier: Option<String>,
}

impl Shelf {
    /// The administrator's.
    pub fn own() -> Self {
        Self { directory: PathBuf::from(DIRECTORY) }
    }

    /// One in `directory`: for tests, and for switches that go with the process.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The switch `name` of this network namespace, if it is up.
    ///
    /// # Errors
    /// In words, if the file is there and cannot be read.
    pub fn find(&self, name: &str) -> Result<Option<SwitchState>, String> {
        let path = self.path(name)?;
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| format!("{} is damaged: {error}; remove it by hand", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    /// The names of the switches of this network namespace that are up.
    ///
    /// # Errors
    /// In words, if the directory is there and cannot be read.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let ending = format!("@{}.json", namespace()?);
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&self.directory, &error)),
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(&ending)?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Writes a switch down.
    ///
    /// # Errors
    /// In words.
    pub(super) fn put(&self, state: &SwitchState) -> Result<(), String> {
        let path = self.path(&state.name)?;
        let text = serde_json::to_string(state).map_err(|error| error.to_string())?;
        let new = path.with_extension("new");
        let write = || {
            fs::create_dir_all(&self.directory)?;
            fs::write(&new, text)?;
            fs::rename(&new, &path)
        };
        write().map_err(|error: io::Error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Takes a step that was undone after a crash out of the switches that it was part of; one with no step left is not
    /// up any more. What cannot be read or written is left as it is: nothing relies on it but what [`up`] finds true.
    pub(crate) fn forget(&self, step: &Step) {
        for name in self.names().unwrap_or_default() {
            let Ok(Some(mut state)) = self.find(&name) else { continue };
            let before = state.steps.len();
            state.steps.retain(|one| one != step);
            let _ = match (state.steps.len(), before) {
                (0, _) => self.take_off(&name),
                (now, before) if now < before => self.put(&state),
                _ => Ok(()),
            };
        }
    }

    /// Takes a switch off the shelf.
    pub(super) fn take_off(&self, name: &str) -> Result<(), String> {
        let path = self.path(name)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("{} cannot be removed: {error}", path.display()))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, name: &str) -> Result<PathBuf, String> {
        Ok(self.directory.join(format!("{}@{}.json", name.replace('/', "_"), namespace()?)))
    }
}
