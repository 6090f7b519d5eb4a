//! Recipes: options in a file, which flags override.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::options::{GpioOptions, NoiseOptions, PhaseOptions, RecipeFlags, RunOptions, TimerOptions, or};
use crate::recipe_text::{RecipeError, RecipeText};
use crate::values::{CauseTracing, ProbeKind};

/// A recipe. Options that it does not set have their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name of a built-in recipe, or of the file without its ending.
    #[serde(skip)]
    pub name: Option<String>,
    /// What it measures, in one sentence.
    pub about: Option<String>,
    /// The published results that it repeats, by their ids.
    #[serde(default)]
    pub published: Vec<String>,
    /// Remarks for readers of the file.
    #[serde(default)]
    pub notes: Option<String>,
    /// `[run]`: what to run and for how long.
    #[serde(default)]
    pub run: RunOptions,
    /// `[timer]`: the timer probe.
    #[serde(default)]
    pub timer: TimerOptions,
    /// `[noise]`: the noise probe.
    #[serde(default)]
    pub noise: NoiseOptions,
    /// `[gpio]`: the GPIO probes.
    #[serde(default)]
    pub gpio: GpioOptions,
    /// The phases of the run, in order. If there are none, the recipe is one phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phase: Vec<PhaseOptions>,
    /// The emulated machine: only the lab reads this table.
    #[serde(default, skip_serializing)]
    pub lab: IgnoredAny,
}

impl Recipe {
    /// Finds a recipe by its name or its path. A name with a slash or with the ending .toml is a path.
    ///
    /// # Errors
    /// If there is no such recipe, or the file cannot be read or is not a recipe.
    pub fn find(name: &str) -> Result<Self, RecipeError> {
        Self::of(&RecipeText::find(name)?)
    }

    /// Parses a recipe.
    ///
    /// # Errors
    /// If the text is not a recipe. The error names the line and the key.
    pub fn of(text: &RecipeText) -> Result<Self, RecipeError> {
        let recipe: Self = text.parse()?;
        if recipe.run.duration.is_some() && recipe.run.loops.is_some() {
            return Err(RecipeError::TwoEnds { place: text.place() });
        }
        if recipe.about.is_none() {
            return Err(RecipeError::NoAbout { place: text.place() });
        }
        Ok(Self { name: Some(text.name().to_owned()), ..recipe })
    }

    /// Whether it sets a scheduling policy or a priority for any of its phases.
    pub fn asks_for_policy(&self) -> bool {
        let timers = self.phase.iter().map(|phase| &phase.timer).chain([&self.timer]);
        let by_timer = timers.into_iter().any(|timer| timer.policy.is_some() || timer.priority.is_some());
        by_timer || self.noise.policy.is_some() || self.noise.priority.is_some()
    }

    /// Whether any of its phases reads the kernel's trace.
    pub fn uses_trace(&self) -> bool {
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

    /// The recipe with the flags applied. A flag applies to every phase; phases on the command line replace those of
    /// the recipe.
    pub fn overridden_by(mut self, flags: &RecipeFlags) -> Self {
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
    pub fn for_phase(&self, phase: &PhaseOptions) -> Self {
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
    use std::path::Path;

    use super::*;
    use crate::parsed_flags;

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
        ] {
            let text = RecipeText::new("x", "x.toml", format!("about = \"x\"\n{table}\n"));
            let error = Recipe::of(&text).unwrap_err().to_string();
            assert!(error.starts_with("x.toml: not a recipe"), "{error}");
            assert!(error.contains(&format!("line {line}")) && error.contains(expected), "{error}");
        }
    }
}
