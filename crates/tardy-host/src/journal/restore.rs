//! Undoes changes that a crash left.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use tardy_sys::files::Directory;
use tardy_sys::kernel_files::KernelFiles;

use super::{Kind, Line, Owner, Place, Undo, Undone};

/// The result for one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// What was changed, as a noun phrase.
    pub what: String,
    /// The result.
    pub fate: Fate,
}

/// The result of restoring an entry's setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
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

/// The largest entry that is read, in bytes. The longest schedule of a switch has a few hundred KB.
const SIZE_MAX: u64 = 16 << 20;

/// A file of the journal.
struct Found {
    name: OsString,
    content: Content,
}

/// The content of a file of the journal.
enum Content {
    /// An entry.
    Entry(Line),
    /// Part of an entry: its process died while writing it, before it changed the setting.
    Incomplete,
    /// A file that tardy has not written, and why.
    Refused(String),
}

/// Undoes the change of every entry in `place` whose process is dead, the latest first; the settings are under `files`.
/// An entry of a kind that is not among `kinds` fails and stays, as does a file that tardy has not written.
///
/// # Errors
/// If the journal exists and cannot be read, or does not belong to the caller.
pub fn restore(place: &Place, files: &KernelFiles, kinds: &[Kind]) -> Result<Vec<Restored>, String> {
    restore_if(place, files, kinds, |_| true)
}

/// As [`restore`], but only of changes of one of `kinds`. All other files of the journal stay, and so do the changes of living
/// processes, which are not returned.
///
/// # Errors
/// As for [`restore`].
pub fn restore_only(place: &Place, files: &KernelFiles, kinds: &[Kind]) -> Result<Vec<Restored>, String> {
    restore_if(place, files, kinds, |found| match &found.content {
        Content::Entry(line) => kind_of(line, kinds).is_some() && !is_alive(place, line.owner),
        _ => false,
    })
}

fn restore_if(
    place: &Place,
    files: &KernelFiles,
    kinds: &[Kind],
    is_wanted: impl Fn(&Found) -> bool,
) -> Result<Vec<Restored>, String> {
    let Some((directory, mut all)) = entries(place)? else { return Ok(Vec::new()) };
    all.retain(is_wanted);
    let order = |found: &Found| {
        let first = match &found.content {
            Content::Entry(line) => kind_of(line, kinds).is_some_and(|kind| kind.first),
            _ => false,
        };
        let [owner, number] = numbers_in_name(&found.name);
        std::cmp::Reverse((first, owner, number))
    };
    all.sort_by_cached_key(order);
    Ok(all.into_iter().map(|found| one(place, &directory, files, kinds, found)).collect())
}

/// Describes the changes of one of `kinds` that dead processes have left.
pub fn left_behind(place: &Place, kinds: &[Kind]) -> Vec<String> {
    let Ok(Some((_, all))) = entries(place) else { return Vec::new() };
    all.into_iter()
        .filter_map(|found| if let Content::Entry(line) = found.content { Some(line) } else { None })
        .filter(|line| !is_alive(place, line.owner))
        .filter_map(|line| {
            let kind = kind_of(&line, kinds)?;
            (kind.read)(&line.setting).ok().map(|change| change.describe())
        })
        .collect()
}

/// The journal's directory and its files. `None` if there is no journal.
fn entries(place: &Place) -> Result<Option<(Directory, Vec<Found>)>, String> {
    let path = place.directory.display();
    let Some(directory) =
        place.open().map_err(|error| format!("{path} is not used as the journal: {error}"))?
    else {
        return Ok(None);
    };
    let names = directory.names().map_err(|error| format!("{path} cannot be read: {error}"))?;
    let names = names.into_iter().filter(|name| Path::new(name).extension().is_some_and(|end| end == "json"));
    let found = names.map(|name| Found { content: read(&directory, &name), name }).collect();
    Ok(Some((directory, found)))
}

