//! `tardy run --ab`: measures two recipes in turn, and compares them.
//!
//! Every round measures each recipe once, in random order, so that a drift of the machine affects both. The runs are separate
//! files, which record their side and round.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use tardy_compare::versus::{Factor, Options};
use tardy_measure::doctor::order_of_round;
use tardy_measure::engine::Request;
use tardy_measure::engine::result_file::ResultFile;
use tardy_present::plan_text;
use tardy_recipe::{Recipe, wrong};
use tardy_record::Run;
use tardy_record::plan::Plan;
use tardy_record::run::{State, Trial};
use tardy_sys::files;

use super::{check_programs, measured, plan, recipe, report_commands, request};
use tardy_args::RunArgs;
use tardy_command::versus::Compared;
use tardy_command::{Exit, origin, output, pages, requirements};

/// The rounds, if none are requested: enough for a test and for a recommendation.
const ROUNDS: u32 = 5;

/// One of the two recipes.
struct Side {
    name: String,
    recipe: Recipe,
    plan: Plan,
    /// Whether the recipe is a file.
    is_file: bool,
}

/// The place of a run in the comparison.
#[derive(Clone, Copy)]
struct Turn {
    round: u32,
    /// The index of its side.
    side: usize,
    /// Its place among all runs, from 1.
    place: u32,
}

/// Measures both recipes in turn, or with `--dry-run` prints the plan.
pub(super) fn run(arguments: &RunArgs) -> Result<Exit> {
    let sides = sides(arguments)?;
    let seed = sides[0].plan.seed;
    let rounds = arguments.rounds.unwrap_or(ROUNDS);
    let turns = turns(seed, rounds);
    for side in &sides {
        if side.is_file {
            report_commands(&side.plan, arguments.dry_run);
        }
    }
    if arguments.dry_run {
        return dry_run(arguments, &sides, &turns);
    }
    if arguments.fake.is_none() {
        sides.iter().try_for_each(|side| check_programs(&side.plan))?;
    }
    let default = || PathBuf::from(format!("tardy-ab-{}", origin::stamp(SystemTime::now())));
    let directory = arguments.output.clone().unwrap_or_else(default);
    files::make_directories(&directory).with_context(|| directory.display().to_string())?;
    let page = ResultFile::claim(&directory.join("report.html"), arguments.force)?;
    for turn in &turns {
        // Fails before anything is measured if a file exists.
        drop(ResultFile::claim(&output_of(&sides[turn.side], *turn, &directory), arguments.force)?);
    }
    let mut of_sides: [Vec<Run>; 2] = Default::default();
    for turn in &turns {
        // The facts about the machine are those at the start of each run.
        let request = request_of(arguments, &sides[turn.side], *turn, seed, &directory)?;
        let run = measure(arguments, &request, *turn)?;
        let is_interrupted = run.progress.state != State::Complete;
        of_sides[turn.side].push(run);
        if is_interrupted {
            output::report(&format!(
                "interrupted in round {} of {}; 'tardy compare --base' compares the runs in {}",
                turn.round,
                rounds,
                directory.display()
            ));
            return Ok(Exit::CouldNot);
        }
    }
    let compared = Compared::of_runs(of_sides, &Options { factor: Factor::Recipe, limit_ns: None })?;
    pages::finish(&compared.page(), &page)?;
    let shown = compared.print(arguments.json)?;
    let status = Exit::that_matters_most([shown, Exit::of_measured_all(&compared.runs)]);
    requirements::after_measuring(&compared.runs, &arguments.requirements.require, arguments.json, status)
}

