//! The arguments of loads, after the colon.

use std::str::FromStr;

/// More receivers than this exhaust process ids instead of loading the scheduler.
const RECEIVERS_MAX: usize = 4096;
/// A socket's buffer takes no more at once; longer messages would measure copying.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// Default and highest size of the memory load, in MiB for each CPU. The default exceeds a CPU's share of most
/// last-level caches.
const MEMORY_MIB: usize = 16;
const MEMORY_MIB_MAX: usize = 65_536;
/// Default and highest number of timers for each CPU.
const TIMERS: usize = 16;
const TIMERS_MAX: usize = 512;

/// hackbench's options `-g` (groups), half of `-f` (pairs) and `-s` (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerShape {
    /// Groups; in each, every sender sends to every receiver.
    pub groups: usize,
    /// Senders, and as many receivers, in a group.
    pub pairs: usize,
    /// Length of a message.
    pub message_bytes: usize,
}

impl Default for SchedulerShape {
    fn default() -> Self {
        Self { groups: 1, pairs: 20, message_bytes: 100 }
    }
}

impl SchedulerShape {
    /// Receivers of all groups, which count the messages.
    pub fn receivers(self) -> usize {
        self.groups * self.pairs
    }
}

impl FromStr for SchedulerShape {
    type Err = String;

    /// Reads `GROUPS,PAIRS,BYTES`; missing numbers at the end take their defaults.
    fn from_str(argument: &str) -> Result<Self, String> {
        let default = Self::default();
        let mut numbers = [default.groups, default.pairs, default.message_bytes];
        let given: Vec<&str> = argument.split(',').filter(|_| !argument.is_empty()).collect();
        if given.len() > numbers.len() {
            return Err(format!("'{argument}' has more than 3 numbers; expected GROUPS,PAIRS,BYTES"));
        }
        for (number, text) in numbers.iter_mut().zip(&given) {
            *number = text.trim().parse().map_err(|_| format!("'{text}' is not a number"))?;
        }
        let [groups, pairs, message_bytes] = numbers;
        let receivers = groups.saturating_mul(pairs);
        if !(1..=RECEIVERS_MAX).contains(&receivers) {
            return Err(format!(
                "{groups} groups of {pairs} receivers are out of range; expected 1 to {RECEIVERS_MAX} receivers in all"
            ));
        }
        if !(1..=MESSAGE_BYTES_MAX).contains(&message_bytes) {
            return Err(format!(
                "a message of {message_bytes} bytes is out of range; expected 1 to {MESSAGE_BYTES_MAX} bytes"
            ));
        }
        Ok(Self { groups, pairs, message_bytes })
    }
}

/// The size of the memory load, in MiB for each CPU.
pub(super) fn memory_mib(argument: &str) -> Result<usize, String> {
    let mib = if argument.is_empty() { MEMORY_MIB } else { argument.parse().unwrap_or(0) };
    if (1..=MEMORY_MIB_MAX).contains(&mib) {
        return Ok(mib);
    }
    Err(format!("'{argument}' is not a size; expected 1 to {MEMORY_MIB_MAX} MiB for each CPU"))
}

/// How many timers each CPU has.
pub(super) fn timers_per_cpu(argument: &str) -> Result<usize, String> {
    let count = if argument.is_empty() { TIMERS } else { argument.parse().unwrap_or(0) };
    if (1..=TIMERS_MAX).contains(&count) {
        return Ok(count);
    }
    Err(format!("'{argument}' is not a number of timers; expected 1 to {TIMERS_MAX} for each CPU"))
}

/// A port; `None` for the default.
pub(super) fn port(argument: &str) -> Result<Option<u16>, String> {
    match argument.parse() {
        _ if argument.is_empty() => Ok(None),
        Ok(port) if port > 0 => Ok(Some(port)),
        _ => Err(format!("'{argument}' is not a port; expected 1 to 65535")),
    }
}

/// stress-ng's arguments, without options that tardy sets.
pub(super) fn stress_ng_arguments(arguments: &str) -> Result<Vec<String>, String> {
    let arguments = words(arguments)?;
    let own = ["-t", "--timeout", "-q", "--quiet", "--no-metrics"];
    if let Some(option) = first_of(&own, &arguments) {
        return Err(format!(
            "leave out {option}: the load lasts as long as its phase, and its rate is read from stress-ng's output"
        ));
    }
    Ok(arguments)
}

