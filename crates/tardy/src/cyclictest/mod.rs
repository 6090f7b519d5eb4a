//! `tardy cyclictest`, and tardy under the name cyclictest: cyclictest's options and output, measured with tardy's probe.
//!
//! The crate tardy-cyclictest has the options, their plan and the format of the results; `watcher.rs` prints the progress.

mod watcher;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use tardy_cyclictest::cpu_set::Cpus;
use tardy_cyclictest::options::{Affinity, Asked, Options, Power};
use tardy_cyclictest::plan::Planned;
use tardy_cyclictest::smi::SmiCounts;
use tardy_cyclictest::stats_pipe::StatsPipe;
use tardy_cyclictest::{help, idle, options, plan, resolution, smi, text};
use tardy_host::cpus::Cpus as MachineCpus;
use tardy_host::facts;
use tardy_measure::engine::Request;
use tardy_measure::engine::result_file::ResultFile;
use tardy_record::facts::{Fact, Facts};
use tardy_record::plan::{Plan, ThreadPlan};
use tardy_sys::dma_latency;
use tardy_sys::files::{self, PrivateDirectory};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;
use tardy_sys::signals::remember_requests;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

use crate::commands::programs;
use tardy_command::{Exit, origin, output};
use tardy_formats::cyclictest::{Circumstances, System};
use watcher::Watcher;

/// The name under which tardy acts as cyclictest, for example as a link.
const NAME: &str = "cyclictest";
const DMA_LATENCY: &str = "/dev/cpu_dma_latency";

/// The arguments, if the program was started under the name cyclictest.
pub(crate) fn arguments_if_named_cyclictest(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<Vec<OsString>> {
    let program = PathBuf::from(arguments.next()?);
    (program.file_name() == Some(OsStr::new(NAME))).then(|| arguments.collect())
}

/// Measures and prints the results in cyclictest's format.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<Exit> {
    let mut options = match options::parse(arguments) {
        Ok(Asked::Measure(options)) => *options,
        Ok(Asked::Help) => {
            output::print(help::TEXT)?;
            return Ok(Exit::Done);
        }
        // cyclictest exits with 1 for a wrong option.
        Err(reason) => bail!("{reason}"),
    };
    let kernel_files = KernelFiles::real();
    if options.counts_smis && !smi::is_supported(&kernel_files) {
        bail!(
            "--smi: this processor does not count SMIs; 'tardy run --probe hwlat' detects time taken by the firmware"
        );
    }
    let machine = match options.fake {
        Some(_) => MachineCpus::alike(vec![0, 1]),
        None => MachineCpus::of_this_process(&kernel_files).map_err(anyhow::Error::msg)?,
    };
    let cpus = cpus(&options, &machine)?;
    limit_idle_states(&mut options, &kernel_files, &cpus);
    let Planned { mut plan, notes } = plan::of(&options, &cpus).map_err(anyhow::Error::msg)?;
    plan.placement = machine.placement(&plan.measured_cpus(), Vec::new());
    options.notes.iter().chain(&notes).for_each(|note| output::report(note));
    let files = ResultFiles::open(&options)?;
    let pipe = options.pipe.as_deref().map(open_pipe).transpose()?;
    let started = SystemTime::now();
    let place = RunPlace::of(&options)?;
    let request = request(&options, plan, &place, started)?;
    print_preamble(&options, &request.plan, &cpus)?;
    if options.checks_resolution {
        let lines = resolution::lines(options.clock, options.verbose);
        lines.iter().for_each(|line| output::print_line(line));
    }
    let smis = match options.counts_smis {
        true => {
            let places: Vec<u32> = threads_of(&request.plan).map(|thread| thread.cpu).collect();
            Some(SmiCounts::start(&kernel_files, &places).map_err(anyhow::Error::msg)?)
        }
        false => None,
    };
    remember_requests().context("cannot handle SIGUSR1 and SIGUSR2")?;
    let mut watcher = Watcher::new(&options, &request.plan, smis, pipe);
    let outcome = tardy_measure::run(&request, &mut watcher)?;
    if let Some(reason) = watcher.refused() {
        bail!("{reason}");
    }
    watcher.report_missing_readings(&outcome.run);
    watcher.read_smis();
    let circumstances = circumstances(&options, &request.facts, started);
    let exit = print_results(&options, &watcher, files, &circumstances)?;
    match outcome.trouble {
        Some(trouble) => bail!("{trouble}"),
        None => Ok(exit),
    }
}

