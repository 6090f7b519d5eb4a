//! The journal of changed settings, with an entry of any content.

use std::fs;
use std::path::Path;

use tardy_host::journal::{Kind, Place, left_behind, restore};
use tardy_host::settings::REPLACED_FILE;
use tardy_sys::kernel_files::KernelFiles;
use tempfile::TempDir;

/// A file that tardy does not change.
const UNTOUCHED: &str = "proc/sys/kernel/core_pattern";
/// Two files that it changes.
const CHANGED: [&str; 2] = ["proc/sys/kernel/timer_migration", "proc/irq/1/smp_affinity_list"];
/// The entry of a process that cannot exist.
const ENTRY: &str = "journal/4294967295-0.json";

/// A journal and the kernel files of a machine.
struct Scene {
    root: TempDir,
    place: Place,
    files: KernelFiles,
    kinds: Vec<Kind>,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("there is a directory for temporary files");
        for file in CHANGED.iter().chain([&UNTOUCHED]) {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))
                .expect("the scratch directory is writable");
            fs::write(path, "0").expect("the scratch directory is writable");
        }
        fs::create_dir(root.path().join("journal")).expect("the scratch directory is writable");
        let place = Place::at(&root.path().join("journal"));
        let files = KernelFiles::under(root.path());
        Self {
            root,
            place,
            files,
            kinds: tardy_measure::undo_kinds().into_iter().chain([tardy_switch::UNDO]).collect(),
        }
    }
}

/// Describes the changes of an entry with this text, and undoes it if it is a kernel file. Other kinds of change act on this
/// machine itself. Only the files that tardy changes may change.
pub fn read(text: &[u8]) {
    thread_local!(static SCENE: Scene = Scene::new());
    SCENE.with(|scene| {
        let entry = scene.root.path().join(ENTRY);
        fs::write(&entry, text).expect("the scratch directory is writable");
        let _ = left_behind(&scene.place, &scene.kinds);
        let _ = restore(&scene.place, &scene.files, &[REPLACED_FILE]);
        let _ = fs::remove_file(&entry);
        let untouched = fs::read(scene.root.path().join(UNTOUCHED)).expect("the file is still there");
        assert_eq!(untouched, b"0", "tardy does not change this file");
    });
}
