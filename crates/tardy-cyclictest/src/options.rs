//! cyclictest's command line, as its man page and the `--help` of rt-tests 2.x document it: short and long options, attached or
//! separate values, abbreviated long names. Options of earlier versions are accepted too.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser};
use tardy_record::plan::{ClockId, Policy};

use crate::cpu_set::CpuSet;
use crate::names;
use crate::spikes;
use crate::values::{clock, number, policy, seconds};

/// Most rows of a histogram, as in cyclictest (HIST_MAX).
const HISTOGRAM_MAX: u64 = 1_000_000;

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `-t`, `-S`: number of threads; `None` for one on each CPU.
    pub threads: Option<u32>,
    /// `-a`, `-S`.
    pub affinity: Affinity,
    /// `-i`, in us.
    pub interval_us: u64,
    /// `-d`, in us; `None` if not given.
    pub distance_us: Option<u64>,
    /// `-A`, in us: the offset of each thread's wake-ups from those of the previous thread.
    pub aligned_us: Option<u64>,
    /// `--secaligned`, in us: the offset of all wake-ups from a full second.
    pub second_offset_us: Option<u64>,
    /// `-p`; 0 for none, or for the default of a real-time policy.
    pub priority: u32,
    /// `--priospread`.
    pub spread: bool,
    /// `--policy`; FIFO if only `-p` is given.
    pub policy: Policy,
    /// The policy's name in the output: `batch` and `idle` are measured with SCHED_OTHER.
    pub policy_name: &'static str,
    /// `-c`.
    pub clock: ClockId,
    /// How threads wait.
    pub wait: Wait,
    /// `-l`; 0 for no end.
    pub loops: u64,
    /// `-D`, in s; 0 for no end.
    pub duration_s: u64,
    /// `-b`, in us.
    pub break_us: Option<u64>,
    /// `-h`, `-H`: number of rows, in the unit of the results.
    pub histogram: Option<u64>,
    /// `-H`: a column for all threads.
    pub all_column: bool,
    /// `--histfile`.
    pub histfile: Option<PathBuf>,
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `-m`.
    pub locks_memory: bool,
    /// `--latency`, `--default-system`, `--laptop`.
    pub power: Power,
    /// `--deepest-idle-state`; -1 for none.
    pub deepest_idle_state: Option<i32>,
    /// `--mainaffinity`.
    pub main_cpus: Option<CpuSet>,
    /// `-R`.
    pub checks_resolution: bool,
    /// `--spike`, in the unit of the results; `None` if not given.
    pub spike: Option<u64>,
    /// `--spike-nodes`.
    pub spike_nodes: usize,
    /// `--smi`.
    pub counts_smis: bool,
    /// `-F`.
    pub pipe: Option<PathBuf>,
    /// `-N`.
    pub in_ns: bool,
    /// `-o`: print only the highest of this many readings.
    pub reduction: u64,
    /// `-q`.
    pub quiet: bool,
    /// `-M`.
    pub refresh_on_max: bool,
    /// `-v`.
    pub verbose: bool,
    /// `--tardy-run`: tardy's run file.
    pub tardy_run: Option<PathBuf>,
    /// `--tardy-fake`: for tests.
    pub fake: Option<u64>,
    /// Options that have no effect or another one than given, a line for each.
    pub notes: Vec<String>,
}

/// The CPUs that threads are pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// None.
    None,
    /// All, in turn.
    All,
    /// These, in turn.
    Set(CpuSet),
}

/// How threads wait: `-s`, `-x`, `-r`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// `-s`: by `nanosleep`, unless `-x` is given.
    pub system: bool,
    /// `-x`: by a POSIX timer.
    pub posix_timers: bool,
    /// `-r`: until a time relative to the last wake-up.
    pub relative: bool,
}

/// The setting of /dev/cpu_dma_latency, which prevents deep idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Held at this many us.
    Hold(u32),
    /// Not set: `--default-system`.
    System,
    /// Not set: `--laptop`.
    Battery,
    /// Not set: no idle state is deeper than that of `--deepest-idle-state`.
    Unlimited,
}

/// The request of a command line.
#[derive(Debug, PartialEq)]
pub enum Asked {
    /// A measurement.
    Measure(Box<Options>),
    /// `--help`.
    Help,
}

