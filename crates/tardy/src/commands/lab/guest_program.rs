//! Finds the program of the guest: `tardy-guest` or a static tardy, for the guest's processor.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_lab::arch::Arch;
use tardy_lab::guest::libraries::is_static_program;

/// The program for a guest with the processor `arch`: as given, next to this program, or this program itself.
pub(super) fn find(given: Option<&Path>, arch: Arch) -> Result<Vec<u8>> {
    if let Some(given) = given {
        let content = fs::read(given).with_context(|| given.display().to_string())?;
        if !is_static_program(&content, arch) {
            bail!(
                "{} cannot run in a guest; expected a statically linked program for {}, such as one that `make guests` builds in \
                 dist/",
                given.display(),
                arch.name()
            );
        }
        return Ok(content);
    }
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let candidates = places(&own, arch);
    for place in &candidates {
        if let Ok(content) = fs::read(place)
            && is_static_program(&content, arch)
        {
            return Ok(content);
        }
    }
    let tried: Vec<String> = candidates.iter().map(|place| place.display().to_string()).collect();
    bail!(
        "no program for a guest with an {} processor; build it with `make guests`, or name one with --guest-tardy; tried {}",
        arch.name(),
        tried.join(", ")
    )
}

/// Paths to try, in order of preference.
fn places(own: &Path, arch: Arch) -> Vec<PathBuf> {
    let directory = own.parent().unwrap_or(Path::new("."));
    let mut places = vec![
        directory.join(format!("tardy-guest-{}", arch.name())),
        // Built by `make dist`.
        directory.join(format!("tardy-{}", arch.name())),
        directory.join("../lib/tardy").join(format!("tardy-guest-{}", arch.name())),
    ];
    if Arch::of_this_program() == Some(arch) {
        places.push(own.to_owned());
    }
    places
}
