//! A program with its interpreter and its libraries, from the tree into which its package was unpacked.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::cpio::Entry;
use crate::arch::Arch;

/// Why a tool cannot be put into a guest.
#[derive(Debug, Error)]
pub enum ToolError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A file is not a program for a 64-bit machine.
    #[error("{0} is not a 64-bit little-endian ELF program")]
    NotAProgram(PathBuf),
    /// A library or the interpreter is missing.
    #[error("{program} needs {library}, which is not in {}", root.display())]
    Library {
        /// The program or library that needs it.
        program: String,
        /// The library.
        library: String,
        /// The tree that was searched.
        root: PathBuf,
    },
}

/// The program at `path` below `root`, its interpreter and its libraries, as archive entries with their paths.
///
/// # Errors
/// If a file is missing or is not a program.
pub fn tool(root: &Path, path: &str) -> Result<Vec<(String, Entry)>, ToolError> {
    let mut entries = Vec::new();
    let mut taken = BTreeSet::new();
    let mut wanted = vec![path.trim_start_matches('/').to_owned()];
    while let Some(path) = wanted.pop() {
        if !taken.insert(path.clone()) {
            continue;
        }
        let file = root.join(&path);
        let content = fs::read(&file).map_err(|source| ToolError::File { path: file.clone(), source })?;
        let needs = Needs::of(&content).ok_or(ToolError::NotAProgram(file))?;
        let missing = |library: &str| ToolError::Library {
            program: path.clone(),
            library: library.to_owned(),
            root: root.to_owned(),
        };
        if let Some(interpreter) = &needs.interpreter {
            let path = interpreter.trim_start_matches('/');
            if !root.join(path).is_file() {
                return Err(missing(interpreter));
            }
            wanted.push(path.to_owned());
        }
        for library in &needs.libraries {
            wanted.push(find_library(root, library).ok_or_else(|| missing(library))?);
        }
        entries.push((path, Entry::File { content, executable: true }));
    }
    Ok(entries)
}

/// Whether `file` is a program for `arch` without an interpreter, which needs no other file to start.
pub fn is_static_program(file: &[u8], arch: Arch) -> bool {
    // e_type: executable, or shared for a position-independent program.
    let program = matches!(number16(file, 16), Some(2 | 3));
    let needs = Needs::of(file);
    program
        && number16(file, 18) == Some(arch.elf_machine())
        && needs.is_some_and(|needs| needs.interpreter.is_none())
}

/// Searches the directories of Debian's dynamic linker: the multiarch ones below /lib and /usr/lib, then these two.
fn find_library(root: &Path, name: &str) -> Option<String> {
    for directory in ["lib", "usr/lib"] {
        let mut places = vec![directory.to_owned()];
        for entry in fs::read_dir(root.join(directory)).into_iter().flatten().flatten() {
            let entry = entry.file_name().to_string_lossy().into_owned();
            if entry.ends_with("-linux-gnu") {
                places.insert(0, format!("{directory}/{entry}"));
            }
        }
        let found = places.into_iter().map(|place| format!("{place}/{name}"));
        if let Some(path) = found.into_iter().find(|path| root.join(path).is_file()) {
            return Some(path);
        }
    }
    None
}

/// The interpreter and the libraries that a little-endian 64-bit ELF file names (elf(5)).
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    interpreter: Option<String>,
    libraries: Vec<String>,
}

impl Needs {
    fn of(file: &[u8]) -> Option<Self> {
        const LOAD: u32 = 1;
        const DYNAMIC: u32 = 2;
        const INTERPRETER: u32 = 3;
        const NEEDED: u64 = 1;
        const STRING_TABLE: u64 = 5;
        if file.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let headers: Vec<Header> = (0..u64::from(number16(file, 56)?))
            .map(|index| Header::read(file, number64(file, 32)?.checked_add(index * 56)?))
            .collect::<Option<_>>()?;
        let mut needs = Self::default();
        let of_kind = |kind| headers.iter().find(move |header| header.kind == kind);
        if let Some(header) = of_kind(INTERPRETER) {
            needs.interpreter = Some(text(file, header.offset)?);
        }
        let Some(dynamic) = of_kind(DYNAMIC) else { return Some(needs) };
        let mut tags = Vec::new();
        for index in 0..dynamic.size / 16 {
            let at = dynamic.offset.checked_add(index * 16)?;
            tags.push((number64(file, at)?, number64(file, at + 8)?));
        }
        let Some((_, address)) = tags.iter().find(|(tag, _)| *tag == STRING_TABLE) else {
            return Some(needs);
        };
        let table = headers.iter().filter(|header| header.kind == LOAD).find_map(|header| {
            let into = address.checked_sub(header.address)?;
            (into < header.size).then(|| header.offset.checked_add(into))?
        })?;
        for (_, name) in tags.iter().filter(|(tag, _)| *tag == NEEDED) {
            needs.libraries.push(text(file, table.checked_add(*name)?)?);
        }
        Some(needs)
    }
}

struct Header {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Header {
    fn read(file: &[u8], at: u64) -> Option<Self> {
        let kind = number64(file, at)? as u32;
        let field = |offset: u64| number64(file, at.checked_add(offset)?);
        Some(Self { kind, offset: field(8)?, address: field(16)?, size: field(32)? })
    }
}

fn number64(file: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(u64::from_le_bytes(file.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn number16(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?))
}

fn text(file: &[u8], at: u64) -> Option<String> {
    let rest = file.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_dynamic_program_needs_libc() {
        let own = fs::read("/proc/self/exe").unwrap();
        let needs = Needs::of(&own).unwrap();
        if needs.interpreter.is_none() {
            return eprintln!("skipped: this test is statically linked");
        }
        assert!(needs.libraries.iter().any(|library| library.starts_with("libc.so")), "{needs:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(rest in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Needs::of(&[b"\x7fELF\x02\x01".as_slice(), &rest].concat());
        }
    }
}
