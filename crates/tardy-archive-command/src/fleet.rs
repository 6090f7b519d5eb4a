//! `tardy fleet run`: measures on many hosts over ssh.

mod view;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use serde::Serialize;
use tardy_analyse::judgement::{self, Judgement};
use tardy_args::{Cli, Command, FleetCommand, FleetRunArgs, LabRecipe, RunArgs};
use tardy_fleet::binaries::Binaries;
use tardy_fleet::fleet;
use tardy_fleet::hosts::{self, Host};
use tardy_fleet::ssh::Ssh;
use tardy_fleet::state::{FleetState, HostState, StateFile, Step};
use tardy_fleet::table::{self, Row};
use tardy_fleet::work::Work;
use tardy_recipe::{UsageError, wrong};
use tardy_record::Run;
use tardy_sys::files::{self, Existing};
use tardy_sys::signals::{EndSignals, wait_readable};

use tardy_command::additions::Addition;
use tardy_command::{Exit, executables, origin, output};
use view::View;

/// The largest hosts file and recipe, in bytes.
const FILE_MAX: u64 = 4 << 20;
/// The name of the recipe's copy in the fleet's directory.
const RECIPE_COPY: &str = "recipe.toml";
/// Between two drawings of the table, in which the times change.
const TICK: Duration = Duration::from_secs(1);

/// Runs one of the commands.
pub(crate) fn run(command: &FleetCommand) -> Result<Exit> {
    match command {
        FleetCommand::Run(arguments) => run_fleet(arguments),
    }
}

fn run_fleet(arguments: &FleetRunArgs) -> Result<Exit> {
    let hosts = hosts_of(arguments)?;
    let recipe = RecipeOfHosts::of(arguments)?;
    let words = words(arguments, &recipe)?;
    // An archive that cannot be used is noticed before the measurement.
    let mut addition = arguments.keep.as_deref().map(Addition::to).transpose()?;
    let signals = EndSignals::catch().context("signals cannot be caught")?;
    let timeout = Duration::from_nanos(arguments.timeout.ns());
    let ssh = Ssh::new(timeout).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no ssh on this machine; install openssh-client"),
        _ => error.into(),
    })?;
    let directory = arguments.output.clone().unwrap_or_else(default_directory);
    let fresh = FleetState { words: words.clone(), recipe_sha256: recipe.sha256(), ..FleetState::default() };
    let state = StateFile::open(&directory, fresh, arguments.resume)?;
    let work = Work {
        transport: &ssh,
        binaries: &binaries(arguments)?,
        state: &state,
        recipe_file: &recipe.copied_to(&state, &directory)?,
        words: &words,
        timeout,
        run_timeout: arguments.run_timeout.map(|time| Duration::from_nanos(time.ns())),
        judge: &|run: &Run| (Exit::of_measured(run) as u8, judgement::of(run) != Judgement::NoLimit),
        changed: &|| (),
    };
    let mut view = View::new(arguments.quiet);
    let was_interrupted = take_through(work, &hosts, arguments, &ssh, &signals, &mut view)?;
    let rows = rows(&state, &hosts);
    let all_kept = match &mut addition {
        Some(addition) => add(addition, &rows, &directory),
        None => Ok(()),
    };
    present(&rows, &directory, arguments.json)?;
    if was_interrupted {
        let directory = directory.display();
        output::report(&format!(
            "interrupted; runs that were started go on: repeat the command with --resume -o {directory}"
        ));
    }
    all_kept?;
    let is_kept = addition.map_or(Ok(true), |addition| addition.finish(false))?;
    let exit = Exit::that_matters_most(rows.iter().flat_map(|row| exits(&row.state)));
    Ok(if is_kept { exit } else { Exit::CouldNot })
}

