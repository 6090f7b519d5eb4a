//! Which options are accepted, and what they mean.

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
    assert_eq!((of.resolved_distance_us(), of.policy), (0, Policy::Fifo));
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
    assert_eq!(short.affinity, Affinity::Set(CpuSet::Only(vec![0, 1, 3])));
    assert_eq!((short.duration_s, short.threads), (120, Some(4)));
}

#[test]
fn an_optional_value_is_the_next_word_only_if_it_fits() {
    assert_eq!(options("-t -q").unwrap().threads, None);
    assert_eq!(options("-a -t 2").unwrap().affinity, Affinity::All);
    assert_eq!(options("-a -t 2").unwrap().threads, Some(2));
    let smp = options("-S -a 1 -t4").unwrap();
    assert_eq!((smp.affinity, smp.threads, smp.notes.len()), (Affinity::All, None, 2), "-S has set them");
}

#[test]
fn a_priority_selects_a_real_time_policy() {
    for (line, expected) in [
        ("-p80", (Policy::Fifo, "fifo", 80)),
        ("-p80 --policy=rr", (Policy::Rr, "rr", 80)),
        ("--policy=rr -p80", (Policy::Rr, "rr", 80)),
        ("-y rr", (Policy::Rr, "rr", 0)),
        ("--policy=FIFO", (Policy::Fifo, "fifo", 0)),
        ("-p0", (Policy::Fifo, "fifo", 0)),
        ("--priospread", (Policy::Fifo, "fifo", 0)),
        ("", (Policy::Other, "other", 0)),
        ("--policy=normal", (Policy::Other, "other", 0)),
    ] {
        let of = options(line).unwrap();
        assert_eq!((of.policy, of.policy_name, of.priority), expected, "{line}");
        assert_eq!(of.notes, [""; 0], "{line}");
    }
    let of = options("-p80 --policy=other").unwrap();
    assert_eq!((of.policy, of.priority, of.notes.len()), (Policy::Fifo, 80, 1));
    let of = options("--policy=batch").unwrap();
    assert_eq!((of.policy, of.policy_name, of.notes.len()), (Policy::Other, "batch", 1));
}

/// How an option takes its value.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    No,
    Required,
    /// Attached, or the next word if it looks like a value.
    Optional,
}
use Value::{No, Optional, Required};

/// Every option of rt-tests 2.4 to 2.10, from the `long_options` and the getopt string of each version's cyclictest.c: the second
/// number of the version that has it first (4 for all that are older), long name, letter, kind of value, and a value.
const ALL: &[(u32, &str, &str, Value, &str)] = &[
    (4, "affinity", "a", Optional, "0"),
    (4, "aligned", "A", Optional, "7"),
    (4, "breaktrace", "b", Required, "100"),
    (4, "clock", "c", Required, "0"),
    (4, "dbg_cyclictest", "", No, ""),
    (8, "deepest-idle-state", "", Required, "1"),
    (4, "default-system", "", No, ""),
    (4, "distance", "d", Required, "0"),
    (4, "duration", "D", Required, "1m"),
    (4, "fifo", "F", Required, "/tmp/x"),
    (4, "help", "", No, ""),
    (4, "histfile", "", Required, "x"),
    (4, "histofall", "H", Required, "400"),
    (4, "histogram", "h", Required, "400"),
    (4, "interval", "i", Required, "200"),
    (4, "json", "", Required, "x.json"),
    (4, "laptop", "", No, ""),
    (4, "latency", "", Required, "0"),
    (4, "loops", "l", Required, "10"),
    (4, "mainaffinity", "", Required, "0"),
    (4, "mlockall", "m", No, ""),
    (4, "nsecs", "N", No, ""),
    (4, "oscope", "o", Required, "10"),
    (4, "policy", "", Required, "rr"),
    (4, "posix_timers", "x", No, ""),
    (4, "priority", "p", Required, "80"),
    (4, "priospread", "", No, ""),
    (4, "quiet", "q", No, ""),
    (4, "refresh_on_max", "M", No, ""),
    (4, "relative", "r", No, ""),
    (4, "resolution", "R", No, ""),
    (4, "secaligned", "", Optional, "5"),
    (4, "smi", "", No, ""),
    (4, "smp", "S", No, ""),
    (4, "spike", "", Required, "50"),
    (4, "spike-nodes", "", Required, "9"),
    (4, "system", "s", No, ""),
    (4, "threads", "t", Optional, "2"),
    (4, "tracemark", "", No, ""),
    (4, "unbuffered", "u", No, ""),
    (4, "verbose", "v", No, ""),
];

/// The options that versions before 2.4 have dropped, in the form of the last version that had them.
const FORMER: &[&str] = &[
    "-n",
    "--nanosleep",
    "-y fifo",
    "-e 20",
    "-Q",
    "-U",
    "--numa",
    "-X",
    "-B",
    "--preemptirqs",
    "-C",
    "--context",
    "-E",
    "--event",
    "-f",
    "--ftrace",
    "-I",
    "--irqsoff",
    "-P",
    "--preemptoff",
    "-O sym-offset",
    "--traceopt=sym-offset",
    "-T function",
    "--tracer=function",
    "-w",
    "--wakeup",
    "-W",
    "--wakeuprt",
    "--notrace",
];

/// The options without an effect, with `-q` to show that the next option is read.
fn notes_of(form: &str) -> Vec<String> {
    // Options that need another one.
    let line = format!("-a {form} -q -v -h9");
    let of = parse(line.split(' ').map(OsString::from)).unwrap_or_else(|error| panic!("{line}: {error}"));
    match of {
        Asked::Help => {
            assert_eq!(form, "--help");
            Vec::new()
        }
        Asked::Measure(of) => {
            assert!(of.quiet && of.verbose && of.histogram.is_some(), "{line}");
            of.notes
        }
    }
}

