//! A phase on the command line (`--phase`).

use std::str::FromStr;

use tardy_record::load_spec::{LoadSpec, LoadSpecError};

use super::PositiveDuration;

/// Loads and a duration, such as `doload + ping-flood 1m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseText {
    /// The loads as typed.
    pub name: String,
    /// The loads, parsed; `idle` means `none`.
    pub loads: Vec<LoadSpec>,
    /// How long the phase lasts.
    pub duration: PositiveDuration,
}

impl FromStr for PhaseText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected LOAD TIME, for example 'none 30s' or 'doload + ping-flood 1m'".to_owned();
        let (name, duration) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(expected)?;
        let duration = duration.parse().map_err(|reason| format!("{}: {reason}", expected()))?;
        let load = |text: &str| match text.trim() {
            "idle" => "none".parse(),
            load => load.parse(),
        };
        let loads: Result<_, _> = name.split(" + ").map(load).collect();
        let loads = loads.map_err(|error: LoadSpecError| error.to_string())?;
        Ok(Self { name: name.trim().to_owned(), loads, duration })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_loads_and_a_duration() {
        let phase: PhaseText = "net + cmd:ping -f a 1m".parse().unwrap();
        assert_eq!((phase.name.as_str(), phase.duration.ns()), ("net + cmd:ping -f a", 60_000_000_000));
        assert_eq!(phase.loads, ["net", "cmd:ping -f a"]);
        assert_eq!("idle 30s".parse::<PhaseText>().unwrap().loads, ["none"]);
        for text in ["", "doload", "30s", "doload 0s", "doload soon", "doload 30", "dolaod 30s"] {
            assert!(text.parse::<PhaseText>().is_err(), "{text}");
        }
    }
}
