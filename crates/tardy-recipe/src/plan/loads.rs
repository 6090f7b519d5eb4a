//! Loads and their floors.

use tardy_record::load_spec::{LoadSpec, LoadTask};
use tardy_record::plan::{LoadFloor, PhasePlan};

use super::duplicate;
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};
use crate::values::FloorSpec;

/// The loads of a part of the recipe, without `none`.
pub(super) fn loads(recipe: &Recipe) -> Result<Vec<LoadSpec>, UsageError> {
    checked_loads(recipe.run.loads())
}

/// The loads of `--load`, without `none`.
pub fn checked_loads(loads: &[LoadSpec]) -> Result<Vec<LoadSpec>, UsageError> {
    if let Some(twice) = duplicate(loads) {
        return Err(wrong("load", format!("'{twice}' is given twice")));
    }
    if loads.len() > 1 && loads.iter().any(LoadSpec::is_none) {
        return Err(wrong("load", "'none' contradicts another load; remove one of them"));
    }
    Ok(loads.iter().filter(|load| !load.is_none()).cloned().collect())
}

/// The load floors. Each must name a part of the loads of `phases`.
pub(super) fn floors(specs: &[FloorSpec], phases: &[PhasePlan]) -> Result<Vec<LoadFloor>, UsageError> {
    let tasks = phases.iter().flat_map(|phase| &phase.loads).flat_map(LoadSpec::tasks);
    let mut parts: Vec<(&str, &str)> = tasks.map(|task: &LoadTask| (task.name(), task.unit())).collect();
    parts.sort_unstable();
    parts.dedup();
    specs.iter().try_for_each(|spec| check_part(spec, &parts))?;
    let names: Vec<&String> = specs.iter().map(|spec| &spec.part).collect();
    if let Some(twice) = duplicate(&names) {
        return Err(wrong("load_floor", format!("{twice} has two floors; give one")));
    }
    let floor = |spec: &FloorSpec| LoadFloor { part: spec.part.clone(), per_second: spec.per_second };
    Ok(specs.iter().map(floor).collect())
}

/// Checks that a load has the part and counts its work.
fn check_part(spec: &FloorSpec, parts: &[(&str, &str)]) -> Result<(), UsageError> {
    let part = &spec.part;
    let counting = parts.iter().filter(|(_, unit)| !unit.is_empty());
    let known: Vec<String> = counting.map(|(name, unit)| format!("{name} ({unit})")).collect();
    let reason = match parts.iter().find(|(name, _)| name == part) {
        Some((_, unit)) if !unit.is_empty() => return Ok(()),
        Some(_) => format!("the work of {part} cannot be counted, so it cannot have a floor"),
        None if known.is_empty() => format!("no load of this run has a part '{part}'; add one with --load"),
        None => format!("no load of this run has a part '{part}'; expected one of {}", known.join(", ")),
    };
    Err(wrong("load_floor", reason))
}
