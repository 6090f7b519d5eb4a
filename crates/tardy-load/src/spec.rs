//! Loads as a person asks for them, and what each part of one does.

use std::path::PathBuf;

use tardy_sys::kernel_files::KernelFiles;

use super::LoadError;
use super::kinds::KNOWN;
use super::{compile, memory, meter, scheduler, stream, timers};

/// A load as asked for, known to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSpec {
    text: String,
    parts: Vec<Part>,
}

impl LoadSpec {
    /// As the person wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its parts in the run, and what each counts; empty where nothing can be counted.
    pub fn counted(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.parts.iter().map(|part| (part.kind.name(), part.kind.unit()))
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Looks whether the programs that it runs are installed, before anything is measured.
    ///
    /// # Errors
    /// Names the program and the Debian package that has it.
    pub fn check_programs(&self) -> Result<(), LoadError> {
        let needed = self.parts.iter().filter_map(|part| part.kind.program());
        for (program, package) in needed {
            if find_program(program).is_none() {
                return Err(LoadError::NoProgram { spec: self.text.clone(), program, package });
            }
        }
        Ok(())
    }
}

/// The file that the shell would run by this name.
fn find_program(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::var_os("PATH")?;
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)
}

/// One part of a load: what one worker process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// What stood after the colon.
    pub(super) argument: String,
}

impl Part {
    /// How many counters it raises: one for each process or thread that counts.
    pub(super) fn counters(&self) -> usize {
        match self.kind {
            Kind::Scheduler => scheduler::Shape::parse(&self.argument).map_or(1, scheduler::Shape::receivers),
            Kind::Compile => compile::BUILDS,
            Kind::Sink => 2,
            Kind::Command => 0,
            kind if kind.is_on_every_cpu() => possible_cpus(),
            _ => 1,
        }
    }
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Scheduler,
    Network,
    Copy,
    Listing,
    Cpu,
    Memory,
    Io,
    Fork,
    Timers,
    Signals,
    Compile,
    Mprotect,
    Affinity,
    Tcp,
    Udp,
    Ping,
    PingIn,
    StressNg,
    Hackbench,
    Iperf3,
    Sink,
    Command,
}

impl Kind {
    /// Its name in the run, and what it counts; nothing where nothing can be counted.
    fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Scheduler => ("scheduler", "messages"),
            Self::Network => ("network", "bytes"),
            Self::Copy => ("copy", "bytes"),
            Self::Listing => ("listing", "entries"),
            Self::Cpu => ("cpu", "products"),
            Self::Memory => ("memory", "bytes"),
            Self::Io => ("io", "bytes"),
            Self::Fork => ("fork", "processes"),
            Self::Timers => ("timers", "expiries"),
            Self::Signals => ("signals", "signals"),
            Self::Compile => ("compile", "files"),
            Self::Mprotect => ("mprotect", "calls"),
            Self::Affinity => ("affinity", "moves"),
            Self::Tcp => ("tcp", "bytes"),
            Self::Udp => ("udp", "bytes"),
            Self::Ping => ("ping", "answers"),
            Self::PingIn => ("ping-in", "requests"),
            Self::StressNg => ("stress-ng", "bogo ops"),
            Self::Hackbench => ("hackbench", "messages"),
            Self::Iperf3 => ("iperf3", "bytes"),
            Self::Sink => ("sink", "bytes"),
            Self::Command => ("command", ""),
        }
    }

    /// Its name in the run.
    pub(super) fn name(self) -> &'static str {
        self.name_and_unit().0
    }

    /// What it counts; empty where nothing can be counted.
    pub(super) fn unit(self) -> &'static str {
        self.name_and_unit().1
    }

    /// Whether it has as many tasks as there are CPUs.
    fn is_on_every_cpu(self) -> bool {
        matches!(
            self,
            Self::Cpu
                | Self::Memory
                | Self::Fork
                | Self::Timers
                | Self::Signals
                | Self::Mprotect
                | Self::Affinity
        )
    }

    /// Whether it is the shell that does the work, with programs that others have written.
    pub(super) fn is_a_command(self) -> bool {
        matches!(self, Self::StressNg | Self::Hackbench | Self::Iperf3 | Self::Command)
    }

    /// The program that it needs, and Debian's package of it.
    fn program(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::StressNg => Some(("stress-ng", "stress-ng")),
            Self::Hackbench => Some(("hackbench", "rt-tests")),
            Self::Iperf3 => Some(("iperf3", "iperf3")),
            Self::Compile => Some((compile::COMPILER, "gcc")),
            _ => None,
        }
    }

    /// Whether its first pass is slower than the later ones by design.
    pub(super) fn has_first_pass(self) -> bool {
        self == Self::Listing
    }

    /// From the beginning of one burst to the next, where it works or tells of its work in bursts.
    pub(super) fn burst_every_ns(self) -> Option<u64> {
        /// A round, its start and its end.
        const ROUND_NS: u64 = 3_000_000_000;
        match self {
            Self::Network | Self::Sink => Some(super::network::EVERY.as_nanos() as u64),
            Self::StressNg | Self::Hackbench | Self::Iperf3 | Self::Compile => Some(ROUND_NS),
            _ => None,
        }
    }
}