impl Default for Options {
    /// cyclictest's defaults.
    fn default() -> Self {
        Self {
            threads: Some(1),
            affinity: Affinity::None,
            interval_us: 1000,
            distance_us: None,
            aligned_us: None,
            second_offset_us: None,
            priority: 0,
            spread: false,
            policy: Policy::Other,
            policy_name: "other",
            clock: ClockId::Monotonic,
            wait: Wait::default(),
            loops: 0,
            duration_s: 0,
            break_us: None,
            histogram: None,
            all_column: false,
            histfile: None,
            json: None,
            locks_memory: false,
            power: Power::Hold(0),
            deepest_idle_state: None,
            main_cpus: None,
            checks_resolution: false,
            spike: None,
            spike_nodes: spikes::NODES_DEFAULT,
            counts_smis: false,
            pipe: None,
            in_ns: false,
            reduction: 1,
            quiet: false,
            refresh_on_max: false,
            verbose: false,
            tardy_run: None,
            fake: None,
            notes: Vec::new(),
        }
    }
}

/// Parses the arguments.
///
/// # Errors
/// A message for the user: which option is wrong, and what is expected.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut reader = Reader { parser: Parser::from_args(words), smp: false, options: Options::default() };
    while let Some(argument) = reader.parser.next().map_err(|error| error.to_string())? {
        let (name, given) = match argument {
            Arg::Short(letter) => (letter.to_string(), format!("-{letter}")),
            Arg::Long(name) => (names::of_long(name)?.to_owned(), format!("--{name}")),
            // An empty word is a script's quoted empty variable.
            Arg::Value(word) if word.is_empty() => continue,
            // cyclictest ignores words that are not options.
            Arg::Value(word) => {
                reader.note(format!("'{}' is not an option; ignored", word.to_string_lossy()));
                continue;
            }
        };
        // Of getopt, which reports a missing value as cyclictest reports `-?`: with the help.
        let is_help = name == names::HELP || name == "?" || name == "h" && reader.is_at_end();
        if is_help {
            return Ok(Asked::Help);
        }
        reader.take(&name, &given)?;
    }
    Ok(Asked::Measure(Box::new(reader.options.checked()?)))
}

struct Reader {
    parser: Parser,
    /// Whether `-S` has set the threads and their CPUs.
    smp: bool,
    options: Options,
}

impl Reader {
    /// Adds the line `text` to the notes, once.
    fn note(&mut self, text: String) {
        if !self.options.notes.contains(&text) {
            self.options.notes.push(text);
        }
    }

    fn take(&mut self, name: &str, given: &str) -> Result<(), String> {
        if let Some((has_value, reason)) = names::without_effect(name) {
            if has_value {
                self.word(given)?;
            }
            self.note(format!("{given} has no effect: {reason}"));
            return Ok(());
        }
        match name {
            "a" | "t" | "S" | "A" | "secaligned" | "mainaffinity" => return self.take_placement(name),
            "histfile" | "json" | "F" | "tardy-run" | "tardy-fake" => return self.take_output(name),
            _ => {}
        }
        match name {
            "priospread" | "Q" => self.options.spread = true,
            "s" => self.options.wait.system = true,
            "x" => self.options.wait.posix_timers = true,
            "r" => self.options.wait.relative = true,
            "m" => self.options.locks_memory = true,
            "N" => self.options.in_ns = true,
            "q" => self.options.quiet = true,
            "M" => self.options.refresh_on_max = true,
            "R" => self.options.checks_resolution = true,
            "smi" => self.options.counts_smis = true,
            // Output is never buffered.
            "u" => {}
            "v" => self.options.verbose = true,
            "default-system" if self.options.power == Power::Battery => {}
            "default-system" => self.options.power = Power::System,
            "laptop" => self.options.power = Power::Battery,
            "i" => self.options.interval_us = self.number("-i")?,
            "d" => self.options.distance_us = Some(self.number("-d")?),
            "p" => self.take_priority()?,
            "y" => (self.options.policy, self.options.policy_name) = policy(&self.word("--policy")?)?,
            "c" => self.options.clock = clock(&self.word("-c")?)?,
            "l" => self.options.loops = self.number("-l")?,
            "D" => self.options.duration_s = seconds(&self.word("-D")?)?,
            "b" => self.options.break_us = Some(self.number("-b")?).filter(|us| *us > 0),
            "h" => self.options.histogram = Some(self.rows("-h")?),
            "H" => (self.options.histogram, self.options.all_column) = (Some(self.rows("-H")?), true),
            "o" => self.options.reduction = self.number("-o")?,
            "e" => {
                let us: i64 = self.number("--latency")?;
                // The other two have precedence, in any order.
                if matches!(self.options.power, Power::Hold(_)) {
                    self.options.power = Power::Hold(us.clamp(0, i64::from(i32::MAX)) as u32);
                }
            }
            "deepest-idle-state" => {
                let state: i32 = self.number("--deepest-idle-state")?;
                self.options.deepest_idle_state = Some(state).filter(|state| *state >= -1);
            }
            "spike" => self.options.spike = Some(self.number("--spike")?).filter(|limit| *limit > 0),
            "spike-nodes" => self.options.spike_nodes = self.number("--spike-nodes")?,
            _ => return Err(names::unknown(given)),
        }
        Ok(())
    }

