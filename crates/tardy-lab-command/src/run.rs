//! `tardy lab run`: boots guests, and compares and reports their runs.

use std::borrow::Cow;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tardy_analyse::name;
use tardy_compare::{seeds, side_by_side};
use tardy_init::messages::Message;
use tardy_lab::experiment::{Experiment, ExperimentError, Host, Outcome};
use tardy_lab::guest::cpio::Entry;
use tardy_lab::kept_guests::KeptGuests;
use tardy_lab::machine::Pace;
use tardy_lab::parallel_guests;
use tardy_load::quoted;
use tardy_measure::engine::result_file::ResultFile;
use tardy_present::report::Chapter;
use tardy_present::seeds as shown_seeds;
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_record::run::Trial;
use tardy_record::units::format_duration_ns;
use tardy_sys::files;
use tardy_sys::signals::EndSignals;

use crate::assemble::{Guest, Prepared, print_notices};
use crate::prepare::{Seed, Seeds, prepare_chapters, prepare_seeds};
use crate::results::{Files, run_of};
use tardy_args::{LabResultArgs, LabRunArgs, RedactionFlag};
use tardy_command::versus::Compared;
use tardy_command::{Exit, comparison, output, pages, requirements, show_run};

/// A guest of a recipe, with its result files.
struct Job<'a> {
    prepared: &'a Prepared,
    guest: &'a Guest,
    /// Replaces the recipe's seed.
    seed: Option<&'a Seed>,
    /// Its place in a comparison over boots, without the side.
    trial: Option<Trial>,
    /// Names the guest in messages and files.
    name: String,
    files: Files,
    redaction: RedactionFlag,
}

/// The experiment; with a seed a copy, made only for the guests that run, since it contains the guest's programs.
pub(crate) fn experiment<'a>(prepared: &'a Prepared, seed: Option<&Seed>) -> Cow<'a, Experiment> {
    let experiment = &prepared.experiment;
    seed.map_or(Cow::Borrowed(experiment), |seed| Cow::Owned(seed.apply(experiment.clone())))
}

/// The guests in the order in which they boot, each with its seed. Without seeds each boots once, with the recipe's own.
fn boots<'a>(prepared: &'a Prepared, seeds: &'a [Seed], of: Seeds) -> Vec<(Option<&'a Seed>, &'a Guest)> {
    let guests = &prepared.guests;
    match of {
        Seeds::Own => guests.iter().map(|guest| (None, guest)).collect(),
        Seeds::Shared(_) => {
            seeds.iter().flat_map(|seed| guests.iter().map(move |guest| (Some(seed), guest))).collect()
        }
        Seeds::Rounds(_) => seeds.iter().map(Some).zip(guests.iter().cycle()).collect(),
    }
}

/// Runs a recipe on each kernel, or the experiments of all articles.
pub(crate) fn run(arguments: &LabRunArgs) -> Result<Exit> {
    let results = &arguments.results;
    let required = &results.requirements;
    if arguments.all {
        if !required.require.is_empty() {
            return Err(wrong(
                "require",
                "it judges the runs of one recipe; remove --all, or judge the run files with 'tardy gate'",
            )
            .into());
        }
        return run_chapters(arguments);
    }
    let of = match (arguments.rounds, arguments.seeds) {
        (Some(rounds), _) => Seeds::Rounds(rounds),
        (None, 1) => Seeds::Own,
        (None, seeds) => Seeds::Shared(seeds),
    };
    let (prepared, seeds) = prepare_seeds(&arguments.experiment, of, required, &mut print_notices())?;
    boot_and_present(&prepared, &seeds, of, results)
}

