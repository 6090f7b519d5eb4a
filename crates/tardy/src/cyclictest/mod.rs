//! `tardy cyclictest`, and tardy under the name cyclictest: the same command line and the same output, from tardy's probe.
//!
//! Options in (`options.rs`; those not taken: `refused.rs`), a plan of tardy's (`plan.rs`), every single reading counted as
//! cyclictest counts (`counts.rs`), and its words out (`text.rs`; while it runs: `watcher.rs`). What differs on purpose
//! is in docs/cyclictest.md.

mod counts;
mod help;
mod options;
mod plan;
mod refused;
mod status_file;
mod text;
mod watcher;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use tardy_measure::facts;
use tardy_measure::run::{Request, conduct};
use tardy_record::facts::{Fact, Facts};
use tardy_record::plan::Plan;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;
use tardy_sys::signals::remember_requests;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::commands::{origin, output};
use crate::exit::Exit;
use options::{Asked, Options, Power};
use tardy_formats::cyclictest::{Circumstances, System};
use watcher::Watcher;

/// The name under which the binary is cyclictest.
const NAME: &str = "cyclictest";
const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// The words behind the name, where the binary was called by the name cyclictest, through a link.
pub(crate) fn called_so(mut words: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = PathBuf::from(words.next()?);
    (program.file_name() == Some(OsStr::new(NAME))).then(|| words.collect())
}

/// Measures as the words say, and prints what cyclictest would.
pub(crate) fn run(words: Vec<OsString>) -> Result<Exit> {
    let options = match options::parse(words) {
        Ok(Asked::Measure(options)) => *options,
        Ok(Asked::Help) => {
            output::print(help::TEXT)?;
            return Ok(Exit::Done);
        }
        // cyclictest ends with 1 for a wrong option.
        Err(reason) => bail!("{reason}"),
    };
    let allowed = match options.fake {
        Some(_) => vec![0, 1],
        None => scheduling::affinity().context("the kernel does not say which CPUs this process may use")?,
    };
    let plan = plan::of(&options, &allowed).map_err(anyhow::Error::msg)?;
    let files = ResultFiles::open(&options)?;
    let started = SystemTime::now();
    let place = RunPlace::of(&options)?;
    let request = request(&options, plan, &place, started)?;
    say_first(&options, &request.plan)?;
    remember_requests().context("SIGUSR1 and SIGUSR2 cannot be handled")?;
    let mut watcher = Watcher::new(&options, &request.plan);
    let outcome = conduct(&request, &mut watcher)?;
    if let Some(reason) = watcher.refused() {
        bail!("{reason}");
    }
    watcher.check_nothing_is_missing(&outcome.run);
    let circumstances = circumstances(&options, &request.facts, started);
    let exit = print_results(&options, &watcher, files, &circumstances)?;
    match outcome.trouble {
        Some(trouble) => bail!("{trouble}"),
        None => Ok(exit),
    }
}

fn request(options: &Options, plan: Plan, place: &RunPlace, started: SystemTime) -> Result<Request> {
    let answers = match options.fake {
        Some(_) => facts::SystemAnswers::none(),
        None => facts::SystemAnswers::ask(),
    };
    Ok(Request {
        plan,
        facts: facts::collect(&KernelFiles::real(), &answers),
        origin: origin::of_this_command(started, options.fake),
        output: place.file.clone(),
        samples: None,
        tells_samples: true,
        // cyclictest replaces what its files hold.
        force: true,
        exe: std::env::current_exe()
            .context("tardy does not find its own program, which serves as the probe")?,
        kernel_root: PathBuf::from("/"),
        fake: options.fake,
    })
}

/// Where the run file goes: where a person wants it, or into a directory of its own that goes with it.
struct RunPlace {
    file: PathBuf,
    directory: Option<PathBuf>,
}

