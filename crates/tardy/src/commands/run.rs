//! `tardy run`: plans a run, measures and shows it.

mod in_turn;

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};
use tardy_analyse::{phase_lock, until};
use tardy_host::cpus::Cpus;
use tardy_host::facts;
use tardy_host::gpio::chips;
use tardy_host::trace::remove_left_behind;
use tardy_host::trace::tracefs::Offer;
use tardy_measure::doctor::order_of_round;
use tardy_measure::engine::result_file::{ResultFile, is_same_place};
use tardy_measure::engine::{Listener, Outcome, Request, RunError};
use tardy_present::plan_text;
use tardy_present::sections::phase_lock as shown;
use tardy_recipe::plan::{Extras, Machine, Pins, pin_notices, refuse_unused, resolve};
use tardy_recipe::{Recipe, UsageError, wrong};
use tardy_record::excerpt::excerpt;
use tardy_record::facts::Facts;
use tardy_record::plan::{PhasePlan, Plan, ProbePlan};
use tardy_record::run::Origin;
use tardy_record::wiggle::Pace;
use tardy_sys::kernel_files::KernelFiles;
use tardy_watch::late_wake_ups::LateWakeUps;

use super::progress::Progress;
use super::{late, programs};
use crate::live::LiveView;
use tardy_args::LabRecipe;
use tardy_args::RunArgs;
use tardy_command::additions::Addition;
use tardy_command::{Exit, origin, output, pages, requirements, show_run};

/// Measures, or with `--dry-run` prints the plan.
pub(crate) fn run(arguments: &RunArgs) -> Result<Exit> {
    if !arguments.ab.is_empty() {
        return in_turn::run(arguments);
    }
    let recipe = recipe(arguments, arguments.recipe.as_deref())?;
    let plan = plan(arguments, &recipe)?;
    let is_file = arguments.recipe.as_deref().is_some_and(tardy_recipe::is_path);
    if is_file {
        report_commands(&plan, arguments.dry_run);
    }
    if arguments.dry_run {
        pin_notices(&plan, &facts(arguments)).iter().for_each(|line| output::report(line));
        match arguments.json {
            true => output::print_json(&plan)?,
            false => output::print(&plan_text::text(&plan, output::width()))?,
        }
        return Ok(Exit::Done);
    }
    if arguments.fake.is_none() {
        check_programs(&plan)?;
        remove_left_behind(&KernelFiles::real()).iter().for_each(|message| output::report(message));
    }
    let output = arguments.output.clone().unwrap_or_else(|| default_output(SystemTime::now()));
    let request = request(arguments, &recipe, is_file, plan, output)?;
    request.plan.placement.remarks.iter().for_each(|line| output::report(line));
    pin_notices(&request.plan, &request.facts).iter().for_each(|line| output::report(line));
    for warning in shown::warnings(&phase_lock::beforehand(&request.plan, &request.facts)) {
        output::report(&warning);
    }
    let report = arguments.report.as_ref().map(|report| report_path(report.as_deref(), &request.output));
    if let Some(report) = &report {
        check_report_path(report, &request)?;
    }
    let report = report.map(|report| ResultFile::claim(&report, arguments.force)).transpose()?;
    // An archive that cannot be used is noticed before the measurement.
    arguments.keep.as_deref().map(Addition::to).transpose()?;
    let outcome = measured(&request, arguments)?;
    let outcome = Outcome { run: output::redacted(outcome.run, arguments.redaction)?, ..outcome };
    present(&outcome, arguments, &request.output, report.as_ref())
}

/// What the engine measures. `is_file` states whether the recipe is the user's own.
fn request(
    arguments: &RunArgs,
    recipe: &Recipe,
    is_file: bool,
    plan: Plan,
    output: PathBuf,
) -> Result<Request> {
    let name = arguments.name.clone().flatten();
    let origin = Origin { name, ..origin::of_this_command(SystemTime::now(), arguments.fake) };
    Ok(Request {
        samples: arguments.samples.clone(),
        ptp4l_log: arguments.ptp4l_log.clone(),
        requires_policy: requires_policy(arguments, recipe, is_file),
        force: arguments.force,
        kernel_root: arguments.kernel_root.clone(),
        fake: arguments.fake,
        decide: Some(until::decision),
        redacts: arguments.redaction.redact,
        ..Request::new(plan, facts(arguments), origin, output, programs::of_tardy()?)
    })
}

/// Measures, with the live view if the output is a terminal, or else with one line of progress.
fn measured(request: &Request, arguments: &RunArgs) -> Result<Outcome, RunError> {
    let is_wanted = !arguments.quiet && !arguments.one_line && std::io::stdout().is_terminal();
    match is_wanted.then(LiveView::open).flatten() {
        Some(mut view) => {
            let outcome = measured_with(request, arguments, &mut view);
            view.close();
            outcome
        }
        None => {
            let progress = Progress::new(arguments.quiet);
            let mut progress = if arguments.json { progress } else { progress.before_summary() };
            let outcome = measured_with(request, arguments, &mut progress);
            progress.close();
            outcome
        }
    }
}

