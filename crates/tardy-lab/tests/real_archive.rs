//! Tests with Debian's archive and this machine's apt. Skipped with a reason if there is no apt, no keyring or no
//! network. Downloads only the lists and one small package.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{KernelSpec, Request, config, find, listing, modules_of};
use tardy_lab::packages::apt::{Mirrors, Programs};
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_lab::packages::{PackageError, PackageStore};

/// The state of the host's apt: when its directories were written, and its foreign architectures.
fn host_state() -> (Vec<Option<SystemTime>>, Vec<u8>) {
    let written = ["/etc/apt", "/etc/apt/sources.list.d", "/var/lib/apt/lists"]
        .map(|path| Path::new(path).metadata().and_then(|metadata| metadata.modified()).ok());
    let architectures = Command::new("dpkg").arg("--print-foreign-architectures").output();
    (written.into(), architectures.map(|output| output.stdout).unwrap_or_default())
}

#[test]
fn fetching_a_foreign_package_does_not_change_the_host() {
    let directory = tempfile::tempdir().unwrap();
    let store = PackageStore {
        cache: CacheDirectory::at(directory.path()),
        programs: Programs::default(),
        mirrors: Mirrors::of_environment().unwrap(),
    };
    let before = host_state();
    let foreign = if Arch::of_this_program() == Some(Arch::Aarch64) { Arch::X86_64 } else { Arch::Aarch64 };
    let mut notices = Vec::new();
    let fetched = store.fetch_package(foreign, "libnuma1", None, &mut |line| notices.push(line.to_owned()));
    let library = match fetched {
        Ok(library) => library,
        Err(
            error @ (PackageError::Unreachable { .. }
            | PackageError::MissingProgram { .. }
            | PackageError::MissingKeyring(_)),
        ) => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let libraries = library.root.join("usr/lib").join(match foreign {
        Arch::X86_64 => "x86_64-linux-gnu",
        Arch::Aarch64 => "aarch64-linux-gnu",
    });
    assert!(libraries.join("libnuma.so.1").exists(), "{notices:?}");
    let listing = listing::list(&store, &[foreign], false, &mut |line| panic!("{line}")).unwrap();
    let specs: Vec<&str> = listing.offered.iter().map(|offer| offer.spec.as_str()).collect();
    assert!(specs.contains(&"debian:6.12") && specs.contains(&"debian:6.12-rt"), "{specs:?}");
    assert_eq!(host_state(), before);
}

#[test]
fn modules_of_cached_kernels_resolve() {
    let mut tried = 0;
    for arch in Arch::ALL {
        for spec in ["debian:6.1", "debian:6.1-rt", "debian:6.12", "debian:6.12-rt"] {
            let store = PackageStore::of_this_user().unwrap();
            let spec = KernelSpec::parse(spec).unwrap();
            let tardy_lab::kernel::spec::Source::Debian(wanted) = &spec.source else { unreachable!() };
            if tardy_lab::kernel::cache::best(&store.cache, arch, wanted).is_none() {
                continue;
            }
            tried += 1;
            let request = Request { arch, refresh: false, keep: &[] };
            let kernel = find(&spec, request, &mut |line| panic!("{line}")).unwrap();
            // Small modules: a debug build takes seconds to unpack nf_tables and its dependencies.
            let names = ["veth", "sch-taprio", "stp", "libcrc32c"].map(ModuleRequest::parse);
            let found: Vec<String> =
                modules_of(&store, &kernel, [&names, &[]], &mut |line| eprintln!("{line}"))
                    .unwrap()
                    .into_iter()
                    .map(|module| module.name)
                    .collect();
            let place = |name: &str| found.iter().position(|found| found == name);
            assert!(place("llc").is_some() && place("llc") < place("stp"), "{found:?}");
            assert!(
                place("crc32c_generic").is_some() && place("crc32c_generic") < place("libcrc32c"),
                "{found:?}"
            );
            assert!(place("veth").is_some() && place("sch_taprio").is_some(), "{found:?}");
            let options = config::of(&kernel).unwrap().unwrap();
            assert_eq!(options.0.get("PREEMPT_RT").map(String::as_str), wanted.rt.then_some("y"));
        }
    }
    if tried == 0 {
        eprintln!("skipped: no Debian kernel is cached on this machine");
    }
}
