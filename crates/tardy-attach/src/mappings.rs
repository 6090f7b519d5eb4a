//! The code that a process has mapped, from /proc/PID/maps (proc_pid_maps(5)).

use std::fs::File;
use std::io;
use std::ops::Range;

use tardy_sys::processes;

/// The most mappings of code that are looked at. A program with five hundred libraries has as many.
const MAPPINGS_MAX: usize = 4096;

/// Executable memory of a process that is mapped from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMapping {
    /// Its addresses.
    pub addresses: Range<u64>,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Device and inode of the file, which distinguish it from others.
    pub identity: String,
    /// The path of the file in the process, with ` (deleted)` behind it if it was deleted.
    pub path: String,
    pid: u32,
}

impl CodeMapping {
    /// A path to the file, without blanks, which is valid while the process has it mapped, also if the file was deleted or belongs to a
    /// container.
    pub fn link(&self) -> String {
        let Range { start, end } = self.addresses;
        format!("/proc/{}/map_files/{start:x}-{end:x}", self.pid)
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Opens the file to read it.
    ///
    /// # Errors
    /// If the process has ended, the caller has neither CAP_SYS_ADMIN nor CAP_CHECKPOINT_RESTORE, or it is not a regular file.
    pub fn open(&self) -> io::Result<File> {
        processes::mapped_file(&self.link())
    }

    /// That of a line; `None` if it is not executable, or not of a file.
    pub fn of(pid: u32, line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let addresses = number(start)?..number(end)?;
        let is_range = addresses.start < addresses.end;
        let permissions = words.next()?;
        let offset = number(words.next()?)?;
        let (device, inode) = (words.next()?, words.next()?);
        let path = words.next()?.trim_start().to_owned();
        let is_wanted = is_range && permissions.contains('x') && inode != "0";
        is_wanted.then(|| Self { addresses, offset, identity: format!("{device} {inode}"), path, pid })
    }
}

/// The code that the process `pid` has mapped, by address. Empty if there is no such process, or this user may not see it.
pub fn code_of(pid: u32) -> Vec<CodeMapping> {
    let maps = processes::maps_of(pid);
    maps.lines().filter_map(|line| CodeMapping::of(pid, line)).take(MAPPINGS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_of_files_are_mappings() {
        let line = "7f1c20026000-7f1c2017b000 r-xp 00026000 fe:01 1234                       /opt/a b/lib.so (deleted)";
        let mapping = CodeMapping::of(7, line).unwrap();
        assert_eq!((mapping.addresses, mapping.offset), (0x7f1c_2002_6000..0x7f1c_2017_b000, 0x26000));
        assert_eq!(
            (mapping.identity.as_str(), mapping.path.as_str()),
            ("fe:01 1234", "/opt/a b/lib.so (deleted)")
        );
        for other in
            [&line.replace("r-xp", "r--p"), "7ffd1000-7ffd2000 r-xp 00000000 00:00 0   [vdso]", "", "a b"]
        {
            assert_eq!(CodeMapping::of(7, other), None, "{other}");
        }
    }

    #[test]
    fn this_process_has_the_code_of_this_function() {
        let address = this_process_has_the_code_of_this_function as *const () as u64;
        let own = code_of(std::process::id());
        let mapping = own.iter().find(|mapping| mapping.addresses.contains(&address)).unwrap();
        let file = std::env::current_exe().unwrap();
        assert_eq!(mapping.path, file.to_str().unwrap());
        assert_eq!(mapping.open().unwrap().metadata().unwrap().len(), file.metadata().unwrap().len());
    }
}