/// Boots the guests, and writes, shows and judges their runs.
pub(crate) fn boot_and_present(
    prepared: &Prepared,
    seeds: &[Seed],
    of: Seeds,
    results: &LabResultArgs,
) -> Result<Exit> {
    let boots = boots(prepared, seeds, of);
    if results.dry_run {
        return dry_run(prepared, &boots);
    }
    prepared.warn_if_unconfined();
    let directory = directory(results, &prepared.recipe);
    let jobs = jobs(prepared, &boots, of, &directory, results)?;
    let report = ResultFile::claim(&directory.join("report.html"), results.force)?;
    let runs = all_of(boot_all(&jobs, results.quiet)?)?;
    let kernels = prepared.guests.len();
    let measured = match of {
        Seeds::Rounds(_) => present_rounds(&runs, kernels, &report, results.json)?,
        _ => {
            pages::write(&runs[..kernels], &report)?;
            match seeds.is_empty() {
                true => present(&runs, results.json)?,
                false => present_seeds(&runs, kernels, results.json)?,
            }
        }
    };
    requirements::after_measuring(&runs, &results.requirements.require, results.json, measured)
}

/// Shows the runs of several seeds; `kernels` runs belong to each seed, in the order of the kernels.
fn present_seeds(runs: &[Run], kernels: usize, json: bool) -> Result<Exit> {
    let of_kernel = |kernel: usize| {
        let of_it: Vec<&Run> = runs.iter().skip(kernel).step_by(kernels).collect();
        (name::of_run(&runs[kernel]), of_it)
    };
    let rows = seeds::of(&(0..kernels).map(of_kernel).collect::<Vec<_>>());
    match json {
        true => output::print_json(&rows)?,
        false => output::print(&shown_seeds::text(&rows, output::width(), output::colour()))?,
    }
    Ok(Exit::of_measured_all(runs))
}

/// Compares each kernel with the first over the boots of all rounds, and writes a page: of the comparison of two kernels, of one
/// boot of each if there are more or fewer.
fn present_rounds(runs: &[Run], kernels: usize, page: &ResultFile, json: bool) -> Result<Exit> {
    let of_kernel = |kernel: usize| runs.iter().skip(kernel).step_by(kernels).cloned().collect::<Vec<Run>>();
    if kernels < 2 {
        pages::write(&runs[..kernels], page)?;
        return present_seeds(runs, kernels, json);
    }
    let compared: Vec<Compared> = (1..kernels)
        .map(|other| Compared::of_boots([of_kernel(0), of_kernel(other)]))
        .collect::<Result<_>>()?;
    match &compared[..] {
        [one] => pages::finish(&one.page(), page)?,
        _ => pages::write(&runs[..kernels], page)?,
    }
    Compared::print_all(&compared, json)?;
    let shown = compared.iter().map(Compared::exit);
    Ok(Exit::that_matters_most(shown.chain([Exit::of_measured_all(runs)])))
}

/// Runs the experiment of every article, each with its own directory, and writes one report.
fn run_chapters(arguments: &LabRunArgs) -> Result<Exit> {
    let chapters = prepare_chapters(&arguments.experiment, &mut print_notices())?;
    let results = &arguments.results;
    if results.dry_run {
        chapters
            .iter()
            .try_for_each(|prepared| dry_run(prepared, &boots(prepared, &[], Seeds::Own)).map(drop))?;
        return Ok(Exit::Done);
    }
    chapters.iter().take(1).for_each(Prepared::warn_if_unconfined);
    let directory = directory(results, "all");
    let mut jobs_of_all = Vec::new();
    for prepared in &chapters {
        let boots = boots(prepared, &[], Seeds::Own);
        jobs_of_all.extend(jobs(prepared, &boots, Seeds::Own, &directory.join(&prepared.recipe), results)?);
    }
    let report = ResultFile::claim(&directory.join("report.html"), results.force)?;
    let mut outcomes = boot_all(&jobs_of_all, results.quiet)?.into_iter();
    let mut runs_of_all = Vec::new();
    for prepared in &chapters {
        runs_of_all.push(all_of(outcomes.by_ref().take(prepared.guests.len()).collect())?);
    }
    let report_chapters: Vec<Chapter<'_>> = chapters
        .iter()
        .zip(&runs_of_all)
        .map(|(prepared, runs)| Chapter {
            title: prepared.chapter.clone().unwrap_or_else(|| prepared.recipe.clone()),
            about: prepared.about.clone(),
            runs: runs.iter().collect(),
        })
        .collect();
    pages::write_chapters(&report_chapters, &report)?;
    Ok(Exit::of_measured_all(runs_of_all.iter().flatten()))
}

