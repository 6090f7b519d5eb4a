//! Finding a tardy that can run in a guest: for its processor, and with no library to load.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_lab::arch::Arch;
use tardy_lab::guest::libraries::is_static_program;

/// The program for a guest with the processor `arch`: as given, beside this program, or this program itself.
pub(super) fn find(given: Option<&Path>, arch: Arch) -> Result<Vec<u8>> {
    if let Some(given) = given {
        let content = fs::read(given).with_context(|| given.display().to_string())?;
        if !is_static_program(&content, arch) {
            bail!(
                "{} cannot run in a guest: it must be a statically linked program for {}, such as one from dist/ \
                 (`make guests` builds them)",
                given.display(),
                arch.name()
            );
        }
        return Ok(content);
    }
    let own = std::env::current_exe().context("tardy does not find its own program")?;
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
        "there is no tardy for a guest with an {} processor. Build it with `make guests`, or give one with \
         --guest-tardy; looked for in {}",
        arch.name(),
        tried.join(", ")
    )
}

/// Where it may lie, the best first.
fn places(own: &Path, arch: Arch) -> Vec<PathBuf> {
    let directory = own.parent().unwrap_or(Path::new("."));
    let mut places = vec![
        directory.join(format!("tardy-guest-{}", arch.name())),
        // What `make dist` makes.
        directory.join(format!("tardy-{}", arch.name())),
        directory.join("../lib/tardy").join(format!("tardy-guest-{}", arch.name())),
    ];
    if Arch::of_this_program() == Some(arch) {
        places.push(own.to_owned());
    }
    places
}
