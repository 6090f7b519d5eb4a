//! cyclictest's command line, as its man page and the `--help` of rt-tests 2.x document it: short and long options, attached or
//! separate values, abbreviated long names.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser};
use tardy_record::plan::{ClockId, Policy};

use super::refused;

/// Most rows of a histogram, as in cyclictest (HIST_MAX).
const HISTOGRAM_MAX: u64 = 1_000_000;

/// The options of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// `-t`, `-S`: number of threads; `None` for one on each CPU.
    pub(crate) threads: Option<u32>,
    /// `-a`, `-S`.
    pub(crate) affinity: Affinity,
    /// `-i`, in us.
    pub(crate) interval_us: u64,
    /// `-d`, in us; `None` if not given.
    pub(crate) distance_us: Option<u64>,
    /// `-A`, in us: the offset of each thread's wake-ups from those of the previous thread.
    pub(crate) aligned_us: Option<u64>,
    /// `-p`; 0 for none.
    pub(crate) priority: u32,
    /// `--priospread`.
    pub(crate) spread: bool,
    /// `--policy`.
    pub(crate) policy: Option<Policy>,
    /// `-c`.
    pub(crate) clock: ClockId,
    /// How threads wait.
    pub(crate) wait: Wait,
    /// `-l`; 0 for no end.
    pub(crate) loops: u64,
    /// `-D`, in s; 0 for no end.
    pub(crate) duration_s: u64,
    /// `-b`, in us.
    pub(crate) break_us: Option<u64>,
    /// `-h`, `-H`: number of rows, in the unit of the results.
    pub(crate) histogram: Option<u64>,
    /// `-H`: a column for all threads.
    pub(crate) all_column: bool,
    /// `--histfile`.
    pub(crate) histfile: Option<PathBuf>,
    /// `--json`.
    pub(crate) json: Option<PathBuf>,
    /// `-m`.
    pub(crate) locks_memory: bool,
    /// `--latency`, `--default-system`, `--laptop`.
    pub(crate) power: Power,
    /// `--mainaffinity`.
    pub(crate) main_cpu: Option<u32>,
    /// `-N`.
    pub(crate) in_ns: bool,
    /// `-o`: print only the highest of this many readings.
    pub(crate) reduction: u64,
    /// `-q`.
    pub(crate) quiet: bool,
    /// `-M`.
    pub(crate) refresh_on_max: bool,
    /// `-v`.
    pub(crate) verbose: bool,
    /// `--tardy-run`: tardy's run file.
    pub(crate) tardy_run: Option<PathBuf>,
    /// `--tardy-fake`: for tests.
    pub(crate) fake: Option<u64>,
}

/// The CPUs that threads are pinned to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Affinity {
    /// None.
    None,
    /// All, in turn.
    All,
    /// These, in turn.
    Set(Vec<u32>),
}

/// How threads wait: `-s`, `-x`, `-r`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) system: bool,
    pub(crate) posix_timers: bool,
    pub(crate) relative: bool,
}

/// The setting of /dev/cpu_dma_latency, which prevents deep idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    /// Held at this many us.
    Hold(u32),
    /// Not set: `--default-system`.
    System,
    /// Not set: `--laptop`.
    Battery,
}

/// The request of a command line.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
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
            priority: 0,
            spread: false,
            policy: None,
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
            main_cpu: None,
            in_ns: false,
            reduction: 1,
            quiet: false,
            refresh_on_max: false,
            verbose: false,
            tardy_run: None,
            fake: None,
        }
    }
}

