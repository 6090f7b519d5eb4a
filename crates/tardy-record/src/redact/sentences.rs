//! Reasons, limits, remarks and events. A sentence stays if it begins with words that only tardy writes, and names of phases and
//! loads in it are replaced; another one may quote a command, its output or a file.

use super::names::{Names, is_known_label};
use super::{REDACTED, identifiers};

/// Beginnings of sentences that contain only numbers, CPUs, clocks and files of the kernel.
const BEGINNINGS: [&str; 31] = [
    "CLOCK_REALTIME was set ",
    "the machine was suspended for ",
    "the kernel's clock source changed from ",
    "the thread on cpu ",
    "the thread pinned to cpu ",
    "the probe (pid ",
    "supervisor and probe were both stopped for ",
    "another process changed the thread on cpu ",
    "a probe became ready twice",
    "timerlat's user thread on cpu ",
    "the talkers did not stop",
    "the run has not ended",
    "interrupted: ",
    "cut short (",
    "it was no longer running at ",
    "there are too few readings ",
    "it did nothing for ",
    "its rate fell to ",
    "its mean rate was ",
    "/sys/",
    "/proc/",
    "the platform does not ",
    "read between the phases only",
    "The gates are those of ",
    "there is no histogram (-h)",
    "the file does not say when a sample was taken",
    "the file is cut off in line ",
    "the file does not establish the maximum (cpu ",
    "bare columns ",
    "the log has a count, extremes and percentiles ",
    "the format has neither an end mark nor a total",
];

/// Parts of sentences whose subject is a CPU, or another tool, which the plan names too.
const ABOUT_TOOLS: [&str; 5] = [
    ", which is measured, went offline",
    " skips periods that pass during a late wake-up ",
    " counts periods that pass during a late wake-up ",
    " did with periods that passed during a late wake-up",
    " held /dev/cpu_dma_latency at ",
];

/// A sentence without anything that tardy did not write.
pub(super) fn redacted(text: &str, names: &mut Names) -> String {
    if let Some((label, reason)) =
        quoted_phase(text).and_then(|(label, rest)| Some((label, rest.strip_prefix(": ")?)))
    {
        return format!("phase '{}': {}", names.phase(label), redacted(reason, names));
    }
    if let Some((label, happened @ (" begins" | " ends"))) = quoted_phase(text) {
        return format!("phase '{}'{happened}", names.phase(label));
    }
    if let Some((_, rest)) = text.split_once(" died, noticed at ") {
        let seconds = rest.split(' ').next().filter(|number| number.parse::<f64>().is_ok()).unwrap_or("?");
        return format!("a load died, noticed at {seconds} s: {REDACTED}");
    }
    if let Some(sentence) = in_a_phase(text, names) {
        return sentence;
    }
    let is_about_a_tool = ABOUT_TOOLS.iter().any(|part| {
        text.split_once(part).is_some_and(|(tool, _)| tool.len() <= 40 && !tool.contains(['/', '@', '\'']))
    });
    let is_tardys = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    if is_tardys || is_about_a_tool { identifiers::without(text) } else { REDACTED.to_owned() }
}

/// The label and the rest of a sentence that begins with a phase.
fn quoted_phase(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("phase '")?;
    let end = rest.rfind("' ").into_iter().chain(rest.find("': ")).min()?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// A sentence about a load or a series in a phase.
fn in_a_phase(text: &str, names: &mut Names) -> Option<String> {
    let (subject, rest) = text.split_once(" in phase '")?;
    if let Some(label) = rest.strip_suffix("' recorded nothing") {
        return Some(format!("{} in phase '{}' recorded nothing", series(subject), names.phase(label)));
    }
    let (label, how) = rest.split_once("': ")?;
    let how = match how {
        _ if how.starts_with(|c: char| c.is_ascii_digit()) || how.starts_with("the times of ") => how,
        _ if BEGINNINGS.iter().any(|beginning| how.starts_with(beginning)) => how,
        _ => REDACTED,
    };
    let subject =
        if subject.starts_with("load ") || subject == "a load" { "a load" } else { series(subject) };
    Some(format!("{subject} in phase '{}': {how}", names.phase(label)))
}

fn series(label: &str) -> &str {
    if is_known_label(label) { label } else { "a series" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_keep_what_tardy_wrote() {
        for (text, expected) in [
            (
                "CLOCK_REALTIME was set back by 1s, noticed at 3.0 s",
                "CLOCK_REALTIME was set back by 1s, noticed at 3.0 s",
            ),
            ("phase 'plant 7' begins", "phase 'phase 1' begins"),
            ("phase 'idle' ends", "phase 'idle' ends"),
            (
                "phase 'plant 7': the machine was suspended for 2.0 s, noticed at 3.0 s",
                "phase 'phase 1': the machine was suspended for 2.0 s, noticed at 3.0 s",
            ),
            (
                "load cmd:mysql -psecret (command) died, noticed at 3.1 s: exit status 1; its last output: secret",
                "a load died, noticed at 3.1 s: redacted",
            ),
            (
                "load iperf3:-c host in phase 'plant 7': it did nothing for 3.0 s",
                "a load in phase 'phase 1': it did nothing for 3.0 s",
            ),
            ("cpu 0 in phase 'loaded' recorded nothing", "cpu 0 in phase 'loaded' recorded nothing"),
            ("plant 7 in phase 'x y' recorded nothing", "a series in phase 'phase 1' recorded nothing"),
            ("/home/jane/x: absent", "redacted"),
            ("latmus ended with exit status 1: /home/jane", "redacted"),
            ("phase 'never closed", "redacted"),
        ] {
            assert_eq!(redacted(text, &mut Names::default()), expected, "{text}");
            assert_eq!(redacted(expected, &mut Names::default()), expected, "redacting twice is the same");
        }
    }
}
