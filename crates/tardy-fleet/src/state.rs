//! What is known about each host, in a file that is written before it is acted on.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tardy_sys::files::{self, Directory, Existing};
use thiserror::Error;

/// The name of the file in the fleet's directory.
pub const STATE_FILE: &str = "fleet.json";
/// The name of the file that a running fleet holds.
const LOCK_FILE: &str = ".fleet.lock";
/// The version of the file.
const VERSION: u32 = 1;
/// The largest file that is read, in bytes.
const SIZE_MAX: u64 = 64 << 20;

/// The step of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It has not begun.
    #[default]
    Waiting,
    /// The host is asked for its processor and its free space.
    Probing,
    /// The program is being copied.
    Copying,
    /// The run is being started.
    Starting,
    /// The run goes on.
    Measuring,
    /// The run file is being fetched.
    Fetching,
    /// What was left on the host is being removed.
    Removing,
    /// The run file is here.
    Done,
    /// There is no run file.
    Failed,
}

impl Step {
    /// As in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Probing => "probing",
            Self::Copying => "copying",
            Self::Starting => "starting",
            Self::Measuring => "measuring",
            Self::Fetching => "fetching",
            Self::Removing => "removing",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// What is known about a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostState {
    /// Its step.
    pub step: Step,
    /// The run's name on the host, 16 hexadecimal digits; empty before the first.
    #[serde(default)]
    pub run_id: String,
    /// Whether a directory of the run may be on the host.
    #[serde(default)]
    pub is_on_host: bool,
    /// What `uname -m` reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// What the program there reports as its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The exit status of `tardy run` on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<u8>,
    /// The exit status that the run file results in here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<u8>,
    /// Whether the run has a limit; `None` for files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_limit: Option<bool>,
    /// The run file, relative to the fleet's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What did not work although the run is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// The state of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetState {
    /// The version of the format.
    pub version: u32,
    /// The words of `tardy run` on the hosts.
    pub words: Vec<String>,
    /// SHA-256 of the recipe file; empty if the recipe is built in.
    pub recipe_sha256: String,
    /// The hosts by name.
    pub hosts: BTreeMap<String, HostState>,
}

/// Why a state cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The file system's error.
    #[error("{0}: {1}")]
    Io(String, io::Error),
    /// Another fleet works there.
    #[error("another 'tardy fleet run' works in {0}; wait for its end")]
    InUse(String),
    /// There is a state, and it is not to be continued.
    #[error("{0} has the state of a fleet; use --resume to continue it, or choose another -o")]
    Exists(String),
    /// There is no state to continue.
    #[error("{0} has no {STATE_FILE}, so there is nothing to continue; leave --resume out")]
    Missing(String),
    /// The file is not a state.
    #[error("{0} is not the state of a fleet: {1}; choose another -o to begin anew")]
    Wrong(String, String),
    /// It belongs to another measurement.
    #[error(
        "{0} is the state of another measurement ('tardy run {1}'); repeat its command, or choose another -o"
    )]
    Other(String, String),
}

/// The state file of a fleet that works. Only one fleet at a time has it.
#[derive(Debug)]
pub struct StateFile {
    directory: Directory,
    state: Mutex<FleetState>,
    /// Held while this exists.
    _lock: File,
}

impl StateFile {
    /// Begins the state of a fleet in `directory`, which is made if it is missing, or continues it if `resume` is set.
    /// `fresh` is the state without hosts.
    ///
    /// # Errors
    /// If there is a state and `resume` is not set, or the other way round, or it is of another measurement or in use.
    pub fn open(directory: &Path, fresh: FleetState, resume: bool) -> Result<Self, StateError> {
        let name = directory.display().to_string();
        let io = |error| StateError::Io(name.clone(), error);
        files::make_directories(directory).map_err(io)?;
        let directory = Directory::named(directory).map_err(io)?;
        let lock = directory.own_file(OsStr::new(LOCK_FILE), 0o600).map_err(io)?;
        files::hold(&lock).map_err(|_| StateError::InUse(name.clone()))?;
        let exists = directory.metadata(OsStr::new(STATE_FILE)).map_err(io)?.is_some();
        let fresh = FleetState { version: VERSION, ..fresh };
        let state = match (exists, resume) {
            (true, false) => return Err(StateError::Exists(name)),
            (false, true) => return Err(StateError::Missing(name)),
            (false, false) => fresh,
            (true, true) => {
                let file = directory.open_own(OsStr::new(STATE_FILE)).map_err(io)?;
                let state = read(file).map_err(|reason| StateError::Wrong(name.clone(), reason))?;
                if state.words != fresh.words || state.recipe_sha256 != fresh.recipe_sha256 {
                    return Err(StateError::Other(name, state.words.join(" ")));
                }
                state
            }
        };
        Ok(Self { directory, state: Mutex::new(state), _lock: lock })
    }