fn read(directory: &Directory, name: &OsStr) -> Content {
    let mut text = Vec::new();
    let read = directory.open_own(name).and_then(|file| file.take(SIZE_MAX).read_to_end(&mut text));
    match read {
        Ok(_) => match serde_json::from_slice(&text) {
            Ok(entry) => Content::Entry(entry),
            Err(error) if error.is_eof() && (text.len() as u64) < SIZE_MAX => Content::Incomplete,
            Err(error) => Content::Refused(format!("this tardy cannot read the entry: {error}")),
        },
        Err(error) => Content::Refused(format!("tardy has not written this entry: {error}")),
    }
}

fn one(place: &Place, directory: &Directory, files: &KernelFiles, kinds: &[Kind], found: Found) -> Restored {
    let path = directory.path().join(&found.name).display().to_string();
    let line = match found.content {
        Content::Entry(line) => line,
        Content::Incomplete => return incomplete(place, directory, &found.name, path),
        Content::Refused(reason) => return Restored { what: path, fate: Fate::Failed { reason } },
    };
    let change = match change_of(&line, kinds) {
        Ok(change) => change,
        Err(reason) => return Restored { what: path, fate: Fate::Failed { reason } },
    };
    let what = change.describe();
    if is_alive(place, line.owner) {
        return Restored { what, fate: Fate::InUse { pid: line.owner.pid } };
    }
    let fate = match change.undo(files) {
        Ok(undone) => {
            let _ = directory.remove(&found.name);
            match undone {
                Undone::Done | Undone::WasSo => Fate::Undone,
                Undone::LeftAlone(what) => Fate::LeftAlone { what },
            }
        }
        Err(reason) => Fate::Failed { reason: format!("{reason} (entry {path})") },
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

fn incomplete(place: &Place, directory: &Directory, name: &OsStr, path: String) -> Restored {
    let what = format!("{path}, which is incomplete");
    let [owner, _] = numbers_in_name(name);
    if let Some(pid) = owner.filter(|pid| place.started_ticks(*pid).is_some()) {
        return Restored { what, fate: Fate::InUse { pid } };
    }
    let fate = match directory.remove(name) {
        Ok(()) => Fate::Undone,
        Err(error) => Fate::Failed { reason: error.to_string() },
    };
    Restored { what, fate }
}

fn is_alive(place: &Place, owner: Owner) -> bool {
    let started = place.started_ticks(owner.pid);
    started.is_some() && (started == owner.started_ticks || owner.started_ticks.is_none())
}

/// The process id and the number in the name of an entry's file, `PID-NUMBER.json`.
fn numbers_in_name(name: &OsStr) -> [Option<u32>; 2] {
    let numbers = || Path::new(name).file_stem()?.to_str()?.split_once('-');
    numbers().map_or([None; 2], |(owner, number)| [owner.parse().ok(), number.parse().ok()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
            drop(place.prepare().unwrap());
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
        ReplacedFile { path: "/proc/sys/kernel/timer_migration".to_owned(), old: old.to_owned(), new: None }
    }

    #[test]
    fn the_value_before_the_first_of_two_changes_is_restored() {
        let scene = Scene::new();
        fs::write(scene.root.path().join("proc/sys/kernel/timer_migration"), "3").unwrap();
        scene.dead_entry(9, &file("1"));
        scene.dead_entry(10, &file("2"));
        assert_eq!(left_behind(&scene.place, &KINDS).len(), 2);
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        assert!(restored.iter().all(|one| one.fate == Fate::Undone), "{restored:?}");
        assert_eq!(scene.files.text("/proc/sys/kernel/timer_migration").unwrap(), "1");
        assert_eq!(scene.entries(), 0);
    }

    #[test]
    fn a_tracer_is_stopped_before_its_settings_are_restored() {
        let scene = Scene::new();
        fs::write(scene.root.path().join("proc/sys/kernel/timer_migration"), "2").unwrap();
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
    fn only_changes_of_dead_processes_and_of_the_kinds_are_restored() {
        let scene = Scene::new();
        scene.dead_entry(0, &TraceInstance { path: "/sys/kernel/tracing/instances/tardy-1".to_owned() });
        scene.dead_entry(1, &file("1"));
        fs::write(scene.root.path().join(format!("journal/{NO_PROCESS}-2.json")), "{\"own").unwrap();
        let own = TraceInstance { path: "/sys/kernel/tracing/instances/tardy-2".to_owned() };
        let entry = scene.place.note(&own).unwrap();
        let restored = restore_only(&scene.place, &scene.files, &[instance::UNDO]).unwrap();
        assert_eq!(restored.len(), 1);
        assert!(restored[0].what.ends_with("tardy-1") && restored[0].fate == Fate::Undone, "{restored:?}");
        assert_eq!(scene.entries(), 3);
        entry.strike();
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
        assert!(
            matches!(&restored[0].fate, Fate::Failed { reason } if reason.contains("proc/sys/kernel/timer_migration"))
        );
        assert_eq!(scene.entries(), 1);
    }

    #[test]
    fn a_planted_entry_is_refused_and_names_its_file() {
        let scene = Scene::new();
        let core_pattern = "/proc/sys/kernel/core_pattern";
        fs::write(scene.root.path().join("proc/sys/kernel/core_pattern"), "core").unwrap();
        let path = core_pattern.to_owned();
        scene.dead_entry(0, &ReplacedFile { path, old: "|/tmp/x".to_owned(), new: None });
        let elsewhere = scene.root.path().join("entry.json");
        fs::rename(scene.root.path().join(format!("journal/{NO_PROCESS}-0.json")), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, scene.root.path().join("journal/1-1.json")).unwrap();
        fs::copy(&elsewhere, scene.root.path().join(format!("journal/{NO_PROCESS}-2.json"))).unwrap();
        let restored = restore(&scene.place, &scene.files, &KINDS).unwrap();
        let reason = |one: &Restored| match &one.fate {
            Fate::Failed { reason } => reason.clone(),
            fate => panic!("{fate:?}"),
        };
        assert!(reason(&restored[0]).contains("is not a file that tardy changes (entry"), "{restored:?}");
        assert!(reason(&restored[0]).contains("-2.json)"), "{restored:?}");
        assert!(reason(&restored[1]).contains("it is a symbolic link"), "{restored:?}");
        assert!(restored[1].what.ends_with("journal/1-1.json"), "{restored:?}");
        assert_eq!(scene.files.text(core_pattern).unwrap(), "core");
        assert_eq!(scene.entries(), 2);
    }

    #[test]
    fn a_journal_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let scene = Scene::new();
        scene.dead_entry(0, &file("1"));
        let journal = scene.root.path().join("journal");
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o777)).unwrap();
        let error = restore(&scene.place, &scene.files, &KINDS).unwrap_err();
        assert!(error.contains("is not used as the journal: other users can write"), "{error}");
        assert!(scene.place.note(&file("1")).is_err());
    }

    #[test]
    fn an_entry_of_a_dead_process_with_the_same_id_is_kept() {
        let scene = Scene::new();
        let first = scene.place.note(&file("1")).unwrap();
        let number: u32 = numbers_in_name(first.path.file_name().unwrap())[1].unwrap();
        let next = |ahead: u32| {
            scene.root.path().join(format!("journal/{}-{}.json", std::process::id(), number + ahead))
        };
        // Other tests of this process take numbers, too.
        (1..1000).for_each(|ahead| fs::write(next(ahead), "old").unwrap());
        let second = scene.place.note(&file("1")).unwrap();
        assert_eq!(fs::read_to_string(next(1)).unwrap(), "old");
        assert_eq!(scene.entries(), 1001);
        first.strike();
        second.strike();
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