#[test]
fn every_option_of_rt_tests_is_accepted_in_every_form() {
    assert_eq!(ALL.iter().filter(|(since, ..)| *since == 4).count(), 40, "those of 2.4 to 2.7");
    assert_eq!(ALL.iter().filter(|(since, ..)| *since <= 10).count(), 41, "those of 2.8 to 2.10");
    let mut without_effect = Vec::new();
    for (_, long, letter, kind, value) in ALL {
        let mut forms = match kind {
            No => vec![format!("--{long}")],
            Required => vec![format!("--{long}={value}"), format!("--{long} {value}")],
            Optional => vec![format!("--{long}"), format!("--{long}={value}"), format!("--{long} {value}")],
        };
        if !letter.is_empty() {
            let values = match kind {
                No => vec![String::new()],
                Required => vec![value.to_string(), format!(" {value}")],
                Optional => vec![String::new(), value.to_string(), format!(" {value}")],
            };
            // Alone, and at the end of a cluster.
            let with_letter = |value: &String| [format!("-{letter}{value}"), format!("-mu{letter}{value}")];
            forms.extend(values.iter().flat_map(with_letter));
        }
        let notes: Vec<Vec<String>> = forms.iter().map(|form| notes_of(form)).collect();
        assert!(notes.iter().all(|one| one.len() == notes[0].len()), "{forms:?}: {notes:?}");
        if !notes[0].is_empty() {
            without_effect.push(*long);
        }
    }
    assert_eq!(without_effect, ["dbg_cyclictest", "tracemark"]);
}

#[test]
fn former_options_are_accepted() {
    for form in FORMER {
        let has_effect = ["-y fifo", "-e 20", "-Q"].contains(form);
        let notes = notes_of(form);
        assert_eq!(notes.len(), usize::from(!has_effect), "{form}: {notes:?}");
        let option = form.split([' ', '=']).next().unwrap();
        assert!(notes.iter().all(|note| note.starts_with(&format!("{option} has no effect: "))), "{notes:?}");
        assert!(notes.iter().all(|note| !note.contains('\n')), "{notes:?}");
    }
}

#[test]
fn combinations_have_the_effect_of_cyclictest() {
    let histfile = options("-q --histfile=x").unwrap();
    assert_eq!((histfile.histfile, histfile.notes.len()), (None, 1));
    let system = options("-s -x").unwrap();
    assert_eq!((system.wait.posix_timers, system.notes.len()), (false, 1));
    assert_eq!(options("-h 2000000").unwrap().histogram, Some(HISTOGRAM_MAX));
    assert_eq!(options("-d 7 -h 20").unwrap().notes.len(), 1);
    assert_eq!(options("--latency=-5").unwrap().power, Power::Hold(0));
    assert_eq!(options("--laptop --latency=5 --default-system").unwrap().power, Power::Battery);
    assert_eq!(options("--deepest-idle-state=-1").unwrap().deepest_idle_state, Some(-1));
    assert_eq!(options("--deepest-idle-state=-2").unwrap().deepest_idle_state, None);
    let repeated = options("-p80 -p 90 -q -q -l5 -l 6 -nn").unwrap();
    assert_eq!((repeated.priority, repeated.loops, repeated.notes.len()), (90, 6, 1));
    let spike = options("--spike=50 --spike-nodes=9 --secaligned 30").unwrap();
    assert_eq!((spike.spike, spike.spike_nodes, spike.second_offset_us), (Some(50), 9, Some(30)));
    let words = options("10 -t 0 -l 5 stray").unwrap();
    assert_eq!((words.threads, words.loops, words.notes.len()), (None, 5, 2));
    for line in ["-h", "-q -mh", "-?", "--help"] {
        assert_eq!(options(line).unwrap_err(), "help", "{line}");
    }
}

/// Options as Linaro's test definitions and rteval write them.
#[test]
fn options_of_common_scripts_are_parsed_as_by_cyclictest() {
    assert_eq!(options("-a all -t2").unwrap().affinity, Affinity::All);
    assert_eq!(options("-A -t2").unwrap().aligned_us, Some(0));
    assert_eq!(options("-A 50").unwrap().aligned_us, Some(50));
    let words = ["", "-qmu", "-h 3500", "-p95", "-t2", "-a0-1"].map(OsString::from);
    let Ok(Asked::Measure(read)) = parse(words) else { panic!("rteval's command line") };
    assert_eq!(
        (read.histogram, read.affinity.clone()),
        (Some(3500), Affinity::Set(CpuSet::Only(vec![0, 1])))
    );
    assert_eq!(options("-a !0").unwrap().affinity, Affinity::Set(CpuSet::AllBut(vec![0])));
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
        ("--policy=deadline", "--policy deadline: expected fifo, rr, other, normal, batch or idle"),
        ("--nonsense", "--nonsense: unknown option"),
        ("-z", "-z: unknown option"),
        ("-t0", "-t 0: expected a number of threads, at least 1"),
        ("--mainaffinity=x", "--mainaffinity x: expected CPUs such as"),
        ("-o 0 -v", "-o 0: expected"),
        ("-o 10", "-o reduces the output of -v"),
        ("-A 5 --secaligned", "-A and --secaligned exclude each other"),
        ("--smi", "--smi counts on the CPUs of pinned threads"),
        ("-smp -p90", "-p -p90: expected a whole number"),
    ] {
        let error = options(line).unwrap_err();
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}
