//! tardy's own kernel modules, where they can be built for the kernels that tests boot.

use std::sync::OnceLock;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{self, Kernel, KernelSpec, own_modules};
use tardy_lab::packages::PackageStore;

/// The kernels that they are built for.
pub(crate) const KERNELS: [&str; 2] = ["debian:6.12", "debian:6.12-rt"];

/// Whether there are any; if not, with a word about it.
pub(crate) fn are_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| KERNELS.into_iter().all(can_be_built))
}

fn can_be_built(spec: &str) -> bool {
    let spec = KernelSpec::parse(spec).unwrap();
    let kernel = kernel::find(&spec, Arch::X86_64, false, &mut |text: &str| eprintln!("{text}")).unwrap();
    let wanted = ["tardy_pins", "tardy_disturb"].map(ModuleRequest::parse);
    match build_wanted(&kernel, &wanted) {
        Ok(_) => true,
        Err(error) if error.is_of_the_machine() => {
            eprintln!("skipped: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// `wanted` with tardy's own modules built.
pub(crate) fn build_wanted(
    kernel: &Kernel,
    wanted: &[ModuleRequest],
) -> Result<Vec<ModuleRequest>, own_modules::OwnModuleError> {
    let store = PackageStore::of_this_user().unwrap();
    own_modules::build_wanted(&store, kernel, wanted, &mut |text: &str| eprintln!("{text}"))
}