/// Works on the hosts and shows it. Returns whether the user has interrupted it.
fn take_through(
    work: Work<'_>,
    hosts: &[Host],
    arguments: &FleetRunArgs,
    ssh: &Ssh,
    signals: &EndSignals,
    view: &mut View,
) -> Result<bool> {
    let (mut changes, notify) = io::pipe().context("a pipe")?;
    let is_over = AtomicBool::new(false);
    let state = work.state;
    let changed = || drop((&notify).write_all(b"."));
    let work = Work { changed: &changed, ..work };
    let mut was_interrupted = false;
    std::thread::scope(|scope| -> io::Result<()> {
        scope.spawn(|| {
            fleet::run(&work, hosts, arguments.parallel as usize);
            is_over.store(true, Ordering::Release);
            changed();
        });
        let mut watch = || -> io::Result<()> {
            while !is_over.load(Ordering::Acquire) {
                let fds = [signals.as_raw_fd(), changes.as_raw_fd()];
                let ready = wait_readable(&fds, TICK.as_nanos() as u64)?;
                if ready[1] {
                    // At most this many changes at a time; the others wake the next round.
                    let _ = changes.read(&mut [0; 4096])?;
                }
                if signals.take().is_some() {
                    was_interrupted = true;
                    ssh.interrupt();
                }
                view.show(rows(state, hosts));
            }
            Ok(())
        };
        // Without its watcher, the fleet ends too.
        watch().inspect_err(|_| ssh.interrupt())
    })?;
    view.close(rows(state, hosts));
    Ok(was_interrupted)
}

fn rows(state: &StateFile, hosts: &[Host]) -> Vec<Row> {
    let known = state.whole().hosts;
    let row = |host: &Host| {
        let state = known.get(&host.name).cloned().unwrap_or_default();
        Row { name: host.name.clone(), state, since: None }
    };
    hosts.iter().map(row).collect()
}

/// Exit statuses of a host: that of tardy there, and that of its run file here.
fn exits(state: &HostState) -> Vec<Exit> {
    let exit = |status: u8| match status {
        0 => Exit::Done,
        3 => Exit::Failed,
        4 => Exit::Inconclusive,
        5 => Exit::Invalid,
        _ => Exit::CouldNot,
    };
    match state.step {
        Step::Done => state.exit_status.into_iter().chain(state.judged).map(exit).collect(),
        _ => vec![Exit::CouldNot],
    }
}

fn add(addition: &mut Addition, rows: &[Row], directory: &Path) -> Result<()> {
    let runs =
        rows.iter().filter(|row| row.state.step == Step::Done).filter_map(|row| row.state.run.as_ref());
    runs.into_iter().try_for_each(|run| addition.file(&directory.join(run)))
}

/// The result of a host, as JSON.
#[derive(Serialize)]
struct HostResult<'a> {
    name: &'a str,
    /// The path of the run file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(flatten)]
    state: &'a HostState,
}

