//! Options of cyclictest, of any version, that the stand-in does not take. None is ignored: each says what tardy has
//! instead.

/// Name, as on the command line or as [`super::options`] knows it, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("B", TRACERS),
    ("C", TRACERS),
    ("E", TRACERS),
    ("f", TRACERS),
    ("I", TRACERS),
    ("O", TRACERS),
    ("P", TRACERS),
    ("T", TRACERS),
    ("w", TRACERS),
    ("W", TRACERS),
    ("n", "clock_nanosleep is what it waits with unless -s or -x is given; leave it out"),
    ("y", "say --policy=NAME"),
    ("e", "say --latency=US"),
    ("Q", "say --priospread"),
    ("U", "each thread's memory is on its own node where it is pinned (-a); leave it out"),
    ("X", "what went wrong is said without being asked"),
    ("F", "'--tardy-run FILE' is complete and current while the run goes on; read it with 'tardy show FILE'"),
    ("R", "'tardy check' says the clock source and the timers' resolution, and every run keeps them"),
    ("delay", "'sleep N' before it does the same"),
    ("dbg_cyclictest", "'--tardy-run FILE' keeps all that is known of the run"),
    ("deepest-idle-state", "'--latency=US' keeps CPUs out of the states that take longer to leave"),
    (
        "secaligned",
        "say -A US, which sets the threads' wake-ups apart by so much; their common start is tardy's",
    ),
    ("smi", "'tardy run --probe hwlat' looks for what the firmware takes, on every machine with that tracer"),
    ("spike", SPIKES),
    ("spike-nodes", SPIKES),
    (
        "tracemark",
        "'tardy run --causes=US' keeps the kernel's trace before each late wake-up, and says who had the CPU",
    ),
];

const TRACERS: &str = "cyclictest set up the kernel's tracers with it until rt-tests 1.4; 'tardy run --causes=US' keeps \
                       what the kernel did before each late wake-up, and says who had the CPU";
const SPIKES: &str =
    "'--tardy-run FILE' keeps the 64 latest wake-ups with their times, and 'tardy run --samples FILE' all";

/// Why an option is not taken; nothing if it is, or is unknown.
pub(super) fn reason(name: &str) -> Option<String> {
    let (_, instead) = REFUSED.iter().find(|(refused, _)| *refused == name)?;
    let dashes = if name.chars().count() == 1 { "-" } else { "--" };
    Some(format!("{dashes}{name}: tardy's stand-in does not take it; {instead}"))
}

/// What is said of an option that no cyclictest has.
pub(super) fn unknown(option: &str) -> String {
    format!("{option}: cyclictest has no such option; 'tardy cyclictest --help' lists those taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_refused_with_what_to_do_instead() {
        for (name, instead) in REFUSED {
            let reason = reason(name).unwrap();
            assert!(reason.ends_with(instead) && reason.contains(name), "{reason}");
        }
        assert_eq!(reason("q"), None);
    }
}