impl RunPlace {
    fn of(options: &Options) -> Result<Self> {
        if let Some(file) = &options.tardy_run {
            return Ok(Self { file: file.clone(), directory: None });
        }
        let directory = std::env::temp_dir().join(format!("tardy-cyclictest-{}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&directory).with_context(|| {
            format!(
                "{} cannot be made, and the run needs a place; --tardy-run FILE names one",
                directory.display()
            )
        })?;
        Ok(Self { file: directory.join("run.json"), directory: Some(directory) })
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// The files that results go to. They are opened before anything is measured: hours are not lost for want of a directory.
struct ResultFiles {
    histogram: Option<(PathBuf, File)>,
    json: Option<(PathBuf, File)>,
}

impl ResultFiles {
    fn open(options: &Options) -> Result<Self> {
        let open = |path: &PathBuf, option: &str| {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
            file.map(|file| (path.clone(), file))
                .with_context(|| format!("{option} {} cannot be written", path.display()))
        };
        Ok(Self {
            histogram: options.histfile.as_ref().map(|path| open(path, "--histfile")).transpose()?,
            json: options.json.as_ref().map(|path| open(path, "--json")).transpose()?,
        })
    }
}

/// Replaces what a file holds; a pipe or a device just gets it.
fn replace((path, mut file): (PathBuf, File), text: &str) -> Result<()> {
    let write = |file: &mut File| {
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(text.as_bytes())
    };
    write(&mut file).with_context(|| format!("{} cannot be written", path.display()))
}

/// What cyclictest says before its threads start.
fn say_first(options: &Options, plan: &Plan) -> Result<()> {
    let mut first = String::new();
    if options.verbose {
        let cpus = scheduling::affinity().map_or(1, |cpus| cpus.len());
        first += &format!("Max CPUs = {cpus}\nOnline CPUs = {cpus}\n");
    }
    match options.power {
        Power::Hold(us) if options.fake.is_some() || may_hold() => {
            first += &format!("# {DMA_LATENCY} set to {us}us\n");
        }
        Power::Hold(_) => output::tell_plainly(&format!("WARN: {DMA_LATENCY} may not be written")),
        Power::System => output::tell_plainly("WARN: not setting cpu_dma_latency from cyclictest"),
        Power::Battery => output::tell_plainly("WARN: not setting cpu_dma_latency to save battery power"),
    }
    let timer = plan.phases.iter().find_map(|phase| phase.probe.timer());
    for (number, thread) in timer.iter().flat_map(|timer| &timer.threads).enumerate() {
        if options.verbose {
            first += &format!("Thread {number} Interval: {}\n", thread.interval_ns / 1000);
        }
    }
    output::print(&first)
}

/// Whether this process may keep CPUs out of deep idle states. Opening alone asks for nothing.
fn may_hold() -> bool {
    OpenOptions::new().write(true).open(DMA_LATENCY).is_ok()
}

fn circumstances(options: &Options, facts: &Facts, started: SystemTime) -> Circumstances {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let date = |at: SystemTime| OffsetDateTime::from(at).format(&Rfc2822).unwrap_or_default();
    let text = |fact: &Fact<String>| fact.get().cloned().unwrap_or_default();
    Circumstances {
        command_line: words.join(" "),
        version: text::FORMAT_OF.to_owned(),
        start_time: Some(date(started)),
        end_time: Some(date(SystemTime::now())),
        system: System {
            sysname: "Linux".to_owned(),
            nodename: fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            release: text(&facts.kernel.release),
            version: text(&facts.kernel.version),
            machine: text(&facts.kernel.machine),
            realtime: Some(u8::from(facts.kernel.real_time.value.get() == Some(true))),
        },
        in_ns: options.in_ns,
        return_code: 0,
    }
}

/// What cyclictest prints and writes at the end. A file that cannot be written after all is shown instead, and the exit
/// status says so.
fn print_results(
    options: &Options,
    watcher: &Watcher,
    files: ResultFiles,
    circumstances: &Circumstances,
) -> Result<Exit> {
    let (counts, heads) = (watcher.counts(), watcher.heads());
    let mut exit = Exit::Done;
    let mut to_file = |file: (PathBuf, File), text: &str| -> Result<()> {
        replace(file, text).or_else(|error| {
            output::tell(&format!("{error:#}; what it would hold follows on standard output"));
            exit = Exit::CouldNot;
            output::print(text)
        })
    };
    if let Some(file) = files.json {
        to_file(file, &text::json(counts, heads, circumstances))?;
    }
    if !options.quiet && !options.verbose {
        output::print(&watcher.frame())?;
    }
    if options.quiet && options.histogram.is_none() {
        output::print(&watcher.summary())?;
    }
    if options.histogram.is_some() {
        let histogram = text::histogram(counts, options.all_column);
        match files.histogram {
            Some(file) => to_file(file, &histogram)?,
            None => output::print(&histogram)?,
        }
    }
    if options.break_us.is_some() {
        output::print(&text::break_lines(counts, heads))?;
    }
    if let Some(path) = &options.tardy_run {
        say_where(path);
    }
    Ok(exit)
}

/// On a terminal, where the run is; scripts do not want to read it.
fn say_where(path: &Path) {
    if std::io::stderr().is_terminal() {
        output::tell(&format!("run file {}", path.display()));
    }
}
