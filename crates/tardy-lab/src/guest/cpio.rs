//! The archive that the kernel unpacks as its first file system, in cpio's newc format
//! (Documentation/driver-api/early-userspace/buffer-format.rst).
//!
//! Entries are sorted, belong to root and have time 0, so the same entries give the same bytes on any machine. Device
//! nodes need no privileges, because the archive is generated and not copied from files.

use std::collections::BTreeMap;

/// The entry at a path of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A file, executable or not.
    File {
        /// Its content.
        content: Vec<u8>,
        /// Whether it is executable.
        executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: String,
    },
    /// A character device.
    CharacterDevice {
        /// Its major number.
        major: u32,
        /// Its minor number.
        minor: u32,
    },
}

/// An archive. Paths are relative to the root and have no leading slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    entries: BTreeMap<String, Entry>,
}

impl Archive {
    /// Puts `entry` at `path` and creates the directories above it. An entry of the same path is replaced.
    pub fn put(&mut self, path: &str, entry: Entry) {
        let path = path.trim_matches('/');
        for (at, _) in path.match_indices('/') {
            self.entries.entry(path[..at].to_owned()).or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Adds a file that is not executable.
    pub fn put_file(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.put(path, Entry::File { content: content.into(), executable: false });
    }

    /// Adds an executable file.
    pub fn put_program(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.put(path, Entry::File { content: content.into(), executable: true });
    }

    /// Whether there is an entry at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_matches('/'))
    }

    /// The paths, in the archive's order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The archive's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // In sorted order a directory precedes its files, as the kernel requires.
        for (number, (path, entry)) in self.entries.iter().enumerate() {
            put_entry(&mut bytes, number as u32 + 1, path, entry);
        }
        put_header(&mut bytes, &Header { links: 1, ..Header::default() }, "TRAILER!!!");
        pad(&mut bytes, 512);
        bytes
    }
}

#[derive(Default)]
struct Header {
    inode: u32,
    mode: u32,
    links: u32,
    size: u32,
    major: u32,
    minor: u32,
}

fn put_entry(bytes: &mut Vec<u8>, inode: u32, path: &str, entry: &Entry) {
    let header = Header { inode, links: 1, ..Header::default() };
    let (header, content): (Header, &[u8]) = match entry {
        Entry::Directory => (Header { mode: 0o040_755, links: 2, ..header }, &[]),
        Entry::File { content, executable } => {
            let mode = if *executable { 0o100_755 } else { 0o100_644 };
            (Header { mode, ..header }, content)
        }
        Entry::Link { target } => (Header { mode: 0o120_777, ..header }, target.as_bytes()),
        Entry::CharacterDevice { major, minor } => {
            (Header { mode: 0o020_600, major: *major, minor: *minor, ..header }, &[])
        }
    };
    let size = u32::try_from(content.len()).expect("a guest's files are shorter than 4 GiB");
    put_header(bytes, &Header { size, ..header }, path);
    bytes.extend_from_slice(content);
    pad(bytes, 4);
}

fn put_header(bytes: &mut Vec<u8>, header: &Header, name: &str) {
    let name_size = name.len() as u32 + 1;
    let fields = [
        header.inode,
        header.mode,
        0, // uid
        0, // gid
        header.links,
        0, // mtime
        header.size,
        0, // major number of the file's device
        0, // minor number of the file's device
        header.major,
        header.minor,
        name_size,
        0, // checksum, unused in this variant
    ];
    bytes.extend_from_slice(b"070701");
    for field in fields {
        bytes.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    bytes.extend_from_slice(name.as_bytes());
    bytes.push(0);
    pad(bytes, 4);
}

fn pad(bytes: &mut Vec<u8>, to: usize) {
    bytes.resize(bytes.len().next_multiple_of(to), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Archive {
        let mut archive = Archive::default();
        archive.put_program("/init", b"#!".to_vec());
        archive.put("dev/console", Entry::CharacterDevice { major: 5, minor: 1 });
        archive.put("bin/sh", Entry::Link { target: "busybox".into() });
        archive.put("proc", Entry::Directory);
        archive
    }

    #[test]
    fn directories_precede_their_files() {
        assert_eq!(
            small().paths().collect::<Vec<_>>(),
            ["bin", "bin/sh", "dev", "dev/console", "init", "proc"]
        );
    }

    #[test]
    fn every_header_begins_at_a_multiple_of_four() {
        let bytes = small().to_bytes();
        assert_eq!(bytes.len() % 512, 0);
        let headers: Vec<usize> =
            (0..bytes.len() - 6).filter(|at| &bytes[*at..*at + 6] == b"070701").collect();
        assert_eq!(headers.len(), 7);
        assert!(headers.iter().all(|at| at % 4 == 0), "{headers:?}");
    }

    /// cpio(1), if it is installed, reads the archive.
    #[test]
    fn cpio_lists_the_archive() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let mut cpio = Command::new("cpio");
        cpio.args(["-itv", "--quiet", "--numeric-uid-gid"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = cpio.spawn() else {
            eprintln!("skipped: cpio is not installed");
            return;
        };
        child.stdin.take().unwrap().write_all(&small().to_bytes()).unwrap();
        let listed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        insta::assert_snapshot!(listed);
    }
}
