//! The processes of this machine, read from /proc.
//!
//! A process may end between two readings, so each function returns `None` for a process that is not there. The files
//! are in `/proc/PID`, which every kernel has; `/proc/PID/task/TID/children` would need CONFIG_PROC_CHILDREN.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::files;

/// The path by which a process executes its own program again, even after that program's file was replaced.
pub const OWN_EXECUTABLE: &str = "/proc/self/exe";

/// The fields of `/proc/PID/stat` that tardy needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessState {
    /// The parent's pid; 0 for the first process and for kthreadd.
    pub parent: u32,
    /// Whether the process has ended and its parent has not waited for it yet.
    pub is_zombie: bool,
    /// Whether a signal or a debugger has stopped the process.
    pub is_stopped: bool,
}

impl ProcessState {
    /// The state of the process `pid`; `None` if there is none.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// State and parent are the two fields after the name (proc_pid_stat(5)), which may hold blanks and brackets.
    fn parse(stat: &[u8]) -> Option<Self> {
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let mut fields = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        Some(Self {
            parent: fields.next()?.parse().ok()?,
            is_zombie: matches!(state, "Z" | "X"),
            is_stopped: matches!(state, "T" | "t"),
        })
    }
}

/// The pids of all processes that this user can see (`hidepid` in proc(5) hides other users' processes).
///
/// # Errors
/// If /proc is not mounted or cannot be listed.
pub fn all() -> io::Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        pids.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(pids)
}

