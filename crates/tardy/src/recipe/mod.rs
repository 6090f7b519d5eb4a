//! Recipes: options in a file, which flags override.

mod built_in;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::args::options::{
    GpioOptions, LabOptions, NoiseOptions, PhaseOptions, RecipeFlags, RunOptions, TimerOptions, or,
};
use crate::args::values::{CauseTracing, ProbeKind};
use built_in::BUILT_IN;

/// Largest recipe file that is read.
const SIZE_MAX: u64 = 1 << 20;

/// A recipe. Options that it does not set have their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    /// The name of a built-in recipe, or of the file without its ending.
    #[serde(skip)]
    pub(crate) name: Option<String>,
    /// What it measures, in one sentence.
    pub(crate) about: Option<String>,
    /// The published results that it repeats, by their ids.
    #[serde(default)]
    pub(crate) published: Vec<String>,
    /// Remarks for readers of the file.
    #[serde(default)]
    pub(crate) notes: Option<String>,
    #[serde(default)]
    pub(crate) run: RunOptions,
    #[serde(default)]
    pub(crate) timer: TimerOptions,
    #[serde(default)]
    pub(crate) noise: NoiseOptions,
    #[serde(default)]
    pub(crate) gpio: GpioOptions,
    /// The phases of the run, in order. If there are none, the recipe is one phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) phase: Vec<PhaseOptions>,
    #[serde(default, skip_serializing)]
    pub(crate) lab: LabOptions,
}

/// Why a recipe cannot be used.
#[derive(Debug, Error)]
pub(crate) enum RecipeError {
    #[error(
        "no recipe '{name}'; expected one of {known}, or the path of a recipe file such as ./{name}.toml"
    )]
    Unknown { name: String, known: String },
    #[error("{path}: cannot read: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {size} bytes are too many for a recipe")]
    TooLarge { path: PathBuf, size: u64 },
    #[error("{place}: not a recipe: {source}\ndocs/recipes.md lists every key")]
    Toml { place: String, source: Box<toml::de::Error> },
    #[error("{place}: run.duration and run.loops are both set; remove one of them")]
    TwoEnds { place: String },
    #[error("{place}: lacks a description; add about = \"one sentence\"")]
    NoAbout { place: String },
}

