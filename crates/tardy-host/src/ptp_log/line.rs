//! One line of the log.

use tardy_record::environment::PTP_PORT_STATES;

/// A line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// When it was written, in ns of CLOCK_MONOTONIC, to the ms.
    pub at_ns: u64,
    /// What it states.
    pub states: Statement,
}

/// What a line states.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// One offset.
    Offset {
        /// Of what: `master`, or for phc2sys such as `CLOCK_REALTIME phc`.
        of: String,
        /// How far the clock is ahead of its source, in ns.
        offset_ns: i64,
        /// The delay of the path, or of phc2sys's reading, in ns.
        delay_ns: Option<i64>,
    },
    /// The offsets of an interval.
    Summary {
        /// Of what: empty for ptp4l.
        of: String,
        /// Their root mean square, in ns.
        rms_ns: u64,
        /// The largest magnitude, in ns.
        max_ns: u64,
        /// The mean delay of the path, in ns.
        delay_ns: Option<i64>,
    },
    /// A port has changed its state.
    State {
        /// The port's number; 0 is ptp4l's own socket.
        port: u32,
        /// The number of the state before, as in [`PTP_PORT_STATES`].
        from: u8,
        /// The number of the new state.
        to: u8,
        /// The event, such as `FAULT_DETECTED (FT_UNSPECIFIED)`.
        on: String,
    },
    /// Anything else, such as the choice of a master.
    Other,
}

/// A line of the log, as ptp4l prints it with `-m`, or as the system's log has it; `None` if it has no time, or if it begins like a
/// statement and does not end like one.
pub fn parse(line: &str) -> Option<Line> {
    let (at_ns, text) = stamped(line)?;
    let words: Vec<&str> = text.split_whitespace().collect();
    let states = if let Some(place) = words.iter().position(|word| *word == "offset") {
        // Other lines have the word too, without a number.
        match words.get(place + 2).is_some_and(|word| is_servo_state(word)) {
            true => offset(&words, place)?,
            false => Statement::Other,
        }
    } else if let Some(place) = words.iter().position(|word| *word == "rms") {
        summary(&words, place)?
    } else if let Some(place) = words.iter().position(|word| *word == "to")
        && words.get(place + 2) == Some(&"on")
    {
        state(&words, place)?
    } else {
        Statement::Other
    };
    Some(Line { at_ns, states })
}

/// The time in the first brackets that contain one, and the text after them.
fn stamped(line: &str) -> Option<(u64, &str)> {
    line.match_indices('[').find_map(|(open, _)| {
        let (inside, text) = line[open + 1..].split_once(']')?;
        let (seconds, thousandths) = inside.split_once('.')?;
        let is_time =
            thousandths.len() == 3 && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = |text: &str| text.parse::<u64>().ok().filter(|_| is_time);
        let ms = number(seconds)?.checked_mul(1000)?.checked_add(number(thousandths)?)?;
        Some((ms.checked_mul(1_000_000)?, text.strip_prefix(':').unwrap_or(text)))
    })
}

/// Whether a word is the state of the servo: `s0` to `s3`.
fn is_servo_state(word: &str) -> bool {
    word.strip_prefix('s')
        .is_some_and(|state| state.len() == 1 && state.bytes().all(|byte| byte.is_ascii_digit()))
}

fn offset(words: &[&str], place: usize) -> Option<Statement> {
    let offset_ns = words.get(place + 1)?.parse().ok()?;
    Some(Statement::Offset { of: words[..place].join(" "), offset_ns, delay_ns: delay(&words[place..])? })
}

fn summary(words: &[&str], place: usize) -> Option<Statement> {
    let rms_ns = words.get(place + 1)?.parse().ok()?;
    let max_ns = words.get(place + 3).filter(|_| words[place + 2] == "max")?.parse().ok()?;
    Some(Statement::Summary {
        of: words[..place].join(" "),
        rms_ns,
        max_ns,
        delay_ns: delay(&words[place..])?,
    })
}

/// The number after `delay`, if the line has that word; `None` if it is not a number.
#[expect(clippy::option_option, reason = "a line without a delay is not a malformed line")]
fn delay(words: &[&str]) -> Option<Option<i64>> {
    let Some(place) = words.iter().position(|word| *word == "delay") else { return Some(None) };
    Some(Some(words.get(place + 1)?.parse().ok()?))
}

