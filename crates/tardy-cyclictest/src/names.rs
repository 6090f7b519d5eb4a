//! The names of all options of all versions of cyclictest, and what has no effect in tardy.

/// The name of `--help`.
pub(crate) const HELP: &str = "help";

/// The long names of rt-tests 2.x, each with its name in [`super::options`]. They may be abbreviated.
const LONG: &[(&str, &str)] = &[
    ("affinity", "a"),
    ("aligned", "A"),
    ("breaktrace", "b"),
    ("clock", "c"),
    ("dbg_cyclictest", "X"),
    ("deepest-idle-state", "deepest-idle-state"),
    ("default-system", "default-system"),
    ("distance", "d"),
    ("duration", "D"),
    ("fifo", "F"),
    ("help", HELP),
    ("histfile", "histfile"),
    ("histofall", "H"),
    ("histogram", "h"),
    ("interval", "i"),
    ("json", "json"),
    ("laptop", "laptop"),
    ("latency", "e"),
    ("loops", "l"),
    ("mainaffinity", "mainaffinity"),
    ("mlockall", "m"),
    ("nsecs", "N"),
    ("oscope", "o"),
    ("policy", "y"),
    ("posix_timers", "x"),
    ("priority", "p"),
    ("priospread", "Q"),
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

/// Long names that rt-tests 2.x no longer has, and that of a fork. They cannot be abbreviated, so that the abbreviations of 2.x
/// stay unambiguous.
const FORMER: &[(&str, &str)] = &[
    ("context", "C"),
    ("delay", "delay"),
    ("event", "E"),
    ("ftrace", "f"),
    ("irqsoff", "I"),
    ("nanosleep", "n"),
    ("notrace", "notrace"),
    ("numa", "U"),
    ("preemptirqs", "B"),
    ("preemptoff", "P"),
    ("tracer", "T"),
    ("traceopt", "O"),
    ("wakeup", "w"),
    ("wakeuprt", "W"),
];

/// Options without an effect: name in [`super::options`], whether it has a value, and the reason.
const WITHOUT_EFFECT: &[(&str, bool, &str)] = &[
    ("B", false, TRACERS),
    ("C", false, TRACERS),
    ("E", false, TRACERS),
    ("f", false, TRACERS),
    ("I", false, TRACERS),
    ("O", true, TRACERS),
    ("P", false, TRACERS),
    ("T", true, TRACERS),
    ("w", false, TRACERS),
    ("W", false, TRACERS),
    ("notrace", false, "tardy does not configure the kernel's tracers"),
    ("n", false, "clock_nanosleep is the default"),
    ("U", false, "the memory of a pinned thread (-a) is always on its NUMA node"),
    (
        "X",
        false,
        "errors are always reported; --tardy-run=FILE records everything that is known about the run",
    ),
    ("delay", true, "use 'sleep' before the command"),
    (
        "tracemark",
        false,
        "readings arrive up to a second after the wake-up, too late for a mark; with -b, --tardy-run=FILE records the kernel's \
         events before it",
    ),
];

const TRACERS: &str = "cyclictest configured the kernel's tracers until rt-tests 1.3; 'tardy run --causes=50us' records what the \
                       kernel did before each late wake-up";

/// The name in [`super::options`] of a long name, which may be abbreviated.
///
/// # Errors
/// A message for the user: no version has this option, or the abbreviation is ambiguous.
pub(crate) fn of_long(given: &str) -> Result<&'static str, String> {
    let exact = LONG.iter().chain(FORMER).find(|(long, _)| *long == given);
    if let Some((_, name)) = exact {
        return Ok(name);
    }
    let candidates: Vec<_> = LONG.iter().filter(|(long, _)| long.starts_with(given)).collect();
    match candidates[..] {
        [(_, name)] => Ok(name),
        [] => Err(unknown(&format!("--{given}"))),
        _ => {
            let names: Vec<String> = candidates.iter().map(|(long, _)| format!("--{long}")).collect();
            Err(format!("--{given} is ambiguous: {}", names.join(" or ")))
        }
    }
}

/// Whether the option `name` has a value, and why it has no effect. `None` if it has one or is unknown.
pub(crate) fn without_effect(name: &str) -> Option<(bool, &'static str)> {
    let (_, has_value, reason) = WITHOUT_EFFECT.iter().find(|(without, ..)| *without == name)?;
    Some((*has_value, reason))
}

/// The error for an option that no version of cyclictest has.
pub(crate) fn unknown(option: &str) -> String {
    format!("{option}: unknown option; 'tardy cyclictest --help' lists the options")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unambiguous_abbreviation_of_a_long_name_is_accepted() {
        assert_eq!(of_long("quie"), Ok("q"));
        assert_eq!(of_long("trace"), Ok("tracemark"), "--tracer and --traceopt no longer exist");
        assert_eq!(of_long("nanosleep"), Ok("n"));
        assert_eq!(
            of_long("hist"),
            Err("--hist is ambiguous: --histfile or --histofall or --histogram".to_owned())
        );
        assert!(of_long("nano").unwrap_err().contains("unknown option"));
    }
}