/// How many CPUs the kernel has made room for: a number that stays until the next start, unlike that of CPUs which
/// are there, so that every process that maps the counters finds as many.
fn possible_cpus() -> usize {
    let path = "/sys/devices/system/cpu/possible";
    let text = KernelFiles::real().text(path).unwrap_or_default();
    last_cpu(&text).map_or(1, |last| last + 1).min(COUNTED_CPUS_MAX)
}

/// More CPUs than these are loaded by so many tasks.
const COUNTED_CPUS_MAX: usize = 512;

/// The highest number of a list such as `0-3,8`.
fn last_cpu(list: &str) -> Option<usize> {
    list.trim().rsplit([',', '-']).next()?.parse().ok()
}

/// Reads a load as a person writes it: `doload`, `none`, `scheduler:4`, `cmd:ping -f 10.0.0.2`, `sink:10.0.0.1` or
/// `sink 10.0.0.1`.
///
/// # Errors
/// When there is no such load (the error lists those that there are), or what follows its name is missing or makes no
/// sense.
pub fn parse(spec: &str) -> Result<LoadSpec, LoadError> {
    let text = spec.trim();
    let (known, argument) =
        KNOWN.iter().find_map(|known| Some((known, known.argument_of(text)?))).ok_or_else(|| {
            let known: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            LoadError::Unknown { spec: text.to_owned(), known: known.join(", ") }
        })?;
    for kind in known.kinds {
        check_argument(*kind, text, argument)?;
    }
    let part = |kind: &Kind| Part { kind: *kind, argument: argument.to_owned() };
    Ok(LoadSpec { text: text.to_owned(), parts: known.kinds.iter().map(part).collect() })
}