/// iperf3's arguments, without options that tardy sets.
pub(super) fn iperf3_arguments(arguments: &str) -> Result<Vec<String>, String> {
    let arguments = words(arguments)?;
    let own =
        ["-t", "--time", "-J", "--json", "-D", "--daemon", "-i", "--interval", "-n", "--bytes", "--logfile"];
    if let Some(option) = first_of(&own, &arguments) {
        return Err(format!(
            "leave out {option}: the load lasts as long as its phase, and its rate is read from iperf3's output"
        ));
    }
    if !is_iperf3_server(&arguments) && first_of(&["-c", "--client"], &arguments).is_none() {
        return Err("expected -c HOST for a client or -s for a server".to_owned());
    }
    Ok(arguments)
}

/// Whether these arguments make iperf3 a server.
pub fn is_iperf3_server(arguments: &[String]) -> bool {
    arguments.iter().any(|word| word == "-s" || word == "--server")
}

/// The first word that is one of these options, with or without `=VALUE`.
fn first_of<'a>(options: &[&str], arguments: &'a [String]) -> Option<&'a str> {
    let mut words = arguments.iter().map(String::as_str);
    words.find(|word| options.contains(&word.split('=').next().unwrap_or(word)))
}

/// Splits a tool's arguments at blanks. Text in single or double quotes belongs to one word, and every other character stands
/// for itself: no shell reads the words.
pub(super) fn words(arguments: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for c in arguments.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("the quote {open} is not closed")),
        None => Ok(words.into_iter().chain(word).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_blanks_outside_quotes() {
        let split = |text| words(text).map(|words| words.join("|"));
        assert_eq!(split("  -c  10.0.0.2 -P 2"), Ok("-c|10.0.0.2|-P|2".to_owned()));
        assert_eq!(split("a'b c'\"d e\" ''"), Ok("ab cd e|".to_owned()));
        assert_eq!(split("$(id); `id` > x \\n &"), Ok("$(id);|`id`|>|x|\\n|&".to_owned()));
        assert_eq!(split("it's"), Err("the quote ' is not closed".to_owned()));
        assert!(stress_ng_arguments("--cpu 1 '-t' 5").unwrap_err().contains("leave out -t"));
    }

    #[test]
    fn missing_numbers_of_a_shape_take_their_defaults() {
        let shape = |groups, pairs, message_bytes| Ok(SchedulerShape { groups, pairs, message_bytes });
        for (text, expected) in [
            ("", shape(1, 20, 100)),
            ("3", shape(3, 20, 100)),
            ("3,7", shape(3, 7, 100)),
            ("3, 7, 64", shape(3, 7, 64)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        assert_eq!("3,7".parse::<SchedulerShape>().map(SchedulerShape::receivers), Ok(21));
        for text in
            ["0", "1,0", "1,20,0", "1,2,3,4", "x", "4097,1", "1,1,1048577", "-1", "99999999999999999999"]
        {
            assert!(text.parse::<SchedulerShape>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        assert_eq!((memory_mib(""), memory_mib("64")), (Ok(16), Ok(64)));
        for text in ["0", "x", "-1", "65537", "16M", "1.5"] {
            assert!(memory_mib(text).is_err(), "{text}");
        }
        assert_eq!((timers_per_cpu(""), timers_per_cpu("1")), (Ok(16), Ok(1)));
        for text in ["0", "x", "-1", "513"] {
            assert!(timers_per_cpu(text).is_err(), "{text}");
        }
        assert_eq!((port(""), port("7000")), (Ok(None), Ok(Some(7000))));
        for text in ["0", "http", "65536"] {
            assert!(port(text).is_err(), "{text}");
        }
    }

    #[test]
    fn options_that_tardy_sets_are_refused() {
        for arguments in ["--cpu 2 --timeout 5", "--cpu 2 --timeout=5"] {
            assert!(stress_ng_arguments(arguments).is_err(), "{arguments}");
        }
        for arguments in ["-c host -t 5", "-c host -J", "--bidir"] {
            assert!(iperf3_arguments(arguments).is_err(), "{arguments}");
        }
        assert!(stress_ng_arguments("--cpu 2").is_ok());
        assert!(iperf3_arguments("-c host -P 4").is_ok() && iperf3_arguments("-s").is_ok());
    }
}
