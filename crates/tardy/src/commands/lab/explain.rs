//! `tardy lab explain`: boots the guest of a run again, watches it, and explains wake-ups.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tardy_analyse::name;
use tardy_init::messages::Message;
use tardy_lab::experiment::Host;
use tardy_lab::kept_guests::KeptGuests;
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::observer::{Observer, Variant};
use tardy_lab::replay::{Replay, Replayed};
use tardy_lab::session;
use tardy_measure::engine::result_file::ResultFile;
use tardy_microscope::chosen::{self, Chosen};
use tardy_microscope::explanation::NS_PER_INSTRUCTION;
use tardy_microscope::observed::Observed;
use tardy_microscope::orders::KernelImage;
use tardy_present::explanation as shown;
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_record::explanation::{Explanations, VERSION, Which};
use tardy_record::lab::Lab;
use tardy_sys::scheduling;
use tardy_sys::signals::EndSignals;

use super::beside;
use super::results::{comparable, run_in};
use super::verify::first_difference;
use crate::args::{LabExplainArgs, RedactionFlag};
use crate::build_identity;
use crate::commands::output;
use crate::exit::Exit;

/// Explains wake-ups of a run.
pub(super) fn run(arguments: &LabExplainArgs) -> Result<Exit> {
    let run = output::open_run(&arguments.run, RedactionFlag::default())?;
    let lab = lab_of(&run, &arguments.run)?;
    let chosen = chosen_in(&run, arguments)?;
    let files = files(arguments)?;
    let replay =
        Replay::of(lab, &KeptGuests::of_this_user()?).with_context(|| arguments.run.display().to_string())?;
    let kernel = KernelImage::of(replay.image())
        .with_context(|| format!("{} cannot be observed", lab.kernel.release))?;
    let orders = kernel.orders(u64::from(replay.memory_mib()) << 20)? + &chosen::orders(&chosen);
    let library = library(&replay, arguments.observer.as_deref())?;
    let observer = Observer::new(library, orders, replay.memory_mib());
    let replayed = replayed(&replay, &observer, arguments)?;
    check_identical(&run, lab, &replayed)?;
    let observed = Observed::of(&replayed.observed)?;
    let explanations = Explanations {
        explanation_version: VERSION,
        identity: lab.identity.clone(),
        run: name::of_run(&run),
        kernel: lab.kernel.release.clone(),
        ns_per_instruction: NS_PER_INSTRUCTION,
        wakeups: chosen::explain(&kernel, &observed, &run, &chosen)?,
    };
    for (file, form) in &files {
        file.write(form.write(&explanations, build_identity::identity()).as_bytes())?;
        output::report(&format!("explanation {}", file.path().display()));
    }
    match arguments.json {
        true => output::print_json(&explanations)?,
        false => output::print(&shown::text(&explanations, arguments.least / 100.0, output::width()))?,
    }
    Ok(Exit::Done)
}

fn lab_of<'a>(run: &'a Run, path: &Path) -> Result<&'a Lab> {
    run.lab.as_ref().ok_or_else(|| {
        anyhow!(
            "{} was not measured in the lab, so it cannot be repeated exactly; on a board, `tardy run --causes` shows what the \
             kernel's tracing saw of late wake-ups",
            path.display()
        )
    })
}

/// The wake-ups that the user wants explained.
fn chosen_in(run: &Run, arguments: &LabExplainArgs) -> Result<Vec<Chosen>> {
    let which = match (arguments.at, arguments.quantile, arguments.median) {
        (Some(cycle), ..) => Which::Cycle(cycle),
        (_, Some(quantile), _) => Which::Quantile(quantile),
        (_, _, true) => Which::Quantile(0.5),
        _ => Which::Worst,
    };
    if let Some(label) = &arguments.phase
        && !run.phases.iter().any(|phase| phase.label == *label)
    {
        let labels: Vec<&str> = run.phases.iter().map(|phase| phase.label.as_str()).collect();
        return Err(
            wrong("phase", format!("the run has no phase '{label}'; it has {}", labels.join(", "))).into()
        );
    }
    let chosen = chosen::in_run(run, arguments.phase.as_deref(), which);
    if chosen.is_empty() {
        bail!(
            "the run has no wake-ups that can be explained: only those of timers by clock_nanosleep can be"
        );
    }
    Ok(chosen)
}

/// Claims the files before anything boots.
fn files(arguments: &LabExplainArgs) -> Result<Vec<(ResultFile, shown::Form)>> {
    let file = |path: &PathBuf| {
        let form = shown::Form::by_name(&path.display().to_string()).ok_or_else(|| {
            wrong(
                "output",
                format!("{}: expected a name that ends in {}", path.display(), shown::Form::ENDINGS),
            )
        })?;
        Ok((ResultFile::claim(path, arguments.force)?, form))
    };
    arguments.output.iter().map(file).collect()
}

/// The observer for the emulator: as given, next to this program, or in the package's directory.
fn library(replay: &Replay, given: Option<&Path>) -> Result<Vec<u8>> {
    if let Some(given) = given {
        return fs::read(given).with_context(|| given.display().to_string());
    }
    let version = replay.emulator_version();
    let variant = Variant::for_version(version)
        .ok_or_else(|| anyhow!("QEMU {version} cannot load an observer; 7.2 and later can"))?;
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let places = beside::places(&own, variant.file_name());
    places.iter().find_map(|place| fs::read(place).ok()).ok_or_else(|| {
        let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        anyhow!(
            "no {}; install tardy's package for amd64, build it with `make guests`, or name it with --observer; tried {}",
            variant.file_name(),
            tried.join(", ")
        )
    })
}

fn replayed(replay: &Replay, observer: &Observer, arguments: &LabExplainArgs) -> Result<Replayed> {
    let confinement = session::confinement(Machine::Pc, Pace::default(), arguments.unconfined)?;
    let cores = scheduling::affinity().context("cannot read which CPUs this process may use")?;
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let host = Host {
        core: cores.first().copied(),
        cancel: Some(signals.as_raw_fd()),
        confinement: &confinement,
        keep: None,
    };
    let mut on_message = |message: &Message| {
        if !arguments.quiet
            && let Some(text) = super::run::describe(message)
        {
            output::report(&text);
        }
    };
    Ok(replay.run(observer, host, Duration::from_nanos(arguments.patience.ns()), &mut on_message)?)
}

/// The observed run must be the run in the file, to the byte.
fn check_identical(run: &Run, lab: &Lab, replayed: &Replayed) -> Result<()> {
    let lab = Lab { settled: replayed.results.settled.clone(), ..lab.clone() };
    let again =
        run_in(&replayed.results.files, lab).ok_or_else(|| anyhow!("the guest returned no run file"))??;
    let (before, now) = (comparable(run), comparable(&again));
    if before == now {
        return Ok(());
    }
    bail!(
        "the guest measured something else than the run file says, {}; nothing is explained. A redacted run cannot be compared; \
         otherwise the file was edited, or the emulator is not exact on this machine ('tardy lab verify' tests that)",
        first_difference(&before, &now)
    )
}