/// Measures, and responds to late wake-ups if the user asked for that.
fn measured_with(
    request: &Request,
    arguments: &RunArgs,
    listener: &mut dyn Listener,
) -> Result<Outcome, RunError> {
    let Some(limit) = arguments.late.late else { return tardy_measure::run(request, listener) };
    let response = late::response(&arguments.late);
    let mut late = LateWakeUps::new(listener, limit.ns(), request.output.clone(), response);
    let outcome = tardy_measure::run(request, &mut late);
    let messages = late.finish(outcome.as_ref().ok().map(|outcome| &outcome.run));
    messages.iter().for_each(|message| listener.message(message));
    outcome
}

/// Puts the run file into an archive, if one is named.
pub(super) fn keep(archive: Option<&Path>, run_file: &Path) -> Result<()> {
    let Some(archive) = archive else { return Ok(()) };
    let mut addition = Addition::to(archive)?;
    addition.file(run_file)?;
    match addition.finish(false)? {
        true => Ok(()),
        false => bail!("the run is not in the archive; its run file is {}", run_file.display()),
    }
}

fn present(
    outcome: &Outcome,
    arguments: &RunArgs,
    run_file: &Path,
    report: Option<&ResultFile>,
) -> Result<Exit> {
    let Outcome { run, trouble, is_saved } = outcome;
    show_run(run, arguments.json)?;
    if *is_saved {
        output::report(&format!("run file {}", run_file.display()));
    }
    if let (Some(samples), Some(path)) = (&run.samples, &arguments.samples) {
        let path = path.display();
        output::report(&format!("samples {path}: {} kept, {} lost", samples.kept, samples.lost));
    }
    let reported = report.map_or(Ok(()), |report| pages::write(std::slice::from_ref(run), report));
    let kept = keep(arguments.keep.as_deref().filter(|_| *is_saved), run_file);
    match (trouble, reported.and(kept)) {
        (None, Ok(())) => {
            let required = &arguments.requirements.require;
            requirements::after_measuring([run], required, arguments.json, Exit::of_measured(run))
        }
        (Some(trouble), Ok(())) => bail!("{trouble}"),
        (None, Err(error)) => Err(error),
        // A full disk fails both; the place of the run is more important.
        (Some(trouble), Err(error)) => bail!("{trouble}\n{}", tardy_command::message(&error)),
    }
}

/// Reports each command that a recipe file makes tardy execute, once. Long ones are shortened unless `whole` is set.
fn report_commands(plan: &Plan, whole: bool) {
    let of_loads = |phase: &PhasePlan| phase.loads.iter().flat_map(tardy_load::commands).collect::<Vec<_>>();
    let of_probe = |phase: &PhasePlan| match &phase.probe {
        ProbePlan::Foreign(foreign) if !foreign.run.is_empty() => Some(foreign.run.join(" ")),
        ProbePlan::Wiggle(wiggle) => match &wiggle.pace {
            Pace::Command { words } => Some(words.join(" ")),
            _ => None,
        },
        _ => None,
    };
    let mut known = BTreeSet::new();
    for phase in &plan.phases {
        for command in of_probe(phase).into_iter().chain(of_loads(phase)) {
            if known.insert(command.clone()) {
                // A command is one line, also if it contains the ends of lines.
                let line = command.replace('\n', "\\n");
                let shown = if whole { line.as_str().into() } else { excerpt(&line) };
                output::report(&format!("executes: {shown}"));
            }
        }
    }
}

/// Checks that the programs of all loads exist, so that a missing one is not detected hours later, in its phase.
fn check_programs(plan: &Plan) -> Result<(), UsageError> {
    let mut loads = plan.phases.iter().flat_map(|phase| &phase.loads);
    loads.try_for_each(tardy_load::check_programs).map_err(|error| wrong("load", error))
}

/// The recipe with the flags applied; without a recipe, the flags alone.
fn recipe(arguments: &RunArgs, name: Option<&str>) -> Result<Recipe> {
    let recipe = match name {
        Some(name) => LabRecipe::find(name)?.measurement,
        None => Recipe::default(),
    };
    Ok(arguments.requirements.declared_in(recipe.overridden_by(&arguments.flags)))
}

