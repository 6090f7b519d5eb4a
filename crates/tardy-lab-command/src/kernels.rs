//! `tardy lab kernels`: cached kernels, and kernels that the distribution offers.

use anyhow::Result;
use tardy_lab::arch::Arch;
use tardy_lab::kernel::listing::{self, Listing, OfferState};
use tardy_lab::kernel::{self, KernelSelection, built, pruning};
use tardy_lab::machine::Machine;
use tardy_lab::packages::PackageStore;
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_lab::packages::cache_size::CacheSize;
use tardy_present::table::Table;

use crate::assemble::{kept_modules, print_notices};
use tardy_args::LabKernelsArgs;
use tardy_command::{Exit, output};

/// Lists kernels, or reduces the cache.
pub(crate) fn run(arguments: &LabKernelsArgs) -> Result<Exit> {
    let store = PackageStore::of_this_user()?;
    if arguments.prune {
        return prune(&store.cache, arguments.json);
    }
    if !arguments.kernels.is_empty() {
        return list_named(&store, arguments);
    }
    let listing = listing::list(&store, &Arch::ALL, arguments.refresh, &mut print_notices())?;
    if arguments.json {
        output::print_json(&listing)?;
    } else {
        output::print(&text(&listing, output::width()))?;
    }
    // The offer could not be read; the reason has been reported.
    Ok(if listing.asked.is_empty() { Exit::CouldNot } else { Exit::Done })
}

/// Prints each kernel that is named, by a name that `--kernel` takes.
fn list_named(store: &PackageStore, arguments: &LabKernelsArgs) -> Result<Exit> {
    let selections: Vec<KernelSelection> =
        arguments.kernels.iter().map(|kernel| kernel.selection().clone()).collect();
    let arch = Machine::default().arch();
    let specs = kernel::expand(store, &selections, arch, arguments.refresh, &mut print_notices())?;
    let names: Vec<String> = specs.iter().map(ToString::to_string).collect();
    if arguments.json {
        output::print_json(&names)?;
    } else {
        output::print(&(names.join("\n") + "\n"))?;
    }
    Ok(Exit::Done)
}

fn prune(cache: &CacheDirectory, json: bool) -> Result<Exit> {
    let before = CacheSize::of(cache).total();
    let keep = kept_modules([]);
    for arch in Arch::ALL {
        for kernel in pruning::prune(cache, arch, &keep, &mut print_notices())? {
            output::report(&format!("{} {} is smaller", kernel.package, kernel.version));
        }
        pruning::remove_headers(cache, arch, &mut print_notices())?;
    }
    built::remove_all(cache, &mut print_notices())?;
    let size = CacheSize::of(cache);
    if json {
        output::print_json(&size)?;
    } else {
        let freed = megabytes(before.saturating_sub(size.total()));
        output::print(&format!("{}, {freed} less than before\n", size_line(cache, &size)))?;
    }
    Ok(Exit::Done)
}

fn text(listing: &Listing, width: usize) -> String {
    let mut lines = vec!["On this machine:".to_owned()];
    let mut cached = Table::of_words(&["--kernel", "processor", "version", "uname -r", "size"]);
    for kernel in &listing.cached {
        cached.push(vec![
            kernel.short_spec.clone().unwrap_or_else(|| kernel.spec.clone()),
            kernel.arch.name().to_owned(),
            kernel.version.clone(),
            kernel.release.clone(),
            megabytes(kernel.bytes),
        ]);
    }
    if listing.cached.is_empty() {
        lines.push("none yet; `tardy lab run` downloads what it needs".to_owned());
    } else {
        lines.extend(cached.lines(width));
    }
    if !listing.built.is_empty() {
        lines.extend([String::new(), "Built here:".to_owned()]);
        let mut built = Table::of_words(&["--kernel", "processor", "source", "options set", "size"]);
        for kernel in &listing.built {
            let commit = kernel.manifest.commit.iter().map(|commit| format!(" at {commit:.12}"));
            built.push(vec![
                kernel.spec.clone(),
                kernel.manifest.arch.name().to_owned(),
                kernel.manifest.source.clone() + &commit.collect::<String>(),
                kernel.manifest.set.join(" "),
                megabytes(kernel.bytes),
            ]);
        }
        lines.extend(built.lines(width));
    }
    if let Ok(cache) = CacheDirectory::of_this_user() {
        lines.extend([String::new(), size_line(&cache, &listing.size)]);
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

fn size_line(cache: &CacheDirectory, size: &CacheSize) -> String {
    let parts: Vec<String> =
        size.parts.iter().map(|(name, bytes)| format!("{name} {}", megabytes(*bytes))).collect();
    format!("The cache {} takes {}: {}", cache.path().display(), megabytes(size.total()), parts.join(", "))
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