/// The CPUs of `machine` as rt-tests distinguishes them: `-a` without a list, `-S` and `-t` use the inherited mask, in which no isolated CPU is
/// (get_available_cpus and cpu_for_thread_ua in its rt-numa.c), and a list names any CPU.
fn cpus(options: &Options, machine: &MachineCpus) -> Result<Cpus> {
    let allowed = match options.fake {
        Some(_) => machine.online.clone(),
        None => scheduling::affinity().context("cannot read which CPUs this process may use")?,
    };
    let cpuset = machine.online.iter().copied().filter(|cpu| machine.check(*cpu).is_ok()).collect();
    Ok(Cpus { allowed, cpuset })
}

/// The threads of a plan.
fn threads_of(plan: &Plan) -> impl Iterator<Item = &ThreadPlan> {
    let timer = plan.phases.iter().find_map(|phase| phase.probe.timer());
    timer.into_iter().flat_map(|timer| &timer.threads)
}

/// Replaces `--deepest-idle-state` by the exit latency that /dev/cpu_dma_latency is to hold.
fn limit_idle_states(options: &mut Options, files: &KernelFiles, cpus: &Cpus) {
    let Some(deepest) = options.deepest_idle_state else { return };
    let limit_us = cpus.allowed.first().and_then(|cpu| idle::limit_us(files, *cpu, deepest));
    let note = match limit_us {
        Some(us) => {
            options.power = Power::Hold(us);
            format!("--deepest-idle-state {deepest}: limited through {DMA_LATENCY} to {us} us, on all CPUs")
        }
        None => {
            options.power = Power::Unlimited;
            format!("--deepest-idle-state {deepest} has no effect: the CPUs have no deeper idle state")
        }
    };
    options.notes.push(note);
}

fn open_pipe(path: &Path) -> Result<StatsPipe> {
    StatsPipe::create(path).with_context(|| format!("cannot create the named pipe -F {}", path.display()))
}

fn request(options: &Options, plan: Plan, place: &RunPlace, started: SystemTime) -> Result<Request> {
    let answers = match options.fake {
        Some(_) => facts::SystemAnswers::none(),
        None => facts::SystemAnswers::ask(),
    };
    let facts = facts::collect(&KernelFiles::real(), &answers);
    let origin = origin::of_this_command(started, options.fake);
    Ok(Request {
        reports_samples: true,
        // cyclictest overwrites its files.
        force: true,
        fake: options.fake,
        starts_on_second_of: options
            .second_offset_us
            .filter(|_| options.fake.is_none())
            .map(|_| tardy_probe::timer::sys_clock(options.clock)),
        ..Request::new(plan, facts, origin, place.file.clone(), programs::of_tardy()?)
    })
}

/// The run file: as given, or in a temporary directory that is removed on drop.
struct RunPlace {
    file: PathBuf,
    _directory: Option<PrivateDirectory>,
}

impl RunPlace {
    fn of(options: &Options) -> Result<Self> {
        if let Some(file) = &options.tardy_run {
            return Ok(Self { file: file.clone(), _directory: None });
        }
        let directory = PrivateDirectory::create("tardy-cyclictest-").context(
            "cannot create a temporary directory for the run file; name a file with --tardy-run FILE",
        )?;
        Ok(Self { file: directory.path().join("run.json"), _directory: Some(directory) })
    }
}

/// The result files. They are opened or claimed before the measurement, so that a missing directory is reported before hours
/// of measurement.
struct ResultFiles {
    histogram: Option<ResultPlace>,
    json: Option<ResultPlace>,
}

/// The place of a result.
enum ResultPlace {
    /// A file that is replaced, as cyclictest does.
    File(ResultFile),
    /// A pipe or a device.
    Stream(PathBuf, File),
}

impl ResultPlace {
    fn open(path: &Path) -> Result<Self> {
        if files::is_stream(path)? {
            return Ok(Self::Stream(path.to_owned(), files::open_to_write(path, true)?.file));
        }
        Ok(Self::File(ResultFile::claim(path, true)?))
    }

