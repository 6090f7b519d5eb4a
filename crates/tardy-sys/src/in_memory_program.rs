//! A program in a file without a name (memfd_create(2), Linux 3.17): it needs no directory that is writable, and is gone
//! when its last user has ended.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A program in memory.
#[derive(Debug)]
pub struct InMemoryProgram {
    file: File,
    name: String,
}

impl InMemoryProgram {
    /// Copies the program `content` into memory and calls it `name`.
    ///
    /// # Errors
    /// If `name` contains a NUL, the kernel is older than 3.17, forbids such programs (`vm.memfd_noexec=2`), or memory is exhausted.
    pub fn new(name: &str, content: &[u8]) -> io::Result<Self> {
        let c_name = CString::new(name)?;
        // Without MFD_EXEC, which kernels before 6.3 do not know, later ones print a warning.
        let file =
            create(&c_name, libc::MFD_CLOEXEC | MFD_EXEC).or_else(|error| match error.raw_os_error() {
                Some(libc::EINVAL) => create(&c_name, libc::MFD_CLOEXEC),
                _ => Err(error),
            })?;
        // A program that is open for writing cannot be executed, so it is opened again.
        (&file).write_all(content)?;
        let file = File::open(path_of(file.as_raw_fd()))?;
        Ok(Self { file, name: name.to_owned() })
    }

    /// A command that executes it. The descriptor stays open in the new process, because an interpreter of binfmt_misc, such as
    /// an emulator of another processor, opens the program by its path.
    pub fn command(&self) -> Command {
        let fd = self.file.as_raw_fd();
        let mut command = Command::new(path_of(fd));
        command.arg0(&self.name);
        super::child::inherit(&mut command, fd);
        command
    }
}

/// Permits execution, also if `vm.memfd_noexec` is 1. Not in every C library's headers.
const MFD_EXEC: libc::c_uint = 0x10;

fn create(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: the name is a string that ends with NUL; a system call, because old C libraries have no function for it.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { File::from_raw_fd(fd as RawFd) })
}

fn path_of(fd: RawFd) -> PathBuf {
    format!("/proc/self/fd/{fd}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_in_memory_is_executed() {
        let shell = std::fs::read("/bin/sh").unwrap();
        let program = InMemoryProgram::new("name", &shell).unwrap();
        for _ in 0..2 {
            let out = program.command().args(["-c", "tr '\\0' ' ' </proc/$$/cmdline"]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), "name -c tr '\\0' ' ' </proc/$$/cmdline ");
        }
    }
}
