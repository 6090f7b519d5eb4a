//! A recipe as written, and the ones that tardy carries.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tardy_record::units::parse_duration_ns;
use thiserror::Error;

use crate::resolve::{UsageError, wrong};

/// The recipes that are part of tardy, by name.
const BUILT_IN: [(&str, &str); 17] = [
    ("quick", include_str!("../../../recipes/quick.toml")),
    ("noise", include_str!("../../../recipes/noise.toml")),
    ("osadl", include_str!("../../../recipes/osadl.toml")),
    ("rpi3-4.9", include_str!("../../../recipes/rpi3-4.9.toml")),
    ("rpi3-4.14", include_str!("../../../recipes/rpi3-4.14.toml")),
    ("rpi1-loaded", include_str!("../../../recipes/rpi1-loaded.toml")),
    ("rpi1-wiggle", include_str!("../../../recipes/rpi1-wiggle.toml")),
    ("at91-timers", include_str!("../../../recipes/at91-timers.toml")),
    ("at91-gpio", include_str!("../../../recipes/at91-gpio.toml")),
    ("at91-xenomai", include_str!("../../../recipes/at91-xenomai.toml")),
    ("lab-quick", include_str!("../../../recipes/lab-quick.toml")),
    ("lab-full", include_str!("../../../recipes/lab-full.toml")),
    ("lab-rpi3", include_str!("../../../recipes/lab-rpi3.toml")),
    ("lab-rpi1", include_str!("../../../recipes/lab-rpi1.toml")),
    ("lab-at91-timers", include_str!("../../../recipes/lab-at91-timers.toml")),
    ("lab-at91-gpio", include_str!("../../../recipes/lab-at91-gpio.toml")),
    ("lab-at91-levels", include_str!("../../../recipes/lab-at91-levels.toml")),
];

/// Largest recipe file that is read.
const SIZE_MAX: u64 = 1 << 20;

/// What a run shall be, as typed: times are texts with units, and what is absent takes its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    #[serde(skip)]
    pub(crate) name: Option<String>,
    pub(crate) about: Option<String>,
    #[serde(default)]
    pub(crate) published: Vec<String>,
    #[serde(default)]
    pub(crate) notes: Option<String>,
    #[serde(default)]
    pub(crate) run: RunTable,
    #[serde(default)]
    pub(crate) timer: TimerTable,
    #[serde(default)]
    pub(crate) noise: NoiseTable,
    #[serde(default)]
    pub(crate) gpio: GpioTable,
    /// Parts of the run one after the other, such as first idle and then loaded; none: one part, as `[run]` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) phase: Vec<PhaseTable>,
    #[serde(default, skip_serializing)]
    pub(crate) lab: LabTable,
}

/// `[lab]`: what only `tardy lab` needs to know.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabTable {
    /// What its chapter is called in the report of all articles; absent where it repeats none.
    pub(crate) chapter: Option<String>,
    pub(crate) machine: Option<String>,
    pub(crate) kernels: Option<Vec<String>>,
    pub(crate) memory_mib: Option<u32>,
    /// Modules to load before anything else.
    #[serde(default)]
    pub(crate) modules: Vec<String>,
    /// Modules to load once the boot's work has died down.
    #[serde(default)]
    pub(crate) modules_at_rest: Vec<String>,
    /// Programs from Debian's packages: `PACKAGE:PATH`.
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    /// Commands that run on the other host, which is a network namespace of the guest.
    #[serde(default)]
    pub(crate) outside: Vec<String>,
}

/// `[run]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTable {
    pub(crate) probe: Option<String>,
    pub(crate) duration: Option<String>,
    pub(crate) loops: Option<u64>,
    pub(crate) warmup: Option<String>,
    pub(crate) repeat: Option<u32>,
    pub(crate) load: Option<Vec<String>>,
    pub(crate) load_floor: Option<Vec<String>>,
    pub(crate) peer: Option<String>,
    pub(crate) limit: Option<String>,
    pub(crate) thresholds: Option<Vec<String>>,
    pub(crate) seed: Option<u64>,
}

