//! `tardy lab sweep`: what options do to a number of a recipe's run.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tardy_kbuild::build::{Builder, Original};
use tardy_kbuild::error::BuildError;
use tardy_lab::arch::Arch;
use tardy_lab::kernel::KernelSpec;
use tardy_lab::kernel::spec::Source;
use tardy_lab::packages::PackageStore;
use tardy_lab_report::sweep as shown;
use tardy_recipe::wrong;
use tardy_search::configuration;
use tardy_search::sweep::{self, Place, Plan, Point, Ranked, SweptOption};

use crate::assemble::{Prepared, print_notices};
use crate::kept_boots::{self, Boot};
use crate::prepare::{Seed, kernels_of, machine_of, prepare_on};
use tardy_args::LabSweepArgs;
use tardy_command::{Exit, output};

/// Runs the recipe with each setting on each kernel, and ranks the settings.
pub(crate) fn run(arguments: &LabSweepArgs) -> Result<Exit> {
    kept_boots::check_pace(&arguments.experiment)?;
    let plan = if arguments.combinations { Plan::Combinations } else { Plan::OneByOne };
    let kernels = kernels_of(&arguments.experiment, &mut print_notices())?;
    let mut failed = false;
    let mut settings = Vec::new();
    for kernel in &kernels {
        check_is_built_if_needed(kernel, &arguments.option)?;
        let variants = Variants::of(kernel, machine_of(&arguments.experiment)?.arch())?;
        for point in sweep::points(&arguments.option, plan) {
            match variants.spec(&point) {
                Ok(spec) if point.settings.is_empty() || spec != *kernel => {
                    settings.push(Setting { kernel: kernel.clone(), point, spec });
                }
                Ok(_) => {}
                Err(error) if error.is_of_source() => {
                    failed = true;
                    output::report(&format!("{kernel} with {point}: {error}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    let specs = settings.iter().map(|setting| setting.spec.clone()).collect();
    // One seed is the recipe's own.
    let seeds = if arguments.seeds == 1 { 0 } else { arguments.seeds };
    let (prepared, seeds) = prepare_on(&arguments.experiment, specs, seeds, &mut print_notices())?;
    let measured = measure(arguments, &prepared, &seeds)?;
    let mut sweeps = Vec::new();
    for kernel in kernels {
        let of_kernel = settings.iter().zip(&measured).filter(|(setting, _)| setting.kernel == kernel);
        let mut points: Vec<(Point, Vec<f64>)> = Vec::new();
        for (setting, values) in of_kernel {
            match values {
                Ok(values) => points.push((setting.point.clone(), values.clone())),
                Err(error) if setting.point.settings.is_empty() => anyhow::bail!("{kernel}: {error}"),
                Err(error) => {
                    failed = true;
                    output::report(&format!("{}: {error}", setting.spec));
                }
            }
        }
        let measure = arguments.measure.to_string();
        sweeps.push(Sweep { kernel: kernel.to_string(), measure, ranked: sweep::rank(points) });
    }
    if arguments.json {
        output::print_json(&sweeps)?;
    } else {
        for Sweep { kernel, ranked, .. } in &sweeps {
            output::print(&shown::text(kernel, &arguments.measure, ranked, output::width()))?;
        }
    }
    Ok(if failed { Exit::CouldNot } else { Exit::Done })
}

/// The settings of a kernel, the lowest number first.
#[derive(Serialize)]
struct Sweep {
    kernel: String,
    measure: String,
    ranked: Vec<Ranked>,
}

/// A point on a kernel.
struct Setting {
    kernel: KernelSpec,
    point: Point,
    spec: KernelSpec,
}

/// Refuses options of the configuration on a kernel that was not built here.
fn check_is_built_if_needed(kernel: &KernelSpec, options: &[SweptOption]) -> Result<()> {
    let option = options.iter().find(|option| option.place() == Place::Configuration);
    match (option, &kernel.source) {
        (None, _) | (_, Source::Build(_)) => Ok(()),
        (Some(option), _) => {
            let reason = format!(
                "{} is an option of the kernel's configuration, which is set when a kernel is built, and {kernel} was not built here: \
                 build one, for example with `tardy lab build --source debian:6.12 --name mine`, and use --kernel build:mine",
                option.name
            );
            Err(wrong("option", reason).into())
        }
    }
}

/// A kernel with other words and, if this user built it, with other options of its configuration.
struct Variants<'a> {
    kernel: &'a KernelSpec,
    arch: Arch,
    build: Option<(PackageStore, Original)>,
}

impl<'a> Variants<'a> {
    fn of(kernel: &'a KernelSpec, arch: Arch) -> Result<Self> {
        let Source::Build(name) = &kernel.source else { return Ok(Self { kernel, arch, build: None }) };
        let store = PackageStore::of_this_user()?;
        let original = Original::find(&store.cache, arch, name)?;
        Ok(Self { kernel, arch, build: Some((store, original)) })
    }

    /// The kernel of a point, which is built if the point has options.
    fn spec(&self, point: &Point) -> Result<KernelSpec, BuildError> {
        let append = point.on(&self.kernel.append);
        let settings: Vec<configuration::Setting> =
            point.at(Place::Configuration).map(configuration::Setting::from).collect();
        let build = self.build.as_ref().filter(|_| !settings.is_empty());
        let Some((store, original)) = build else {
            return Ok(KernelSpec { append, ..self.kernel.clone() });
        };
        let builder = Builder::new(store, self.arch)?;
        let built = original.variant(&builder, &settings, true, &mut print_notices())?;
        Ok(KernelSpec { source: Source::Build(built.kernel.short_key().to_owned()), append })
    }
}

/// The number of each guest with each seed, or why it has none.
fn measure(
    arguments: &LabSweepArgs,
    prepared: &Prepared,
    seeds: &[Seed],
) -> Result<Vec<Result<Vec<f64>, String>>> {
    let with_seeds: Vec<Option<&Seed>> =
        if seeds.is_empty() { vec![None] } else { seeds.iter().map(Some).collect() };
    let boots: Vec<Boot<'_>> = prepared
        .guests
        .iter()
        .flat_map(|guest| with_seeds.iter().map(move |seed| Boot { guest, seed: *seed }))
        .collect();
    let directory = arguments
        .output
        .clone()
        .unwrap_or_else(|| Path::new(&format!("tardy-lab-sweep-{}", prepared.recipe)).to_owned());
    let booted = kept_boots::boot_each(prepared, &boots, &directory, arguments.quiet)?;
    let new = booted.iter().flatten().filter(|one| one.is_new).count();
    if !arguments.quiet {
        output::report(&format!(
            "{} boots, {} of them from an earlier sweep",
            booted.len(),
            booted.len() - new
        ));
    }
    let values: Vec<Result<f64, String>> = booted
        .into_iter()
        .map(|one| {
            let one = one?;
            arguments.measure.of(&one.run).map_err(|reason| describe(&one.path, &reason))
        })
        .collect();
    Ok(values.chunks(with_seeds.len()).map(|of_guest| of_guest.iter().cloned().collect()).collect())
}

fn describe(path: &Path, reason: &str) -> String {
    format!("{}: {reason}", path.display())
}