fn check_argument(kind: Kind, spec: &str, argument: &str) -> Result<(), LoadError> {
    let must_have = match kind {
        Kind::Command => Some(("which command", "cmd:COMMAND, for example 'cmd:ping -f 10.0.0.2'")),
        Kind::Sink => Some(("which host sends", "sink:HOST, for example sink:10.0.0.1")),
        Kind::StressNg => Some(("what to stress", "stress-ng:ARGS, for example 'stress-ng:--cpu 2 --vm 1'")),
        Kind::Iperf3 => Some(("whom to talk to", "iperf3:ARGS, for example 'iperf3:-c 10.0.0.2'")),
        _ => None,
    };
    // A command line cannot hold a zero byte, so what follows one would be lost on the way.
    if let Some((what, example)) = must_have.filter(|_| argument.is_empty() || argument.contains('\0')) {
        return Err(LoadError::Incomplete { spec: spec.replace('\0', "\\0"), what, example });
    }
    let checked = match kind {
        _ if argument.contains('\0') => Err("a command line cannot hold a zero byte".to_owned()),
        Kind::Scheduler => scheduler::Shape::parse(argument).map(drop),
        Kind::Memory => memory::size(argument).map(drop),
        Kind::Timers => timers::count(argument).map(drop),
        Kind::Tcp | Kind::Udp => stream::parse_port(argument).map(drop),
        kind => meter::check(kind, argument),
    };
    checked.map_err(|reason| LoadError::Argument { spec: spec.replace('\0', "\\0"), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_written_like_this() {
        for (text, parts) in [
            ("none", 0),
            ("doload", 4),
            (" listing ", 1),
            ("sink:10.0.0.1", 1),
            ("sink 10.0.0.1", 1),
            ("cmd: a:b", 1),
            ("scheduler:4,10,64", 1),
            ("memory:64", 1),
            ("ipi", 2),
            ("net:7000", 2),
            ("io:/mnt/card", 1),
            ("ping-flood", 1),
            ("ping-flood-in", 1),
            ("hackbench", 1),
            ("hackbench:-g 2 -l 10", 1),
            ("stress-ng:--cpu 2", 1),
            ("iperf3:-s", 1),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!((spec.text(), spec.parts().len()), (text.trim(), parts));
        }
        assert_eq!(parse("cmd: a:b").unwrap().parts()[0].argument, "a:b");
    }

    #[test]
    fn what_is_no_load_is_told_which_there_are() {
        let wrong = ["", "Doload", "doload2", "doload:", "cmds", "sinks:a", "none:", ":", "cmd :x", "cmd x"];
        let ours = [
            "cpu:2",
            "cpus",
            "memory:",
            "memory 64",
            "fork:",
            "ipi:1",
            "ping",
            "ping-flood:in",
            "hackbench -g 2",
        ];
        for text in wrong.into_iter().chain(ours) {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("none, doload,") && error.contains("cmd:COMMAND"), "{text}: {error}");
        }
    }

    #[test]
    fn a_command_or_host_that_is_missing_is_asked_for() {
        for (text, example) in [
            ("cmd:", "cmd:ping"),
            ("cmd:  ", "cmd:ping"),
            ("cmd", "cmd:ping"),
            ("sink", "sink:10"),
            ("cmd:a\0b", "cmd:ping"),
            ("sink:", "sink:10"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(example), "{text}: {error}");
        }
    }

    #[test]
    fn an_argument_that_makes_no_sense_is_refused_with_the_reason() {
        for (text, reason) in [
            ("scheduler:0", "receivers"),
            ("scheduler:1,20,x", "'x' is no number"),
            ("memory:0", "MiB"),
            ("memory:lots", "MiB"),
            ("timers:-1", "timers"),
            ("net:http", "no port"),
            ("io:a\0b", "zero byte"),
            ("stress-ng:--cpu 1 -t 5", "leave -t out"),
            ("iperf3:--bidir", "-c HOST"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(matches!(error, LoadError::Argument { .. }), "{text}: {error:?}");
            assert!(error.to_string().contains(reason), "{text}: {error}");
        }
        for (text, example) in
            [("stress-ng", "--cpu 2"), ("stress-ng:", "--cpu 2"), ("iperf3", "-c 10.0.0.2")]
        {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(example), "{text}: {error}");
        }
    }

    #[test]
    fn no_two_loads_have_one_name_and_no_two_kinds() {
        let words: Vec<&str> = KNOWN.iter().map(super::super::kinds::Known::word).collect();
        let kinds: Vec<&str> = KNOWN
            .iter()
            .filter(|known| known.word() != "doload")
            .flat_map(|known| known.kinds)
            .map(|kind| kind.name())
            .collect();
        for list in [&words, &kinds] {
            let mut unique = list.clone();
            unique.sort_unstable();
            unique.dedup();
            assert_eq!(unique.len(), list.len(), "{list:?}");
        }
    }

    #[test]
    fn a_program_that_is_missing_is_named_with_its_package() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-program-of-tardy"), None);
        let spec = parse("iperf3:-s").unwrap();
        let error = LoadError::NoProgram { spec: spec.text.clone(), program: "iperf3", package: "iperf3" };
        assert!(error.to_string().contains("apt install iperf3"), "{error}");
    }

    #[test]
    fn counters_are_as_many_as_those_who_count() {
        let counters = |text: &str| parse(text).unwrap().parts().iter().map(Part::counters).sum::<usize>();
        assert_eq!(counters("scheduler"), 20);
        assert_eq!(counters("scheduler:3,7"), 21);
        assert_eq!(counters("compile"), 2);
        assert_eq!(counters("cmd:true"), 0);
        assert_eq!(counters("ipi"), 2 * possible_cpus());
        for (list, last) in [("0", Some(0)), ("0-3\n", Some(3)), ("0-3,8", Some(8)), ("", None), ("x", None)]
        {
            assert_eq!(last_cpu(list), last, "{list}");
        }
    }
}
