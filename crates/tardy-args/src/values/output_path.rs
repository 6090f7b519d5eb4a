//! The path of a file that tardy writes.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};

/// Accepts any path except one that begins with `-`, which later commands would take for an option.
pub fn output_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        true => {
            Err("the name of a file to write must not begin with '-'; write ./- and the rest of the name")
        }
        false => Ok(path),
    })
}
