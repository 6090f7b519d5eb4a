//! `tardy lab explain`: boots the guest of a run again, watches it, and explains wake-ups; of two runs it also shows the difference.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tardy_analyse::name;
use tardy_compare::explanations;
use tardy_lab::experiment::Host;
use tardy_lab::kept_guests::KeptGuests;
use tardy_lab::machine::{Machine, Pace};
use tardy_lab::observer::{Observer, Variant};
use tardy_lab::parallel_guests;
use tardy_lab::replay::{Replay, Replayed};
use tardy_lab::session;
use tardy_lab_report::explanation as shown;
use tardy_measure::engine::result_file::ResultFile;
use tardy_microscope::boot::boot;
use tardy_microscope::census::census;
use tardy_microscope::chosen::{self, Chosen};
use tardy_microscope::coverage::coverage;
use tardy_microscope::execution::NS_PER_INSTRUCTION;
use tardy_microscope::guest_memory::{GuestMemory, PhysicalMemory};
use tardy_microscope::modules;
use tardy_microscope::observed::Observed;
use tardy_microscope::orders::KernelImage;
use tardy_recipe::wrong;
use tardy_record::Run;
use tardy_record::census::Census;
use tardy_record::explanation::{Explanations, VERSION, Which};
use tardy_record::lab::Lab;
use tardy_sys::scheduling;
use tardy_sys::signals::EndSignals;

use crate::beside;
use crate::explained_runs::ExplainedRuns;
use crate::results::{comparable, run_in};
use crate::verify::first_difference;
use tardy_args::{LabExplainArgs, RedactionFlag};
use tardy_command::{Exit, executables, identity, output};

/// Explains wake-ups of a run, or of two and compares them.
pub(crate) fn run(arguments: &LabExplainArgs) -> Result<Exit> {
    check(arguments)?;
    let files = files(arguments)?;
    let runs = ExplainedRuns::of(arguments)?;
    let mut guests: Vec<Guest> =
        runs.paths.iter().map(|path| Guest::of(path, arguments, runs.paths.len())).collect::<Result<_>>()?;
    if guests.iter().any(|guest| !guest.chosen.iter().all(Chosen::is_known)) {
        find_all(&mut guests, arguments)?;
    }
    let replayed = replay_all(&guests, arguments)?;
    let mut all = Vec::new();
    for (guest, replayed) in guests.into_iter().zip(replayed) {
        let path = guest.path.display().to_string();
        all.push(guest.explain(&replayed, arguments).context(path)?);
    }
    match &all[..] {
        [a, b] => show_difference(a, b, &files, arguments)?,
        _ => show(&all[0], &files, arguments)?,
    }
    Ok(Exit::Done)
}

/// Boots all guests once more than the explanation needs, to learn which wake-ups are chosen.
fn find_all(guests: &mut [Guest], arguments: &LabExplainArgs) -> Result<()> {
    let replayed = replay_all(guests, arguments)?;
    for (guest, replayed) in guests.iter_mut().zip(replayed) {
        guest.find(&replayed).with_context(|| guest.path.display().to_string())?;
    }
    Ok(())
}

fn show(
    explanations: &Explanations,
    files: &[(ResultFile, shown::Form)],
    arguments: &LabExplainArgs,
) -> Result<()> {
    for (file, form) in files {
        write(file, &form.write(explanations, identity::get()))?;
    }
    match arguments.json {
        true => output::print_json(explanations),
        false => output::print(&shown::text(explanations, arguments.least / 100.0, output::width())),
    }
}

fn show_difference(
    a: &Explanations,
    b: &Explanations,
    files: &[(ResultFile, shown::Form)],
    arguments: &LabExplainArgs,
) -> Result<()> {
    let difference = explanations::of(a, b);
    for (file, form) in files {
        let content = form.write_difference(&difference, [a, b], identity::get());
        write(file, &content.expect("files() refuses traces of two runs"))?;
    }
    match arguments.json {
        true => output::print_json(&difference),
        false => output::print(&shown::difference_text(&difference, [a, b], output::width())),
    }
}

fn write(file: &ResultFile, content: &str) -> Result<()> {
    file.write(content.as_bytes())?;
    output::report(&format!("explanation {}", file.path().display()));
    Ok(())
}