/// The long names, each with the name that [`Reader::take`] uses.
const LONG: &[(&str, &str)] = &[
    ("affinity", "a"),
    ("aligned", "A"),
    ("breaktrace", "b"),
    ("clock", "c"),
    ("dbg_cyclictest", "dbg_cyclictest"),
    ("deepest-idle-state", "deepest-idle-state"),
    ("default-system", "default-system"),
    ("delay", "delay"),
    ("distance", "d"),
    ("duration", "D"),
    ("fifo", "F"),
    ("help", "help"),
    ("histfile", "histfile"),
    ("histofall", "H"),
    ("histogram", "h"),
    ("interval", "i"),
    ("json", "json"),
    ("laptop", "laptop"),
    ("latency", "latency"),
    ("loops", "l"),
    ("mainaffinity", "mainaffinity"),
    ("mlockall", "m"),
    ("nsecs", "N"),
    ("oscope", "o"),
    ("policy", "policy"),
    ("posix_timers", "x"),
    ("priority", "p"),
    ("priospread", "priospread"),
    ("quiet", "q"),
    ("refresh_on_max", "M"),
    ("relative", "r"),
    ("resolution", "R"),
    ("secaligned", "secaligned"),
    ("smi", "smi"),
    ("smp", "S"),
    ("spike", "spike"),
    ("spike-nodes", "spike-nodes"),
    ("system", "s"),
    ("tardy-fake", "tardy-fake"),
    ("tardy-run", "tardy-run"),
    ("threads", "t"),
    ("tracemark", "tracemark"),
    ("unbuffered", "u"),
    ("verbose", "v"),
];

/// Parses the arguments.
///
/// # Errors
/// A message for the user: which option is wrong or not supported, and what to use instead.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Asked, String> {
    let mut reader = Reader { parser: Parser::from_args(words), smp: false, options: Options::default() };
    while let Some(argument) = reader.parser.next().map_err(|error| error.to_string())? {
        let name = match argument {
            Arg::Short(letter) => letter.to_string(),
            Arg::Long(name) => known(name)?.to_owned(),
            // An empty word is a script's quoted empty variable.
            Arg::Value(word) if word.is_empty() => continue,
            Arg::Value(word) => {
                return Err(format!("unexpected argument '{}'", word.to_string_lossy()));
            }
        };
        if name == "help" {
            return Ok(Asked::Help);
        }
        reader.take(&name)?;
    }
    Ok(Asked::Measure(Box::new(reader.options.checked()?)))
}

/// The internal name of a long name, which may be abbreviated.
fn known(given: &str) -> Result<&'static str, String> {
    if let Some((_, name)) = LONG.iter().find(|(long, _)| *long == given) {
        return Ok(name);
    }
    let candidates: Vec<_> = LONG.iter().filter(|(long, _)| long.starts_with(given)).collect();
    match candidates[..] {
        [(_, name)] => Ok(name),
        [] => Err(refused::unknown(&format!("--{given}"))),
        _ => {
            let names: Vec<String> = candidates.iter().map(|(long, _)| format!("--{long}")).collect();
            Err(format!("--{given} is ambiguous: {}", names.join(" or ")))
        }
    }
}

struct Reader {
    parser: Parser,
    /// Whether `-S` has set the threads and their CPUs.
    smp: bool,
    options: Options,
}