/// Both recipes with the flags applied.
fn sides(arguments: &RunArgs) -> Result<[Side; 2]> {
    let names: Vec<String> = arguments.ab.iter().map(|name| stem(name)).collect();
    let are_different = names[0] != names[1];
    let side = |index: usize| -> Result<Side> {
        let given = &arguments.ab[index];
        let recipe = recipe(arguments, Some(given))?;
        let plan = plan(arguments, &recipe)?;
        let name = if are_different { names[index].clone() } else { ["A", "B"][index].to_owned() };
        Ok(Side { name, recipe, plan, is_file: tardy_recipe::is_path(given) })
    };
    let sides = [side(0)?, side(1)?];
    let [one, other] = sides.each_ref().map(|side| &side.plan);
    if one.seed != other.seed {
        let reason =
            format!("the recipes have the seeds {} and {}; give one with --seed", one.seed, other.seed);
        return Err(wrong("ab", reason).into());
    }
    Ok(sides)
}

/// The name of a recipe without its directory and its ending.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The runs of all rounds in their order.
fn turns(seed: u64, rounds: u32) -> Vec<Turn> {
    let of_round = |round: u32| order_of_round(seed, round, 2).into_iter().map(move |side| (round, side));
    (1..)
        .zip((1..=rounds).flat_map(of_round))
        .map(|(place, (round, side))| Turn { round, side, place })
        .collect()
}

fn output_of(side: &Side, turn: Turn, directory: &Path) -> PathBuf {
    directory.join(format!("{}-round-{}.run.json", side.name, turn.round))
}

/// The request of one run. Each round has its own seed, which both recipes share.
fn request_of(arguments: &RunArgs, side: &Side, turn: Turn, seed: u64, directory: &Path) -> Result<Request> {
    let plan = Plan { seed: seed.wrapping_add(u64::from(turn.round) - 1), ..side.plan.clone() };
    let output = output_of(side, turn, directory);
    let mut request = request(arguments, &side.recipe, side.is_file, plan, output)?;
    request.fake = arguments.fake.map(|fake| fake.wrapping_add(u64::from(turn.place)));
    request.origin.id = format!("{}-{}", request.origin.id, turn.place);
    request.origin.trial = Some(Trial {
        side: side.name.clone(),
        round: turn.round,
        rounds: arguments.rounds.unwrap_or(ROUNDS),
        place: turn.place,
        order_seed: seed,
    });
    Ok(request)
}

/// Measures one run.
fn measure(arguments: &RunArgs, request: &Request, turn: Turn) -> Result<Run> {
    let trial = request.origin.trial.clone().unwrap_or_default();
    let what = format!("round {} of {}, {}", turn.round, trial.rounds, trial.side);
    let outcome = measured(request, arguments).with_context(|| what.clone())?;
    if let Some(trouble) = outcome.trouble {
        anyhow::bail!("{what}: {trouble}");
    }
    output::report(&format!("{what}: run file {}", request.output.display()));
    output::redacted(outcome.run, arguments.redaction)
}

/// Prints the order of the runs, and both plans.
fn dry_run(arguments: &RunArgs, sides: &[Side; 2], turns: &[Turn]) -> Result<Exit> {
    if arguments.json {
        output::print_json(&sides.each_ref().map(|side| &side.plan))?;
        return Ok(Exit::Done);
    }
    let order: Vec<&str> = turns.iter().map(|turn| sides[turn.side].name.as_str()).collect();
    let rounds = turns.last().map_or(0, |turn| turn.round);
    output::print(&format!("{rounds} rounds, in this order: {}\n", order.join(" ")))?;
    for side in sides {
        output::print(&format!("\n{}\n{}", side.name, plan_text::text(&side.plan, output::width())))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_measures_both_in_random_order() {
        let turns = turns(7, 20);
        assert_eq!(turns.len(), 40);
        for (number, pair) in turns.chunks(2).enumerate() {
            assert!(pair.iter().all(|turn| turn.round as usize == number + 1));
            assert_ne!(pair[0].side, pair[1].side);
        }
        let first: usize = turns.iter().step_by(2).map(|turn| turn.side).sum();
        assert!((1..20).contains(&first), "one recipe is always the first");
        assert_eq!(turns.last().map(|turn| turn.place), Some(40));
    }
}
