//! A recipe with the machine that the lab emulates for it.

use serde::Deserialize;
use tardy_recipe::options::or;
use tardy_recipe::{Recipe, RecipeError, RecipeText};

use crate::{ExperimentArgs, LabOptions};

/// What to measure, and on which emulated machine.
#[derive(Clone, Debug)]
pub struct LabRecipe {
    /// What to measure.
    pub measurement: Recipe,
    /// The emulated machine.
    pub lab: LabOptions,
}

/// The table `[lab]` of a recipe. [`Recipe`] refuses unknown tables.
#[derive(Deserialize)]
struct Table {
    #[serde(default)]
    lab: LabOptions,
}

impl LabRecipe {
    /// Finds a recipe by its name or its path.
    ///
    /// # Errors
    /// If there is no such recipe, or the file cannot be read or is not a recipe.
    pub fn find(name: &str) -> Result<Self, RecipeError> {
        Self::of(&RecipeText::find(name)?)
    }

    /// All built-in recipes, in the order of the documentation.
    pub fn built_in() -> impl Iterator<Item = Self> {
        RecipeText::built_in().map(|text| Self::of(&text).expect("a test parses every built-in recipe"))
    }

    fn of(text: &RecipeText) -> Result<Self, RecipeError> {
        let measurement = Recipe::of(text)?;
        let Table { lab } = text.parse()?;
        Ok(Self { measurement, lab })
    }

    /// The recipe with the flags applied.
    pub fn overridden_by(self, arguments: &ExperimentArgs) -> Self {
        Self {
            measurement: self.measurement.overridden_by(&arguments.flags),
            lab: or(&arguments.lab, &self.lab),
        }
    }

    /// The recipe's name.
    pub fn name(&self) -> &str {
        self.measurement.name.as_deref().unwrap_or("recipe")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_recipe_parses_with_its_machine() {
        let with_a_chapter = LabRecipe::built_in().filter(|recipe| recipe.lab.chapter.is_some());
        assert!(with_a_chapter.count() >= 4);
    }

    #[test]
    fn a_mistake_in_the_machine_is_reported_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.toml");
        std::fs::write(&path, "about = \"x\"\n[lab]\nmemory_mib = 1\n").unwrap();
        let error = LabRecipe::find(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("64 to 65536 MiB"), "{error}");
    }
}