impl Reader {
    fn take(&mut self, name: &str) -> Result<(), String> {
        if let Some(reason) = refused::reason(name) {
            return Err(reason);
        }
        match name {
            "a" => {
                let set = self.optional_set()?;
                if !self.smp {
                    self.options.affinity = set.map_or(Affinity::All, Affinity::Set);
                }
            }
            "t" => {
                let threads = self.optional_number("-t")?;
                if !self.smp {
                    self.options.threads = threads;
                }
            }
            "S" => {
                self.smp = true;
                (self.options.threads, self.options.affinity) = (None, Affinity::All);
            }
            "A" => {
                let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
                let word = self.optional_value(is_number)?;
                let number = word.as_deref().map(|word| number(word, "-A")).transpose()?;
                self.options.aligned_us = Some(number.unwrap_or(0));
            }
            "i" => self.options.interval_us = self.number("-i")?,
            "d" => self.options.distance_us = Some(self.number("-d")?),
            "p" => self.options.priority = self.number("-p")?,
            "priospread" => self.options.spread = true,
            "policy" => self.options.policy = Some(policy(&self.word("--policy")?)?),
            "c" => self.options.clock = clock(&self.word("-c")?)?,
            "s" => self.options.wait.system = true,
            "x" => self.options.wait.posix_timers = true,
            "r" => self.options.wait.relative = true,
            "l" => self.options.loops = self.number("-l")?,
            "D" => self.options.duration_s = seconds(&self.word("-D")?)?,
            "b" => self.options.break_us = Some(self.number("-b")?).filter(|us| *us > 0),
            "h" => self.options.histogram = Some(self.rows("-h")?),
            "H" => (self.options.histogram, self.options.all_column) = (Some(self.rows("-H")?), true),
            "m" => self.options.locks_memory = true,
            "N" => self.options.in_ns = true,
            "o" => self.options.reduction = self.number::<u64>("-o")?.max(1),
            "q" => self.options.quiet = true,
            "M" => self.options.refresh_on_max = true,
            // Output is never buffered.
            "u" => {}
            "v" => self.options.verbose = true,
            "histfile" => self.options.histfile = Some(self.word("--histfile")?.into()),
            "json" => self.options.json = Some(self.word("--json")?.into()),
            "latency" => self.options.power = Power::Hold(self.number("--latency")?),
            "default-system" => self.options.power = Power::System,
            "laptop" => self.options.power = Power::Battery,
            "mainaffinity" => self.options.main_cpu = Some(self.number("--mainaffinity")?),
            "tardy-run" => self.options.tardy_run = Some(self.word("--tardy-run")?.into()),
            "tardy-fake" => self.options.fake = Some(self.number("--tardy-fake")?),
            other => return Err(refused::unknown(&format!("-{other}"))),
        }
        Ok(())
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
            rows @ 1..=HISTOGRAM_MAX => Ok(rows),
            rows => Err(format!("{name} {rows}: expected 1 to {HISTOGRAM_MAX} rows")),
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
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty();
        let Some(word) = self.optional_value(is_number)? else { return Ok(None) };
        match word.parse() {
            Ok(count @ 1..) => Ok(Some(count)),
            _ => Err(format!("{name} {word}: expected a number of threads, at least 1")),
        }
    }

    fn optional_set(&mut self) -> Result<Option<Vec<u32>>, String> {
        // "all" means every CPU that the process may use, as without a set. Other words that begin like it are errors.
        let is_set = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || "a!+".contains(c));
        let word = self.optional_value(is_set)?.filter(|word| word != "all");
        word.map(|word| cpu_set(&word)).transpose()
    }
}

impl Options {
    /// Checks the combination of options.
    fn checked(mut self) -> Result<Self, String> {
        if self.priority > 99 {
            return Err(format!("-p {}: expected a real-time priority from 1 to 99", self.priority));
        }
        if self.policy == Some(Policy::Other) && self.priority > 0 {
            return Err("--policy other has no priority; remove -p".to_owned());
        }
        if self.interval_us == 0 {
            return Err("-i 0: expected an interval in us, at least 20".to_owned());
        }
        if self.histfile.is_some() && self.histogram.is_none() {
            return Err("--histfile needs -h or -H with the number of rows".to_owned());
        }
        if self.wait.relative && self.wait.posix_timers {
            return Err("-r -x: the period of timer_settime is absolute; remove one of them".to_owned());
        }
        // cyclictest chooses the same priority, and reports it on standard error.
        if self.policy.is_some_and(Policy::has_priority) && self.priority == 0 {
            self.priority = self.threads.unwrap_or(1).min(98) + 1;
        }
        Ok(self)
    }

    /// The policy of all threads.
    pub(crate) fn resolved_policy(&self) -> Policy {
        self.policy.unwrap_or(if self.priority > 0 { Policy::Fifo } else { Policy::Other })
    }

    /// The time added to the interval of each further thread, in us. With a histogram all intervals are equal.
    pub(crate) fn resolved_distance_us(&self) -> u64 {
        if self.histogram.is_some() { 0 } else { self.distance_us.unwrap_or(500) }
    }
}

fn number<T: std::str::FromStr>(word: &str, name: &str) -> Result<T, String> {
    word.trim().parse().map_err(|_| format!("{name} {word}: expected a whole number"))
}

fn policy(name: &str) -> Result<Policy, String> {
    match name.to_ascii_lowercase().as_str() {
        "fifo" => Ok(Policy::Fifo),
        "rr" => Ok(Policy::Rr),
        "other" | "normal" => Ok(Policy::Other),
        "batch" | "idle" => Err(format!("--policy {name}: not supported; expected fifo, rr or other")),
        _ => Err(format!("--policy {name}: expected fifo, rr, other or normal")),
    }
}