/// `[noise]`: what only the noise probe needs to know, and where it differs from `[timer]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoiseTable {
    pub(crate) threshold: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) priority: Option<u32>,
}

/// `[gpio]`: what only the probes on pins need to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GpioTable {
    #[serde(rename = "in")]
    pub(crate) input: Option<String>,
    #[serde(rename = "out")]
    pub(crate) output: Option<String>,
    pub(crate) answer_by: Option<Vec<String>>,
    pub(crate) stimulus: Option<String>,
    pub(crate) stimulus_period: Option<String>,
    pub(crate) stimulus_dither: Option<String>,
    pub(crate) stimulus_cpu: Option<u32>,
    pub(crate) echo: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) through: Option<String>,
}

/// `[[phase]]`: what a part of the run has of its own; everything else is as in the recipe's own tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseTable {
    pub(crate) name: String,
    pub(crate) probe: Option<String>,
    pub(crate) duration: Option<String>,
    pub(crate) loops: Option<u64>,
    pub(crate) repeat: Option<u32>,
    pub(crate) load: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "TimerTable::is_empty")]
    pub(crate) timer: TimerTable,
    #[serde(default, skip_serializing_if = "GpioTable::is_empty")]
    pub(crate) gpio: GpioTable,
}

/// Takes over those of the keys that `over` has.
macro_rules! take {
    ($over:expr => $table:expr; $($key:ident),*) => { $( if $over.$key.is_some() { $table.$key = $over.$key; } )* };
}

/// Drops those of the keys that `over` has.
macro_rules! drop_keys {
    ($over:expr => $table:expr; $($key:ident),*) => { $( if $over.$key.is_some() { $table.$key = None; } )* };
}

impl PhaseTable {
    /// `recipe` with what this part has of its own.
    pub(crate) fn over(&self, recipe: &Recipe) -> Recipe {
        let mut part = Recipe { run: self.over_run(&recipe.run), phase: Vec::new(), ..recipe.clone() };
        part.timer.take(self.timer.clone());
        part.gpio.take(self.gpio.clone());
        part
    }

    fn over_run(&self, run: &RunTable) -> RunTable {
        let mut run = run.clone();
        if self.repeat.is_some() {
            run.repeat = self.repeat;
        }
        if self.duration.is_some() || self.loops.is_some() {
            (run.duration, run.loops) = (self.duration.clone(), self.loops);
        }
        if self.load.is_some() {
            run.load.clone_from(&self.load);
        }
        if self.probe.is_some() {
            run.probe.clone_from(&self.probe);
        }
        run
    }
}

impl PhaseTable {
    /// A part as the command line has it: a load, or several joined by ` + `, and at the end how long. `idle` is none.
    pub(crate) fn from_words(text: &str) -> Result<Self, UsageError> {
        let told = || {
            let reason =
                format!("'{text}' is no load and a time, such as 'none 30s' or 'doload + ping-flood 1m'");
            wrong("phase", reason)
        };
        let (loads, duration) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(told)?;
        let ns = parse_duration_ns(duration).map_err(|_| told())?;
        if ns == 0 {
            return Err(wrong("phase", format!("'{text}' would last no time")));
        }
        let load = |load: &str| if load.trim() == "idle" { "none" } else { load.trim() }.to_owned();
        Ok(Self {
            name: loads.trim().to_owned(),
            duration: Some(duration.to_owned()),
            load: Some(loads.split(" + ").map(load).collect()),
            ..Self::default()
        })
    }
}

/// `[timer]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimerTable {
    pub(crate) wake: Option<Vec<String>>,
    pub(crate) clock: Option<String>,
    pub(crate) interval: Option<String>,
    pub(crate) distance: Option<String>,
    pub(crate) dither: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) priority: Option<u32>,
    pub(crate) priority_step: Option<u32>,
    pub(crate) cpus: Option<String>,
    pub(crate) dma_latency: Option<String>,
    pub(crate) causes: Option<String>,
}

