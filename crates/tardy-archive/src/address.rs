//! The address of a run in an archive: the SHA-256 of its run file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The file by which an archive in a directory is recognised.
pub const MARKER: &str = "tardy-archive.json";
/// The end of the name of a stored run file.
pub(crate) const SUFFIX: &str = ".run.json.gz";
/// The directory of the stored run files in an archive.
pub(crate) const RUNS: &str = "runs";
/// Digits of a SHA-256 in hexadecimal.
const DIGITS: usize = 64;
/// Digits that name the directory of a stored run file: 256 directories.
const DIRECTORY_DIGITS: usize = 2;

/// SHA-256 of the bytes of a run file, before compression, in hexadecimal. `zcat FILE | sha256sum` prints it too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Address(String);

impl Address {
    /// The address of a run file with this content.
    pub fn of(content: &[u8]) -> Self {
        Self(sha256(content))
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The directory of the file below `runs`, as in `ab`.
    pub(crate) fn directory(&self) -> &str {
        &self.0[..DIRECTORY_DIGITS]
    }

    /// The name of the file in that directory.
    pub(crate) fn file_name(&self) -> String {
        format!("{}{SUFFIX}", &self.0[DIRECTORY_DIGITS..])
    }

    /// The path of the file, relative to the archive.
    pub fn path(&self) -> PathBuf {
        [RUNS, self.directory(), &self.file_name()].iter().collect()
    }

    /// The archive and the address that the path of a stored run has, as in `archive/runs/ab/cdef….run.json.gz`. `None` if it is another
    /// path.
    pub fn of_path(path: &Path) -> Option<(&Path, Self)> {
        let archive = path.ancestors().nth(3)?;
        let [name, directory] = [path, path.parent()?].map(|part| part.file_name()?.to_str());
        let address = Self::of_names(directory?, name?)?;
        (archive.join(address.path()) == path).then_some((archive, address))
    }

    /// The address of the file `name` in `directory`. `None` if it is not the name of a stored run.
    pub fn of_names(directory: &str, name: &str) -> Option<Self> {
        format!("{directory}{}", name.strip_suffix(SUFFIX)?)
            .parse()
            .ok()
            .filter(|address: &Self| address.directory() == directory)
    }
}

/// SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == DIGITS && text.bytes().all(is_digit) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!("expected {DIGITS} hexadecimal digits in lower case")),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_usual_sum_of_the_content_and_names_its_file() {
        let address = Address::of(b"abc");
        assert!(address.as_str().starts_with("ba7816bf8f01cfea"), "FIPS 180-4, example B.1");
        let path = address.path();
        assert!(path.starts_with("runs/ba") && path.to_str().unwrap().ends_with(".run.json.gz"));
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(Address::of_names("ba", name), Some(address));
        assert_eq!(Address::of_names("bb", &name.replace(".run", "")), None);
    }

    #[test]
    fn nothing_else_is_an_address() {
        for text in ["", "ab", &"A".repeat(64), "../../../../etc/passwd", &"g".repeat(64)] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
