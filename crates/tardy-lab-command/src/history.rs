//! `tardy lab history`: a recipe on versions of the kernel, as a site.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tardy_lab::kernel::KernelSpec;
use tardy_load::quoted;
use tardy_measure::engine::result_file::ResultFile;
use tardy_recipe::wrong;
use tardy_search::kernel_history::{self, KernelHistory, Version};
use tardy_site::kernel_history as shown;
use tardy_sys::files;

use crate::assemble::{Prepared, print_notices};
use crate::kept_boots::{self, Boot, KeptBoot};
use crate::prepare::{Seed, kernels_of, prepare_on, recipe_of};
use tardy_args::LabHistoryArgs;
use tardy_command::{Exit, identity, output};

/// The directory of the run files in that of the site.
const RUNS: &str = "runs";
/// The data of the site, by which it is recognised.
const DATA: &str = "history.json";

/// Runs what was not run before, and writes the site.
pub(crate) fn run(arguments: &LabHistoryArgs) -> Result<Exit> {
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
    let [command, again] = commands(arguments);
    let about = shown::About { command, again, instruction_ns, made_by: identity::get().to_owned() };
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

/// The options of this command with a value that differ between the history and one of its boots.
const OF_HISTORY: [&str; 6] = ["-o", "--output", "-k", "--kernel", "--kernels", "--seeds"];
/// The options without a value that do not matter for numbers.
const WITHOUT_EFFECT: [&str; 5] = ["-q", "--quiet", "--json", "--force", "--refresh"];

/// The words of this command that a boot of the history has too: the recipe and the options that change it.
fn words_of_each_boot(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.skip_while(|word| word != "history").skip(1);
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if OF_HISTORY.contains(&name) {
            if !word.contains('=') {
                words.next();
            }
        } else if !WITHOUT_EFFECT.contains(&name) {
            kept.push(quoted(&word));
        }
    }
    kept
}

/// The command that makes the site, and the beginning of the one that repeats a boot.
fn commands(arguments: &LabHistoryArgs) -> [String; 2] {
    let each = words_of_each_boot(std::env::args()).join(" ");
    let kernels = arguments.experiment.lab.kernels.iter().flatten();
    let kernels: String =
        kernels.map(|kernel| format!(" --kernel {}", quoted(&kernel.to_string()))).collect();
    let seeds = arguments.seeds;
    [format!("tardy lab history {each}{kernels} --seeds {seeds} -o DIR"), format!("tardy lab run {each}")]
}

/// Writes the files of the site, and removes the pages of kernels that it no longer has.
fn write(history: &KernelHistory, about: &shown::About, directory: &Path) -> Result<()> {
    let site = shown::site(history, about);
    let pages = std::fs::read_dir(directory.join(shown::KERNELS)).into_iter().flatten();
    for page in pages.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_of_site = site.iter().any(|file| directory.join(&file.path) == page);
        if !is_of_site && page.extension().is_some_and(|extension| extension == "html") {
            files::remove_own(&page).with_context(|| page.display().to_string())?;
        }
    }
    for file in site {
        let path: PathBuf = directory.join(&file.path);
        let parent = path.parent().unwrap_or(directory);
        files::make_directories(parent).with_context(|| parent.display().to_string())?;
        ResultFile::claim(&path, true)?.write(file.content.as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_is_repeated_with_what_changes_its_numbers() {
        let words = "tardy lab history lab-quick --loops 200 -k debian:6.12 --kernels=debian:7.3 --seeds 9 -q -o DIR --scale=0.5";
        let kept = words_of_each_boot(words.split(' ').map(str::to_owned));
        assert_eq!(kept, ["lab-quick", "--loops", "200", "--scale=0.5"]);
    }
}
