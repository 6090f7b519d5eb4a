//! The saved states of switches that are up: a file per switch, with the steps to undo.
//!
//! The files are in memory (`/run`): like the kernel's settings, they do not survive a reboot.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_sys::files::{self, Directory, Existing};
use tardy_sys::links;

use super::change::{Step, namespace};

/// The system's directory of saved states.
const DIRECTORY: &str = "/run/tardy/switches";

/// The switch `name`, if it is up. It is not up if its bridge is gone, or another bridge has the same name.
///
/// # Errors
/// A message for the user, if the file exists but cannot be read, or the links cannot be listed.
pub fn up(saved_states: &SavedStates, name: &str) -> Result<Option<SwitchState>, String> {
    let there = links::find(name).map_err(|error| error.to_string())?.map(|link| link.index);
    Ok(saved_states.find(name)?.filter(|state| there.is_some() && there == state.bridge_index))
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    let root = if files::caller() == 0 { "" } else { "; this needs root" };
    format!("{} cannot be read: {error}{root}", path.display())
}

/// The directory with the saved states.
#[derive(Clone, Debug)]
pub struct SavedStates {
    directory: PathBuf,
}

/// A switch that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchState {
    /// Its bridge's name.
    pub name: String,
    /// The index of its bridge, which distinguishes it from another bridge of that name.
    pub bridge_index: Option<u32>,
    /// The text of the switch file.
    pub file: String,
    /// The steps to undo, in the order in which they were made.
    pub steps: Vec<Step>,
    /// Each port with a shaper, and the shaper as it was sent: the kernel cannot show a long one.
    pub shapers: Vec<(String, String)>,
    /// The classifier as it was sent.
    pub classifier: Option<String>,
}

impl SavedStates {
    /// The system's saved states, which belong to root.
    pub fn own() -> Self {
        Self { directory: PathBuf::from(DIRECTORY) }
    }

    /// The saved states in `directory`: for tests, and for switches that end with the process.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The switch `name` of this network namespace, if it is up.
    ///
    /// # Errors
    /// A message for the user, if the file exists but cannot be read.
    pub fn find(&self, name: &str) -> Result<Option<SwitchState>, String> {
        let name = file_name(name)?;
        let path = self.directory.join(&name);
        match self.read(&name) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| format!("{} is damaged: {error}; remove it by hand", path.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        }
    }

    fn read(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Directory::own(&self.directory)?.open_own(name)?.read_to_end(&mut text)?;
        Ok(text)
    }

    /// The names of the switches of this network namespace that are up.
    ///
    /// # Errors
    /// A message for the user, if the directory exists but cannot be read.
    pub fn names(&self) -> Result<Vec<String>, String> {
        let ending = format!("@{}.json", namespace()?);
        let entries = match Directory::own(&self.directory).and_then(|directory| directory.names()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&self.directory, &error)),
        };
        let mut names: Vec<String> = entries
            .into_iter()
            .filter_map(|name| Some(name.to_str()?.strip_suffix(&ending)?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Saves the state of a switch.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn save(&self, state: &SwitchState) -> Result<(), String> {
        let name = file_name(&state.name)?;
        let text = serde_json::to_string(state).map_err(|error| error.to_string())?;
        let write = || {
            let directory = Directory::own_or_new(&self.directory)?;
            directory.replace(&name, 0o600, Existing::Replaced, |file| file.write_all(text.as_bytes()))
        };
        let path = self.directory.join(&name);
        write().map(drop).map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Removes a step that was undone after a crash from the states of its switches. A switch without steps is no
    /// longer up. Files that cannot be read or written stay as they are: they are used only if [`up`] confirms them.
    pub(crate) fn forget(&self, step: &Step) {
        for name in self.names().unwrap_or_default() {
            let Ok(Some(mut state)) = self.find(&name) else { continue };
            let before = state.steps.len();
            state.steps.retain(|one| one != step);
            let _ = match (state.steps.len(), before) {
                (0, _) => self.remove(&name),
                (now, before) if now < before => self.save(&state),
                _ => Ok(()),
            };
        }
    }

    /// Removes the state of a switch.
    pub(super) fn remove(&self, name: &str) -> Result<(), String> {
        let name = file_name(name)?;
        match Directory::own(&self.directory).and_then(|directory| directory.remove(&name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(format!("{} cannot be removed: {error}", self.directory.join(&name).display()))
            }
            _ => Ok(()),
        }
    }
}

/// The name of the file of switch `name` of this network namespace.
fn file_name(name: &str) -> Result<OsString, String> {
    Ok(format!("{}@{}.json", name.replace('/', "_"), namespace()?).into())
}