/// A guest that is run again.
struct Guest {
    path: PathBuf,
    run: Run,
    lab: Lab,
    chosen: Vec<Chosen>,
    replay: Replay,
    kernel: KernelImage,
    observer: Observer,
}

impl Guest {
    /// Finds all that is needed, before anything boots. `runs`: how many are explained.
    fn of(path: &Path, arguments: &LabExplainArgs, runs: usize) -> Result<Self> {
        let run = output::open_run(path, RedactionFlag::default())?;
        let lab = lab_of(&run, path)?.clone();
        if !run.redacted.is_empty() {
            bail!(
                "{} is redacted, so it cannot be compared with what the guest measures again; explain the original",
                path.display()
            );
        }
        let chosen = chosen_in(&run, arguments, runs)?;
        let replay =
            Replay::of(&lab, &KeptGuests::of_this_user()?).with_context(|| path.display().to_string())?;
        let unwatchable = || format!("{} cannot be observed", lab.kernel.release);
        let kernel = KernelImage::of(replay.image()).with_context(unwatchable)?;
        let memory = u64::from(replay.memory_mib()) << 20;
        let orders = kernel.orders(memory, arguments.census, chosen::is_of_program(&run));
        let orders = orders.with_context(unwatchable)?;
        let library = library(&replay, arguments.observer.as_deref())?;
        let observer = Observer::new(library, orders + &chosen::orders(&chosen, &run), replay.memory_mib());
        Ok(Self { path: path.to_owned(), run, lab, chosen, replay, kernel, observer })
    }

    /// Learns which wake-ups are chosen, and orders the observer to keep them.
    fn find(&mut self, replayed: &Replayed) -> Result<()> {
        check_identical(&self.run, &self.lab, replayed)?;
        self.chosen = chosen::located(&Observed::of(&replayed.observed)?, &self.run, &self.chosen)?;
        self.observer.add_orders(&chosen::program_orders(&self.chosen, &self.run));
        Ok(())
    }

    fn explain(mut self, replayed: &Replayed, arguments: &LabExplainArgs) -> Result<Explanations> {
        check_identical(&self.run, &self.lab, replayed)?;
        let observed = Observed::of(&replayed.observed)?;
        let physical = MemoryFile(&replayed.memory);
        let memory = GuestMemory::of(&physical, self.kernel.page_tables()?);
        let modules = modules::functions(&self.kernel, &memory)?;
        let named = modules.iter().map(|function| (function.address, function.name.clone()));
        self.kernel.symbols.add_functions(named);
        let Self { kernel, run, lab, .. } = &self;
        let coverage = || coverage(kernel, &modules, &observed, &memory);
        let is_rt = run.facts.kernel.real_time.get() == Some(&true);
        let census = || -> Result<Census> {
            let measured = is_rt.then(|| chosen::all_measured(&observed, run)).transpose()?;
            Ok(census(kernel, &observed, &memory, &lab.kernel.release, measured.as_deref())?)
        };
        Ok(Explanations {
            explanation_version: VERSION,
            identity: lab.identity.clone(),
            run: name::of_run(run),
            kernel: lab.kernel.release.clone(),
            ns_per_instruction: NS_PER_INSTRUCTION,
            wakeups: chosen::explain(kernel, &observed, run, &self.chosen)?,
            census: arguments.census.then(census).transpose()?,
            coverage: arguments.coverage.then(coverage).transpose()?,
            boot: arguments.boot.then(|| boot(&kernel.symbols, &observed)),
        })
    }
}

/// The guest's memory in the observer's file.
struct MemoryFile<'a>(&'a File);

impl PhysicalMemory for MemoryFile<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        self.0.read_exact_at(into, address).is_ok()
    }
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
fn chosen_in(run: &Run, arguments: &LabExplainArgs, runs: usize) -> Result<Vec<Chosen>> {
    let cycles = arguments.at.iter().cloned().flatten().map(Which::Cycle);
    let all: Vec<Which> = match (arguments.quantile, arguments.median, runs) {
        _ if !arguments.at.is_empty() => cycles.collect(),
        (Some(quantile), ..) => vec![Which::Quantile(quantile)],
        (_, true, _) => vec![Which::Quantile(0.5)],
        (.., 2) => vec![Which::Quantile(0.5), Which::Worst],
        _ => vec![Which::Worst],
    };
    if let Some(label) = &arguments.phase
        && !run.phases.iter().any(|phase| phase.label == *label)
    {
        let labels: Vec<&str> = run.phases.iter().map(|phase| phase.label.as_str()).collect();
        return Err(
            wrong("phase", format!("the run has no phase '{label}'; it has {}", labels.join(", "))).into()
        );
    }
    let of_kind = |which: &Which| {
        let chosen = chosen::in_run(run, arguments.phase.as_deref(), *which);
        chosen.map_err(|error| wrong("at", error))
    };
    let chosen: Vec<Vec<Chosen>> = all.iter().map(of_kind).collect::<Result<_, _>>()?;
    let chosen = chosen.concat();
    if chosen.is_empty() {
        bail!(
            "the run has no wake-ups that can be explained: only those of timers by clock_nanosleep can be, and of watched programs those \
             by a timer that docs/attach.md names"
        );
    }
    Ok(chosen)
}