macro_rules! table_of_keys {
    ($table:ident: $($key:ident),*) => {
        impl $table {
            /// Takes over what `over` says.
            fn take(&mut self, over: Self) {
                take!(over => self; $($key),*);
            }

            /// Drops what `over` says as well.
            fn yield_to(&mut self, over: &Self) {
                drop_keys!(over => self; $($key),*);
            }

            /// Whether it says nothing.
            fn is_empty(&self) -> bool {
                *self == Self::default()
            }
        }
    };
}

table_of_keys!(TimerTable: wake, clock, interval, distance, dither, policy, priority, priority_step, cpus, dma_latency, causes);
table_of_keys!(
    GpioTable: input, output, answer_by, stimulus, stimulus_period, stimulus_dither, stimulus_cpu, echo, by, through
);

/// Why there is no recipe.
#[derive(Debug, Error)]
pub(crate) enum RecipeError {
    #[error(
        "there is no recipe '{name}'; tardy knows {known}, and a recipe file is given with its path, such as ./{name}.toml"
    )]
    Unknown { name: String, known: String },
    #[error("{path} cannot be read: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} has {size} bytes; a recipe has a few hundred")]
    TooLarge { path: PathBuf, size: u64 },
    #[error("{place} is not a recipe: {source}\ndocs/recipes.md lists every key")]
    Toml { place: String, source: Box<toml::de::Error> },
    #[error("{place} gives both run.duration and run.loops; a run ends by one of them")]
    TwoEnds { place: String },
    #[error("{place} does not say what it is: add about = \"one sentence\"")]
    NoAbout { place: String },
}

