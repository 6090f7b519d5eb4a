//! `tardy lab kernels`: cached kernels, and kernels that the distribution offers.

use anyhow::Result;
use tardy_lab::arch::Arch;
use tardy_lab::kernel::listing::{self, Listing, OfferState};
use tardy_lab::packages::PackageStore;
use tardy_present::table::Table;

use super::assemble::print_notices;
use crate::args::LabKernelsArgs;
use crate::commands::output;
use crate::exit::Exit;

/// Lists kernels.
pub(super) fn run(arguments: &LabKernelsArgs) -> Result<Exit> {
    let store = PackageStore::of_this_user()?;
    let listing = listing::list(&store, &Arch::ALL, arguments.refresh, &mut print_notices())?;
    if arguments.json {
        output::print_json(&listing)?;
    } else {
        output::print(&text(&listing, output::width()))?;
    }
    // The offer could not be read; the reason has been reported.
    Ok(if listing.asked.is_empty() { Exit::CouldNot } else { Exit::Done })
}

fn text(listing: &Listing, width: usize) -> String {
    let mut lines = vec!["On this machine:".to_owned()];
    let mut cached = Table::of_words(&["--kernel", "processor", "version", "uname -r"]);
    for kernel in &listing.cached {
        cached.push(vec![
            kernel.short_spec.clone().unwrap_or_else(|| kernel.spec.clone()),
            kernel.arch.name().to_owned(),
            kernel.version.clone(),
            kernel.release.clone(),
        ]);
    }
    if listing.cached.is_empty() {
        lines.push("none yet; `tardy lab run` downloads what it needs".to_owned());
    } else {
        lines.extend(cached.lines(width));
    }
    lines.extend([String::new(), "Offered by Debian, the newest of each series:".to_owned()]);
    let mut offered = Table::of_words(&["--kernel", "processor", "version", "suite", ""]);
    for kernel in &listing.offered {
        let state = match &kernel.state {
            OfferState::Cached => "cached".to_owned(),
            OfferState::Instead(version) => format!("cached: {version}; --refresh downloads this one"),
            OfferState::NotCached => "downloaded on demand".to_owned(),
        };
        offered.push(vec![
            kernel.spec.clone(),
            kernel.arch.name().to_owned(),
            kernel.version.clone(),
            kernel.suite.clone(),
            state,
        ]);
    }
    lines.extend(offered.lines(width));
    lines.join("\n") + "\n"
}