/// The most cycles of `--at` in one boot: the observer keeps three wake-ups for each.
const CYCLES_MAX: u64 = 1000;

/// What can be wrong before anything is measured.
fn check(arguments: &LabExplainArgs) -> Result<()> {
    if let Some(observer) = &arguments.observer {
        fs::metadata(observer).with_context(|| format!("the observer {}", observer.display()))?;
    }
    let cycles = arguments.at.iter().map(|range| (range.end() - range.start()).saturating_add(1));
    if cycles.fold(0, u64::saturating_add) > CYCLES_MAX {
        return Err(wrong("at", format!("at most {CYCLES_MAX} cycles can be explained in one boot")).into());
    }
    if arguments.census && ExplainedRuns::count(arguments) > 1 {
        return Err(wrong("census", "the sections of one run are counted; explain each run by itself").into());
    }
    let mut outputs: Vec<&PathBuf> = arguments.output.iter().collect();
    outputs.sort();
    if let Some(twice) = outputs.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong("output", format!("{} is given twice", twice[0].display())).into());
    }
    Ok(())
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
        if form == shown::Form::Trace && ExplainedRuns::count(arguments) > 1 {
            let other =
                format!("{}: a trace shows one run; of two, write .html, .folded or .json", path.display());
            return Err(wrong("output", other).into());
        }
        if arguments
            .runs
            .iter()
            .any(|run| run.exists() && fs::canonicalize(run).ok() == fs::canonicalize(path).ok())
        {
            return Err(wrong("output", format!("{} is the run that is explained", path.display())).into());
        }
        Ok((ResultFile::claim(path, arguments.force)?, form))
    };
    arguments.output.iter().map(file).collect()
}

/// The observer for the emulator: as given, next to tardy, or in the package's directory.
fn library(replay: &Replay, given: Option<&Path>) -> Result<Vec<u8>> {
    if let Some(given) = given {
        return fs::read(given).with_context(|| given.display().to_string());
    }
    let version = replay.emulator_version();
    let variant = Variant::for_version(version)
        .ok_or_else(|| anyhow!("QEMU {version} cannot load an observer; 7.2 and later can"))?;
    let own = executables::caller()?;
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

/// Boots all guests, as many at a time as there are CPUs.
fn replay_all(guests: &[Guest], arguments: &LabExplainArgs) -> Result<Vec<Replayed>> {
    let confinement = session::confinement(Machine::Pc, Pace::default(), arguments.unconfined)?;
    let cores = scheduling::affinity().context("cannot read which CPUs this process may use")?;
    let signals = EndSignals::catch().context("cannot catch signals")?;
    let cancel = Some(signals.as_raw_fd());
    let patience = Duration::from_nanos(arguments.patience.ns());
    let job = |number: usize, core, on_message: parallel_guests::OnMessage<'_>| {
        let Guest { replay, observer, .. } = &guests[number];
        let host = Host { core, cancel, confinement: &confinement, keep: None };
        replay.run(observer, host, patience, on_message)
    };
    let replayed = parallel_guests::run(guests.len(), &cores, job, |number, message| {
        if !arguments.quiet
            && let Some(text) = crate::run::describe(message)
        {
            output::report(&format!("{}: {text}", guests[number].lab.kernel.spec));
        }
    });
    Ok(replayed.into_iter().collect::<Result<_, _>>()?)
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
        "the guest measured something else than the run file says, {}; nothing is explained. Either the file was edited, or the \
         emulator is not exact on this machine ('tardy lab verify' tests that)",
        first_difference(&before, &now)
    )
}
