//! Kernels and packages with substitutes for apt and dpkg: fetching, caching, and failures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::listing::{self, OfferState};
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{Kernel, KernelSelection, KernelSpec, Request, expand, find_in, modules_of};
use tardy_lab::kernel::{cache, pruning};
use tardy_lab::packages::apt::{Mirrors, Programs};
use tardy_lab::packages::cache_directory::CacheDirectory;
use tardy_lab::packages::{PackageStore, PackageVersion};

const MADISON: &str = "\
linux-image-6.1.0-56-amd64 | 6.1.192-2 | http://deb.debian.org/debian bookworm/main amd64 Packages
linux-image-6.12.1+deb12-amd64 | 6.12.1-1~deb12u1 | http://deb.debian.org/debian bookworm/main amd64 Packages
linux-image-6.12.1+deb12-rt-amd64-unsigned | 6.12.1-1~deb12u1 | http://deb.debian.org/debian bookworm/main amd64 Packages
libtool | 2:1.0 | http://deb.debian.org/debian bookworm/main amd64 Packages
libtool | 1:9.0 | http://deb.debian.org/debian bookworm/main amd64 Packages
";
const NEWER: &str = "linux-image-6.12.2+deb12-amd64 | 6.12.2-1~deb12u1 | http://deb.debian.org/debian trixie/main amd64 Packages\n";

struct Archive {
    directory: tempfile::TempDir,
    store: PackageStore,
}

impl Archive {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keyring = directory.path().join("keyring.gpg");
        fs::write(&keyring, "").unwrap();
        let store = PackageStore {
            cache: CacheDirectory::at(directory.path()),
            programs: Programs {
                directory: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_apt/bin")),
            },
            mirrors: Mirrors { keyring, ..Mirrors::default() },
        };
        let archive = Self { directory, store };
        archive.write("madison", MADISON);
        archive.write("suites", "bookworm\ntrixie\n");
        archive.kernel("linux-image-6.12.1+deb12-amd64=6.12.1-1~deb12u1", "6.12.1+deb12-amd64", "lib");
        archive.kernel("linux-image-6.12.2+deb12-amd64=6.12.2-1~deb12u1", "6.12.2+deb12-amd64", "usr/lib");
        archive
    }

    fn fake(&self, name: &str) -> PathBuf {
        self.directory.path().join("fake").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.fake("")).unwrap();
        fs::write(self.fake(name), text).unwrap();
    }

    /// Puts a package of these files into the archive.
    fn package(&self, full: &str, files: &[(String, Vec<u8>)]) {
        let directory = tempfile::tempdir().unwrap();
        for (path, bytes) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let status = Command::new("tar")
            .arg("-cf")
            .arg(self.fake(full))
            .arg("-C")
            .arg(directory.path())
            .arg(".")
            .status();
        assert!(status.unwrap().success());
    }

    fn kernel(&self, full: &str, release: &str, library: &str) {
        let files = [
            (format!("boot/vmlinuz-{release}"), bzimage(release)),
            (format!("boot/config-{release}"), b"CONFIG_VETH=m\n".to_vec()),
            (format!("{library}/modules/{release}/kernel/veth.ko"), module("")),
            (format!("{library}/modules/{release}/kernel/bridge.ko"), module("stp,llc")),
            (format!("{library}/modules/{release}/kernel/stp.ko"), module("llc")),
            (format!("{library}/modules/{release}/kernel/llc.ko"), module("")),
            (format!("boot/System.map-{release}"), b"x".to_vec()),
            ("usr/share/doc/changelog".to_owned(), b"x".to_vec()),
        ];
        self.package(full, &files);
    }

    fn find(&self, spec: &str, refresh: bool) -> Result<Kernel, String> {
        self.find_with_notices(spec, refresh, &mut Vec::new())
    }

    fn find_with_notices(
        &self,
        spec: &str,
        refresh: bool,
        notices: &mut Vec<String>,
    ) -> Result<Kernel, String> {
        let spec = KernelSpec::parse(spec).unwrap();
        let request = Request { arch: Arch::X86_64, refresh, keep: &["veth".to_owned()] };
        find_in(&self.store, &spec, request, &mut |line| notices.push(line.to_owned()))
            .map_err(|error| error.to_string())
    }

    /// The number of calls to apt's programs.
    fn calls(&self) -> usize {
        fs::read_to_string(self.fake("log")).map_or(0, |log| log.lines().count())
    }

    fn kernels(&self) -> Vec<String> {
        let kernels = cache::list(&self.store.cache, Arch::X86_64);
        kernels.into_iter().map(|kernel| kernel.manifest.release).collect()
    }
}