/// `port 1: SLAVE to FAULTY on FAULT_DETECTED`; later versions name the interface: `port 1 (eth0): SLAVE to …`.
fn state(words: &[&str], to: usize) -> Option<Statement> {
    let port = words.iter().position(|word| *word == "port")?;
    let number = words.get(port + 1)?.trim_end_matches(':').parse().ok()?;
    let named = |word: &&str| {
        PTP_PORT_STATES.split(' ').position(|state| state == *word).map(|place| place as u8 + 1)
    };
    Some(Statement::State {
        port: number,
        from: named(words.get(to.checked_sub(1)?)?)?,
        to: named(words.get(to + 1)?)?,
        on: words[to + 3..].join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn stated(line: &str) -> Option<Statement> {
        parse(line).map(|line| line.states)
    }

    fn offset_of(of: &str, offset_ns: i64, delay_ns: Option<i64>) -> Option<Statement> {
        Some(Statement::Offset { of: of.to_owned(), offset_ns, delay_ns })
    }

    #[test]
    fn offsets_have_their_time_and_the_delay_of_the_path() {
        let line = "ptp4l[70380.049]: master offset       -402 s0 freq    -145 path delay      2445";
        assert_eq!(parse(line).unwrap().at_ns, 70_380_049 * MS);
        assert_eq!(stated(line), offset_of("master", -402, Some(2445)));
    }

    #[test]
    fn the_system_log_has_other_words_before_the_time() {
        let line = "Nov 27 18:00:00 host[3] ptp4l: [71241.782] [ptp4l.0.config] master offset 402 s2 freq +1369 path delay 2443";
        assert_eq!(parse(line).unwrap().at_ns, 71_241_782 * MS);
        assert_eq!(stated(line), offset_of("[ptp4l.0.config] master", 402, Some(2443)));
    }

    #[test]
    fn offsets_of_phc2sys_name_the_clock() {
        let line = "phc2sys[12.345]: CLOCK_REALTIME phc offset        -3 s2 freq   +1034 delay    563";
        assert_eq!(stated(line), offset_of("CLOCK_REALTIME phc", -3, Some(563)));
    }

    #[test]
    fn summaries_have_the_largest_offset() {
        let line = "ptp4l[71230.895]: rms  787 max 1208 freq -38601 +/- 1071 delay   -14 +/-   0";
        let expected =
            Statement::Summary { of: String::new(), rms_ns: 787, max_ns: 1208, delay_ns: Some(-14) };
        assert_eq!(stated(line), Some(expected));
        let line = "ptp4l[71230.895]: rms  787 max 1208 freq -38601 +/- 1071";
        let expected = Statement::Summary { of: String::new(), rms_ns: 787, max_ns: 1208, delay_ns: None };
        assert_eq!(stated(line), Some(expected));
    }

    #[test]
    fn a_port_is_named_with_and_without_its_interface() {
        let expected = |on: &str| Some(Statement::State { port: 1, from: 9, to: 2, on: on.to_owned() });
        let line = "ptp4l[1.234]: port 1: SLAVE to FAULTY on FAULT_DETECTED (FT_UNSPECIFIED)";
        assert_eq!(stated(line), expected("FAULT_DETECTED (FT_UNSPECIFIED)"));
        let line = "ptp4l[1.234]: port 1 (eth0): SLAVE to FAULTY on FAULT_DETECTED";
        assert_eq!(stated(line), expected("FAULT_DETECTED"));
    }

    #[test]
    fn other_lines_are_neither_statements_nor_malformed() {
        for text in [
            "port 1: new foreign master 9ad033.fffe.2eac03-1",
            "port 1: assuming the grand master role",
            "foreign master not using PTP timescale",
            "clockcheck: clock jumped forward or running faster than expected!",
            "updating UTC offset to 37",
        ] {
            assert_eq!(stated(&format!("ptp4l[1.000]: {text}")), Some(Statement::Other), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_cut_off_or_has_no_time_is_malformed() {
        for line in [
            "",
            "master offset -402 s0 freq -145 path delay 2445",
            "ptp4l[70380]: master offset -402 s0 freq -145 path delay 2445",
            "ptp4l[1.000]: master offset x402 s0 freq -145 path delay 2445",
            "ptp4l[1.000]: master offset -402 s0 freq -145 path delay",
            "ptp4l[1.000]: rms 787 max",
            "ptp4l[1.000]: rms 787 min 3",
            "ptp4l[1.000]: port 1: SLAVE to ASLEEP on FAULT_DETECTED",
            "ptp4l[99999999999999999.000]: master offset 1 s0 freq 0 path delay 1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_log_of_ptp4l_is_understood_completely() {
        for (log, statements) in
            [(include_str!("../../tests/ptp/fault.log"), 6), (include_str!("../../tests/ptp/summary.log"), 3)]
        {
            let lines: Vec<Line> = log.lines().map(|line| parse(line).unwrap()).collect();
            assert!(lines.is_sorted_by_key(|line| line.at_ns), "{log}");
            let stated = lines.iter().filter(|line| line.states != Statement::Other).count();
            assert!(stated >= statements, "{stated} statements in\n{log}");
        }
    }
}
