//! Finds the program of the guest: `tardy-guest` or a static tardy, for the guest's processor.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_lab::arch::Arch;
use tardy_lab::guest::libraries::is_static_program;

use tardy_command::executables;

use crate::beside;

/// A program that a guest can run.
pub(crate) struct GuestProgram {
    /// Where it was found.
    pub(crate) path: PathBuf,
    /// Its bytes.
    pub(crate) content: Vec<u8>,
}

/// The program for a guest with the processor `arch`: as given, next to tardy, in the package's directory, or tardy
/// itself.
pub(crate) fn find(given: Option<&Path>, arch: Arch) -> Result<GuestProgram> {
    if let Some(given) = given {
        let content = fs::read(given).with_context(|| given.display().to_string())?;
        if !is_static_program(&content, arch) {
            bail!(
                "{} cannot run in a guest; expected a statically linked program for {}, such as one that `make guests` \
                 builds",
                given.display(),
                arch.name()
            );
        }
        return Ok(GuestProgram { path: given.to_owned(), content });
    }
    let tardy = executables::caller()?;
    let candidates = places(&tardy, arch);
    for place in &candidates {
        if let Ok(content) = fs::read(place)
            && is_static_program(&content, arch)
        {
            return Ok(GuestProgram { path: place.clone(), content });
        }
    }
    let tried: Vec<String> = candidates.iter().map(|place| place.display().to_string()).collect();
    bail!(
        "no program for a guest with an {} processor; install tardy's package for amd64 or arm64, build one with `make guests`, or \
         name one with --guest-tardy; tried {}",
        arch.name(),
        tried.join(", ")
    )
}

/// Paths to try, in order of preference.
fn places(tardy: &Path, arch: Arch) -> Vec<PathBuf> {
    let mut places = beside::places(tardy, &format!("tardy-guest-{}", arch.name()));
    // In dist/.
    places.insert(1, tardy.with_file_name(format!("tardy-{}", arch.name())));
    if Arch::of_this_program() == Some(arch) {
        places.push(tardy.to_owned());
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_has_the_program_in_the_lib_of_its_prefix() {
        for (tardy, expected) in [
            ("/usr/bin/tardy", "/usr/lib/tardy/tardy-guest-aarch64"),
            ("/usr/local/bin/tardy", "/usr/local/lib/tardy/tardy-guest-aarch64"),
        ] {
            assert!(places(Path::new(tardy), Arch::Aarch64).contains(&PathBuf::from(expected)), "{tardy}");
        }
    }
}
