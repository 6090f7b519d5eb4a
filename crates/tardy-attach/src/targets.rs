//! Which processes and threads are watched, from /proc.

use std::borrow::Cow;

use tardy_record::plan::Policy;
use tardy_sys::processes;
use tardy_sys::scheduling;

/// What the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A process.
    Pid(u32),
    /// All processes with this name, also those that start later.
    Name(String),
    /// All threads with this name.
    Thread(String),
}

/// A thread of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
}

/// The longest name of a task, in bytes.
const NAME_MAX: usize = 15;

impl Target {
    /// The target that a word names: digits are a pid.
    pub fn of(word: &str) -> Self {
        word.parse().map_or_else(|_| Self::Name(word.to_owned()), Self::Pid)
    }

    /// The name that each watched thread must have.
    pub fn thread_name(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Thread(name) => Some(cut(name)),
            _ => None,
        }
    }

    /// The threads of the target that exist now.
    pub fn threads(&self) -> Vec<Found> {
        let own = std::process::id();
        let all = || processes::all().unwrap_or_default().into_iter().filter(move |pid| *pid != own);
        match self {
            Self::Pid(pid) => threads_of(*pid),
            Self::Name(name) => all().filter(|pid| is_called(*pid, name)).flat_map(threads_of).collect(),
            Self::Thread(name) => {
                all().flat_map(threads_of).filter(|thread| thread.name == cut(name)).collect()
            }
        }
    }

    /// The target as the user wrote it.
    pub fn text(&self) -> String {
        match self {
            Self::Pid(pid) => pid.to_string(),
            Self::Name(name) => name.clone(),
            Self::Thread(name) => format!("--thread {name}"),
        }
    }

    /// Why there is no thread of the target, as a message for the user.
    pub fn absent(&self) -> String {
        match self {
            Self::Pid(pid) => format!("there is no process {pid}; `ps` lists the processes"),
            Self::Name(name) => format!(
                "there is no process called '{name}'; `ps -e` lists the names, and `tardy exec -- {name}` starts it"
            ),
            Self::Thread(name) => {
                format!(
                    "there is no thread called '{name}'; `ps -eLo pid,tid,comm` lists the names of threads"
                )
            }
        }
    }
}

/// A name as the kernel keeps it and tardy reads it: a character that the kernel cut is replaced.
fn cut(name: &str) -> Cow<'_, str> {
    String::from_utf8_lossy(&name.as_bytes()[..name.len().min(NAME_MAX)])
}

/// Whether a process has this name, or was started by this program name.
fn is_called(pid: u32, name: &str) -> bool {
    if processes::command_of(pid).is_some_and(|command| command == cut(name)) {
        return true;
    }
    // A script's process has the name of its interpreter; the script is the second word.
    let words = processes::words_of(pid).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).take(2);
    words.any(|word| String::from_utf8_lossy(word).rsplit('/').next() == Some(name))
}

/// The threads of a process.
pub fn threads_of(pid: u32) -> Vec<Found> {
    let found = |tid: u32| Some(Found { pid, tid, name: thread_name(pid, tid)? });
    processes::threads_of(pid).into_iter().filter_map(found).collect()
}

/// The name of a thread; `None` if it has ended.
pub fn thread_name(pid: u32, tid: u32) -> Option<String> {
    Some(processes::thread_file(pid, tid, "comm")?.trim_end_matches('\n').to_owned())
}

/// The process of a thread; `None` if it has ended.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = processes::thread_file(tid, tid, "status")?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// The policy and the real-time priority of a thread; `None` if it has ended.
pub fn scheduling_of(tid: u32) -> Option<(Policy, u32)> {
    let in_force = scheduling::in_force(tid).ok()?;
    // sched.h: SCHED_BATCH and SCHED_IDLE are ordinary policies too.
    let policy = match in_force.policy {
        1 => Policy::Fifo,
        2 => Policy::Rr,
        6 => Policy::Deadline,
        _ => Policy::Other,
    };
    Some((policy, in_force.priority))
}

/// What a descriptor of a process refers to; `None` if it is closed, or the process belongs to another user.
pub fn descriptor(pid: u32, number: u64) -> Option<String> {
    processes::descriptor_of(pid, number)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::procfs::Used;

    #[test]
    fn a_thread_is_found_whose_name_the_kernel_cut_within_a_character() {
        let name = "abcdefghijklmnü";
        let (started, tids) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let run = move || {
            started.send(scheduling::thread_id()).unwrap();
            let _ = ended.recv();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run).unwrap();
        let (pid, tid) = (std::process::id(), tids.recv().unwrap());
        let found = threads_of(pid).into_iter().find(|thread| thread.tid == tid);
        let known = found.as_ref().map(|found| (process_of(tid), Used::of(found).is_some()));
        drop(end);
        thread.join().unwrap();
        let target = Target::Thread(name.to_owned());
        assert_eq!(found.map(|found| found.name).as_deref(), target.thread_name().as_deref());
        assert_eq!(known, Some((Some(pid), true)));
    }
}