impl Recipe {
    /// Finds a recipe by its name or its path. A name with a slash or with the ending .toml is a path.
    ///
    /// # Errors
    /// If there is no such recipe, or the file cannot be read or is not a recipe.
    pub(crate) fn find(name: &str) -> Result<Self, RecipeError> {
        if Self::is_path(name) {
            return Self::read(Path::new(name));
        }
        let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) else {
            let known = BUILT_IN.map(|(name, _)| name).join(", ");
            return Err(RecipeError::Unknown { name: name.to_owned(), known });
        };
        Self::parse(text, name, &format!("recipe {name}"))
    }

    /// Whether `name` is the path of a file, and not the name of a built-in recipe.
    pub(crate) fn is_path(name: &str) -> bool {
        name.contains('/') || name.ends_with(".toml")
    }

    /// Whether it sets a scheduling policy or a priority for any of its phases.
    pub(crate) fn asks_for_policy(&self) -> bool {
        let timers = self.phase.iter().map(|phase| &phase.timer).chain([&self.timer]);
        let by_timer = timers.into_iter().any(|timer| timer.policy.is_some() || timer.priority.is_some());
        by_timer || self.noise.policy.is_some() || self.noise.priority.is_some()
    }

    /// Whether any of its phases reads the kernel's trace.
    pub(crate) fn uses_trace(&self) -> bool {
        let phases: Vec<Self> = self.phase.iter().map(|phase| self.for_phase(phase)).collect();
        let phases = if phases.is_empty() { std::slice::from_ref(self) } else { &phases };
        phases.iter().any(|one| {
            one.timer.causes() != CauseTracing::Off
                || matches!(
                    one.run.probe(),
                    ProbeKind::Kernel | ProbeKind::Timerlat | ProbeKind::Osnoise | ProbeKind::Hwlat
                )
        })
    }

    /// All built-in recipes, in the order of the documentation.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        BUILT_IN
            .iter()
            .map(|(name, text)| Self::parse(text, name, name).expect("a test parses every built-in recipe"))
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

    /// Parses a recipe. `place` is its name in errors.
    ///
    /// # Errors
    /// If `text` is not a recipe. The error names the line and the key.
    pub(crate) fn parse(text: &str, name: &str, place: &str) -> Result<Self, RecipeError> {
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

    /// The recipe with the flags applied. A flag applies to every phase; phases on the command line replace those of
    /// the recipe.
    pub(crate) fn overridden_by(mut self, flags: &RecipeFlags) -> Self {
        for phase in &mut self.phase {
            *phase = phase.yield_to(flags);
        }
        if !flags.phases.is_empty() {
            self.phase = PhaseOptions::of_texts(&flags.phases);
        }
        // A policy or a priority on the command line applies to every probe.
        if flags.timer.policy.is_some() {
            self.noise.policy = None;
        }
        if flags.timer.priority.is_some() {
            self.noise.priority = None;
        }
        self.run = flags.run.over(&self.run);
        self.timer = or(&flags.timer, &self.timer);
        self.noise = or(&flags.noise, &self.noise);
        self.gpio = or(&flags.gpio, &self.gpio);
        self
    }

    /// The recipe with the options of one of its phases applied.
    pub(crate) fn for_phase(&self, phase: &PhaseOptions) -> Self {
        Self {
            run: phase.run().over(&self.run),
            timer: or(&phase.timer, &self.timer),
            gpio: or(&phase.gpio, &self.gpio),
            phase: Vec::new(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parsed_flags;

    #[test]
    fn every_recipe_of_the_repository_is_built_in_and_parses() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            // Switch files are not recipes; tardy-tsn's tests read them.
            if name.starts_with("tsn-") {
                continue;
            }
            let recipe = Recipe::find(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(recipe.run.duration.is_some() != recipe.run.loops.is_some(), "{name}");
        }
    }

    #[test]
    fn the_help_names_every_recipe_and_every_load() {
        use clap::CommandFactory;
        let help =
            crate::args::Cli::command().find_subcommand_mut("run").unwrap().render_long_help().to_string();
        for (name, _) in BUILT_IN {
            assert!(help.contains(name), "{name}");
        }
        for load in tardy_record::load_spec::CATALOGUE.iter().filter(|load| load.name() != "sink") {
            assert!(help.contains(load.name()), "{}", load.name());
        }
    }

    #[test]
    fn a_duration_on_the_command_line_overrides_the_loops_of_the_recipe() {
        let recipe = Recipe::find("rpi3-4.9").unwrap();
        assert!(recipe.run.loops.is_some());
        let recipe = recipe.overridden_by(&parsed_flags(&["--duration=10s"]));
        assert_eq!(
            (recipe.run.duration.map(|duration| duration.ns()), recipe.run.loops),
            (Some(10_000_000_000), None)
        );
    }

    #[test]
    fn phases_on_the_command_line_replace_those_of_the_recipe() {
        let recipe = Recipe::find("noise").unwrap();
        let names = |recipe: &Recipe| recipe.phase.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&recipe.clone().overridden_by(&parsed_flags(&[]))), names(&recipe));
        assert_eq!(names(&recipe.overridden_by(&parsed_flags(&["--phase=idle 30s"]))), ["idle"]);
    }

    #[test]
    fn a_mistake_in_a_recipe_is_reported_with_its_line_and_what_is_expected() {
        for (table, line, expected) in [
            ("[timer]\npriorit = 3", 3, "priorit"),
            ("[timer]\ninterval = \"200\"", 3, "the unit is missing"),
            ("[timer]\ninterval = \"0us\"", 3, "must be above 0"),
            ("[timer]\nwake = [\"sleep\"]", 3, "clock_nanosleep"),
            ("[timer]\npolicy = \"FIFO\"", 3, "rr"),
            ("[timer]\ncpus = \"3-1\"", 3, "not a range"),
            ("[timer]\ndma_latency = \"off\"", 3, "hold"),
            ("[run]\nload = [\"dolaod\"]", 3, "doload"),
            ("[run]\nlimit = \"0s\"", 3, "must be above 0"),
            ("[run]\nprobe = \"noises\"", 3, "noise"),
            ("[run]\nload_floor = [\"copy\"]", 3, "PART=RATE"),
            ("[[phase]]\nname = \"x\"\nload = [\"memory:lots\"]", 4, "MiB"),
            ("[lab]\nmemory_mib = 1", 3, "64 to 65536 MiB"),
        ] {
            let error =
                Recipe::parse(&format!("about = \"x\"\n{table}\n"), "x", "x.toml").unwrap_err().to_string();
            assert!(error.starts_with("x.toml: not a recipe"), "{error}");
            assert!(error.contains(&format!("line {line}")) && error.contains(expected), "{error}");
        }
    }
}
