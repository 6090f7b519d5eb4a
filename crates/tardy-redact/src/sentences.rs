//! Reasons, limits, remarks and events. A sentence stays if it begins with words that only tardy writes, and names of phases and
//! loads in it are replaced; another one may quote a command, its output or a file.

use super::arguments::TOOLS;
use super::identifiers;
use super::names::{Names, is_known_label};
use tardy_record::run::REDACTED;

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

/// Parts of sentences whose subject is a CPU or a tool.
const ABOUT_TOOLS: [&str; 5] = [
    ", which is measured, went offline",
    " skips periods that pass during a late wake-up ",
    " counts periods that pass during a late wake-up ",
    " did with periods that passed during a late wake-up",
    " held /dev/cpu_dma_latency at ",
];

/// Words of the subjects of such sentences, in addition to [`TOOLS`].
const SUBJECTS: [&str; 6] = ["cpu", "what", "rteval's", "rt-tests", "Xenomai", "HdrHistogram"];

/// What precedes the label of a phase in a sentence.
const IN_PHASE: &str = " in phase '";

/// A sentence without anything that tardy did not write.
pub(super) fn redacted(text: &str, names: &mut Names) -> String {
    if let Some((label, rest)) = text.strip_prefix("phase '").and_then(|text| names.split_label(text)) {
        let label = names.phase(label);
        return match rest.strip_prefix(": ") {
            Some(reason) => format!("phase '{label}': {}", redacted(reason, names)),
            None if matches!(rest, " begins" | " ends") => format!("phase '{label}'{rest}"),
            None => REDACTED.to_owned(),
        };
    }
    if let Some((_, rest)) = text.split_once(" died, noticed at ") {
        let seconds = rest.split(' ').next().filter(|number| number.parse::<f64>().is_ok()).unwrap_or("?");
        return format!("a load died, noticed at {seconds} s: {REDACTED}");
    }
    if text.contains(IN_PHASE) {
        // A label that is not of this run may be anything.
        return in_a_phase(text, names).unwrap_or_else(|| REDACTED.to_owned());
    }
    let is_about_a_tool =
        ABOUT_TOOLS.iter().any(|part| text.split_once(part).is_some_and(|(subject, _)| is_subject(subject)));
    let is_tardys = BEGINNINGS.iter().any(|beginning| text.starts_with(beginning));
    if is_tardys || is_about_a_tool { identifiers::without(text) } else { REDACTED.to_owned() }
}

fn is_subject(text: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    text.split(' ').all(|word| SUBJECTS.contains(&word) || TOOLS.contains(&word) || is_number(word))
}

/// A sentence about a load or a series in a phase. A load may quote such a sentence, so the last phase counts.
fn in_a_phase(text: &str, names: &mut Names) -> Option<String> {
    let (subject, label, rest) = text.rmatch_indices(IN_PHASE).find_map(|(at, _)| {
        let (label, rest) = names.split_label(&text[at + IN_PHASE.len()..])?;
        Some((&text[..at], label, rest))
    })?;
    if rest == " recorded nothing" {
        return Some(format!("{} in phase '{}' recorded nothing", series(subject), names.phase(label)));
    }
    let how = rest.strip_prefix(": ")?;
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
            (
                "load cmd:say 'x in phase 'idle': 3 secret' in phase 'plant 7': it did nothing for 3.0 s",
                "a load in phase 'phase 1': it did nothing for 3.0 s",
            ),
            ("phase 'a': /proc/secret' begins", "phase 'phase 1' begins"),
            ("phase 'of a later run': /proc/secret", "redacted"),
            ("it did nothing for 3.0 s in phase 'of a later run': 4", "redacted"),
            (
                "Xenomai latency counts periods that pass during a late wake-up and has no reading for them",
                "Xenomai latency counts periods that pass during a late wake-up and has no reading for them",
            ),
            ("secret counts periods that pass during a late wake-up and more", "redacted"),
            ("cpu 0 in phase 'loaded' recorded nothing", "cpu 0 in phase 'loaded' recorded nothing"),
            ("plant 7 in phase 'x y' recorded nothing", "a series in phase 'phase 1' recorded nothing"),
            ("/home/jane/x: absent", "redacted"),
            ("latmus ended with exit status 1: /home/jane", "redacted"),
            ("phase 'never closed", "redacted"),
        ] {
            let before = ["plant 7", "x y", "a': /proc/secret"].map(str::to_owned);
            assert_eq!(redacted(text, &mut Names::of_phases(before.into())), expected, "{text}");
            let after = Names::of_phases(vec!["phase 1".to_owned()]);
            assert_eq!(redacted(expected, &mut { after }), expected, "redacting twice is the same");
        }
    }
}