fn plan(arguments: &RunArgs, recipe: &Recipe) -> Result<Plan> {
    // With phases, each may have its own probe, and one of them may use the option.
    if recipe.phase.is_empty() {
        refuse_unused(recipe.run.probe(), &arguments.flags, arguments.samples.is_some())?;
    }
    let rounds = arguments.rounds.filter(|_| arguments.ab.is_empty());
    let recipe = &in_rounds(recipe, rounds);
    let extras = Extras {
        scale: arguments.scale,
        ambient_c: arguments.ambient,
        housekeeping_cpu: arguments.housekeeping_cpu,
    };
    if recipe.run.until.is_some() && (rounds.is_some() || !arguments.ab.is_empty()) {
        let option = if arguments.ab.is_empty() { "--rounds" } else { "--ab" };
        let reason =
            format!("{option} compares phases of equal length; remove --until, or measure without {option}");
        return Err(wrong("until", reason).into());
    }
    let plan = resolve(recipe, extras, &machine(arguments, recipe)?)?;
    arguments.requirements.checked_for(&plan)?;
    Ok(if rounds.is_some() { interleaved(plan) } else { plan })
}

/// `recipe` with so many rounds of everything.
fn in_rounds(recipe: &Recipe, rounds: Option<u32>) -> Recipe {
    let mut recipe = recipe.clone();
    if rounds.is_some() {
        recipe.run.repeat = rounds;
        recipe.phase.iter_mut().for_each(|phase| phase.repeat = None);
    }
    recipe
}

/// `plan` round by round, with the phases of each in random order.
fn interleaved(plan: Plan) -> Plan {
    let mut of_rounds: BTreeMap<u32, Vec<PhasePlan>> = BTreeMap::new();
    for phase in plan.phases {
        of_rounds.entry(phase.round).or_default().push(phase);
    }
    let in_order = |(round, phases): (u32, Vec<PhasePlan>)| {
        order_of_round(plan.seed, round, phases.len()).into_iter().map(move |index| phases[index].clone())
    };
    Plan { phases: of_rounds.into_iter().flat_map(in_order).collect(), ..plan }
}

/// Whether the user asked for a scheduling policy, so that a run without it would answer another question. A recipe that is
/// built in, or no recipe, leaves the first minute without root possible.
fn requires_policy(arguments: &RunArgs, recipe: &Recipe, is_file: bool) -> bool {
    let timer = &arguments.flags.timer;
    let by_flag = timer.policy.is_some() || timer.priority.is_some();
    !arguments.allow_degraded && (by_flag || (is_file && recipe.asks_for_policy()))
}

/// This machine, or with `--fake` a fixed synthetic one.
fn machine(arguments: &RunArgs, recipe: &Recipe) -> Result<Machine> {
    if arguments.fake.is_some() {
        return Ok(Machine {
            cpus: Cpus::alike(vec![0, 1]),
            trace: Offer::fake(),
            co_kernel: Err("not simulated; remove --fake".to_owned()),
            pins: Pins::Known(chips::fake()),
        });
    }
    let files = KernelFiles::under(&arguments.kernel_root);
    let machine = Machine::this(&files, recipe).map_err(|reason| anyhow!(reason))?;
    Ok(machine.in_cgroup(&files, recipe)?)
}

fn facts(arguments: &RunArgs) -> Facts {
    let files = KernelFiles::under(&arguments.kernel_root);
    let answers = match arguments.fake {
        Some(_) => facts::SystemAnswers::none(),
        None => facts::SystemAnswers::ask(),
    };
    facts::collect(&files, &answers)
}

/// The default run file, with a name that is unused: another run may have started in the same second.
pub(super) fn default_output(started: SystemTime) -> PathBuf {
    let stamp = origin::stamp(started);
    let numbered = (2..).map(|number| format!("tardy-{stamp}-{number}.run.json"));
    let mut names = std::iter::once(format!("tardy-{stamp}.run.json")).chain(numbered).map(PathBuf::from);
    names.find(|name| name.symlink_metadata().is_err()).expect("the names are infinite")
}

/// The report must not overwrite the run file or the samples, not even with --force.
fn check_report_path(report: &Path, request: &Request) -> Result<(), UsageError> {
    let check = |path: &Path, what: &str| {
        let reason = format!("{} is the {what}; choose another name for the report", path.display());
        if is_same_place(path, report) { Err(wrong("report", reason)) } else { Ok(()) }
    };
    check(&request.output, "run file")?;
    request.samples.as_deref().map_or(Ok(()), |samples| check(samples, "samples file"))
}

/// The path of the report: as given, or that of the run file with another ending.
fn report_path(given: Option<&Path>, run_file: &Path) -> PathBuf {
    if let Some(given) = given {
        return given.to_owned();
    }
    run_file.with_file_name(output::stem(run_file) + ".html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_is_next_to_its_run_file() {
        assert_eq!(report_path(None, Path::new("a/b.run.json")), Path::new("a/b.html"));
        assert_eq!(report_path(Some(Path::new("c.html")), Path::new("a/b.run.json")), Path::new("c.html"));
    }
}