fn clock(name: &str) -> Result<ClockId, String> {
    match name.to_ascii_lowercase().as_str() {
        "0" | "mono" | "monotonic" => Ok(ClockId::Monotonic),
        "1" | "real" | "realtime" => Ok(ClockId::Realtime),
        _ => Err(format!("-c {name}: expected 0 (CLOCK_MONOTONIC) or 1 (CLOCK_REALTIME)")),
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("-D {text}: expected a number of seconds, or a number followed by m, h or d");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    digits.parse::<u64>().ok().and_then(|count| count.checked_mul(factor)).ok_or_else(wrong)
}

fn cpu_set(text: &str) -> Result<Vec<u32>, String> {
    let wrong = || format!("-a {text}: expected CPUs such as 2 or 0-3,5");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu < 65_536);
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        if first > last {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options, String> {
        match parse(line.split_whitespace().map(OsString::from))? {
            Asked::Measure(options) => Ok(*options),
            Asked::Help => Err("help".to_owned()),
        }
    }

    #[test]
    fn the_command_line_of_osadl_is_parsed() {
        let of = options("-l100000000 -m -Sp90 -i200 -h400 -q").unwrap();
        assert_eq!((of.loops, of.locks_memory, of.priority), (100_000_000, true, 90));
        assert_eq!((of.threads, of.affinity.clone()), (None, Affinity::All));
        assert_eq!((of.interval_us, of.histogram, of.quiet), (200, Some(400), true));
        assert_eq!((of.resolved_distance_us(), of.resolved_policy()), (0, Policy::Fifo));
    }

    #[test]
    fn short_and_long_options_with_attached_and_separate_values_are_equal() {
        let short = options("-t 4 -a 0-1,3 -i 500 -p 80 -D 2m -H 100 -b 50 -N").unwrap();
        let attached = options("-t4 -a0-1,3 -i500 -p80 -D2m -H100 -b50 -N").unwrap();
        let long = options(
            "--threads=4 --affinity=0-1,3 --interval 500 --priority=80 --duration=2m --histofall=100 \
             --breaktrace=50 --nsecs",
        )
        .unwrap();
        assert_eq!(short, attached);
        assert_eq!(short, long);
        assert_eq!(short.affinity, Affinity::Set(vec![0, 1, 3]));
        assert_eq!((short.duration_s, short.threads), (120, Some(4)));
    }

    #[test]
    fn an_optional_value_is_the_next_word_only_if_it_fits() {
        assert_eq!(options("-t -q").unwrap().threads, None);
        assert_eq!(options("-a -t 2").unwrap().affinity, Affinity::All);
        assert_eq!(options("-a -t 2").unwrap().threads, Some(2));
        assert_eq!(options("-S -a 1").unwrap().affinity, Affinity::All, "-S has set it");
    }

    #[test]
    fn an_unambiguous_abbreviation_of_a_long_name_is_accepted() {
        assert!(options("--quie").unwrap().quiet);
        assert_eq!(
            options("--hist=3").unwrap_err(),
            "--hist is ambiguous: --histfile or --histofall or --histogram"
        );
    }

    #[test]
    fn a_policy_without_a_priority_gets_one_above_the_number_of_threads() {
        assert_eq!(options("--policy=rr -t3").unwrap().priority, 4);
        assert_eq!(options("--policy=rr").unwrap().resolved_policy(), Policy::Rr);
        assert_eq!(options("").unwrap().resolved_policy(), Policy::Other);
    }

    /// The options of `cyclictest --help` of rt-tests 2.8, with `--smi` of x86 and `--delay` of later versions: long name, letter,
    /// and a value if it needs one. Each is supported, or refused with an alternative.
    #[test]
    fn every_option_of_rt_tests_is_known() {
        const ALL: &[(&str, &str, &str)] = &[
            ("affinity", "a", "0"),
            ("aligned", "A", "7"),
            ("breaktrace", "b", "100"),
            ("clock", "c", "0"),
            ("dbg_cyclictest", "", ""),
            ("deepest-idle-state", "", "1"),
            ("default-system", "", ""),
            ("delay", "", "3"),
            ("distance", "d", "0"),
            ("duration", "D", "1m"),
            ("fifo", "F", "/tmp/x"),
            ("help", "", ""),
            ("histfile", "", "x"),
            ("histofall", "H", "400"),
            ("histogram", "h", "400"),
            ("interval", "i", "200"),
            ("json", "", "x.json"),
            ("laptop", "", ""),
            ("latency", "", "0"),
            ("loops", "l", "10"),
            ("mainaffinity", "", "0"),
            ("mlockall", "m", ""),
            ("nsecs", "N", ""),
            ("oscope", "o", "10"),
            ("policy", "", "rr"),
            ("posix_timers", "x", ""),
            ("priority", "p", "80"),
            ("priospread", "", ""),
            ("quiet", "q", ""),
            ("refresh_on_max", "M", ""),
            ("relative", "r", ""),
            ("resolution", "R", ""),
            ("secaligned", "", "5"),
            ("smi", "", ""),
            ("smp", "S", ""),
            ("spike", "", "50"),
            ("spike-nodes", "", "9"),
            ("system", "s", ""),
            ("threads", "t", "2"),
            ("tracemark", "", ""),
            ("unbuffered", "u", ""),
            ("verbose", "v", ""),
        ];
        let refused: Vec<&str> = (ALL.iter())
            .filter(|(long, letter, value)| {
                let mut forms = vec![format!("--{long}{}{value}", if value.is_empty() { "" } else { "=" })];
                if !letter.is_empty() {
                    forms.extend([format!("-{letter}{value}"), format!("-{letter} {value}")]);
                }
                let whole =
                    |form: &String| format!("{form}{}", if *long == "histfile" { " -h 9" } else { "" });
                let answers: Vec<Result<Asked, String>> =
                    forms.iter().map(|form| parse(whole(form).split(' ').map(OsString::from))).collect();
                for answer in answers.iter().filter_map(|answer| answer.as_ref().err()) {
                    assert!(answer.contains("not supported by tardy's cyclictest; "), "--{long}: {answer}");
                }
                answers.iter().any(Result::is_err)
            })
            .map(|(long, _, _)| *long)
            .collect();
        let expected = [
            "dbg_cyclictest",
            "deepest-idle-state",
            "delay",
            "fifo",
            "resolution",
            "secaligned",
            "smi",
            "spike",
            "spike-nodes",
            "tracemark",
        ];
        assert_eq!(refused, expected);
    }

    /// Options as Linaro's test definitions and rteval write them.
    #[test]
    fn options_of_common_scripts_are_parsed_as_by_cyclictest() {
        assert_eq!(options("-a all -t2").unwrap().affinity, Affinity::All);
        assert_eq!(options("-A -t2").unwrap().aligned_us, Some(0));
        assert_eq!(options("-A 50").unwrap().aligned_us, Some(50));
        let words = ["", "-qmu", "-h 3500", "-p95", "-t2", "-a0-1"].map(OsString::from);
        let Ok(Asked::Measure(read)) = parse(words) else { panic!("rteval's command line") };
        assert_eq!((read.histogram, read.affinity.clone()), (Some(3500), Affinity::Set(vec![0, 1])));
        assert!(options("-a !0").unwrap_err().contains("expected CPUs such as"));
    }

    #[test]
    fn errors_state_what_is_expected() {
        for (line, expected) in [
            ("-h 0", "-h 0: expected 1 to 1000000 rows"),
            ("-p 100", "-p 100: expected a real-time priority from 1 to 99"),
            ("-i x", "-i x: expected a whole number"),
            ("-i", "-i needs a value"),
            ("-D 5x", "-D 5x: expected a number of seconds"),
            ("-c 5", "-c 5: expected 0 (CLOCK_MONOTONIC)"),
            ("-a 3-1", "-a 3-1: expected CPUs such as"),
            ("--policy=batch", "--policy batch: not supported; expected fifo, rr or other"),
            ("--histfile=x", "--histfile needs -h or -H"),
            ("--nonsense", "--nonsense: unknown option"),
            ("-n", "-n: "),
            ("-F /tmp/x", "-F: "),
            ("word", "unexpected argument 'word'"),
            ("- m", "unexpected argument '-'"),
        ] {
            let error = options(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }
}
