//! Prepares the guests of a recipe with its flags, or of a switch file.

use anyhow::{Context, Result};
use tardy_host::trace::tracefs::Offer;
use tardy_init::orders::{self, Orders};
use tardy_lab::experiment::Experiment;
use tardy_lab::guest::cpio::Entry;
use tardy_lab::kernel::KernelSpec;
use tardy_lab::machine::{Machine, Pace};
use tardy_recipe::plan::{self, Extras, resolve};
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_record::load_spec::LoadTask;

use super::assemble::{Prepared, RUN_FILE, assemble, idle_criterion, kernel_specs, pace, tasks};
use super::switch;
use crate::args::values::KernelChoice;
use crate::args::{ExperimentArgs, RequirementArgs};
use crate::commands::tsn::switch_file;
use crate::lab_recipe::LabRecipe;

/// The default recipe.
pub(super) const DEFAULT_RECIPE: &str = "lab-doload";

/// The commands of a guest begin at a time between 0 and this after the guest is idle, which depends on the seed.
const START_WITHIN_NS: u64 = 1_000_000_000;

/// One of several seeds of a recipe. Its guests differ from the recipe's own in the recipe's file and in the time at which they
/// begin.
pub(super) struct Seed {
    /// The seed.
    pub(super) number: u64,
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
    pub(super) fn apply(&self, mut experiment: Experiment) -> Experiment {
        let (path, entry) = &self.file;
        let files = experiment.parts.files.iter_mut().filter(|(known, _)| known == path);
        files.for_each(|(_, content)| content.clone_from(entry));
        experiment.orders.start_delay_ns = start_delay_ns(self.number);
        experiment
    }
}

/// How long a guest with this seed waits once it is idle, in ns: uniform between 0 and [`START_WITHIN_NS`], and without
/// relation between the delays of different seeds ([ADR 25](../../../../../docs/adr/0025-exchangeable-boots.md)). The default seed 1
/// begins at once.
fn start_delay_ns(seed: u64) -> u64 {
    let share = mixed(seed).wrapping_sub(mixed(1));
    ((u128::from(share) * u128::from(START_WITHIN_NS)) >> 64) as u64
}

/// The first number of the stream of `seed` of SplitMix64 (Steele, Lea and Flood, 2014).
fn mixed(seed: u64) -> u64 {
    let state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Prepares the guests of the recipe. `notice` receives messages about steps that take time.
pub(super) fn prepare(arguments: &ExperimentArgs, notice: &mut dyn FnMut(&str)) -> Result<Prepared> {
    prepare_seeds(arguments, Seeds::Own, &RequirementArgs::default(), notice).map(|(prepared, _)| prepared)
}

/// The seeds of several boots of the same guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seeds {
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
pub(super) fn prepare_seeds(
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
    let recipe = LabRecipe::find(name)?.overridden_by(arguments);
    let recipe = LabRecipe { measurement: required.declared_in(recipe.measurement), ..recipe };
    let measurement = recipe.measurement.clone();
    let prepared = prepare_recipe(&recipe, arguments, notice)?;
    let seeds = (0..seeds.count(prepared.guests.len())).map(|offset| Seed::of(&measurement, offset));
    Ok((prepared, seeds.collect::<Result<_>>()?))
}

/// Prepares the guests of the recipe on other kernels than its own, under their exact names, with `seeds` consecutive seeds, of which
/// the recipe's is the first; with none, guests have the recipe's own.
pub(super) fn prepare_on(
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
pub(super) fn machine_of(arguments: &ExperimentArgs) -> Result<Machine> {
    Ok(recipe_of(arguments)?.lab.machine())
}

/// The kernels of the recipe with its flags.
pub(super) fn kernels_of(
    arguments: &ExperimentArgs,
    notice: &mut dyn FnMut(&str),
) -> Result<Vec<KernelSpec>> {
    kernel_specs(&recipe_of(arguments)?, arguments.guest.refresh, notice)
}

/// The recipe with its flags.
pub(super) fn recipe_of(arguments: &ExperimentArgs) -> Result<LabRecipe> {
    let name = arguments.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
    if switch_file::describes_a_switch(name) {
        return Err(
            wrong("recipe", "the test of a switch has no latencies of this kind; name a recipe").into()
        );
    }
    Ok(LabRecipe::find(name)?.overridden_by(arguments))
}

/// Prepares the guests of every article's experiment that the lab can repeat.
pub(super) fn prepare_chapters(
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
    let machine = plan::Machine {
        allowed: (0..pace.cpus()).collect(),
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
        start_delay_ns: start_delay_ns(recipe.measurement.run.seed()),
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

#[cfg(test)]
mod tests {
    use super::*;

    const BOOTS: u64 = 10_000;

    /// The share of `modulus_ns` at which the guest of each consecutive seed begins.
    fn phases(modulus_ns: u64) -> Vec<f64> {
        let phase = |seed| (start_delay_ns(seed) % modulus_ns) as f64 / modulus_ns as f64;
        (1..=BOOTS).map(phase).collect()
    }

    /// The correlation of each value with that of the next seed.
    fn correlation_with_the_next(values: &[f64]) -> f64 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
        products / squares
    }

    /// Within the second, a tick of 250 Hz and a cycle of 1 ms. Five standard deviations are allowed: those of a count of 1,000
    /// (150) and of a correlation of 10,000 values (0.05).
    #[test]
    fn the_delays_of_consecutive_seeds_are_uniform_and_unrelated() {
        for modulus_ns in [START_WITHIN_NS, 4_000_000, 1_000_000] {
            let phases = phases(modulus_ns);
            for tenth in 0..10 {
                let count = phases.iter().filter(|phase| (**phase * 10.0) as u64 == tenth).count();
                assert!(count.abs_diff(1_000) < 150, "{count} of tenth {tenth} of {modulus_ns} ns");
            }
            let correlation = correlation_with_the_next(&phases);
            assert!(correlation.abs() < 0.05, "{correlation} at {modulus_ns} ns");
        }
    }

    #[test]
    fn different_seeds_have_different_delays_and_seed_1_has_none() {
        // Of 10,000 draws of 1e9 ns, 0.05 pairs are expected to agree; the seed moves the loads of such a pair nevertheless.
        let delays: std::collections::BTreeSet<u64> = (1..=BOOTS).map(start_delay_ns).collect();
        assert!(delays.len() as u64 >= BOOTS - 1, "{} different delays", delays.len());
        assert_eq!(start_delay_ns(1), 0);
        assert!(delays.iter().all(|delay| *delay < START_WITHIN_NS));
    }
}
