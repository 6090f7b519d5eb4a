//! Boots whose results are kept in a directory: a guest that was run before under the same identity is not run again.
//!
//! Most of a run file is the kernel's configuration, the same in each run of a kernel. Run files are therefore compressed, to a quarter, and
//! every command of tardy reads them so.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tardy_archive::write_compressed;
use tardy_lab::experiment::{ExperimentError, Host};
use tardy_lab::kept_guests::KeptGuests;
use tardy_lab::machine::Pace;
use tardy_lab::parallel_guests::{self, OnMessage};
use tardy_lab::session::SessionError;
use tardy_measure::engine::result_file::ResultFile;
use tardy_recipe::wrong;
use tardy_record::{Run, file};
use tardy_sys::files;
use tardy_sys::signals::EndSignals;

use crate::assemble::{Guest, Prepared};
use crate::prepare::Seed;
use crate::results::{run_file, run_of};
use crate::run::{describe, experiment};
use tardy_args::ExperimentArgs;
use tardy_command::opened::content_of;
use tardy_command::output;

/// The digits of an identity in the name of a file.
const IDENTITY_DIGITS: usize = 12;

/// A guest to boot.
pub(crate) struct Boot<'a> {
    pub(crate) guest: &'a Guest,
    /// Replaces the recipe's seed.
    pub(crate) seed: Option<&'a Seed>,
}

/// The result of a guest.
pub(crate) struct KeptBoot {
    pub(crate) path: PathBuf,
    pub(crate) run: Run,
    /// Whether it was run now.
    pub(crate) is_new: bool,
}

impl Boot<'_> {
    /// The guest's name in file names.
    fn name(&self) -> String {
        let seed = self.seed.map(|seed| format!("-seed-{}", seed.number)).unwrap_or_default();
        format!("{}{seed}", self.guest.slug)
    }
}

/// Refuses a clock with which runs are not reproducible.
pub(crate) fn check_pace(arguments: &ExperimentArgs) -> Result<()> {
    if arguments.guest.realtime || arguments.guest.kvm {
        let reason = "runs that are not reproducible cannot be kept by identity; remove --realtime and --kvm";
        return Err(wrong("realtime", reason).into());
    }
    Ok(())
}

/// The results of `boots`, in their order: those in `directory`, and for the others the guests are run. A result is written as soon as its
/// guest has ended. A guest that fails has a reason instead.
///
/// # Errors
/// If a result cannot be kept, or the user asked tardy to stop. What was measured until then is kept.
pub(crate) fn boot_each(
    prepared: &Prepared,
    boots: &[Boot<'_>],
    directory: &Path,
    quiet: bool,
) -> Result<Vec<Result<KeptBoot, String>>> {
    files::make_directories(directory).with_context(|| directory.display().to_string())?;
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let kept = KeptGuests::of_this_user()?;
    let host = |core: Option<u32>| Host {
        core: core.filter(|_| matches!(prepared.experiment.pace, Pace::Instructions { .. })),
        cancel: Some(signals.as_raw_fd()),
        confinement: &prepared.confinement,
        keep: Some(&kept),
    };
    let booted = parallel_guests::run(
        boots.len(),
        &prepared.cores,
        |number, core, on_message| {
            let boot = &boots[number];
            kept_or_run(prepared, boot, directory, host(core), on_message).with_context(|| boot.name())
        },
        |number, message| {
            if !quiet && let Some(text) = describe(message) {
                output::report(&format!("{}: {text}", boots[number].name()));
            }
        },
    );
    if booted.iter().flatten().any(|one| matches!(one, Err(Failure::Interrupted))) {
        bail!("interrupted; the runs so far are in {}, and the same command continues", directory.display());
    }
    let reason = |(boot, one): (&Boot<'_>, Result<KeptBoot, Failure>)| {
        one.map_err(|failure| format!("{}: {}", boot.name(), failure.reason()))
    };
    let booted: Vec<Result<KeptBoot, Failure>> = booted.into_iter().collect::<Result<_>>()?;
    Ok(boots.iter().zip(booted).map(reason).collect())
}

/// Why a guest has no run.
enum Failure {
    /// The user asked tardy to stop.
    Interrupted,
    /// The guest failed.
    Guest(String),
}

impl Failure {
    fn reason(self) -> String {
        match self {
            Self::Interrupted => "interrupted".to_owned(),
            Self::Guest(reason) => reason,
        }
    }
}

fn kept_or_run(
    prepared: &Prepared,
    boot: &Boot<'_>,
    directory: &Path,
    host: Host<'_>,
    on_message: OnMessage<'_>,
) -> Result<Result<KeptBoot, Failure>> {
    let experiment = experiment(prepared, boot.seed);
    let assembled = experiment.assembled(&boot.guest.kernel, boot.guest.modules.clone())?;
    if let Some((path, run)) = kept_run(directory, assembled.identity()) {
        return Ok(Ok(KeptBoot { path, run, is_new: false }));
    }
    let name = format!("{}{}", boot.name(), ending(assembled.identity()));
    let path = packed(&run_file(directory, &name));
    let outcome = match assembled.run(host, on_message) {
        Ok(outcome) => outcome,
        Err(ExperimentError::Session { error: SessionError::Cancelled, .. }) => {
            return Ok(Err(Failure::Interrupted));
        }
        Err(ExperimentError::Session { error, console }) => {
            let log = directory.join(format!("{name}.console.log"));
            ResultFile::claim(&log, true)?.write(&console)?;
            return Ok(Err(Failure::Guest(format!("{error}\nconsole log: {}", log.display()))));
        }
        Err(error) => return Err(error.into()),
    };
    let run = match run_of(&outcome) {
        Ok(run) => run,
        Err(error) => return Ok(Err(Failure::Guest(format!("{error:#}")))),
    };
    let mut content = Vec::new();
    write_compressed(file::to_text(&run).as_bytes(), &name, &mut content)?;
    ResultFile::claim(&path, true)?.write(&content)?;
    Ok(Ok(KeptBoot { path, run, is_new: true }))
}

/// The compressed form of a run file.
fn packed(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(".gz");
    path.into()
}

/// The run in a file, compressed or not. `None` if it is damaged or incomplete.
fn read_run(path: &Path) -> Option<Run> {
    let (_, text) = content_of(path).ok()?;
    file::from_text(&text).ok()
}

/// The end of the names of a run's files, by which it is found whatever it was called: with the recipe's own seed a kernel is the same
/// guest in a bisection, a sweep and a history.
fn ending(identity: &str) -> String {
    format!("-{}", &identity[..IDENTITY_DIGITS.min(identity.len())])
}

/// The run in `directory` with that identity, and its file. An incomplete file is replaced.
fn kept_run(directory: &Path, identity: &str) -> Option<(PathBuf, Run)> {
    let plain = run_file(Path::new(""), &ending(identity));
    let endings = [packed(&plain), plain].map(|path| path.to_string_lossy().into_owned());
    let paths = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_named = |path: &PathBuf| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    let mut named: Vec<PathBuf> = paths.filter(is_named).collect();
    named.sort();
    named.into_iter().find_map(|path| {
        let run = read_run(&path)?;
        run.lab.as_ref().is_some_and(|lab| lab.identity == identity).then_some((path, run))
    })
}
