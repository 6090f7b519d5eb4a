//! `tardy lab history`: a recipe on versions of the kernel, as a site.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tardy_compare::kernel_history::{self, KernelHistory, Version};
use tardy_lab::kernel::KernelSpec;
use tardy_measure::engine::result_file::ResultFile;
use tardy_present::kernel_history as shown;
use tardy_recipe::wrong;
use tardy_sys::files;

use super::assemble::{Prepared, print_notices};
use super::kept_boots::{self, Boot, KeptBoot};
use super::prepare::{Seed, kernels_of, prepare_on, recipe_of};
use crate::args::LabHistoryArgs;
use crate::build_identity;
use crate::commands::output;
use crate::exit::Exit;

/// The directory of the run files in that of the site.
const RUNS: &str = "runs";
/// The data of the site, by which it is recognised.
const DATA: &str = "history.json";

/// Runs what was not run before, and writes the site.
pub(super) fn run(arguments: &LabHistoryArgs) -> Result<Exit> {
    kept_boots::check_pace(&arguments.experiment)?;
    let recipe = recipe_of(&arguments.experiment)?.name().to_owned();
    check_directory(&arguments.output, &recipe, arguments.force)?;
    let kernels = kernels_of(&arguments.experiment, &mut print_notices())?;
    let mut versions = Vec::new();
    let mut instruction_ns = None;
    for kernel in kernels {
        let version = measure(arguments, kernel)?;
        instruction_ns =
            instruction_ns.or(version.runs.first().and_then(|(_, run)| kernel_history::instruction_ns(run)));
        versions.push(version);
    }
    let history = kernel_history::of(&recipe, &versions);
    let about = shown::About {
        command: command(arguments, &recipe),
        instruction_ns,
        made_by: build_identity::identity().to_owned(),
    };
    write(&history, &about, &arguments.output)?;
    if arguments.json {
        output::print_json(&history)?;
    } else {
        output::print(&shown::text(&history, output::width()))?;
    }
    output::report(&format!("site {}", arguments.output.join("index.html").display()));
    let is_complete = versions.iter().all(|version| version.problems.is_empty());
    Ok(if is_complete { Exit::Done } else { Exit::CouldNot })
}

/// Refuses a directory with a site of another recipe, or with files that are not of a history.
fn check_directory(directory: &Path, recipe: &str, force: bool) -> Result<()> {
    let data = directory.join(DATA);
    let Ok(text) = std::fs::read(&data) else {
        if directory.join("index.html").exists() && !force {
            let reason = format!(
                "{} has an index.html that is not of a history; choose another directory",
                directory.display()
            );
            return Err(wrong("output", reason).into());
        }
        return Ok(());
    };
    let of: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    match of["recipe"].as_str() {
        Some(known) if known != recipe && !force => {
            let reason =
                format!("{} is the history of {known}; choose another directory", directory.display());
            Err(wrong("output", reason).into())
        }
        _ => Ok(()),
    }
}

/// The runs of a kernel with all seeds. A kernel that cannot be fetched, or does not boot, has problems instead.
fn measure(arguments: &LabHistoryArgs, kernel: KernelSpec) -> Result<Version> {
    let spec = kernel.to_string();
    let prepared = prepare_on(&arguments.experiment, vec![kernel], arguments.seeds, &mut print_notices());
    let (prepared, seeds) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            output::report(&format!("{spec}: {error:#}"));
            return Ok(Version { spec, runs: Vec::new(), problems: vec![first_line(&format!("{error:#}"))] });
        }
    };
    let boots: Vec<Boot<'_>> = seeds.iter().map(|seed| of_seed(&prepared, seed)).collect();
    let booted = kept_boots::boot_each(&prepared, &boots, &arguments.output.join(RUNS), arguments.quiet)?;
    let spec = prepared.guests[0].kernel.spec.clone();
    let new = booted.iter().flatten().filter(|one| one.is_new).count();
    output::report(&format!("{spec}: {new} of {} seeds run, the others were there", booted.len()));
    let mut version = Version { spec, runs: Vec::new(), problems: Vec::new() };
    for one in booted {
        match one {
            Ok(KeptBoot { path, run, .. }) => version.runs.push((file_name(&path), run)),
            Err(failure) => {
                output::report(&failure);
                version.problems.push(first_line(&failure));
            }
        }
    }
    Ok(version)
}

fn of_seed<'a>(prepared: &'a Prepared, seed: &'a Seed) -> Boot<'a> {
    Boot { guest: &prepared.guests[0], seed: Some(seed) }
}

/// The first line: a panic's trace is in the console log.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The path of a run file relative to the site's directory.
fn file_name(path: &Path) -> String {
    format!("{RUNS}/{}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// The command that makes the site, without the directory of the machine.
fn command(arguments: &LabHistoryArgs, recipe: &str) -> String {
    let kernels = arguments.experiment.lab.kernels.iter().flatten();
    let kernels: String = kernels.map(|kernel| format!(" --kernel '{kernel}'")).collect();
    format!("tardy lab history {recipe}{kernels} --seeds {} -o DIR", arguments.seeds)
}

fn write(history: &KernelHistory, about: &shown::About, directory: &Path) -> Result<()> {
    for file in shown::site(history, about) {
        let path: PathBuf = directory.join(&file.path);
        let parent = path.parent().unwrap_or(directory);
        files::make_directories(parent).with_context(|| parent.display().to_string())?;
        ResultFile::claim(&path, true)?.write(file.content.as_bytes())?;
    }
    Ok(())
}