    /// Options that name threads, CPUs and offsets. Some of their values are optional.
    fn take_placement(&mut self, name: &str) -> Result<(), String> {
        match name {
            "a" => {
                let set = self.optional_set()?;
                if self.smp {
                    self.note("-a has no effect after -S".to_owned());
                } else {
                    self.options.affinity = set.map_or(Affinity::All, Affinity::Set);
                }
            }
            "t" => {
                let threads = self.optional_number("-t")?;
                if self.smp {
                    self.note("-t has no effect after -S".to_owned());
                } else {
                    self.options.threads = threads;
                }
            }
            "S" => {
                self.smp = true;
                (self.options.threads, self.options.affinity) = (None, Affinity::All);
            }
            "A" => self.options.aligned_us = Some(self.optional_offset("-A")?),
            "secaligned" => self.options.second_offset_us = Some(self.optional_offset("--secaligned")?),
            _ => self.options.main_cpus = CpuSet::parse(&self.word("--mainaffinity")?, "--mainaffinity")?,
        }
        Ok(())
    }

    /// Options that name files.
    fn take_output(&mut self, name: &str) -> Result<(), String> {
        match name {
            "histfile" => self.options.histfile = Some(self.word("--histfile")?.into()),
            "json" => self.options.json = Some(self.word("--json")?.into()),
            "F" => self.options.pipe = Some(self.word("-F")?.into()),
            "tardy-run" => self.options.tardy_run = Some(self.word("--tardy-run")?.into()),
            _ => self.options.fake = Some(self.number("--tardy-fake")?),
        }
        Ok(())
    }

    /// `-p`, which selects SCHED_FIFO unless an earlier `--policy` has selected a real-time policy.
    fn take_priority(&mut self) -> Result<(), String> {
        self.options.priority = self.number("-p")?;
        if !self.options.policy.has_priority() {
            (self.options.policy, self.options.policy_name) = (Policy::Fifo, "fifo");
        }
        Ok(())
    }

    /// Whether no word is left.
    fn is_at_end(&mut self) -> bool {
        self.parser.try_raw_args().is_some_and(|rest| rest.as_slice().is_empty())
    }

