//! Prepares the guests of a recipe with its flags, or of a switch file.

use anyhow::{Context, Result};
use tardy_host::cpus::Cpus;
use tardy_host::trace::tracefs::Offer;
use tardy_init::orders::{self, Orders};
use tardy_lab::experiment::{Experiment, start_delay};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::kernel::KernelSpec;
use tardy_lab::machine::{Machine, Pace};
use tardy_recipe::plan::{self, Extras, resolve};
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_record::load_spec::LoadTask;

use crate::assemble::{Prepared, RUN_FILE, assemble, idle_criterion, kernel_specs, pace, tasks};
use crate::{build, switch};
use tardy_args::LabRecipe;
use tardy_args::values::KernelChoice;
use tardy_args::{ExperimentArgs, RequirementArgs};
use tardy_tsn_command::switch_file;

/// The default recipe.
pub(crate) const DEFAULT_RECIPE: &str = "lab-doload";

/// One of several seeds of a recipe. Its guests differ from the recipe's own in the recipe's file and in the time at which they
/// begin.
pub(crate) struct Seed {
    /// The seed.
    pub(crate) number: u64,
    file: (String, Entry),
}

impl Seed {
    /// `recipe` with the seed `offset` after its own.
    fn of(recipe: &Recipe, offset: u32) -> Result<Self> {
        let mut recipe = recipe.clone();
        let number = recipe.run.seed().wrapping_add(offset.into());
        recipe.run.seed = Some(number);
        Ok(Self { number, file: recipe_file(&recipe)? })
    }

    /// `experiment` with this seed.
    pub(crate) fn apply(&self, mut experiment: Experiment) -> Experiment {
        let (path, entry) = &self.file;
        let files = experiment.parts.files.iter_mut().filter(|(known, _)| known == path);
        files.for_each(|(_, content)| content.clone_from(entry));
        experiment.orders.start_delay_ns = start_delay::of_seed_ns(self.number);
        experiment
    }
}

/// Prepares the guests of the recipe. `notice` receives messages about steps that take time.
pub(crate) fn prepare(arguments: &ExperimentArgs, notice: &mut dyn FnMut(&str)) -> Result<Prepared> {
    prepare_seeds(arguments, Seeds::Own, &RequirementArgs::default(), notice).map(|(prepared, _)| prepared)
}

/// The seeds of several boots of the same guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// The recipe's own.
    Own,
    /// So many, each for all guests.
    Shared(u32),
    /// So many rounds, in which every guest has a seed that no other boot has.
    Rounds(u32),
}

impl Seeds {
    /// The option that asked for them.
    fn option(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Shared(_) => Some("seeds"),
            Self::Rounds(_) => Some("rounds"),
        }
    }

    fn count(self, guests: usize) -> u32 {
        match self {
            Self::Own => 0,
            Self::Shared(count) => count,
            Self::Rounds(rounds) => rounds.saturating_mul(guests as u32),
        }
    }
}

