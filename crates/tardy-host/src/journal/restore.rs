//! Undoes changes that a crash left.

use std::fs;
use std::path::{Path, PathBuf};

use tardy_sys::kernel_files::KernelFiles;

use super::{Kind, Line, Owner, Place, Undo, Undone};

/// The result for one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What was changed, as a noun phrase.
    pub what: String,
    /// The result.
    pub fate: Fate,
}

/// The result of restoring an entry's setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The setting is restored.
    Undone,
    /// Another process has changed the setting since, so it was left alone.
    LeftAlone {
        /// The old value, tardy's value and the current value.
        what: String,
    },
    /// The process that changed the setting is alive and will restore it.
    InUse {
        /// Its process id.
        pid: u32,
    },
    /// The setting could not be restored; the entry stays.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Undoes the change of every entry in `place` whose process is dead, the latest first; the settings are under `files`.
/// An entry of a kind that is not among `kinds` fails and stays.
///
/// # Errors
/// If the journal exists and cannot be read.
pub fn restore(place: &Place, files: &KernelFiles, kinds: &[Kind]) -> Result<Vec<Restored>, String> {
    let directory = &place.directory;
    let mut entries = match fs::read_dir(directory) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect::<Vec<_>>(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("{} cannot be read: {error}", directory.display())),
    };
    entries.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    let order = |path: &PathBuf| {
        let first = read(path).and_then(|line| kind_of(&line, kinds)).is_some_and(|kind| kind.first);
        std::cmp::Reverse((first, owner_in_name(path), number_in_name(path)))
    };
    entries.sort_by_cached_key(order);
    Ok(entries.iter().map(|path| one(place, files, kinds, path)).collect())
}

/// Describes the changes of one of `kinds` that dead processes have left.
pub fn left_behind(place: &Place, kinds: &[Kind]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(&place.directory) else { return Vec::new() };
    let lines = entries.filter_map(|entry| read(&entry.ok()?.path()));
    lines
        .filter(|line| !is_alive(place, line.owner))
        .filter_map(|line| {
            let kind = kind_of(&line, kinds)?;
            (kind.read)(&line.setting).ok().map(|change| change.describe())
        })
        .collect()
}

fn one(place: &Place, files: &KernelFiles, kinds: &[Kind], path: &Path) -> Restored {
    let Some(line) = read(path) else {
        return unreadable(place, path);
    };
    let change = match change_of(&line, kinds) {
        Ok(change) => change,
        Err(reason) => return Restored { what: path.display().to_string(), fate: Fate::Failed { reason } },
    };
    let what = change.describe();
    if is_alive(place, line.owner) {
        return Restored { what, fate: Fate::InUse { pid: line.owner.pid } };
    }
    let fate = match change.undo(files) {
        Ok(undone) => {
            let _ = fs::remove_file(path);
            match undone {
                Undone::Done | Undone::WasSo => Fate::Undone,
                Undone::LeftAlone(what) => Fate::LeftAlone { what },
            }
        }
        Err(reason) => Fate::Failed { reason },
    };
    Restored { what, fate }
}

fn kind_of(line: &Line, kinds: &[Kind]) -> Option<Kind> {
    let name = line.setting.get("kind")?.as_str()?;
    kinds.iter().find(|kind| kind.name == name).copied()
}

fn change_of(line: &Line, kinds: &[Kind]) -> Result<Box<dyn Undo>, String> {
    let kind = kind_of(line, kinds).ok_or("this version of tardy does not know this kind of change")?;
    (kind.read)(&line.setting)
}

/// An incomplete entry: its process died while writing it, before it changed the setting.
fn unreadable(place: &Place, path: &Path) -> Restored {
    let what = format!("{}, which is incomplete", path.display());
    let owner = owner_in_name(path).filter(|pid| place.started_ticks(*pid).is_some());
    if let Some(pid) = owner {
        return Restored { what, fate: Fate::InUse { pid } };
    }
    let fate = match fs::remove_file(path) {
        Ok(()) => Fate::Undone,
        Err(error) => Fate::Failed { reason: error.to_string() },
    };
    Restored { what, fate }
}

fn is_alive(place: &Place, owner: Owner) -> bool {
    let started = place.started_ticks(owner.pid);
    started.is_some() && (started == owner.started_ticks || owner.started_ticks.is_none())
}

fn read(path: &Path) -> Option<Line> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn owner_in_name(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.split_once('-')?.0.parse().ok()
}

