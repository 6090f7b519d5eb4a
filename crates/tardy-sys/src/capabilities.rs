//! Capabilities that a program has from its file (setcap(8)), for a program that it starts.
//!
//! Executing a program without file capabilities clears those of a user other than root, unless they are ambient
//! (capabilities(7), Linux 4.3).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// Makes the child of `command` start with the capabilities that this process may use.
///
/// Starting it fails if the kernel does not allow that: before Linux 4.3, and with SECBIT_NO_CAP_AMBIENT_RAISE.
pub fn pass_on(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes only system calls; it allocates nothing.
    unsafe { command.pre_exec(raise_ambient) };
}

/// Adds the permitted capabilities to the ambient ones.
fn raise_ambient() -> io::Result<()> {
    // SAFETY: geteuid takes nothing.
    if unsafe { libc::geteuid() } == 0 {
        // Root has them in every program.
        return Ok(());
    }
    let mut words = own()?;
    if words.iter().all(|word| word.permitted == 0) {
        return Ok(());
    }
    for word in &mut words {
        word.inheritable |= word.permitted;
    }
    let header = Header { version: VERSION, pid: 0 };
    // SAFETY: the kernel reads a header and two words.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) })?;
    for (index, word) in words.iter().enumerate() {
        for bit in (0..WORD_BITS).filter(|bit| word.permitted >> bit & 1 == 1) {
            let capability = (index * WORD_BITS + bit) as libc::c_ulong;
            let none: libc::c_ulong = 0;
            let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
            // SAFETY: prctl with PR_CAP_AMBIENT takes integers only.
            check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, capability, none, none) }.into())?;
        }
    }
    Ok(())
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
