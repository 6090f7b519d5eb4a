//! Which build an executable of tardy is: version, commit and target.
//!
//! tardy is several executables that are installed together. One that starts another passes its own build in [`VARIABLE`], and the other
//! refuses to work for a different one: a file format or an option may have changed between them. Their programs use
//! [`identity!`](crate::identity), and their build scripts `name_the_build.rs`, beside this crate's `Cargo.toml`.

use std::env;
use std::ffi::OsString;

/// The variable of the environment in which one executable passes its build to another.
pub const VARIABLE: &str = "TARDY_BUILD";

/// The build of the executable that this is used in: the version, the commit if that is known, `modified` if the tree had changes, and
/// the target, as in `0.1.0 (e7189ff00000, modified, x86_64-unknown-linux-gnu)`. Its build script calls `name_the_build`.
#[macro_export]
macro_rules! identity {
    () => {{
        const COMMIT: &str = env!("TARDY_COMMIT");
        if COMMIT.is_empty() {
            concat!(env!("CARGO_PKG_VERSION"), " (", env!("TARDY_TARGET"), ")")
        } else {
            concat!(env!("CARGO_PKG_VERSION"), " (", env!("TARDY_COMMIT"), ", ", env!("TARDY_TARGET"), ")")
        }
    }};
}

/// Compares this executable's build with that of the one that started it, if one did.
///
/// # Errors
/// If they differ: both builds, and what to do.
pub fn check_caller(name: &str, own: &str) -> Result<(), String> {
    compare(name, own, env::var_os(VARIABLE))
}

fn compare(name: &str, own: &str, caller: Option<OsString>) -> Result<(), String> {
    match caller {
        Some(caller) if caller != own => Err(format!(
            "{name} is build {own}, and the tardy that started it is build {}: install both from one package, or build both again",
            caller.to_string_lossy()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_executable_works_for_its_own_build_and_for_a_user() {
        assert_eq!(compare("tardy-picture", "0.1.0 (a)", None), Ok(()));
        assert_eq!(compare("tardy-picture", "0.1.0 (a)", Some("0.1.0 (a)".into())), Ok(()));
        let refusal = compare("tardy-picture", "0.1.0 (a)", Some("0.1.0 (b)".into())).unwrap_err();
        assert!(refusal.contains("build 0.1.0 (a)") && refusal.contains("build 0.1.0 (b)"), "{refusal}");
    }
}
