//! `[[phase]]`: one part of a run.

use serde::{Deserialize, Serialize};
use tardy_record::load_spec::LoadSpec;

use super::{GpioOptions, RecipeFlags, RunOptions, TimerOptions, keys, without};
use crate::values::{PhaseText, PositiveDuration, ProbeKind, deserialize_loads};

/// A `[[phase]]` of a recipe: the options that differ from the recipe's other tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseOptions {
    /// Its name, which labels its results.
    pub name: String,
    /// Replaces `run.probe`.
    pub probe: Option<ProbeKind>,
    /// Replaces `run.duration`.
    pub duration: Option<PositiveDuration>,
    /// Replaces `run.loops`.
    pub loops: Option<u64>,
    /// Replaces `run.repeat`.
    pub repeat: Option<u32>,
    /// Replaces `run.load`.
    #[serde(default, deserialize_with = "deserialize_loads")]
    pub load: Option<Vec<LoadSpec>>,
    /// Replaces keys of `[timer]`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub timer: TimerOptions,
    /// Replaces keys of `[gpio]`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gpio: GpioOptions,
}

impl PhaseOptions {
    /// The phase's options that belong to the `[run]` table.
    pub fn run(&self) -> RunOptions {
        RunOptions {
            probe: self.probe,
            duration: self.duration,
            loops: self.loops,
            repeat: self.repeat,
            load: self.load.clone(),
            ..RunOptions::default()
        }
    }

    /// The phase without the options that `flags` set, because a flag applies to every phase.
    pub fn yield_to(&self, flags: &RecipeFlags) -> Self {
        let mut run = keys(&flags.run);
        if flags.run.gives_an_end() {
            run.extend(["duration".to_owned(), "loops".to_owned()]);
        }
        let name = match &flags.run.load {
            // A name such as "idle" describes a load that the flag replaces.
            Some(load) if self.load.as_ref().is_some_and(|own| own != load) => {
                let load: Vec<String> = load.iter().map(ToString::to_string).collect();
                format!("{}, instead of {}", load.join(" + "), self.name)
            }
            _ => self.name.clone(),
        };
        Self {
            name,
            timer: without(&self.timer, &keys(&flags.timer)),
            gpio: without(&self.gpio, &keys(&flags.gpio)),
            ..without(self, &run)
        }
    }

    /// The phases given on the command line. Equal names are numbered from 2.
    pub fn of_texts(texts: &[PhaseText]) -> Vec<Self> {
        let mut phases: Vec<Self> = Vec::new();
        for text in texts {
            let numbered = (2..).map(|number| format!("{} {number}", text.name));
            let mut names = std::iter::once(text.name.clone()).chain(numbered);
            let name = names.find(|name| phases.iter().all(|phase| phase.name != *name));
            phases.push(Self {
                name: name.expect("the names are infinite"),
                duration: Some(text.duration),
                load: Some(text.loads.clone()),
                ..Self::default()
            });
        }
        phases
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsed_flags;

    #[test]
    fn phases_with_equal_loads_are_numbered() {
        let flags = parsed_flags(&["--phase=idle 30s", "--phase=doload 60s", "--phase=doload 5s"]);
        let phases = PhaseOptions::of_texts(&flags.phases);
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["idle", "doload", "doload 2"]);
    }

    #[test]
    fn a_flag_overrides_a_phase() {
        let phase: PhaseOptions = toml::from_str(
            "name = \"x\"\nduration = \"1s\"\nload = [\"cpu\"]\n[timer]\ninterval = \"1ms\"\nclock = \"tai\"\n",
        )
        .unwrap();
        let left = phase.yield_to(&parsed_flags(&["--loops=5", "--load=none", "--interval=2ms"]));
        assert_eq!((left.duration, left.loops, &left.load), (None, None, &None));
        assert_eq!((left.timer.interval, left.timer.clock), (None, phase.timer.clock));
        assert_eq!(left.name, "none, instead of x", "the name may describe the load");
        assert_eq!(phase.yield_to(&parsed_flags(&["--load=cpu"])).name, "x");
    }
}