    /// The directory of the fleet.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What is known about the host `name`.
    pub fn of(&self, name: &str) -> HostState {
        self.locked().hosts.get(name).cloned().unwrap_or_default()
    }

    /// Everything that is known.
    pub fn whole(&self) -> FleetState {
        self.locked().clone()
    }

    /// Changes what is known about the host `name`, and writes the file.
    ///
    /// # Errors
    /// The file system's. The change is kept in memory all the same.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut HostState)) -> io::Result<()> {
        let mut state = self.locked();
        change(state.hosts.entry(name.to_owned()).or_default());
        let mut text = serde_json::to_vec_pretty(&*state).expect("every field of a state can be serialised");
        text.push(b'\n');
        let write = |file: &mut File| file.write_all(&text);
        self.directory.replace(OsStr::new(STATE_FILE), 0o666, Existing::Replaced, write).map(drop)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, FleetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads and checks a state. It may have been edited.
fn read(file: File) -> Result<FleetState, String> {
    let mut text = Vec::new();
    file.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > SIZE_MAX {
        return Err(format!("it has more than {SIZE_MAX} bytes"));
    }
    let state: FleetState = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if state.version != VERSION {
        return Err(format!("its version is {}, and this tardy reads {VERSION}", state.version));
    }
    let is_id = |id: &str| id.is_empty() || id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    match state.hosts.iter().find(|(_, host)| !is_id(&host.run_id)) {
        // It becomes part of a script.
        Some((name, _)) => Err(format!("the run_id of host '{name}' is not 16 hexadecimal digits")),
        None => Ok(state),
    }
}

/// As [`StateFile::open`]. A child that another test starts has the lock too, until it executes its program.
#[cfg(test)]
pub(crate) fn open_when_free(
    directory: &Path,
    fresh: FleetState,
    resume: bool,
) -> Result<StateFile, StateError> {
    loop {
        match StateFile::open(directory, fresh.clone(), resume) {
            Err(StateError::InUse(_)) => std::thread::yield_now(),
            opened => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh() -> FleetState {
        FleetState { words: vec!["quick".to_owned()], ..FleetState::default() }
    }

    fn error(directory: &Path, fresh: FleetState, resume: bool) -> String {
        open_when_free(directory, fresh, resume).unwrap_err().to_string()
    }

    #[test]
    fn a_state_is_continued_only_on_request_and_by_one_fleet() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fleet");
        assert!(error(&path, fresh(), true).contains("nothing to continue"));
        let state = StateFile::open(&path, fresh(), false).unwrap();
        state.change("a", |host| host.step = Step::Measuring).unwrap();
        let second = StateFile::open(&path, fresh(), true).unwrap_err().to_string();
        assert!(second.contains("another 'tardy fleet run' works"), "{second}");
        drop(state);
        assert!(error(&path, fresh(), false).contains("use --resume"));
        let other = FleetState { words: vec!["osadl".to_owned()], ..FleetState::default() };
        assert!(error(&path, other, true).contains("another measurement ('tardy run quick')"));
        let state = open_when_free(&path, fresh(), true).unwrap();
        assert_eq!((state.of("a").step, state.of("b").step), (Step::Measuring, Step::Waiting));
    }

    #[test]
    fn an_edited_state_does_not_become_part_of_a_script() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateFile::open(directory.path(), fresh(), false).unwrap();
        state.change("a", |host| host.run_id = "0123456789abcdef".to_owned()).unwrap();
        drop(state);
        let path = directory.path().join(STATE_FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        for (old, new, expected) in [
            ("0123456789abcdef", "$(rm -rf /)xxxxx", "16 hexadecimal digits"),
            ("\"version\": 1", "\"version\": 7", "version is 7"),
            ("{", "", "is not the state of a fleet"),
        ] {
            std::fs::write(&path, text.replacen(old, new, 1)).unwrap();
            let error = error(directory.path(), fresh(), true);
            assert!(error.contains(expected), "{error}");
        }
    }
}
