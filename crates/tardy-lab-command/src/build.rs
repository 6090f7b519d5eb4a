//! `tardy lab build`: builds a kernel for the lab.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;
use tardy_kbuild::build::{Base, Builder, Built, Request};
use tardy_kbuild::source::SourceSpec;
use tardy_lab::arch::Arch;
use tardy_lab::kernel::KernelSpec;
use tardy_lab::kernel::built::{self, BuildManifest};
use tardy_lab::kernel::spec::build_name;
use tardy_lab::packages::PackageStore;
use tardy_recipe::wrong;

use crate::assemble::print_notices;
use tardy_args::LabRecipe;
use tardy_args::values::KernelChoice;
use tardy_args::{BuildSourceArgs, ExperimentArgs, LabBuildArgs};
use tardy_command::{Exit, output};

/// A kernel that was built.
#[derive(Serialize)]
struct Printed<'a> {
    /// Its name for --kernel.
    kernel: String,
    /// Whether it was built now, as opposed to an earlier command.
    is_new: bool,
    /// What it takes on the disk, in bytes.
    bytes: u64,
    #[serde(flatten)]
    build: &'a BuildManifest,
}

/// Builds a kernel, or finds it in the cache, and gives it a name.
pub(crate) fn run(arguments: &LabBuildArgs) -> Result<Exit> {
    let name = arguments.name.as_deref().map(build_name).transpose();
    let name = name.map_err(|error| wrong("name", error))?;
    let from = &arguments.from;
    let source = SourceSpec::parse(&from.source, arguments.rev.as_deref());
    let source = source.map_err(|error| wrong("source", error))?;
    let store = PackageStore::of_this_user()?;
    let builder = Builder::new(&store, arguments.arch)?;
    let Built { kernel, is_new } = builder.build(&request(from, source)?, &mut print_notices())?;
    if let Some(name) = &name {
        built::give_name(&store.cache, &kernel, name, &mut print_notices())?;
    }
    let name = name.map_or_else(|| kernel.exact_name(), |name| format!("build:{name}"));
    let build = &kernel.manifest;
    if arguments.json {
        output::print_json(&Printed { kernel: name, is_new, bytes: kernel.bytes(), build })?;
    } else {
        let how = match is_new {
            true => format!("built in {} s", build.seconds),
            false => "from the cache".to_owned(),
        };
        output::print(&format!("--kernel {name}: {} for {}, {how}\n", build.release, build.arch.name()))?;
    }
    Ok(Exit::Done)
}

/// The recipe with the kernel of `--source`, which is built: instead of the recipe's, or after those of `--kernel`.
pub(crate) fn with_kernel(
    mut recipe: LabRecipe,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<LabRecipe> {
    if let Some(from) = &arguments.build {
        let mut kernels = arguments.lab.kernels.clone().unwrap_or_default();
        kernels.push(KernelChoice::of(kernel(from, recipe.lab.machine().arch(), notice)?));
        recipe.lab.kernels = Some(kernels);
    }
    Ok(recipe)
}

/// The kernel that is built of a source as it is.
fn kernel(from: &BuildSourceArgs, arch: Arch, notice: &mut dyn FnMut(&str)) -> Result<KernelSpec> {
    let source = SourceSpec::parse(&from.source, None).map_err(|error| wrong("source", error))?;
    let store = PackageStore::of_this_user()?;
    let built = Builder::new(&store, arch)?.build(&request(from, source)?, notice)?;
    Ok(KernelSpec::parse(&built.kernel.exact_name())?)
}

/// What to build of `source`.
pub(crate) fn request(from: &BuildSourceArgs, source: SourceSpec) -> Result<Request> {
    let base = match &from.config {
        None => Base::Lab,
        Some(path) => Base::Text(fs::read_to_string(path).with_context(|| path.display().to_string())?),
    };
    Ok(Request { source, base, settings: from.set.clone(), strict: true })
}
