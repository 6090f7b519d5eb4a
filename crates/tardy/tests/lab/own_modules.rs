//! Our own kernel modules, built for the kernels that tests boot.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::{self, KernelSpec};

use crate::guests;

/// The kernels that they are built for.
pub(crate) const KERNELS: [&str; 2] = ["debian:6.12", "debian:6.12-rt"];

/// Where they are, each kernel's in a directory of its release's name; nothing, with a word about it, where they cannot be
/// built. Built once for all tests: two builds at a time would be in each other's way.
pub(crate) fn directory() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("modules");
    let built =
        Command::new(root.join("scripts/make-modules")).arg(&directory).args(KERNELS.map(release)).output();
    let built = built.unwrap();
    let said = guests::said(&built);
    match built.status.code() {
        Some(0) => Some(directory),
        Some(3) => {
            eprintln!("skipped: {said}");
            None
        }
        status => panic!("scripts/make-modules ended with {status:?}: {said}"),
    }
}

/// The release of one of [`KERNELS`].
pub(crate) fn release(spec: &str) -> String {
    let spec = KernelSpec::parse(spec).unwrap();
    kernel::find(&spec, Arch::X86_64, false, &mut |text: &str| eprintln!("{text}")).unwrap().release
}