    fn write(self, text: &str) -> Result<()> {
        match self {
            Self::File(file) => Ok(file.write(text.as_bytes())?),
            Self::Stream(path, mut file) => {
                file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

impl ResultFiles {
    fn open(options: &Options) -> Result<Self> {
        let open = |path: &PathBuf, option: &str| {
            ResultPlace::open(path).with_context(|| format!("cannot write {option} {}", path.display()))
        };
        Ok(Self {
            histogram: options.histfile.as_ref().map(|path| open(path, "--histfile")).transpose()?,
            json: options.json.as_ref().map(|path| open(path, "--json")).transpose()?,
        })
    }
}

/// Prints what cyclictest prints before its threads start.
fn print_preamble(options: &Options, plan: &Plan, cpus: &Cpus) -> Result<()> {
    let mut first = String::new();
    let set = match &options.affinity {
        Affinity::Set(set) => Some(set.resolve(cpus).map_err(anyhow::Error::msg)?),
        Affinity::None | Affinity::All => None,
    };
    if options.verbose {
        let count = cpus.cpuset.len();
        first += &format!("Max CPUs = {count}\nOnline CPUs = {count}\n");
        if let Some(set) = &set {
            first += &format!("Using {} cpus.\n", set.len());
        }
    }
    match options.power {
        Power::Hold(us) if options.fake.is_some() || dma_latency::is_available() => {
            first += &format!("# {DMA_LATENCY} set to {us}us\n");
        }
        Power::Hold(_) => output::print_line(&format!("WARN: cannot write {DMA_LATENCY}")),
        Power::System => output::print_line("WARN: not setting cpu_dma_latency from cyclictest"),
        Power::Battery => output::print_line("WARN: not setting cpu_dma_latency to save battery power"),
        Power::Unlimited => {}
    }
    for (number, thread) in threads_of(plan).enumerate().filter(|_| options.verbose) {
        if set.is_some() {
            first += &format!("Thread {number} using cpu {}.\n", thread.cpu);
        }
        first += &format!("Thread {number} Interval: {}\n", thread.interval_ns / 1000);
    }
    output::print(&first)
}

fn circumstances(options: &Options, facts: &Facts, started: SystemTime) -> Circumstances {
    let arguments: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let date = |at: SystemTime| OffsetDateTime::from(at).format(&Rfc2822).unwrap_or_default();
    let text = |fact: &Fact<String>| fact.get().cloned().unwrap_or_default();
    Circumstances {
        command_line: arguments.join(" "),
        version: text::FORMAT_OF.to_owned(),
        start_time: Some(date(started)),
        end_time: Some(date(SystemTime::now())),
        system: System {
            sysname: "Linux".to_owned(),
            nodename: KernelFiles::real().text("/proc/sys/kernel/hostname").unwrap_or_default(),
            release: text(&facts.kernel.release),
            version: text(&facts.kernel.version),
            machine: text(&facts.kernel.machine),
            realtime: Some(u8::from(facts.kernel.real_time.value.get() == Some(true))),
        },
        in_ns: options.in_ns,
        return_code: 0,
    }
}

/// Prints and writes the results. The content of a file that cannot be written is printed instead, and the exit status is 1.
fn print_results(
    options: &Options,
    watcher: &Watcher,
    files: ResultFiles,
    circumstances: &Circumstances,
) -> Result<Exit> {
    let (counts, heads) = (watcher.counts(), watcher.heads());
    let mut exit = Exit::Done;
    let mut to_file = |file: ResultPlace, text: &str| -> Result<()> {
        file.write(text).or_else(|error| {
            output::report(&format!("{error:#}; its content follows on standard output"));
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
    output::print(&watcher.spikes())?;
    if options.histogram.is_some() {
        let histogram = text::histogram(counts, options.all_column, watcher.smis());
        match files.histogram {
            Some(file) => to_file(file, &histogram)?,
            None => output::print(&histogram)?,
        }
    }
    if options.break_us.is_some() {
        output::print(&text::break_lines(counts, heads))?;
    }
    if let Some(path) = &options.tardy_run {
        report_run_file(path);
    }
    Ok(exit)
}

/// Reports the path of the run file on a terminal; scripts do not expect the message.
fn report_run_file(path: &Path) {
    if std::io::stderr().is_terminal() {
        output::report(&format!("run file {}", path.display()));
    }
}