fn present(rows: &[Row], directory: &Path, json: bool) -> Result<()> {
    if json {
        let result = |row| {
            let Row { name, state, .. }: &Row = row;
            HostResult { name, file: state.run.as_ref().map(|run| directory.join(run)), state }
        };
        return output::print_json(&rows.iter().map(result).collect::<Vec<_>>());
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Row { name, state, .. } in rows {
        let result = match (table::result(state), state.step) {
            (result, Step::Done) => match &state.run {
                Some(run) => format!("{result}  {}", directory.join(run).display()),
                None => result,
            },
            (result, step) => format!("{}: {result}", step.name()),
        };
        text += &format!("{name:width$}  {}\n", result.trim_end_matches([':', ' ']));
    }
    output::print(&format!("{text}{}\n", table::summary(rows)))
}

fn default_directory() -> PathBuf {
    format!("tardy-fleet-{}", origin::stamp(SystemTime::now())).into()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let context = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    files::open_to_read(path)
        .with_context(context)?
        .take(FILE_MAX)
        .read_to_end(&mut bytes)
        .with_context(context)?;
    Ok(bytes)
}

fn hosts_of(arguments: &FleetRunArgs) -> Result<Vec<Host>> {
    let path = &arguments.hosts;
    let wrong_file = |reason: String| wrong("hosts", format!("{}: {reason}", path.display()));
    let text = String::from_utf8(read(path)?).map_err(|_| wrong_file("it is not UTF-8 text".to_owned()))?;
    let base = path.parent().unwrap_or(Path::new(""));
    let all = hosts::parse(&text, base).map_err(|error| wrong_file(error.to_string()))?;
    hosts::selected(all, &arguments.only).map_err(|word| {
        wrong("only", format!("'{word}' is neither the name nor a tag of a host in {}", path.display()))
            .into()
    })
}

/// Where the programs for the hosts are.
fn binaries(arguments: &FleetRunArgs) -> Result<Binaries> {
    let own = executables::caller()?;
    let directories = match &arguments.binaries {
        Some(directory) => vec![directory.clone()],
        None => own.parent().map(Path::to_owned).into_iter().chain([PathBuf::from("dist")]).collect(),
    };
    Ok(Binaries::new(directories, own))
}

/// The recipe on the hosts.
enum RecipeOfHosts {
    /// None: the options say everything.
    Absent,
    /// Built in.
    Named(String),
    /// A file with this content.
    File(Vec<u8>),
}

impl RecipeOfHosts {
    /// Checks the recipe before a host is contacted.
    fn of(arguments: &FleetRunArgs) -> Result<Self> {
        let Some(name) = &arguments.recipe else { return Ok(Self::Absent) };
        LabRecipe::find(name)?;
        match tardy_recipe::is_path(name) {
            true => Ok(Self::File(read(Path::new(name))?)),
            false => Ok(Self::Named(name.clone())),
        }
    }

    fn word(&self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::Named(name) => Some(name.clone()),
            Self::File(_) => Some(tardy_fleet::script::RECIPE_FILE.to_owned()),
        }
    }

    /// SHA-256 of the file in hexadecimal; empty if there is none.
    fn sha256(&self) -> String {
        match self {
            Self::File(text) => tardy_fleet::binaries::sha256(text),
            Self::Absent | Self::Named(_) => String::new(),
        }
    }

    /// The file that goes to the hosts: a copy, so that a change of the recipe during the fleet does not matter.
    fn copied_to(&self, state: &StateFile, directory: &Path) -> Result<PathBuf> {
        let Self::File(text) = self else { return Ok("/dev/null".into()) };
        let path = directory.join(RECIPE_COPY);
        let write = |file: &mut File| file.write_all(text);
        state
            .directory()
            .replace(RECIPE_COPY.as_ref(), 0o666, Existing::Replaced, write)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// The words of `tardy run` on the hosts, which are checked here.
fn words(arguments: &FleetRunArgs, recipe: &RecipeOfHosts) -> Result<Vec<String>> {
    let mut words: Vec<String> = recipe.word().into_iter().chain(arguments.options.iter().cloned()).collect();
    let line = ["tardy", "run"].into_iter().map(str::to_owned).chain(words.iter().cloned());
    let parsed = match Cli::try_parse_from(line) {
        Ok(Cli { command: Command::Run(parsed) }) => parsed,
        Ok(_) => unreachable!("the second word is run"),
        Err(error) => {
            let message = error.to_string();
            let message = message.strip_prefix("error: ").unwrap_or(&message);
            let first = message.lines().next().unwrap_or_default();
            return Err(wrong("options after --", format!("'tardy run' refuses them: {first}")).into());
        }
    };
    check_options(&parsed)?;
    if !parsed.quiet {
        words.push("-q".to_owned());
    }
    Ok(words)
}

/// Refuses options that name files of a host, or measure nothing.
fn check_options(options: &RunArgs) -> Result<(), UsageError> {
    let refused = [
        (
            options.output.is_some(),
            "--output",
            "the run file is NAME.run.json in the directory -o of this command",
        ),
        (!options.ab.is_empty(), "--ab", "its runs are several files; measure one recipe at a time"),
        (options.samples.is_some(), "--samples", "samples are not brought back"),
        (options.report.is_some(), "--report", "write it here with 'tardy report DIR'"),
        (options.keep.is_some(), "--keep", "give it to 'tardy fleet run', before --"),
        (options.dry_run, "--dry-run", "it measures nothing; use 'tardy run --dry-run'"),
        (options.json, "--json", "give it to 'tardy fleet run', before --"),
    ];
    match refused.iter().find(|(is_set, ..)| *is_set) {
        Some((_, option, reason)) => Err(wrong("options after --", format!("{option}: {reason}"))),
        None => Ok(()),
    }
}