/// A module that needs others: an ELF file with the sections `.modinfo` and `.shstrtab`.
fn module(depends: &str) -> Vec<u8> {
    let names = b"\0.modinfo\0.shstrtab\0";
    let info = format!("license=GPL\0depends={depends}\0").into_bytes();
    let (info_at, names_at) = (64, 64 + info.len());
    let sections_at = names_at + names.len();
    let mut file = vec![0_u8; 64];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[0x10] = 1;
    file[0x12] = 62;
    file[0x28..0x30].copy_from_slice(&(sections_at as u64).to_le_bytes());
    file[0x3a..0x40].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    file.extend_from_slice(&info);
    file.extend_from_slice(names);
    for (name, at, length) in [(0_u32, 0, 0), (1, info_at, info.len()), (10, names_at, names.len())] {
        let mut section = [0_u8; 64];
        section[..4].copy_from_slice(&name.to_le_bytes());
        section[4] = 1;
        section[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
        section[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
        file.extend_from_slice(&section);
    }
    file
}

fn bzimage(release: &str) -> Vec<u8> {
    let mut image = vec![0_u8; 0x400];
    image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x206..0x208].copy_from_slice(&0x20f_u16.to_le_bytes());
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    image[0x236] = 1;
    let text = format!("{release} (who@where)\0");
    image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
    image
}

#[test]
fn a_kernel_is_fetched_once() {
    let archive = Archive::new();
    let mut notices = Vec::new();
    let kernel = archive.find_with_notices("debian:6.12,append='preempt=none'", false, &mut notices).unwrap();
    assert_eq!(kernel.release, "6.12.1+deb12-amd64");
    assert_eq!(
        kernel.package.map(|package| package.to_string()).as_deref(),
        Some("linux-image-6.12.1+deb12-amd64=6.12.1-1~deb12u1")
    );
    assert_eq!(kernel.append, "preempt=none");
    assert!(kernel.config.as_ref().unwrap().is_file());
    assert_eq!(files_below(kernel.modules.as_ref().unwrap()), ["kernel/veth.ko"]);
    assert_eq!(kernel.image.read().unwrap(), bzimage("6.12.1+deb12-amd64"));
    assert_eq!(
        notices,
        [
            "updating the lists of Debian's archive for amd64",
            "fetching linux-image-6.12.1+deb12-amd64 6.12.1-1~deb12u1 (107 MB)",
            "unpacking linux-image-6.12.1+deb12-amd64"
        ]
    );
    // The cache has only the files that the lab needs, and no archive.
    let place = kernel.image.path.ancestors().nth(2).unwrap();
    assert_eq!(
        files_below(place),
        [
            "boot/config-6.12.1+deb12-amd64",
            "boot/vmlinux-6.12.1+deb12-amd64.gz",
            "kernel.json",
            "lib/modules/6.12.1+deb12-amd64/kernel/veth.ko"
        ]
    );
    let calls = archive.calls();
    archive.find("debian:6.12", false).unwrap();
    assert_eq!(archive.calls(), calls, "a cached kernel needs no apt");
}

/// The paths of all files below a directory, sorted.
fn files_below(directory: &Path) -> Vec<String> {
    let output = Command::new("find").arg(".").args(["-type", "f"]).current_dir(directory).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut all: Vec<String> = text.lines().map(|line| line.trim_start_matches("./").to_owned()).collect();
    all.sort();
    all
}

/// From 6.19 on the image, the configuration and the modules are in packages of their own.
#[test]
fn a_kernel_in_several_packages_is_fetched_without_its_modules_until_one_is_needed() {
    let archive = Archive::new();
    let release = "7.3.4+deb13-rt-amd64";
    let line = |name: &str| {
        format!("{name}-{release} | 7.3.4-1 | http://deb.debian.org/debian sid/main amd64 Packages\n")
    };
    archive.write("madison", &(line("linux-image") + &line("linux-binary") + &line("linux-modules")));
    let directory = format!("usr/lib/modules/{release}");
    let full = |name: &str| format!("{name}-{release}=7.3.4-1");
    archive.package(&full("linux-binary"), &[(format!("{directory}/vmlinuz"), bzimage(release))]);
    let base = [("config", "CONFIG_PREEMPT_RT=y\n"), ("modules.builtin", "kernel/net/llc.ko\n")];
    let base = base.map(|(name, text)| (format!("{directory}/{name}"), text.as_bytes().to_vec()));
    archive.package(&full("linux-base"), &base);
    let modules = [("stp", "llc"), ("bridge", "stp,llc"), ("veth", "")];
    let modules = modules.map(|(name, needs)| (format!("{directory}/kernel/{name}.ko"), module(needs)));
    archive.package(&full("linux-modules"), &modules);
    let kernel = archive.find("debian:7.3-rt", false).unwrap();
    assert_eq!(kernel.release, release);
    assert_eq!(kernel.package.as_ref().unwrap().name, "linux-binary-7.3.4+deb13-rt-amd64");
    assert_eq!(fs::read_to_string(kernel.config.as_ref().unwrap()).unwrap(), "CONFIG_PREEMPT_RT=y\n");
    let kept = || files_below(kernel.modules.as_ref().unwrap());
    assert_eq!(kept(), ["modules.builtin"]);
    let names = |wanted: &str| {
        let wanted = [ModuleRequest::parse(wanted)];
        modules_of(&archive.store, &kernel, [&wanted, &[]], &mut |_| {})
            .map(|all| all.into_iter().map(|module| module.name).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(names("bridge").unwrap(), ["stp", "bridge"]);
    assert_eq!(kept(), ["kernel/bridge.ko", "kernel/stp.ko", "modules.builtin"]);
    let calls = archive.calls();
    assert_eq!(names("stp").unwrap(), ["stp"]);
    assert_eq!(archive.calls(), calls, "a module that was kept needs no apt");
    assert!(names("mystery").unwrap_err().contains("no module mystery"));
    fs::remove_file(archive.fake(&full("linux-modules"))).unwrap();
    let error = names("veth").unwrap_err();
    assert!(error.contains("fetching linux-modules-7.3.4+deb13-rt-amd64"), "{error}");
}

/// Of past versions, backports keep the package with the image alone.
#[test]
fn a_kernel_without_its_other_packages_is_booted_without_configuration() {
    let archive = Archive::new();
    let release = "7.1.13+deb13-rt-amd64";
    let line =
        format!("linux-binary-{release} | 7.1.13-1 | http://deb.debian.org/debian sid/main amd64 Packages\n");
    archive.write("madison", &line);
    let files = [(format!("boot/vmlinuz-{release}"), bzimage(release))];
    archive.package(&format!("linux-binary-{release}=7.1.13-1"), &files);
    archive.write("gone", "linux-base");
    let mut notices = Vec::new();
    let kernel = archive.find_with_notices("debian:7.1-rt", false, &mut notices).unwrap();
    assert_eq!((kernel.release.as_str(), &kernel.config), (release, &None));
    assert!(notices.iter().any(|line| line.contains("no longer has linux-base-7.1.13")), "{notices:?}");
    archive.write("gone", "linux-modules");
    let veth = [ModuleRequest::parse("veth")];
    let error = modules_of(&archive.store, &kernel, [&veth, &[]], &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("Debian has no linux-modules-7.1.13"), "{error}");
}

#[test]
fn kernels_of_the_cache_are_reduced_to_what_recipes_need() {
    let archive = Archive::new();
    let kernel = archive.find("debian:6.12", false).unwrap();
    let place = kernel.image.path.ancestors().nth(2).unwrap();
    let prune = |keep: &[&str]| {
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        pruning::prune(&archive.store.cache, Arch::X86_64, &keep, &mut |_| {}).unwrap().len()
    };
    assert_eq!(prune(&["veth"]), 0, "it has nothing else");
    // As earlier versions of tardy kept kernels.
    let image = kernel.image.read().unwrap();
    fs::write(place.join("boot/vmlinux-plain"), &image).unwrap();
    fs::remove_file(&kernel.image.path).unwrap();
    let manifest = place.join("kernel.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    json["image"] = "vmlinux-plain".into();
    json["image_bytes"] = image.len().into();
    json.as_object_mut().unwrap().remove("modules_package");
    fs::write(&manifest, json.to_string()).unwrap();
    for (name, needs) in [("bridge", "stp,llc"), ("stp", "llc"), ("llc", "")] {
        fs::write(kernel.modules.as_ref().unwrap().join(format!("kernel/{name}.ko")), module(needs)).unwrap();
    }
    assert_eq!(archive.find("debian:6.12", false).unwrap().image.read().unwrap(), image);
    assert_eq!(prune(&["stp", "absent"]), 1);
    assert_eq!(
        files_below(place),
        [
            "boot/config-6.12.1+deb12-amd64",
            "boot/vmlinux-6.12.1+deb12-amd64.gz",
            "kernel.json",
            "lib/modules/6.12.1+deb12-amd64/kernel/llc.ko",
            "lib/modules/6.12.1+deb12-amd64/kernel/stp.ko"
        ]
    );
    let reduced = archive.find("debian:6.12", false).unwrap();
    assert_eq!(reduced.image.read().unwrap(), image);
    let veth = [ModuleRequest::parse("veth")];
    assert_eq!(modules_of(&archive.store, &reduced, [&veth, &[]], &mut |_| {}).unwrap().len(), 1);
}

#[test]
fn several_kernels_are_those_of_the_archive_and_of_the_cache() {
    let archive = Archive::new();
    let all = |text: &str, refresh| {
        let selections = [KernelSelection::parse(text).unwrap()];
        expand(&archive.store, &selections, Arch::X86_64, refresh, &mut |_| {})
            .map(|specs| specs.iter().map(ToString::to_string).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(all("debian:6.1..6.12", false).unwrap(), ["debian:6.1", "debian:6.12"]);
    archive.find("debian:6.12", false).unwrap();
    archive.write("madison", NEWER);
    assert_eq!(
        all("debian:all", true).unwrap(),
        ["debian:6.12=6.12.1-1~deb12u1", "debian:6.12=6.12.2-1~deb12u1"]
    );
    let error = all("debian:7.0..7.3-rt", false).unwrap_err();
    assert!(error.contains("available are debian:6.12;"), "{error}");
}

#[test]
fn refresh_fetches_a_newer_kernel() {
    let archive = Archive::new();
    archive.find("debian:6.12", false).unwrap();
    archive.write("madison", &format!("{MADISON}{NEWER}"));
    assert_eq!(archive.find("debian:6.12", false).unwrap().release, "6.12.1+deb12-amd64");
    let kernel = archive.find("debian:6.12", true).unwrap();
    assert_eq!(kernel.release, "6.12.2+deb12-amd64");
    // Modules in /usr/lib, as in trixie's packages, are moved to the same directory.
    assert!(kernel.modules.unwrap().ends_with("lib/modules/6.12.2+deb12-amd64"));
    assert_eq!(archive.find("debian:6.12", false).unwrap().release, "6.12.2+deb12-amd64");
    let exact = archive.find("debian:6.12=6.12.1-1~deb12u1", false).unwrap();
    assert_eq!(exact.release, "6.12.1+deb12-amd64");
}

#[test]
fn a_failure_leaves_no_kernel_in_the_cache() {
    let archive = Archive::new();
    fs::remove_file(archive.fake("linux-image-6.12.1+deb12-amd64=6.12.1-1~deb12u1")).unwrap();
    let error = archive.find("debian:6.12", false).unwrap_err();
    assert!(
        error.contains("fetching linux-image-6.12.1+deb12-amd64") && error.contains("Hash Sum mismatch"),
        "{error}"
    );
    // First a truncated archive, then one without modules.
    archive.write("linux-image-6.12.1+deb12-amd64=6.12.1-1~deb12u1", "no tar file");
    let error = archive.find("debian:6.12", false).unwrap_err();
    assert!(error.contains("unpacking linux-image-6.12.1+deb12-amd64") && error.contains("tar"), "{error}");
    archive.package(
        "linux-image-6.12.1+deb12-amd64=6.12.1-1~deb12u1",
        &[("boot/vmlinuz-6.12.1+deb12-amd64".to_owned(), bzimage("x"))],
    );
    let error = archive.find("debian:6.12", false).unwrap_err();
    assert!(error.contains("does not contain lib/modules/6.12.1+deb12-amd64"), "{error}");
    assert_eq!(archive.kernels(), [""; 0]);
    assert!(!archive.directory.path().join("scratch").exists());
}

#[test]
fn a_damaged_kernel_is_fetched_again() {
    let archive = Archive::new();
    let kernel = archive.find("debian:6.12", false).unwrap();
    fs::write(&kernel.image.path, "short").unwrap();
    assert_eq!(archive.kernels(), [""; 0]);
    let again = archive.find("debian:6.12", false).unwrap();
    assert_eq!(again.image.read().unwrap(), bzimage("6.12.1+deb12-amd64"));
}

#[test]
fn outdated_lists_are_updated_after_a_failure() {
    let archive = Archive::new();
    // The lists are current by their age, but the package has been replaced since.
    archive.find("debian:6.12", false).unwrap();
    remove_all(&archive);
    archive.write("gone-until-update", "");
    let mut notices = Vec::new();
    archive.find_with_notices("debian:6.12", false, &mut notices).unwrap();
    assert_eq!(notices.iter().filter(|line| line.starts_with("updating")).count(), 1, "{notices:?}");
    assert_eq!(notices.iter().filter(|line| line.starts_with("fetching")).count(), 2, "{notices:?}");
}

fn remove_all(archive: &Archive) {
    let spec = KernelSpec::parse("debian:6.12").unwrap();
    let removed = cache::remove(&archive.store.cache, Arch::X86_64, &spec, &mut |_| {}).unwrap();
    assert_eq!(removed.len(), 1);
    assert_eq!(archive.kernels(), [""; 0]);
}

#[test]
fn unreadable_suites_are_left_out() {
    let archive = Archive::new();
    archive.write("broken", "E: The repository does not have a Release file.\n");
    let error = archive.find("debian:6.12", false).unwrap_err();
    assert!(error.contains("no suite") && error.contains("does not have a Release file"), "{error}");
    archive.write("partly", "");
    let mut notices = Vec::new();
    archive.find_with_notices("debian:6.12", false, &mut notices).unwrap();
    let left_out = notices.iter().find(|line| line.starts_with("left out")).unwrap();
    assert!(left_out.contains("bookworm-security") && left_out.contains("Release file"), "{left_out}");
}

#[test]
fn missing_programs_and_keys_are_named() {
    let mut archive = Archive::new();
    archive.store.mirrors.keyring = "/nowhere.gpg".into();
    assert!(archive.find("debian:6.12", false).unwrap_err().contains("install debian-archive-keyring"));
    archive.store.programs.directory = Some("/nowhere".into());
    assert!(archive.find("debian:6.12", false).unwrap_err().contains("install apt"));
}

#[test]
fn a_kernel_for_another_processor_is_not_kept() {
    let archive = Archive::new();
    let spec = KernelSpec::parse("debian:6.12").unwrap();
    archive.write(
        "madison",
        "linux-image-6.12.1+deb12-arm64 | 6.12.1-1 | http://deb.debian.org/debian bookworm/main arm64 Packages\n",
    );
    archive.kernel("linux-image-6.12.1+deb12-arm64=6.12.1-1", "6.12.1+deb12-arm64", "lib");
    let request = Request { arch: Arch::Aarch64, refresh: false, keep: &[] };
    let error = find_in(&archive.store, &spec, request, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("is a kernel for x86_64"), "{error}");
    assert!(cache::list(&archive.store.cache, Arch::Aarch64).is_empty());
}

#[test]
fn packages_and_tools_are_unpacked_once() {
    let archive = Archive::new();
    let file = |path: &str| (path.to_owned(), path.as_bytes().to_vec());
    archive.package("tool=1.0", &[file("usr/bin/tool")]);
    archive.package("libtool=2:1.0", &[file("lib/x86_64-linux-gnu/libtool.so"), file("usr/share/doc")]);
    let package = || archive.store.fetch_package(Arch::X86_64, "libtool", None, &mut |_| {}).unwrap();
    let library = package();
    assert_eq!(library.packages, [PackageVersion { name: "libtool".into(), version: "2:1.0".into() }]);
    assert!(library.root.join("lib/x86_64-linux-gnu/libtool.so").is_file());
    let tools = || archive.store.fetch_tool_root(Arch::X86_64, &["tool"], &mut |_| {}).unwrap();
    let tool = tools();
    assert_eq!(
        tool.packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(),
        ["libtool", "tool"]
    );
    // /lib is a link to /usr/lib, so packages may have files under either.
    assert!(tool.root.join("usr/lib/x86_64-linux-gnu/libtool.so").is_file());
    assert!(tool.root.join("lib").is_symlink() && tool.root.join("usr/bin/tool").is_file());
    let union = || archive.store.fetch_union(Arch::X86_64, &library.packages, &mut |_| {}).unwrap();
    assert!(union().root.join("usr/lib/x86_64-linux-gnu/libtool.so").is_file());
    let calls = archive.calls();
    assert_eq!((package(), tools(), union()), (library.clone(), tool, union()));
    assert_eq!(archive.calls(), calls, "cached packages need no apt");
    let missing = archive.store.fetch_package(Arch::X86_64, "libtool", Some("3.0"), &mut |_| {});
    let error = missing.unwrap_err().to_string();
    assert!(error.contains("no libtool 3.0 for amd64 in the suites bookworm, trixie"), "{error}");
}

#[test]
fn the_list_shows_newer_versions() {
    let archive = Archive::new();
    archive.find("debian:6.12", false).unwrap();
    let list = |refresh| listing::list(&archive.store, &[Arch::X86_64], refresh, &mut |_| {}).unwrap();
    let states = |listing: &listing::Listing| -> Vec<(String, OfferState)> {
        listing.offered.iter().map(|offer| (offer.spec.clone(), offer.state.clone())).collect()
    };
    let before = list(false);
    assert_eq!(
        states(&before),
        [
            ("debian:6.1".into(), OfferState::NotCached),
            ("debian:6.12".into(), OfferState::Cached),
            ("debian:6.12-rt".into(), OfferState::NotCached)
        ]
    );
    assert_eq!(before.cached[0].spec, "debian:6.12=6.12.1-1~deb12u1");
    assert_eq!(before.cached[0].short_spec.as_deref(), Some("debian:6.12"));
    archive.write("madison", &format!("{MADISON}{NEWER}"));
    let after = list(true);
    assert_eq!(states(&after)[1], ("debian:6.12".into(), OfferState::Instead("6.12.1-1~deb12u1".into())));
    assert!(serde_json::to_string(&after).unwrap().contains(r#""state":{"instead":"6.12.1-1~deb12u1"}"#));
}

#[test]
fn without_an_archive_the_list_has_the_cached_kernels() {
    let archive = Archive::new();
    archive.find("debian:6.12", false).unwrap();
    fs::remove_dir_all(archive.directory.path().join("apt")).unwrap();
    archive.write("broken", "E: no network\n");
    let mut notices = Vec::new();
    let listing =
        listing::list(&archive.store, &[Arch::X86_64], false, &mut |line| notices.push(line.to_owned()))
            .unwrap();
    assert_eq!((listing.cached.len(), listing.offered.len()), (1, 0));
    assert!(notices.last().unwrap().contains("are not known"), "{notices:?}");
    assert!(listing::list(&archive.store, &[Arch::X86_64], true, &mut |_| {}).is_err());
}
