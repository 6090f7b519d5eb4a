//! Names in a directory that another process changes between any two operations.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_sys::files::{Directory, Existing, is_stream, open_to_write};
use tempfile::TempDir;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const SECRET: &[u8] = b"not tardy's";

/// A directory, and files outside it that only the attacker's names lead to.
struct Scene {
    root: TempDir,
    directory: Directory,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("there is a directory for temporary files");
        fs::create_dir(root.path().join("in")).expect("the scratch directory is writable");
        fs::write(root.path().join("victim"), SECRET).expect("the scratch directory is writable");
        let pipe = Command::new("mkfifo").arg(root.path().join("pipe")).status();
        assert!(pipe.is_ok_and(|status| status.success()), "mkfifo is installed");
        let directory = Directory::own(&root.path().join("in")).expect("it was just created");
        Self { root, directory }
    }

    fn inside(&self, name: &str) -> PathBuf {
        self.root.path().join("in").join(name)
    }

    /// What another process does to a name.
    fn attack(&self, action: u8, name: &str, other: &str) {
        let (path, victim) = (self.inside(name), self.root.path().join("victim"));
        let _ = match action % 8 {
            0 => symlink(victim, path),
            1 => symlink(other, path),
            2 => fs::hard_link(victim, path),
            3 => fs::hard_link(self.root.path().join("pipe"), path),
            4 => fs::create_dir(path),
            5 => fs::rename(path, self.inside(other)),
            6 => symlink(self.root.path(), path),
            _ => fs::remove_file(path),
        };
    }

    /// What tardy does to a name.
    fn operate(&self, action: u8, name: &str, other: &str) {
        let (name, directory) = (OsStr::new(name), &self.directory);
        match action % 8 {
            0 => drop(self.check(directory.open_own(name))),
            1 => self.write(directory.open_own_to_write(name)),
            2 => self.write(directory.own_file(name, 0o600)),
            3 => self.write(directory.create_new(name, 0o600)),
            4 => {
                let existing = if other == "a" { Existing::Kept } else { Existing::Replaced };
                drop(self.check(directory.replace(name, 0o600, existing, |file| file.write_all(b"tardy's"))));
            }
            5 => drop(directory.rename(name, directory, OsStr::new(other))),
            6 => drop(directory.remove(name)),
            _ => {
                let path = self.inside(&name.to_string_lossy());
                // Opening a pipe or a device would wait for its other end.
                if is_stream(&path).is_ok_and(|is_stream| !is_stream) {
                    let _ = open_to_write(&path, other != "a");
                }
            }
        }
    }

    fn check(&self, opened: std::io::Result<fs::File>) -> Option<fs::File> {
        let file = opened.ok()?;
        let metadata = file.metadata().expect("the file is open");
        assert!(metadata.is_file() && metadata.nlink() == 1, "{metadata:?}");
        Some(file)
    }

    fn write(&self, opened: std::io::Result<fs::File>) {
        let _ = self.check(opened).map(|mut file| file.write_all(b"tardy's"));
    }

    fn clean(&self) {
        for name in self.directory.names().expect("the directory is readable") {
            assert!(NAMES.iter().any(|known| name == *known), "{} was left", Path::new(&name).display());
            let path = self.root.path().join("in").join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
    }
}

/// Runs a sequence of operations, a byte and two names each: the attacker's and tardy's. The victim's file stays as it is, tardy
/// opens regular files with one name alone, and leaves no temporary file.
pub fn operate(bytes: &[u8]) {
    thread_local!(static SCENE: Scene = Scene::new());
    SCENE.with(|scene| {
        for step in bytes.chunks_exact(2).take(64) {
            let [action, names] = [step[0], step[1]];
            let name = |shift: u8| NAMES[usize::from(names >> shift & 3)];
            if action & 8 == 0 {
                scene.attack(action, name(0), name(2));
            } else {
                scene.operate(action, name(0), name(2));
            }
        }
        scene.clean();
        let victim = fs::read(scene.root.path().join("victim")).expect("the victim's file is there");
        assert_eq!(victim, SECRET, "the victim's file was changed");
    });
}
