//! Loads, command lines of other tools, the emulator's arguments and values of kernel options.
//!
//! Of the arguments, only the tool, options and numbers stay. Any other word may be an address, a path or a password.

use super::{identifiers, kernel_arguments};
use tardy_record::load_spec::CATALOGUE;
use tardy_record::run::REDACTED;

/// Loads whose argument is the command line of a tool.
const TOOL_LOADS: [&str; 3] = ["stress-ng", "hackbench", "iperf3"];

/// Words that name a tool or its mode.
pub(super) const TOOLS: [&str; 21] = [
    "cyclictest",
    "cyclicdeadline",
    "pmqtest",
    "ptsematest",
    "signaltest",
    "sigwaittest",
    "svsematest",
    "ssdd",
    "rt-migrate-test",
    "oslat",
    "hwlatdetect",
    "jitterdebugger",
    "rteval",
    "rtla",
    "timerlat",
    "osnoise",
    "hist",
    "top",
    "latency",
    "latmus",
    "stress-ng",
];

/// A load without the text of a command, addresses and paths.
pub(super) fn load(text: &str) -> String {
    let end = text.find([':', ' ']).unwrap_or(text.len());
    let (name, argument) = (&text[..end], text.get(end + 1..).unwrap_or("").trim());
    if !CATALOGUE.iter().any(|entry| entry.name() == name) {
        return REDACTED.to_owned();
    }
    let is_numbers = argument.split(',').all(is_number);
    match argument {
        "" => name.to_owned(),
        _ if name != "cmd" && is_numbers => text.to_owned(),
        _ if TOOL_LOADS.contains(&name) => format!("{name}:{}", tool_command(argument)),
        _ => format!("{name}:{REDACTED}"),
    }
}

/// A command line with the words that are tools, options and numbers; the others are replaced.
pub(super) fn tool_command(text: &str) -> String {
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &str) -> String {
    if is_option(word) || is_number(word) || TOOLS.contains(&word) {
        return word.to_owned();
    }
    match word.split_once('=') {
        Some((option, value)) if is_option(option) && is_number(value) => word.to_owned(),
        Some((option, _)) if is_option(option) => format!("{option}={REDACTED}"),
        _ => REDACTED.to_owned(),
    }
}

/// `--timeout`, or `-Sp90`: a number may follow the letters of short options, a text may not.
fn is_option(word: &str) -> bool {
    if let Some(name) = word.strip_prefix("--") {
        return name.len() <= 24 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    }
    let Some(rest) = word.strip_prefix('-') else { return false };
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    (1..=3).contains(&letters) && (rest.len() == letters || is_number(&rest[letters..]))
}

/// A number, with a unit such as `k`, `ms` or `%` or without.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let unit = &word[digits..];
    (1..=12).contains(&digits)
        && unit.len() <= 2
        && unit.bytes().all(|c| c.is_ascii_alphabetic() || c == b'%')
}

/// A kernel of the lab: `debian:6.12-rt` stays, options after it and files do not.
pub(super) fn kernel_of_lab(spec: &str) -> String {
    let (kernel, options) = spec.split_once(',').map_or((spec, ""), |(kernel, options)| (kernel, options));
    let is_of_a_version = |c: char| c.is_ascii_alphanumeric() || ".+~=:-".contains(c);
    match kernel.strip_prefix("debian:") {
        Some(version) if !version.chars().all(is_of_a_version) => REDACTED.to_owned(),
        Some(_) if options.is_empty() => kernel.to_owned(),
        Some(_) => format!("{kernel},{REDACTED}"),
        None => REDACTED.to_owned(),
    }
}

/// An argument of the emulator, which must not be a path.
pub(super) fn emulator_argument(text: &str) -> String {
    if text.contains(' ') {
        return kernel_arguments::redacted(text);
    }
    let is_path = text.replace("/dev/null", "").contains('/');
    if is_path { REDACTED.to_owned() } else { identifiers::without(text) }
}

/// The value of a kernel option. A text may contain a host name or the name of a product.
pub(super) fn configuration(value: &str) -> String {
    let is_hexadecimal = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_kept = matches!(value, "y" | "m" | "n")
        || is_number(value.strip_prefix('-').unwrap_or(value))
        || value.strip_prefix("0x").is_some_and(is_hexadecimal);
    if is_kept { value.to_owned() } else { REDACTED.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_keeps_its_name_and_its_numbers() {
        for (text, expected) in [
            ("doload", "doload"),
            ("scheduler:4,10,64", "scheduler:4,10,64"),
            ("memory:64", "memory:64"),
            ("net:7000", "net:7000"),
            ("cmd:7", "cmd:redacted"),
            ("cmd:mysql -psecret", "cmd:redacted"),
            ("sink 10.0.0.1", "sink:redacted"),
            ("io:/home/jane", "io:redacted"),
            (
                "stress-ng:--cpu 2 --vm-bytes=64M --temp-path /home/jane",
                "stress-ng:--cpu 2 --vm-bytes=64M --temp-path redacted",
            ),
            ("iperf3:-c 10.0.0.2 -P2", "iperf3:-c redacted -P2"),
            ("hackbench", "hackbench"),
            ("a load of next year:7", "redacted"),
            ("unknown:x", "redacted"),
        ] {
            assert_eq!(load(text), expected);
            assert_eq!(load(expected), expected, "redacting twice is the same");
            assert!(
                expected == REDACTED || expected.parse::<tardy_record::load_spec::LoadSpec>().is_ok(),
                "{expected}"
            );
        }
    }

    #[test]
    fn a_tools_command_line_keeps_options_and_numbers() {
        let text = "/home/jane/cyclictest -m -Sp90 -i200 --policy=fifo -h400 -q --json=plant7.json -psecret";
        let kept = "redacted -m -Sp90 -i200 --policy=redacted -h400 -q --json=redacted redacted";
        assert_eq!(tool_command(text), kept);
        assert_eq!(tool_command("rtla timerlat hist -d 60s"), "rtla timerlat hist -d 60s");
    }

    #[test]
    fn a_kernel_of_the_lab_keeps_its_version_and_loses_its_options_and_files() {
        for (spec, expected) in [
            ("debian:6.12-rt", "debian:6.12-rt"),
            ("debian:6.12=6.12.117-1~deb12u1", "debian:6.12=6.12.117-1~deb12u1"),
            ("debian:6.12,append=token=secret", "debian:6.12,redacted"),
            ("debian:6.12,append='isolcpus=1 token=secret'", "debian:6.12,redacted"),
            ("bzImage-plant7", REDACTED),
            ("/home/jane/bzImage,modules=mods", REDACTED),
        ] {
            assert_eq!(kernel_of_lab(spec), expected);
            assert_eq!(kernel_of_lab(expected), expected, "redacting twice is the same");
        }
    }

    #[test]
    fn paths_and_texts_in_options_are_replaced() {
        assert_eq!(emulator_argument("/home/jane/bzImage"), REDACTED);
        assert_eq!(emulator_argument("shift=1,rrfile=/dev/null"), "shift=1,rrfile=/dev/null");
        assert_eq!([configuration("y"), configuration("250"), configuration("0x1f")], ["y", "250", "0x1f"]);
        assert_eq!(configuration("\"-plant7\""), REDACTED);
    }
}