    fn word(&mut self, name: &str) -> Result<String, String> {
        let word = self.parser.value().map_err(|_| format!("{name} needs a value"))?;
        word.into_string().map_err(|word| format!("{name} {}: not valid UTF-8", word.to_string_lossy()))
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, String> {
        number(&self.word(name)?, name)
    }

    fn rows(&mut self, name: &str) -> Result<u64, String> {
        match self.number(name)? {
            0 => Err(format!("{name} 0: expected 1 to {HISTOGRAM_MAX} rows")),
            rows @ 1..=HISTOGRAM_MAX => Ok(rows),
            rows => {
                self.note(format!("{name} {rows}: limited to {HISTOGRAM_MAX} rows"));
                Ok(HISTOGRAM_MAX)
            }
        }
    }

    /// An attached value, or the next word if it `fits`, as cyclictest reads the values of `-t` and `-a`.
    fn optional_value(&mut self, fits: impl Fn(&str) -> bool) -> Result<Option<String>, String> {
        if let Some(attached) = self.parser.optional_value() {
            return Ok(Some(attached.to_string_lossy().into_owned()));
        }
        let Some(mut rest) = self.parser.try_raw_args() else { return Ok(None) };
        let next = rest.peek().and_then(|word| word.to_str()).map(str::to_owned);
        Ok(next.filter(|word| fits(word)).inspect(|_| drop(rest.next())))
    }

    fn optional_number(&mut self, name: &str) -> Result<Option<u32>, String> {
        let is_separate = self.parser.try_raw_args().is_some();
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty();
        let Some(word) = self.optional_value(is_number)? else { return Ok(None) };
        match word.parse() {
            Ok(count @ 1..) => Ok(Some(count)),
            // cyclictest reads a separate 0 like no number: a thread for each CPU. Scripts rely on it.
            Ok(0) if is_separate => Ok(None),
            _ => Err(format!("{name} {word}: expected a number of threads, at least 1")),
        }
    }

    fn optional_offset(&mut self, name: &str) -> Result<u64, String> {
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        self.optional_value(is_number)?.map_or(Ok(0), |word| number(&word, name))
    }

    fn optional_set(&mut self) -> Result<Option<CpuSet>, String> {
        // Other words that begin like a set are errors.
        let is_set = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || "a!+".contains(c));
        self.optional_value(is_set)?.map_or(Ok(None), |word| CpuSet::parse(&word, "-a"))
    }
}

impl Options {
    /// Checks the combination of options, and resolves it as cyclictest does.
    fn checked(mut self) -> Result<Self, String> {
        if self.priority > 99 {
            return Err(format!("-p {}: expected a real-time priority from 1 to 99", self.priority));
        }
        if self.interval_us == 0 {
            return Err("-i 0: expected an interval in us, at least 20".to_owned());
        }
        if self.reduction == 0 {
            return Err("-o 0: expected a number of readings, at least 1".to_owned());
        }
        if self.reduction > 1 && !self.verbose {
            return Err("-o reduces the output of -v; add -v or remove -o".to_owned());
        }
        if self.aligned_us.is_some() && self.second_offset_us.is_some() {
            return Err("-A and --secaligned exclude each other; remove one of them".to_owned());
        }
        if self.counts_smis && self.affinity == Affinity::None {
            return Err("--smi counts on the CPUs of pinned threads; add -a or -S".to_owned());
        }
        if self.histfile.is_some() && self.histogram.is_none() {
            self.notes.push("--histfile has no effect without -h or -H".to_owned());
            self.histfile = None;
        }
        if self.histogram.is_some() && self.distance_us.is_some_and(|us| us > 0) {
            self.notes.push("-d has no effect with -h and -H: all threads have the same interval".to_owned());
        }
        if self.wait.system && self.wait.posix_timers {
            self.notes.push("-x has no effect with -s: the threads wait with nanosleep".to_owned());
            self.wait.posix_timers = false;
        }
        if self.wait.relative && self.wait.posix_timers {
            self.notes.push("-r has no effect with -x: the period of timer_settime is absolute".to_owned());
        }
        self.check_policy();
        Ok(self)
    }

    /// A priority without a real-time policy means SCHED_FIFO.
    fn check_policy(&mut self) {
        let has_priority = self.policy.has_priority();
        if !has_priority && (self.priority > 0 || self.spread) {
            let name = self.policy_name;
            if self.priority > 0 {
                self.notes.push(format!("--policy {name} has no priority: using fifo, because of -p"));
            }
            (self.policy, self.policy_name) = (Policy::Fifo, "fifo");
        } else if !has_priority && matches!(self.policy_name, "batch" | "idle") {
            let name = self.policy_name;
            self.notes.push(format!("--policy {name}: measured with SCHED_OTHER, as cyclictest does"));
        }
    }

    /// The time added to the interval of each further thread, in us. With a histogram all intervals are equal.
    pub fn resolved_distance_us(&self) -> u64 {
        if self.histogram.is_some() { 0 } else { self.distance_us.unwrap_or(500) }
    }
}

#[cfg(test)]
mod tests;
