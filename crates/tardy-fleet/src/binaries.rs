//! Which program is copied to a host.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::answer::shown;
use crate::failure::Failure;
use crate::hosts::Host;

/// What `make dist` calls a processor, for the names that uname(1) reports.
const PROCESSORS: [(&str, &str); 9] = [
    ("x86_64", "x86_64"),
    ("amd64", "x86_64"),
    ("aarch64", "aarch64"),
    ("arm64", "aarch64"),
    ("armv8l", "armv7"),
    ("armv7l", "armv7"),
    ("armv6l", "armv5te"),
    ("armv5tel", "armv5te"),
    ("armv5tejl", "armv5te"),
];

/// A program for a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binary {
    /// Its file.
    pub path: PathBuf,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
    /// Its size, in bytes.
    pub size: u64,
}

/// The programs of this machine.
#[derive(Debug)]
pub struct Binaries {
    directories: Vec<PathBuf>,
    /// tardy itself: it may run on hosts of the same processor.
    own: PathBuf,
    known: Mutex<BTreeMap<PathBuf, Binary>>,
}

impl Binaries {
    /// Programs in `directories`, of which the first that has one counts, and `own`, the tardy that runs.
    pub fn new(directories: Vec<PathBuf>, own: PathBuf) -> Self {
        Self { directories, own, known: Mutex::default() }
    }

    /// The program for `host`, of which `uname -m` reports `machine`.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn choose(&self, host: &Host, machine: &str) -> Result<Binary, Failure> {
        if let Some(binary) = &host.binary {
            return self.described(binary);
        }
        let processor =
            processor_of(machine).ok_or_else(|| Failure::UnknownMachine { machine: shown(machine) })?;
        let name = format!("tardy-{processor}");
        let mut paths = self.directories.iter().map(|directory| directory.join(&name));
        if let Some(path) = paths.find(|path| path.is_file()) {
            return self.described(&path);
        }
        if processor_of(std::env::consts::ARCH) == Some(processor) {
            return self.described(&self.own);
        }
        let looked: Vec<String> = self.directories.iter().map(|one| one.display().to_string()).collect();
        Err(Failure::NoBinary { name, looked: looked.join(", ") })
    }

    /// The size and digest of a file, which is read once for all hosts.
    fn described(&self, path: &Path) -> Result<Binary, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binary) = known.get(path) {
            return Ok(binary.clone());
        }
        let read = |error: io::Error| Failure::Local(format!("{}: {error}", path.display()));
        let (sha256, size) = digest(path).map_err(read)?;
        let binary = Binary { path: path.to_owned(), sha256, size };
        known.insert(path.to_owned(), binary.clone());
        Ok(binary)
    }
}

fn processor_of(machine: &str) -> Option<&'static str> {
    let named = |(name, processor): &(&str, &'static str)| (*name == machine).then_some(*processor);
    PROCESSORS.iter().find_map(named)
}

/// SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in hexadecimal, and the size in bytes.
fn digest(path: &Path) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let (mut hash, mut size) = (Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                hash.update(&buffer[..read]);
                size += read as u64;
            }
        }
    }
    Ok((hexadecimal(&hash.finalize()), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(binary: Option<&Path>) -> Host {
        let mut host = crate::hosts::parse("[[host]]\nname = \"a\"\n", Path::new("/")).unwrap().remove(0);
        host.binary = binary.map(Path::to_owned);
        host
    }

    #[test]
    fn the_processor_decides_and_the_own_program_is_the_last_choice() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = second.path().join("own");
        std::fs::write(&own, "abc").unwrap();
        std::fs::write(second.path().join("tardy-armv7"), "v7").unwrap();
        let directories = vec![first.path().to_owned(), second.path().to_owned()];
        let binaries = Binaries::new(directories, own.clone());
        let chosen = |machine: &str| binaries.choose(&host(None), machine);
        assert_eq!(chosen("armv7l").unwrap().path, second.path().join("tardy-armv7"));
        std::fs::write(first.path().join("tardy-armv7"), "first").unwrap();
        assert_eq!(chosen("armv8l").unwrap().path, first.path().join("tardy-armv7"));
        let mine = chosen(std::env::consts::ARCH).unwrap();
        assert_eq!((&mine.path, mine.size), (&own, 3));
        assert_eq!(mine.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(binaries.choose(&host(Some(&own)), "vax").unwrap().path, own);
        assert!(chosen("\x1bvax").unwrap_err().to_string().contains("'\u{fffd}vax'"));
        let missing = chosen("armv6l").unwrap_err().to_string();
        assert!(missing.contains("tardy-armv5te") && missing.contains("make dist"), "{missing}");
    }
}
