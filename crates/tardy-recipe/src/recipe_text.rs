//! The texts of recipes: built in, or in a file.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tardy_sys::files;
use thiserror::Error;

use crate::built_in::BUILT_IN;

/// Largest recipe file that is read, in bytes.
const SIZE_MAX: u64 = 1 << 20;

/// The text of a recipe.
#[derive(Clone, Debug)]
pub struct RecipeText {
    /// The recipe's name.
    name: String,
    /// Its name in errors.
    place: String,
    text: Cow<'static, str>,
}

/// Why a recipe cannot be used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the fields are what the message names")]
pub enum RecipeError {
    /// No built-in recipe has this name.
    #[error(
        "no recipe '{name}'; expected one of {known}, or the path of a recipe file such as ./{name}.toml"
    )]
    Unknown { name: String, known: String },
    /// The file cannot be read.
    #[error("{path}: cannot read: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// The file is too large for a recipe.
    #[error("{path}: {size} bytes are too many for a recipe")]
    TooLarge { path: PathBuf, size: u64 },
    /// The text is not a recipe.
    #[error("{place}: not a recipe: {source}\ndocs/recipes.md lists every key")]
    Toml { place: String, source: Box<toml::de::Error> },
    /// The recipe has two conditions for its end.
    #[error("{place}: run.duration and run.loops are both set; remove one of them")]
    TwoEnds { place: String },
    /// The recipe does not describe itself.
    #[error("{place}: lacks a description; add about = \"one sentence\"")]
    NoAbout { place: String },
}

/// Whether `name` is the path of a recipe file, and not the name of a built-in recipe.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

impl RecipeText {
    /// Finds a recipe by its name or its path. A name with a slash or with the ending .toml is a path.
    ///
    /// # Errors
    /// If there is no such recipe, or the file cannot be read.
    pub fn find(name: &str) -> Result<Self, RecipeError> {
        if is_path(name) {
            return Self::read(Path::new(name));
        }
        let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
            let known = BUILT_IN.map(|(name, _)| name).join(", ");
            return Err(RecipeError::Unknown { name: name.to_owned(), known });
        };
        Ok(Self::new(name, &format!("recipe {name}"), *text))
    }

    /// All built-in recipes, in the order of the documentation.
    pub fn built_in() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().map(|(name, text)| Self::new(name, name, *text))
    }

    /// Reads a recipe file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, RecipeError> {
        let fail = |source| RecipeError::Io { path: path.to_owned(), source };
        let file = files::open_to_read(path).map_err(fail)?;
        let mut text = Vec::new();
        let read = file.take(SIZE_MAX + 1).read_to_end(&mut text).map_err(fail)? as u64;
        if read > SIZE_MAX {
            let size = path.metadata().map_or(read, |metadata| metadata.len().max(read));
            return Err(RecipeError::TooLarge { path: path.to_owned(), size });
        }
        let not_text = |_| fail(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"));
        let text = String::from_utf8(text).map_err(not_text)?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self::new(&name, &path.display().to_string(), text))
    }

    pub(crate) fn new(name: &str, place: &str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { name: name.to_owned(), place: place.to_owned(), text: text.into() }
    }

    /// The recipe's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name in errors.
    pub(crate) fn place(&self) -> String {
        self.place.clone()
    }

    /// The text's tables as `T`.
    ///
    /// # Errors
    /// If the text does not have that form. The error names the line and the key.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RecipeError> {
        toml::from_str(&self.text)
            .map_err(|source| RecipeError::Toml { place: self.place.clone(), source: Box::new(source) })
    }
}
