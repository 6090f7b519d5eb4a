//! Tokens: who may push, read, set states, or administer. The file has their hashes alone.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tardy_archive::{ArchiveError, RECORDS, records_directory, sha256};
use tardy_sys::files;

/// The file, in the directory [`RECORDS`] of an archive.
const FILE: &str = "tokens.json";
/// Only the owner reads it.
const MODE: u32 = 0o600;
/// What tokens begin with, so that programs that search for secrets find them.
const PREFIX: &str = "tardy_";
/// Random bytes of a token: no one guesses 256 bits, so a plain hash of them needs no salt and no delay.
const RANDOM_BYTES: usize = 32;

/// What a token permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Push runs.
    Push,
    /// Read pages, runs and metrics.
    Read,
    /// Set the states of alerts.
    Triage,
    /// Delete runs, and everything else.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Push, Self::Read, Self::Triage, Self::Admin];

    /// Its name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("'{text}' is not a scope; choose from {}", names()))
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name, as in the audit log.
    pub name: String,
    /// What it permits.
    pub scopes: BTreeSet<Scope>,
    /// When it was made, in RFC 3339, UTC.
    pub made_at: String,
    /// SHA-256 of its secret.
    sha256: String,
}

impl Token {
    /// Whether it permits what needs this scope.
    pub fn permits(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }
}

/// Why tokens cannot be used.
#[derive(Debug)]
pub enum TokenError {
    /// The file system failed, or does not permit it.
    Io(PathBuf, std::io::Error),
    /// The file is not one of tokens.
    Damaged(PathBuf, String),
    /// The name is taken, or is not one.
    Name(String),
}

impl std::fmt::Display for TokenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Damaged(path, reason) => write!(f, "{}: {reason}", path.display()),
            Self::Name(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for TokenError {}

/// There is no token of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownToken;

/// All tokens of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    tokens: Vec<Token>,
}

impl Tokens {
    /// The file of the tokens of the archive at `archive`.
    pub(crate) fn path(archive: &Path) -> PathBuf {
        archive.join(RECORDS).join(FILE)
    }

    /// The tokens of the archive at `archive`; none if it has no file of them.
    ///
    /// # Errors
    /// If the file cannot be read, or is not one of tokens.
    pub fn read(archive: &Path) -> Result<Self, TokenError> {
        let path = Self::path(archive);
        match std::fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|error| TokenError::Damaged(path, error.to_string()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(TokenError::Io(path, error)),
        }
    }

    /// Writes the tokens of the archive at `archive`.
    ///
    /// # Errors
    /// If the file system does not permit it.
    pub fn write(&self, archive: &Path) -> Result<(), TokenError> {
        let path = Self::path(archive);
        let text = serde_json::to_string_pretty(self).expect("names and digests can be written") + "\n";
        if let Err(error) = records_directory(archive) {
            return Err(match error {
                ArchiveError::Io { path, source } => TokenError::Io(path, source),
                other => TokenError::Io(path, std::io::Error::other(other)),
            });
        }
        files::replace_own(&path, MODE, text.as_bytes()).map_err(|error| TokenError::Io(path, error))
    }

    /// All tokens.
    pub fn all(&self) -> &[Token] {
        &self.tokens
    }

    /// Makes a token, and returns its secret, which is stored nowhere.
    ///
    /// # Errors
    /// If the name is taken, empty, or has unusual characters, or there is no randomness.
    pub fn make(&mut self, name: &str, scopes: BTreeSet<Scope>, now: String) -> Result<String, TokenError> {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_usual) {
            return Err(TokenError::Name(format!(
                "'{name}' is not a name for a token; use up to 64 letters, digits and - _ . @"
            )));
        }
        if self.tokens.iter().any(|token| token.name == name) {
            return Err(TokenError::Name(format!(
                "there is a token '{name}'; revoke it first, or choose another name"
            )));
        }
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random)
            .map_err(|error| TokenError::Name(format!("the kernel gives no random numbers: {error}")))?;
        let secret = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random));
        let sha256 = sha256(secret.as_bytes());
        self.tokens.push(Token { name: name.to_owned(), scopes, made_at: now, sha256 });
        Ok(secret)
    }

    /// Removes a token.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn revoke(&mut self, name: &str) -> Result<(), UnknownToken> {
        let before = self.tokens.len();
        self.tokens.retain(|token| token.name != name);
        if self.tokens.len() == before { Err(UnknownToken) } else { Ok(()) }
    }

    /// The token with this secret. Hashes are compared, so the time that it takes says nothing about the secret.
    pub fn find(&self, secret: &str) -> Option<&Token> {
        let sha256 = sha256(secret.as_bytes());
        self.tokens.iter().find(|token| token.sha256 == sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_secret_which_is_not_stored() {
        let directory = tempfile::tempdir().unwrap();
        let mut tokens = Tokens::default();
        let secret = tokens.make("rack3", BTreeSet::from([Scope::Push]), "now".to_owned()).unwrap();
        tokens.write(directory.path()).unwrap();
        let text = std::fs::read_to_string(Tokens::path(directory.path())).unwrap();
        assert!(!text.contains(&secret) && !text.contains(&secret[PREFIX.len()..]));
        let read = Tokens::read(directory.path()).unwrap();
        let token = read.find(&secret).unwrap();
        assert!(token.permits(Scope::Push) && !token.permits(Scope::Read));
        assert!(read.find("tardy_x").is_none() && read.find("").is_none());
    }

    #[test]
    fn names_are_unique_and_plain() {
        let mut tokens = Tokens::default();
        let mut make = |name: &str| tokens.make(name, BTreeSet::from([Scope::Admin]), String::new());
        make("anna").unwrap();
        for wrong in ["anna", "", "a b", "../x", "a\nb"] {
            assert!(make(wrong).is_err(), "{wrong}");
        }
        assert_eq!(tokens.revoke("bert"), Err(UnknownToken));
        tokens.revoke("anna").unwrap();
        assert!(tokens.all().is_empty());
    }
}