impl Recipe {
    /// The recipe of that name, or in that file: what has a slash or ends in .toml is a file.
    pub(crate) fn find(name: &str) -> Result<Self, RecipeError> {
        if name.contains('/') || name.ends_with(".toml") {
            return Self::read(Path::new(name));
        }
        let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
            let known = BUILT_IN.map(|(name, _)| name).join(", ");
            return Err(RecipeError::Unknown { name: name.to_owned(), known });
        };
        Self::parse(text, name, &format!("recipe {name}"))
    }

    /// All that tardy carries, in the order of the documentation.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        BUILT_IN.iter().map(|(name, text)| {
            Self::parse(text, name, name).expect("every recipe that is built in reads: a test tries them all")
        })
    }

    fn read(path: &Path) -> Result<Self, RecipeError> {
        let fail = |source| RecipeError::Io { path: path.to_owned(), source };
        let size = path.metadata().map_err(fail)?.len();
        if size > SIZE_MAX {
            return Err(RecipeError::TooLarge { path: path.to_owned(), size });
        }
        let text = std::fs::read_to_string(path).map_err(fail)?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self::parse(&text, &name, &path.display().to_string())
    }

    fn parse(text: &str, name: &str, place: &str) -> Result<Self, RecipeError> {
        let place = place.to_owned();
        let mut recipe: Self = match toml::from_str(text) {
            Ok(recipe) => recipe,
            Err(source) => return Err(RecipeError::Toml { place, source: Box::new(source) }),
        };
        if recipe.run.duration.is_some() && recipe.run.loops.is_some() {
            return Err(RecipeError::TwoEnds { place });
        }
        if recipe.about.is_none() {
            return Err(RecipeError::NoAbout { place });
        }
        recipe.name = Some(name.to_owned());
        Ok(recipe)
    }

    /// These parts, from the command line, instead of the recipe's. A part whose name was there before gets a number.
    pub(crate) fn with_phases(mut self, texts: &[String]) -> Result<Self, UsageError> {
        let mut phases: Vec<PhaseTable> = Vec::new();
        for text in texts {
            let mut phase = PhaseTable::from_words(text)?;
            let name = phase.name.clone();
            for number in 2.. {
                if phases.iter().all(|other| other.name != phase.name) {
                    break;
                }
                phase.name = format!("{name} {number}");
            }
            phases.push(phase);
        }
        if !phases.is_empty() {
            self.phase = phases;
        }
        Ok(self)
    }

    /// What the flags say, over what the recipe says. A length or a load on the command line is for every part.
    pub(crate) fn overridden_by(
        mut self,
        run: RunTable,
        timer: TimerTable,
        noise: NoiseTable,
        gpio: GpioTable,
    ) -> Self {
        for phase in &mut self.phase {
            if run.duration.is_some() || run.loops.is_some() {
                (phase.duration, phase.loops) = (None, None);
            }
            if run.load.is_some() {
                phase.load = None;
            }
            if run.probe.is_some() {
                phase.probe = None;
            }
            if run.repeat.is_some() {
                phase.repeat = None;
            }
            phase.timer.yield_to(&timer);
            phase.gpio.yield_to(&gpio);
        }
        // A run ends by one of the two: the flag that is given displaces the key that is not.
        if run.duration.is_some() || run.loops.is_some() {
            (self.run.duration, self.run.loops) = (None, None);
        }
        take!(run => self.run; probe, duration, loops, warmup, repeat, load, load_floor, peer, limit, thresholds, seed);
        // A policy on the command line is for whatever measures.
        if timer.policy.is_some() {
            self.noise.policy = None;
        }
        if timer.priority.is_some() {
            self.noise.priority = None;
        }
        take!(noise => self.noise; threshold, policy, priority);
        self.gpio.take(gpio);
        self.timer.take(timer);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_of_the_project_is_built_in_and_reads() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            // Switches are no runs: tardy-tsn's tests read those.
            if name.starts_with("tsn-") {
                continue;
            }
            let recipe = Recipe::find(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(recipe.run.duration.is_some() != recipe.run.loops.is_some(), "{name}");
        }
    }

    #[test]
    fn help_names_every_recipe_and_every_load() {
        use clap::CommandFactory;
        let help =
            crate::args::Cli::command().find_subcommand_mut("run").unwrap().render_long_help().to_string();
        for (name, _) in BUILT_IN {
            assert!(help.contains(name), "{name}");
        }
        for load in tardy_load::KNOWN.iter().filter(|load| !load.name.starts_with("sink")) {
            assert!(help.contains(load.word()), "{}", load.name);
        }
    }

    #[test]
    fn parts_are_typed_like_this() {
        let texts = ["idle 30s", "doload 60s", "net + cmd:ping -f a 1m", "doload 5s"].map(str::to_owned);
        let phases = Recipe::default().with_phases(&texts).unwrap().phase;
        let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["idle", "doload", "net + cmd:ping -f a", "doload 2"]);
        assert_eq!(phases[0].load, Some(vec!["none".to_owned()]));
        assert_eq!(phases[2].load, Some(vec!["net".to_owned(), "cmd:ping -f a".to_owned()]));
        assert_eq!(phases[2].duration.as_deref(), Some("1m"));
        for text in ["", "doload", "30s", "doload 0s", "doload soon", "doload 30"] {
            assert!(Recipe::default().with_phases(&[text.to_owned()]).is_err(), "{text}");
        }
        let recipe = Recipe::find("noise").unwrap();
        assert_eq!(recipe.clone().with_phases(&[]).unwrap(), recipe);
    }

    #[test]
    fn a_flag_displaces_the_other_end() {
        let recipe = Recipe::find("rpi3-4.9").unwrap();
        assert!(recipe.run.loops.is_some());
        let run = RunTable { duration: Some("10s".into()), ..RunTable::default() };
        let recipe =
            recipe.overridden_by(run, TimerTable::default(), NoiseTable::default(), GpioTable::default());
        assert_eq!((recipe.run.duration.as_deref(), recipe.run.loops), (Some("10s"), None));
    }

    #[test]
    fn a_slip_of_the_fingers_names_its_line() {
        let text = "about = \"x\"\n[timer]\nprioriti = 3\n";
        let error = Recipe::parse(text, "x", "x.toml").unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("prioriti"), "{error}");
    }
}
