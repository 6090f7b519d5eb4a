//! Unsupported options of all versions of cyclictest. Each is refused with an alternative.

/// The name of each option, as on the command line or in [`super::options`], and the alternative.
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
    ("n", "clock_nanosleep is the default; remove it"),
    ("y", "use --policy=NAME"),
    ("e", "use --latency=US"),
    ("Q", "use --priospread"),
    ("U", "the memory of a pinned thread (-a) is on its NUMA node; remove it"),
    ("X", "errors are always reported; remove it"),
    ("F", "use '--tardy-run FILE', which is current during the run, and 'tardy show FILE'"),
    (
        "R",
        "'tardy check --full' shows the clock source and the resolution of the timers, and every run file contains them",
    ),
    ("delay", "use 'sleep N' before the command"),
    ("dbg_cyclictest", "'--tardy-run FILE' records everything that is known about the run"),
    ("deepest-idle-state", "use '--latency=US', which prevents idle states with a longer exit latency"),
    (
        "secaligned",
        "use -A US for the offset between the threads' wake-ups; tardy chooses their common start",
    ),
    ("smi", "'tardy run --probe hwlat' detects time taken by the firmware, if the kernel has that tracer"),
    ("spike", SPIKES),
    ("spike-nodes", SPIKES),
    (
        "tracemark",
        "'tardy run --causes=50us' records the kernel's trace before each late wake-up, and the task that was running",
    ),
];

const TRACERS: &str = "cyclictest used it to configure the kernel's tracers until rt-tests 1.4; 'tardy run --causes=50us' records \
                       what the kernel did before each late wake-up, and the task that was running";
const SPIKES: &str = "'--tardy-run FILE' records the 64 latest wake-ups with their times, and 'tardy run --samples FILE' all wake-ups";

/// The error for an unsupported option; `None` if the option is supported or unknown.
pub(super) fn reason(name: &str) -> Option<String> {
    let (_, instead) = REFUSED.iter().find(|(refused, _)| *refused == name)?;
    let dashes = if name.chars().count() == 1 { "-" } else { "--" };
    Some(format!("{dashes}{name}: not supported by tardy's cyclictest; {instead}"))
}

/// The error for an option that no version of cyclictest has.
pub(super) fn unknown(option: &str) -> String {
    format!("{option}: unknown option; 'tardy cyclictest --help' lists the options")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unsupported_option_is_refused_with_an_alternative() {
        for (name, instead) in REFUSED {
            let reason = reason(name).unwrap();
            assert!(reason.ends_with(instead) && reason.contains(name), "{reason}");
        }
        assert_eq!(reason("q"), None);
    }
}