/// Claims the paths of all results before anything boots.
fn jobs<'a>(
    prepared: &'a Prepared,
    boots: &[(Option<&'a Seed>, &'a Guest)],
    of: Seeds,
    directory: &Path,
    results: &LabResultArgs,
) -> Result<Vec<Job<'a>>> {
    files::make_directories(directory).with_context(|| directory.display().to_string())?;
    let job = |(index, (seed, guest)): (usize, &(Option<&'a Seed>, &'a Guest))| {
        let round = index / prepared.guests.len() + 1;
        let name = match (seed, of) {
            (Some(_), Seeds::Rounds(_)) => format!("{}-round-{round}", guest.slug),
            (Some(seed), _) => format!("{}-seed-{}", guest.slug, seed.number),
            (None, _) => guest.slug.clone(),
        };
        let trial = match of {
            Seeds::Rounds(rounds) => Some(Trial {
                side: String::new(),
                round: round as u32,
                rounds,
                place: index as u32 + 1,
                order_seed: 0,
            }),
            _ => None,
        };
        let files = Files::claim(directory, &name, results.force)?;
        Ok(Job { prepared, guest, seed: *seed, trial, name, files, redaction: results.redaction })
    };
    boots.iter().enumerate().map(job).collect()
}

/// Boots every guest and writes its results.
fn boot_all(jobs: &[Job<'_>], quiet: bool) -> Result<Vec<Result<Run>>> {
    let outcomes = boot(jobs, quiet)?;
    let written = jobs.iter().zip(outcomes).map(|(job, outcome)| {
        let name = || format!("{}, {}", job.prepared.recipe, job.name);
        outcome
            .map_err(|error| with_console(error, &job.files))
            .and_then(|outcome| write(&outcome, job))
            .with_context(name)
    });
    Ok(written.collect())
}

/// All runs, or an error with the reason for each missing run.
fn all_of(runs: Vec<Result<Run>>) -> Result<Vec<Run>> {
    let (runs, trouble): (Vec<_>, Vec<_>) = runs.into_iter().partition(Result::is_ok);
    if trouble.is_empty() {
        return runs.into_iter().collect();
    }
    let reasons: Vec<String> =
        trouble.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    bail!("{}", reasons.join("\n"))
}

fn boot(jobs: &[Job<'_>], quiet: bool) -> Result<Vec<Result<Outcome, ExperimentError>>> {
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let cancel = Some(signals.as_raw_fd());
    let kept = KeptGuests::of_this_user()?;
    let cores = jobs.first().map_or(&[][..], |job| &job.prepared.cores);
    Ok(parallel_guests::run(
        jobs.len(),
        cores,
        |number, core, on_message| {
            let Job { prepared, guest, seed, .. } = &jobs[number];
            let experiment = experiment(prepared, *seed);
            let pinned = matches!(experiment.pace, Pace::Instructions { .. });
            let host = Host {
                core: core.filter(|_| pinned),
                cancel,
                confinement: &prepared.confinement,
                keep: pinned.then_some(&kept),
            };
            experiment.run(&guest.kernel, guest.modules.clone(), host, on_message)
        },
        |number, message| {
            if !quiet && let Some(text) = describe(message) {
                output::report(&format!("{}: {text}", jobs[number].name));
            }
        },
    ))
}

/// Writes the console log of a guest that failed, and adds its path to the error.
fn with_console(error: ExperimentError, files: &Files) -> anyhow::Error {
    let ExperimentError::Session { console, .. } = &error else { return error.into() };
    let kept = files.console.write(console).map(|()| files.console.path().display());
    match kept {
        Ok(path) if !console.is_empty() => anyhow!("{error}\nconsole log: {path}"),
        _ => error.into(),
    }
}

fn write(outcome: &Outcome, job: &Job<'_>) -> Result<Run> {
    let files = &job.files;
    files.console.write(&outcome.console)?;
    let mut run = run_of(outcome)?;
    run.origin.trial = job.trial.clone().map(|trial| Trial { side: name::of_run(&run), ..trial });
    let run = output::redacted(run, job.redaction)?;
    files.run.write(tardy_record::file::to_text(&run).as_bytes())?;
    output::report(&format!("run file {}", files.run.path().display()));
    Ok(run)
}

/// A guest's message for the user; `None` if the summary repeats it.
pub(crate) fn describe(message: &Message) -> Option<String> {
    match message {
        Message::Booted { at_ns } => Some(format!("booted after {} of guest time", seconds(*at_ns))),
        Message::Idle(settled) if settled.quiet => {
            Some(format!("idle after {}; measuring", seconds(settled.settled_at_ns)))
        }
        Message::Idle(settled) => {
            Some(format!("not idle after {}; measuring anyway", seconds(settled.settled_at_ns)))
        }
        Message::Output { text } => {
            text.strip_prefix("tardy: ").filter(|text| !text.starts_with("run file")).map(str::to_owned)
        }
        Message::File { .. } | Message::End { .. } => None,
    }
}

fn seconds(ns: u64) -> String {
    format_duration_ns(ns / 100_000_000 * 100_000_000)
}

fn present(runs: &[Run], json: bool) -> Result<Exit> {
    let all: Vec<&Run> = runs.iter().collect();
    match side_by_side::of(&all) {
        Some(compared) => comparison::print(&all, &compared, json)?,
        None => show_run(&runs[0], json)?,
    }
    Ok(Exit::of_measured_all(runs))
}

fn directory(results: &LabResultArgs, recipe: &str) -> PathBuf {
    results.output.clone().unwrap_or_else(|| Path::new(&format!("tardy-lab-{recipe}")).to_owned())
}

/// Prints the guests' program, each emulator's command line and the guests' orders.
fn dry_run(prepared: &Prepared, boots: &[(Option<&Seed>, &Guest)]) -> Result<Exit> {
    // One description has all guests; the boots of a kernel differ in the seed.
    for (seed, _) in boots.iter().step_by(prepared.guests.len()) {
        output::print(&described(&experiment(prepared, *seed), prepared)?)?;
    }
    Ok(Exit::Done)
}

/// The guests' program, the emulators' command lines, the orders and the recipe.
fn described(experiment: &Experiment, prepared: &Prepared) -> Result<String> {
    let mut text = format!("program of the guests: {}\n", prepared.guest_program.display());
    for guest in &prepared.guests {
        let words = experiment.emulator_arguments(&guest.kernel, &guest.modules);
        text += &format!("{}: {}\n", guest.kernel.spec, guest.kernel.image.path.display());
        text += &format!("  {} {}\n", experiment.machine.emulator(), shell_words(&words));
        text += &format!("  {}\n", prepared.confinement);
        for module in &guest.modules {
            text += format!("  module {} {}", module.name, module.parameters).trim_end();
            text += "\n";
        }
    }
    text += &serde_json::to_string_pretty(&experiment.orders)?;
    text += "\n";
    for (path, entry) in &experiment.parts.files {
        if let Entry::File { content, .. } = entry
            && path.ends_with(".toml")
        {
            text += &format!("{path}:\n{}", String::from_utf8_lossy(content));
        }
    }
    Ok(text)
}

fn shell_words(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}
