//! Shares that are not keys of a recipe.

use tardy_recipe::values::Probability;

/// A share above 0 and below 1.
pub fn probability(text: &str) -> Result<f64, String> {
    text.parse().map(Probability::get)
}