fn number_in_name(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.split_once('-')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{self, ReplacedFile};
    use crate::trace::instance::{self, TraceInstance};

    const KINDS: [Kind; 3] = [settings::REPLACED_FILE, settings::THREAD_RANK, instance::UNDO];

    /// A process id that cannot exist: the highest is 2^22.
    const NO_PROCESS: u32 = u32::MAX;

    struct Scene {
        root: tempfile::TempDir,
        place: Place,
        files: KernelFiles,
    }

    impl Scene {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let place = Place::at(&root.path().join("journal"));
            let files = KernelFiles::under(root.path());
            fs::create_dir_all(root.path().join("journal")).unwrap();
            fs::create_dir_all(root.path().join("proc/sys/kernel")).unwrap();
            Self { root, place, files }
        }

        fn dead_entry(&self, number: u32, setting: &dyn Undo) {
            let owner = Owner { pid: NO_PROCESS, started_ticks: Some(1) };
            let text = serde_json::to_string(&Line { owner, setting: setting.to_json() }).unwrap();
            fs::write(self.root.path().join(format!("journal/{NO_PROCESS}-{number}.json")), text).unwrap();
        }

        fn entries(&self) -> usize {
            fs::read_dir(self.root.path().join("journal")).unwrap().count()
        }
    }

    fn file(old: &str) -> ReplacedFile {
        ReplacedFile { path: "/proc/sys/kernel/x".to_owned(), old: old.to_owned(), new: None }
    }

    #[test]
    fn the_value_before_the_first_of_two_changes_is_restored() {
        let scene = Scene::new();
        fs::write(scene.root.path().join("proc/sys/kernel/x"), "3").unwrap();
        scene.dead_entry(9, &file("1"));
        scene.dead_entry(10, &file("2"));
        assert_eq!(left_behind(&scene.place, &KINDS).len(), 2);
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        assert!(restored.iter().all(|one| one.fate == Fate::Undone), "{restored:?}");
        assert_eq!(scene.files.text("/proc/sys/kernel/x").unwrap(), "1");
        assert_eq!(scene.entries(), 0);
    }

    #[test]
    fn a_tracer_is_stopped_before_its_settings_are_restored() {
        let scene = Scene::new();
        fs::write(scene.root.path().join("proc/sys/kernel/x"), "2").unwrap();
        scene.dead_entry(0, &TraceInstance { path: "/sys/kernel/tracing/instances/tardy-1".to_owned() });
        scene.dead_entry(1, &file("1"));
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        assert!(restored[0].what.starts_with("trace instance"), "{restored:?}");
    }

    #[test]
    fn entries_of_living_processes_are_left_alone() {
        let scene = Scene::new();
        let entry = scene.place.note(&file("1")).unwrap();
        assert!(left_behind(&scene.place, &KINDS).is_empty());
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        assert_eq!(restored[0].fate, Fate::InUse { pid: std::process::id() });
        assert_eq!(scene.entries(), 1);
        entry.strike();
        assert_eq!(scene.entries(), 0);
    }

    #[test]
    fn a_reused_process_id_is_recognised() {
        let scene = Scene::new();
        let owner = Owner { pid: std::process::id(), started_ticks: Some(0) };
        assert!(!is_alive(&scene.place, owner));
    }

    #[test]
    fn an_entry_that_cannot_be_undone_stays() {
        let scene = Scene::new();
        scene.dead_entry(0, &file("1"));
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        assert!(matches!(&restored[0].fate, Fate::Failed { reason } if reason.contains("proc/sys/kernel/x")));
        assert_eq!(scene.entries(), 1);
    }

    #[test]
    fn an_incomplete_entry_is_removed() {
        let scene = Scene::new();
        fs::write(scene.root.path().join(format!("journal/{NO_PROCESS}-0.json")), "{\"own").unwrap();
        assert_eq!(restore(&scene.place, &scene.files, &KINDS).unwrap()[0].fate, Fate::Undone);
        assert_eq!(scene.entries(), 0);
    }

    #[test]
    fn a_missing_journal_is_empty() {
        let place = Place::at(Path::new("/nonexistent/journal"));
        assert_eq!(restore(&place, &KernelFiles::real(), &KINDS), Ok(Vec::new()));
    }

    #[test]
    fn an_entry_of_an_unknown_kind_stays_and_is_reported() {
        let scene = Scene::new();
        scene.dead_entry(0, &file("1"));
        let restored = restore(&scene.place, &scene.files, &[instance::UNDO]).unwrap();
        assert!(matches!(&restored[0].fate, Fate::Failed { reason } if reason.contains("does not know")));
        assert_eq!(scene.entries(), 1);
    }
}
