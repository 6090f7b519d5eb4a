//! tardy's own kernel modules, built for the kernels of the tests, and the boots of both kernels that use them.

use std::sync::OnceLock;

use tardy_lab::arch::Arch;
use tardy_lab::kernel::module_request::ModuleRequest;
use tardy_lab::kernel::{self, Kernel, KernelSpec, Request, own_modules};
use tardy_lab::packages::PackageStore;

use crate::scripted::{Printed, Scene, SharedBoot};
use crate::{causes, faults, pins, repeated};

/// The kernels for which the modules are built: Debian's standard kernel and its real-time kernel.
pub(crate) const KERNELS: [&str; 2] = ["debian:6.12", "debian:6.12-rt"];
/// One boot of each kernel.
static BOOTS: [SharedBoot; 2] =
    [SharedBoot::new(KERNELS[0], standard_scenes), SharedBoot::new(KERNELS[1], real_time_scenes)];
const NAMES: [&str; 2] = ["tardy_pins", "tardy_disturb"];

fn both_kernels_scenes() -> impl Iterator<Item = Scene> {
    causes::scenes().chain(pins::scenes())
}

fn standard_scenes() -> Vec<Scene> {
    both_kernels_scenes().chain([pins::reaction()]).collect()
}

/// The real-time kernel runs [`pins::reaction`] in the repeated boots.
fn real_time_scenes() -> Vec<Scene> {
    both_kernels_scenes().chain(faults::scene()).collect()
}

/// What a scene printed that only the real-time kernel's boot has.
pub(crate) fn on_real_time(scene: &str) -> Option<&'static Printed> {
    BOOTS[1].scene(scene)
}

/// What a scene printed on the standard and on the real-time kernel.
pub(crate) fn on_both_kernels(scene: &str) -> Option<[&'static Printed; 2]> {
    let is_repeated = scene == pins::REACTION;
    let real_time = if is_repeated { repeated::scene(scene) } else { BOOTS[1].scene(scene) };
    Some([BOOTS[0].scene(scene)?, real_time?])
}

/// Whether the modules can be built here. Prints the reason if not.
pub(crate) fn are_there() -> bool {
    static THERE: OnceLock<bool> = OnceLock::new();
    *THERE.get_or_init(|| KERNELS.into_iter().all(can_be_built))
}

fn can_be_built(spec: &str) -> bool {
    let spec = KernelSpec::parse(spec).unwrap();
    let request = Request { arch: Arch::X86_64, refresh: false, keep: &[] };
    let kernel = kernel::find(&spec, request, &mut |text: &str| eprintln!("{text}")).unwrap();
    match build(&kernel) {
        Ok(_) => true,
        Err(error) if error.is_of_the_machine() => {
            eprintln!("skipped: {error}");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Both modules built for `kernel`: name and file.
pub(crate) fn images(kernel: &Kernel) -> Result<Vec<(String, Vec<u8>)>, own_modules::OwnModuleError> {
    let files = build(kernel)?;
    let modules = kernel::modules::resolve(kernel, &files, &[]).unwrap();
    Ok(modules.into_iter().map(|module| (module.name, module.image)).collect())
}

fn build(kernel: &Kernel) -> Result<Vec<ModuleRequest>, own_modules::OwnModuleError> {
    let store = PackageStore::of_this_user().unwrap();
    let wanted = NAMES.map(ModuleRequest::parse);
    own_modules::build_wanted(&store, kernel, &wanted, &mut |text: &str| eprintln!("{text}"))
}
