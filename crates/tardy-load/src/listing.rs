//! A recursive listing of / over and over: what `ls -lR /` asks of the kernel, without the lines that it prints.
//!
//! Every directory is read, and every entry looked at with lstat(2), symbolic links with readlink(2) too; links are
//! not followed, so there are no circles. All file systems are listed, /proc and /sys among them, as the article's
//! script did. What vanishes while it is looked at, or may not be looked at, is passed over.
//!
//! One thing is not as `ls` does it: directories are taken in random order, not from one end to the other. An entry
//! of /proc costs several times one of /usr, so that a straight walk has slow minutes and fast minutes by design, and
//! no rate would tell a stalled walk from one that has reached /proc. In random order each second does a bit of
//! everything.
//!
//! The first pass reads from the disk what later ones find in memory, often ten times as fast. It is not waited for,
//! which on a large disk would take for ever; the run says when it was over, and is judged accordingly.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use tardy_sys::counters::Counter;

use super::random::Random;
use super::words::Word;
use super::worker::{Ended, Worker};

/// How many directories may wait for their turn before the order becomes that of `ls`, deepest first, in which only
/// few ever wait. Keeps the memory constant however large / is: a few MB.
const WAITING_MAX: usize = 65_536;

pub(super) fn run(worker: &Worker) -> Ended {
    run_below(Path::new("/"), worker.seed, &worker.counters()[0], |word| worker.say(&word))
}

fn run_below(root: &Path, seed: u64, looked_at: &Counter, mut say: impl FnMut(Word)) -> Ended {
    let mut random = Random::new(seed);
    fs::read_dir(root).map_err(|error| format!("{} cannot be listed: {error}", root.display()))?;
    let mut walk = Walk::new(root);
    walk.step(&mut random, looked_at);
    say(Word::Running);
    while walk.step(&mut random, looked_at) {}
    say(Word::FirstPassOver);
    loop {
        let mut walk = Walk::new(root);
        while walk.step(&mut random, looked_at) {}
    }
}

/// One pass through the tree.
struct Walk {
    waiting: Vec<PathBuf>,
}

impl Walk {
    fn new(root: &Path) -> Self {
        Self { waiting: vec![root.to_owned()] }
    }

    /// Lists one directory; false when none is left.
    fn step(&mut self, random: &mut Random, looked_at: &Counter) -> bool {
        let next = match self.waiting.len() {
            0 => return false,
            waiting if waiting > WAITING_MAX => waiting - 1,
            waiting => random.below(waiting),
        };
        let directory = self.waiting.swap_remove(next);
        let Ok(entries) = fs::read_dir(&directory) else { return true };
        // An error ends the directory: some of /proc's repeat theirs for ever.
        for entry in entries.map_while(Result::ok) {
            if is_directory(&entry) {
                self.waiting.push(entry.path());
            }
            looked_at.add(1);
        }
        true
    }
}

/// Looks at the entry as `ls -l` does.
fn is_directory(entry: &DirEntry) -> bool {
    let Ok(status) = entry.metadata() else { return false };
    if status.is_symlink() {
        let _ = fs::read_link(entry.path());
    }
    status.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_pass_looks_at_every_entry_once_and_follows_no_link() {
        let root = std::env::temp_dir().join(format!("tardy-listing-test.{}", std::process::id()));
        for directory in 0..20 {
            fs::create_dir_all(root.join(format!("{directory}/deep/er"))).unwrap();
            fs::write(root.join(format!("{directory}/file")), "").unwrap();
            symlink("..", root.join(format!("{directory}/up"))).unwrap();
            symlink("nowhere", root.join(format!("{directory}/dangling"))).unwrap();
        }
        let (looked_at, mut random) = (Counter::default(), Random::new(7));
        let mut walk = Walk::new(&root);
        while walk.step(&mut random, &looked_at) {}
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(looked_at.get(), 20 * 6);
    }

    #[test]
    fn what_vanished_is_passed_over() {
        let mut walk = Walk::new(Path::new("/nonexistent/tardy"));
        assert!(walk.step(&mut Random::new(1), &Counter::default()));
        assert!(!walk.step(&mut Random::new(1), &Counter::default()));
    }

    #[test]
    fn a_root_that_cannot_be_listed_is_an_end() {
        let ended = run_below(Path::new("/nonexistent/tardy"), 1, &Counter::default(), |_| {});
        assert!(ended.unwrap_err().contains("/nonexistent/tardy"));
    }
}
