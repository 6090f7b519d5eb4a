//! Groups of options, one struct each. The fields are the flags (clap) and the keys of a recipe's table (serde); the methods
//! apply the defaults. [`or`] gives flags precedence over a recipe.

mod gpio;
mod noise;
mod phase;
mod run;
mod timer;

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use gpio::{GpioOptions, STIMULUS_PERIOD};
pub use noise::NoiseOptions;
pub use phase::PhaseOptions;
pub use run::RunOptions;
pub use timer::{INTERVAL_NS, TimerOptions};

use crate::values::PhaseText;

/// The flags that override a recipe.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct RecipeFlags {
    /// What to run and for how long.
    #[command(flatten)]
    pub run: RunOptions,
    /// A phase: its loads and its duration, for example 'none 30s' or 'doload + ping-flood 1m'. May be repeated; the
    /// phases run one after the other.
    #[arg(
        long = "phase",
        value_name = "LOAD TIME",
        conflicts_with_all = ["load", "duration", "loops"],
        help_heading = "What to run"
    )]
    pub phases: Vec<PhaseText>,
    /// The timer probe.
    #[command(flatten)]
    pub timer: TimerOptions,
    /// The noise probe.
    #[command(flatten)]
    pub noise: NoiseOptions,
    /// The GPIO probes.
    #[command(flatten)]
    pub gpio: GpioOptions,
}

/// Merges two sets of options: those of `over`, and those of `under` that `over` does not set.
pub fn or<T: Serialize + DeserializeOwned>(over: &T, under: &T) -> T {
    let mut map = given(under);
    map.extend(given(over));
    options_of(map)
}

/// `options` without those whose keys are in `keys`.
pub fn without<T: Serialize + DeserializeOwned>(options: &T, keys: &[String]) -> T {
    let mut map = given(options);
    map.retain(|key, _| !keys.contains(key));
    options_of(map)
}

/// The keys of the options that are set.
pub fn keys<T: Serialize>(options: &T) -> Vec<String> {
    given(options).into_iter().map(|(key, _)| key).collect()
}

/// The options that are set, by key.
fn given<T: Serialize>(options: &T) -> Map<String, Value> {
    match serde_json::to_value(options) {
        Ok(Value::Object(map)) => map.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => unreachable!("options are a table of values: {other:?}"),
    }
}

fn options_of<T: DeserializeOwned>(map: Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(map)).expect("options can be read back from JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed_flags;

    #[test]
    fn options_override_others() {
        let over = parsed_flags(&["--interval", "1ms", "--wake", "busy", "--seed", "18446744073709551615"]);
        let under = parsed_flags(&["--interval", "2ms", "--cpus", "0-1,7", "--causes=20us"]);
        let timer = or(&over.timer, &under.timer);
        assert_eq!((timer.interval, &timer.wake), (over.timer.interval, &over.timer.wake));
        assert_eq!((&timer.cpus, timer.causes), (&under.timer.cpus, under.timer.causes));
        assert_eq!(or(&over.run, &under.run).seed, Some(u64::MAX));
        assert_eq!(keys(&timer), ["causes", "cpus", "interval", "wake"]);
        assert_eq!(without(&timer, &keys(&over.timer)), under_without_interval(&under.timer));
    }

    fn under_without_interval(timer: &TimerOptions) -> TimerOptions {
        TimerOptions { interval: None, ..timer.clone() }
    }

    #[test]
    fn every_option_survives_a_round_trip() {
        let flags = parsed_flags(&[
            "--probe=gpio-wiggle",
            "--duration=5h33m",
            "--warmup=0s",
            "--repeat=2",
            "--load=cmd: a  b",
            "--load=memory:64",
            "--load-floor=memory=1.5G",
            "--peer=host",
            "--limit=1.5ms",
            "--thresholds=1ns,1d",
            "--wake=busy,deadline",
            "--clock=tai",
            "--distance=0s",
            "--dither=1us",
            "--policy=rr",
            "--priority=1",
            "--priority-step=2",
            "--dma-latency=leave",
            "--causes",
            "--threshold=50ns",
            "--in=gpiochip0:17",
            "--out=GPIO4",
            "--answer-by=busy,sysfs",
            "--stimulus=pwmchip0:1",
            "--stimulus-period=1ms",
            "--stimulus-dither=1us",
            "--stimulus-cpu=3",
            "--echo=x:1",
            "--by=a 'b c' {line}",
            "--through=gpiomem",
        ]);
        assert_eq!(or(&flags.run, &RunOptions::default()), flags.run);
        assert_eq!(or(&flags.timer, &TimerOptions::default()), flags.timer);
        assert_eq!(or(&flags.noise, &NoiseOptions::default()), flags.noise);
        assert_eq!(or(&flags.gpio, &GpioOptions::default()), flags.gpio);
        assert_eq!((keys(&flags.run).len(), keys(&flags.timer).len(), keys(&flags.gpio).len()), (9, 9, 10));
    }
}