/// The threads of the process `pid`; empty if there is no such process.
pub fn threads_of(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A file of one thread, such as `stat` or `schedstat`, as text; `None` if the thread has ended or the file cannot be read.
pub fn thread_file(pid: u32, tid: u32, name: &str) -> Option<String> {
    text(&format!("/proc/{pid}/task/{tid}/{name}"))
}

/// A file of /proc as text. Bytes that are not UTF-8 are replaced: many files have a task's name in them, which may be any bytes, and of
/// which the kernel may cut a character.
fn text(path: &str) -> Option<String> {
    Some(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned())
}

/// The command name of the process `pid`, at most 15 bytes long; `None` if there is no such process.
pub fn command_of(pid: u32) -> Option<String> {
    Some(text(&format!("/proc/{pid}/comm"))?.trim_end_matches('\n').to_owned())
}

/// The environment that the process `pid` was started with, `NAME=VALUE` each ended by a NUL; `None` if there is no
/// such process or this user may not read it.
pub fn environment_of(pid: u32) -> Option<Vec<u8>> {
    std::fs::read(format!("/proc/{pid}/environ")).ok()
}

/// The command line of the process `pid` as far as its first 4,096 bytes, each word ended by a NUL; `None` if there is no such
/// process.
pub fn words_of(pid: u32) -> Option<Vec<u8>> {
    read_first(&format!("/proc/{pid}/cmdline"), 4096)
}

/// The first bytes of a file whose length another user determines, up to `most`; `None` if it cannot be read.
fn read_first(path: &str, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The effective user of the process `pid`; `None` if there is no such process.
pub fn user_of(pid: u32) -> Option<u32> {
    let status = text(&format!("/proc/{pid}/status"))?;
    // The real, the effective, the saved and the file system's user.
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// What a descriptor of the process `pid` refers to: a path, or a name such as `pipe:[7]`. `None` if it is closed, or this user
/// may not see it.
pub fn descriptor_of(pid: u32, number: u64) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// The most descriptors of a process that are listed, and the most bytes of its mappings that are read.
const DESCRIPTORS_MAX: usize = 16 << 10;
const MAPS_MAX: u64 = 32 << 20;

/// What all descriptors of the process `pid` refer to, as [`descriptor_of`] does.
pub fn descriptors_of(pid: u32) -> Vec<String> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let link = |entry: std::fs::DirEntry| std::fs::read_link(entry.path()).ok();
    entries.take(DESCRIPTORS_MAX).filter_map(link).map(|path| path.to_string_lossy().into_owned()).collect()
}

/// The path of the program that the process `pid` executes; `None` if there is no such process, or this user may not see it.
pub fn executable_of(pid: u32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// The memory that the process `pid` has mapped (proc_pid_maps(5)); empty if there is no such process, or this user may not see it. Reading
/// it holds a lock that page faults of the process need.
pub fn maps_of(pid: u32) -> String {
    let maps = read_first(&format!("/proc/{pid}/maps"), MAPS_MAX).unwrap_or_default();
    String::from_utf8_lossy(&maps).into_owned()
}

/// Opens a regular file by its link in `/proc/PID/map_files`, to read it. A device, whose opening may have effects, is not opened.
///
/// # Errors
/// If the process has ended, the caller has neither CAP_SYS_ADMIN nor CAP_CHECKPOINT_RESTORE, or the file is not a regular one.
pub fn mapped_file(link: &str) -> io::Result<File> {
    files::open_regular(Path::new(link))
}

/// A reference to the very file that the descriptor `number` of the process `pid` refers to, whatever its path names by now. It reads
/// nothing.
///
/// # Errors
/// If there is no such descriptor, or this user may not see it.
pub fn file_of_descriptor(pid: u32, number: u32) -> io::Result<File> {
    files::reference(Path::new(&format!("/proc/{pid}/fd/{number}")))
}

/// Sets the command name of this process, which `ps` and `top` show. The kernel cuts it to 15 bytes.
///
/// # Errors
/// If /proc is not mounted.
pub fn set_own_command(name: &str) -> io::Result<()> {
    File::options().write(true).open("/proc/self/comm")?.write_all(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let state = |parent, is_zombie, is_stopped| Some(ProcessState { parent, is_zombie, is_stopped });
        for (stat, state) in [
            (&b"7 (sh) S 3 7 7 0"[..], state(3, false, false)),
            (&b"7 (sh) T 3 7 7 0"[..], state(3, false, true)),
            (&b"7 (a) Z 9 (b\xff) Z 4 7"[..], state(4, true, false)),
            (&b"7 (sh"[..], None),
            (&b"7 (sh) S"[..], None),
            (&b""[..], None),
        ] {
            assert_eq!(ProcessState::parse(stat), state);
        }
    }

    #[test]
    fn this_process_is_found_with_its_parent_and_threads() {
        let pid = std::process::id();
        assert!(all().unwrap().contains(&pid));
        assert_eq!(ProcessState::of(pid).unwrap().parent, std::os::unix::process::parent_id());
        assert!(threads_of(pid).contains(&pid));
        assert!(thread_file(pid, pid, "stat").unwrap().starts_with(&format!("{pid} (")));
        assert!(command_of(pid).is_some_and(|name| !name.is_empty()));
        assert!(environment_of(pid).is_some());
        assert_eq!(user_of(pid), Some(files::caller()));
    }

    #[test]
    fn a_name_that_is_not_utf_8_hides_no_field() {
        use std::io::BufRead;
        let script = r"printf 'cut\303' > /proc/$$/comm; printf 'ready\n'; read line";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", script]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut ready = String::new();
        io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let pid = child.id();
        let stat = thread_file(pid, pid, "stat");
        let found = (command_of(pid), user_of(pid), thread_file(pid, pid, "comm"), stat);
        drop(child.stdin.take());
        child.wait().unwrap();
        let (command, user, comm, stat) = found;
        assert_eq!(command.as_deref(), Some("cut\u{fffd}"));
        assert_eq!((user, comm.as_deref()), (Some(files::caller()), Some("cut\u{fffd}\n")));
        assert!(stat.is_some_and(|stat| stat.contains(&format!(" {} ", std::process::id()))));
    }

    #[test]
    fn a_process_that_is_not_there_has_nothing() {
        // Pids end at PID_MAX_LIMIT, 2^22.
        let pid = u32::MAX;
        assert_eq!((ProcessState::of(pid), command_of(pid), environment_of(pid)), (None, None, None));
        assert!(threads_of(pid).is_empty());
    }
}
