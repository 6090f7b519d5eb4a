//! `tardy lab run`: boot, measure, compare, report.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_analyse::compare;
use tardy_lab::crew;
use tardy_lab::experiment::{ExperimentError, Host, Outcome};
use tardy_lab::guest::words::Word;
use tardy_lab::machine::Pace;
use tardy_measure::run::result_file::ResultFile;
use tardy_record::Run;
use tardy_record::units::format_duration_ns;
use tardy_sys::signals::EndSignals;

use super::prepare::{Prepared, prepare, tell_notice};
use super::results::{Files, run_of};
use crate::args::LabRunArgs;
use crate::commands::{output, report, show};
use crate::exit::Exit;

/// Runs a recipe on each kernel.
pub(super) fn run(arguments: &LabRunArgs) -> Result<Exit> {
    let prepared = prepare(&arguments.experiment, &mut tell_notice())?;
    if arguments.dry_run {
        return dry_run(&prepared);
    }
    let directory = directory(arguments, &prepared.recipe);
    fs::create_dir_all(&directory).with_context(|| directory.display().to_string())?;
    let files: Vec<Files> = prepared
        .guests
        .iter()
        .map(|guest| Files::claim(&directory, &guest.slug, arguments.force))
        .collect::<Result<_>>()?;
    let report = ResultFile::claim(&directory.join("report.html"), arguments.force)?;
    let runs = boot_all(&prepared, &files, arguments.quiet)?;
    report::write(&runs, &report)?;
    present(&runs, arguments.json)
}

/// Boots every guest, and writes what each of them hands out as soon as all have ended.
pub(super) fn boot_all(prepared: &Prepared, files: &[Files], quiet: bool) -> Result<Vec<Run>> {
    let outcomes = boot(prepared, quiet)?;
    let mut runs = Vec::new();
    let mut trouble = Vec::new();
    for ((guest, outcome), files) in prepared.guests.iter().zip(outcomes).zip(files) {
        let written = outcome.map_err(anyhow::Error::from).and_then(|outcome| write(&outcome, files));
        match written {
            Ok(run) => runs.push(run),
            Err(error) => trouble.push(format!("{}: {error:#}", guest.slug)),
        }
    }
    if trouble.is_empty() { Ok(runs) } else { bail!("{}", trouble.join("\n")) }
}

fn boot(prepared: &Prepared, quiet: bool) -> Result<Vec<Result<Outcome, ExperimentError>>> {
    let signals = EndSignals::catch().context("signals cannot be caught")?;
    let cancel = Some(signals.as_raw_fd());
    let pinned = matches!(prepared.experiment.pace, Pace::Instructions { .. });
    Ok(crew::run(
        prepared.guests.len(),
        &prepared.cores,
        |number, core, tell| {
            let guest = &prepared.guests[number];
            let host = Host { core: pinned.then_some(core), cancel };
            prepared.experiment.run(&guest.kernel, guest.modules.clone(), host, tell)
        },
        |number, word| {
            if !quiet && let Some(text) = in_words(word) {
                output::tell(&format!("{}: {text}", prepared.guests[number].slug));
            }
        },
    ))
}

fn write(outcome: &Outcome, files: &Files) -> Result<Run> {
    files.console.write(&outcome.console)?;
    let run = run_of(outcome)?;
    files.run.write(tardy_record::file::to_text(&run).as_bytes())?;
    output::tell(&format!("run file {}", files.run.path().display()));
    Ok(run)
}

/// What a guest said, for a person; `None` for what the summary says again.
fn in_words(word: &Word) -> Option<String> {
    match word {
        Word::Booted { at_ns } => Some(format!("booted after {} of its time", seconds(*at_ns))),
        Word::Settled(settled) if settled.quiet => {
            Some(format!("at rest after {}; measuring", seconds(settled.settled_at_ns)))
        }
        Word::Settled(settled) => Some(format!(
            "still not at rest after {}; measuring all the same",
            seconds(settled.settled_at_ns)
        )),
        Word::Say { text } => {
            text.strip_prefix("tardy: ").filter(|text| !text.starts_with("run file")).map(str::to_owned)
        }
        Word::File { .. } | Word::End { .. } => None,
    }
}

fn seconds(ns: u64) -> String {
    format_duration_ns(ns / 100_000_000 * 100_000_000)
}

fn present(runs: &[Run], json: bool) -> Result<Exit> {
    let all: Vec<&Run> = runs.iter().collect();
    match compare::of(&all) {
        Some(comparison) if json => output::print_json(&comparison)?,
        Some(comparison) => output::print(&tardy_present::compare::text(&comparison, output::width()))?,
        None => show::print(&runs[0], json)?,
    }
    let invalid = runs.iter().any(|run| !run.validity.valid);
    Ok(if invalid { Exit::Invalid } else { Exit::Done })
}

fn directory(arguments: &LabRunArgs, recipe: &str) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| Path::new(&format!("tardy-lab-{recipe}")).to_owned())
}

/// Shows each emulator's command line and what the guests are told.
fn dry_run(prepared: &Prepared) -> Result<Exit> {
    let mut text = String::new();
    for guest in &prepared.guests {
        let words = prepared.experiment.words(&guest.kernel);
        text += &format!("{}: {}\n", guest.kernel.spec, guest.kernel.image.display());
        text += &format!("  {} {}\n", prepared.experiment.machine.emulator(), shell_words(&words));
        for (name, _) in &guest.modules {
            text += &format!("  module {name}\n");
        }
    }
    text += &serde_json::to_string_pretty(&prepared.experiment.orders)?;
    output::print(&(text + "\n"))?;
    Ok(Exit::Done)
}

fn shell_words(words: &[String]) -> String {
    let quoted = |word: &String| if word.contains(' ') { format!("'{word}'") } else { word.clone() };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