/// The same with the limits of `required` declared, and consecutive seeds, of which the recipe's is the first.
pub(crate) fn prepare_seeds(
    arguments: &ExperimentArgs,
    seeds: Seeds,
    required: &RequirementArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<(Prepared, Vec<Seed>)> {
    let name = arguments.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
    if switch_file::describes_a_switch(name) {
        if let Some(option) = seeds.option() {
            return Err(wrong(option, format!("the test of a switch has no seed; remove --{option}")).into());
        }
        return Ok((switch::prepare(name, arguments, notice)?, Vec::new()));
    }
    let recipe = build::with_kernel(recipe_of(arguments)?, arguments, notice)?;
    let recipe = LabRecipe { measurement: required.declared_in(recipe.measurement), ..recipe };
    let measurement = recipe.measurement.clone();
    let prepared = prepare_recipe(&recipe, arguments, notice)?;
    let seeds = (0..seeds.count(prepared.guests.len())).map(|offset| Seed::of(&measurement, offset));
    Ok((prepared, seeds.collect::<Result<_>>()?))
}

/// Prepares the guests of the recipe on other kernels than its own, under their exact names, with `seeds` consecutive seeds, of which
/// the recipe's is the first; with none, guests have the recipe's own.
pub(crate) fn prepare_on(
    arguments: &ExperimentArgs,
    kernels: Vec<KernelSpec>,
    seeds: u32,
    notice: &mut dyn FnMut(&str),
) -> Result<(Prepared, Vec<Seed>)> {
    let mut recipe = recipe_of(arguments)?;
    recipe.lab.kernels = Some(kernels.into_iter().map(KernelChoice::of).collect());
    let mut prepared = prepare_recipe(&recipe, arguments, notice)?;
    for guest in &mut prepared.guests {
        let exact = guest.kernel.exact_spec()?;
        guest.slug = exact.slug();
        guest.kernel.spec = exact.to_string();
    }
    let seeds = (0..seeds).map(|offset| Seed::of(&recipe.measurement, offset));
    Ok((prepared, seeds.collect::<Result<_>>()?))
}

/// The machine of the recipe with its flags.
pub(crate) fn machine_of(arguments: &ExperimentArgs) -> Result<Machine> {
    Ok(recipe_of(arguments)?.lab.machine())
}

/// The kernels of the recipe with its flags.
pub(crate) fn kernels_of(
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<KernelSpec>> {
    kernel_specs(
        &build::with_kernel(recipe_of(arguments)?, arguments, notice)?,
        arguments.guest.refresh,
        notice,
    )
}

/// The recipe with its flags.
pub(crate) fn recipe_of(arguments: &ExperimentArgs) -> Result<LabRecipe> {
    let name = arguments.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
    if switch_file::describes_a_switch(name) {
        return Err(
            wrong("recipe", "the test of a switch has no latencies of this kind; name a recipe").into()
        );
    }
    Ok(LabRecipe::find(name)?.overridden_by(arguments))
}

/// Prepares the guests of every article's experiment that the lab can repeat.
pub(crate) fn prepare_chapters(
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<Prepared>> {
    let recipes = LabRecipe::built_in().filter(|recipe| recipe.lab.chapter.is_some());
    let mut chapters = Vec::new();
    for recipe in recipes {
        chapters.push(prepare_recipe(&recipe.overridden_by(arguments), arguments, notice)?);
    }
    for name in switch_file::built_in() {
        chapters.push(switch::prepare(name, arguments, notice)?);
    }
    Ok(chapters)
}

fn prepare_recipe(
    recipe: &LabRecipe,
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let pace = pace(&arguments.guest)?;
    check_plan(&recipe.measurement, arguments.scale, pace)?;
    let orders = orders(recipe, arguments.scale, pace)?;
    let files = vec![recipe_file(&recipe.measurement)?];
    assemble(recipe, orders, files, arguments, notice)
}

/// Plans the run on the host, so that mistakes are reported before anything boots. Only the guest knows the trace events and
/// tracers of its kernel, so all are assumed here.
fn check_plan(recipe: &Recipe, scale: f64, pace: Pace) -> Result<(), UsageError> {
    if recipe.run.until.is_some() {
        return Err(wrong(
            "until",
            "a run of the lab has a planned length; use --require 'P(>100us)<1e-6@95%'",
        ));
    }
    let cpus = Cpus::alike((0..pace.cpus()).collect());
    let machine = plan::Machine {
        // Only the guest knows which CPUs its command line isolates: the last one stands for them.
        cpus: Cpus {
            isolated: cpus.online.iter().skip(1).next_back().copied().into_iter().collect(),
            ..cpus
        },
        trace: Offer::fake(),
        co_kernel: Err("no kernel of the lab has a co-kernel".to_owned()),
        pins: plan::Pins::Elsewhere,
    };
    resolve(recipe, Extras { scale, ..Extras::NONE }, &machine).map(drop)
}

fn orders(recipe: &LabRecipe, scale: f64, pace: Pace) -> Result<Orders> {
    let mut run = vec![orders::PROGRAM.to_owned(), "run".to_owned(), recipe_path(&recipe.measurement)];
    run.extend(["-o".to_owned(), format!("{}/{RUN_FILE}", orders::RESULTS)]);
    if scale != 1.0 {
        run.extend(["--scale".to_owned(), scale.to_string()]);
    }
    let mut orders = Orders {
        idle: idle_criterion(pace),
        start_delay_ns: start_delay::of_seed_ns(recipe.measurement.run.seed()),
        commands: vec![run],
        ..Orders::default()
    };
    for line in &recipe.lab.outside {
        orders.peer = true;
        orders.peer_commands.push(line.split_whitespace().map(str::to_owned).collect());
    }
    if sends(&recipe.measurement) {
        orders.peer = true;
        orders
            .peer_commands
            .push([orders::PROGRAM, "load", "sink", orders::GUEST_ADDRESS].map(str::to_owned).to_vec());
    }
    Ok(orders)
}

/// Whether any load of the recipe sends to another host, on the port of `tardy load sink`.
fn sends(recipe: &Recipe) -> bool {
    tasks(recipe).any(|task| {
        matches!(task, LoadTask::Network | LoadTask::Tcp { port: None } | LoadTask::Udp { port: None })
    })
}

/// The path of the recipe in the guest. The run records the file's name as the recipe's name.
fn recipe_path(recipe: &Recipe) -> String {
    format!("/lab/{}.toml", recipe.name.as_deref().unwrap_or("recipe"))
}

/// The recipe for the guest: with the flags applied, without its notes.
fn recipe_file(recipe: &Recipe) -> Result<(String, Entry)> {
    let mut recipe_of_guest = Recipe { notes: None, ..recipe.clone() };
    if sends(recipe) && recipe_of_guest.run.peer.is_none() {
        recipe_of_guest.run.peer = Some(orders::PEER_ADDRESS.to_owned());
    }
    let text = toml::to_string(&recipe_of_guest).context("cannot write the recipe for the guest")?;
    Ok((recipe_path(recipe), Entry::File { content: text.into_bytes(), executable: false }))
}
