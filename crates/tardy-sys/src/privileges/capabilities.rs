//! The capabilities of this process and of those that it starts (capabilities(7)).
//!
//! Executing a program without file capabilities clears those of a user other than root, unless they are ambient (Linux
//! 4.3). Executing one with file capabilities grants them, unless PR_SET_NO_NEW_PRIVS is set (Linux 3.5): then the new
//! program has at most what the process had before.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::privileges;

/// The version of `capget` and `capset` with 64 bits (linux/capability.h).
const VERSION: u32 = 0x2008_0522;
/// Capabilities in each of the two words.
const WORD_BITS: usize = 32;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Word {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The capabilities with which a process measures, as far as its program's file has them.
pub const OF_A_PROBE: &[Capability] = &[
    Capability::SysNice,
    Capability::IpcLock,
    Capability::SysRawio,
    Capability::DacOverride,
    Capability::DacReadSearch,
];

/// A capability that a process of tardy needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Writes to every file, such as `/dev/cpu_dma_latency`.
    DacOverride = 1,
    /// Reads every file and directory, such as those of tracefs.
    DacReadSearch = 2,
    /// Locks memory beyond the limit.
    IpcLock = 14,
    /// Opens `/dev/mem`, for the registers of a GPIO chip.
    SysRawio = 17,
    /// Sets real-time policies and priorities.
    SysNice = 23,
}

/// Ambient capabilities for a program without file capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambient {
    /// The child is not started if the kernel refuses them: before Linux 4.3, and with SECBIT_NO_CAP_AMBIENT_RAISE.
    Required,
    /// None if this program gained privileges, because the user may replace a file that is executed by its path. Otherwise the
    /// child is started without them if the kernel refuses them.
    UnlessGained,
}

/// Makes the child of `command` start with those of `kept` that this process has, and with no others. If this program
/// gained privileges when it was executed, neither the child nor its descendants can: for a file with capabilities or
/// with the set-user-ID bit, executing it grants nothing.
///
/// Root's child keeps all of root's capabilities.
pub fn keep_only(command: &mut Command, kept: &'static [Capability], ambient: Ambient) {
    let gained = privileges::were_gained();
    let restrict = move || {
        if privileges::is_root() {
            return Ok(());
        }
        if gained {
            // Before Linux 3.5 the option does not exist. An executed tardy then has its file's capabilities again, and
            // refuses to run a hidden command.
            let _ = set(libc::PR_SET_NO_NEW_PRIVS, 1, 0);
        }
        reduce_to(kept)?;
        if gained && ambient == Ambient::UnlessGained { Ok(()) } else { raise_ambient(kept, ambient) }
    };
    // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
    unsafe { command.pre_exec(restrict) };
}

/// Gives up all capabilities of this thread for ever, except those of root. Called before other threads exist.
///
/// # Errors
/// capset(2)'s.
pub fn give_up_all() -> io::Result<()> {
    if privileges::is_root() { Ok(()) } else { reduce_to(&[]) }
}

/// Whether this thread has any capability.
pub(crate) fn any_permitted() -> bool {
    own().is_ok_and(|words| words.iter().any(|word| word.permitted != 0))
}

/// Gives up all capabilities except `kept`, and makes those effective and inheritable.
fn reduce_to(kept: &[Capability]) -> io::Result<()> {
    let mut words = own()?;
    for (index, word) in words.iter_mut().enumerate() {
        let in_this_word = kept.iter().map(|one| *one as usize).filter(|number| number / WORD_BITS == index);
        word.permitted &= in_this_word.fold(0, |mask, number| mask | 1 << (number % WORD_BITS));
        word.effective = word.permitted;
        word.inheritable = word.permitted;
    }
    let header = Header { version: VERSION, pid: 0 };
    // SAFETY: the kernel reads a header and two words.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) })
}

/// Replaces the ambient capabilities by those of `kept` that are permitted.
fn raise_ambient(kept: &[Capability], ambient: Ambient) -> io::Result<()> {
    // The kernel has removed the ambient ones that left the permitted and inheritable sets.
    let words = own()?;
    for one in kept {
        let number = *one as usize;
        if words[number / WORD_BITS].permitted >> (number % WORD_BITS) & 1 == 0 {
            continue;
        }
        match set(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong, number as libc::c_ulong)
        {
            Err(error) if ambient == Ambient::Required => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn set(option: libc::c_int, value: libc::c_ulong, more: libc::c_ulong) -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: prctl with these options takes integers only.
    check(unsafe { libc::prctl(option, value, more, none, none) }.into())
}

/// Whether the capability with this number is effective in this thread.
pub(crate) fn is_effective(capability: u32) -> bool {
    let (index, bit) = (capability as usize / WORD_BITS, capability as usize % WORD_BITS);
    own().is_ok_and(|words| words.get(index).is_some_and(|word| word.effective >> bit & 1 == 1))
}

/// The capabilities of this thread.
fn own() -> io::Result<[Word; 2]> {
    let header = Header { version: VERSION, pid: 0 };
    let mut words = [Word::default(); 2];
    // SAFETY: the kernel reads a header and writes two words, as this version specifies.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, words.as_mut_ptr()) })?;
    Ok(words)
}

fn check(status: libc::c_long) -> io::Result<()> {
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of the status of a process that `sh` starts.
    fn status_of_child(kept: &'static [Capability], key: &str) -> String {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec grep \"$0\" /proc/self/status", key]);
        keep_only(&mut command, kept, Ambient::UnlessGained);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }

    #[test]
    fn a_child_keeps_nothing_of_another_users_capabilities_and_all_of_roots() {
        let all = std::fs::read_to_string("/proc/self/status").unwrap();
        let own = all.lines().find(|line| line.starts_with("CapEff:")).unwrap();
        let childs = status_of_child(&[], "CapEff:");
        if privileges::is_root() {
            assert_eq!(childs.trim(), own);
        } else {
            assert_eq!(childs.trim(), "CapEff:\t0000000000000000");
        }
    }

    #[test]
    fn a_program_that_gained_nothing_does_not_restrict_what_its_children_may_execute() {
        let all = std::fs::read_to_string("/proc/self/status").unwrap();
        let own = all.lines().find(|line| line.starts_with("NoNewPrivs:")).unwrap_or_default();
        assert_eq!(status_of_child(OF_A_PROBE, "NoNewPrivs:").trim(), own);
    }
}
