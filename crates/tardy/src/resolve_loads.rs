//! Loads and their floors, from what was typed to what will be done.

use tardy_record::plan::{LoadFloor, PhasePlan};

use crate::recipe::Recipe;
use crate::resolve::{UsageError, given_twice, wrong};

/// The loads of a part of the recipe, each known to exist.
pub(crate) fn loads(recipe: &Recipe) -> Result<Vec<String>, UsageError> {
    let specs = recipe.run.load.clone().unwrap_or_default();
    for spec in &specs {
        tardy_load::parse(spec).map_err(|error| wrong("load", error))?;
    }
    if let Some(twice) = given_twice(&specs) {
        return Err(wrong("load", format!("'{twice}' is given twice; one is enough")));
    }
    if specs.len() > 1 && specs.iter().any(|spec| spec == "none") {
        return Err(wrong("load", "none beside another load contradicts it; leave one of them out"));
    }
    Ok(specs.into_iter().filter(|spec| spec != "none").collect())
}

/// What each of these, such as `scheduler=500k`, asks of the loads of `phases`.
pub(crate) fn floors(texts: &[String], phases: &[PhasePlan]) -> Result<Vec<LoadFloor>, UsageError> {
    let specs = phases.iter().flat_map(|phase| &phase.loads);
    let parsed: Vec<_> = specs.filter_map(|spec| tardy_load::parse(spec).ok()).collect();
    let mut parts: Vec<(&str, &str)> = parsed.iter().flat_map(|load| load.counted()).collect();
    parts.sort_unstable();
    parts.dedup();
    let floors: Vec<LoadFloor> = texts.iter().map(|text| floor(text, &parts)).collect::<Result<_, _>>()?;
    let names: Vec<&String> = floors.iter().map(|floor| &floor.part).collect();
    match given_twice(&names) {
        Some(twice) => Err(wrong("load_floor", format!("{twice} has two floors; one is enough"))),
        None => Ok(floors),
    }
}

fn floor(text: &str, parts: &[(&str, &str)]) -> Result<LoadFloor, UsageError> {
    let fail = |reason: String| Err(wrong("load_floor", reason));
    let Some((part, rate)) = text.split_once('=').map(|(part, rate)| (part.trim(), rate.trim())) else {
        return fail(format!("'{text}' is no part and its rate, such as scheduler=500k"));
    };
    let counting = parts.iter().filter(|(_, unit)| !unit.is_empty());
    let known: Vec<String> = counting.map(|(name, unit)| format!("{name} ({unit})")).collect();
    match parts.iter().find(|(name, _)| *name == part) {
        Some((_, "")) => {
            return fail(format!("what {part} does cannot be counted, so it can have no floor"));
        }
        Some(_) => {}
        None if known.is_empty() => {
            return fail(format!("no load of this run has a part '{part}': give it one with --load"));
        }
        None => {
            let known = known.join(", ");
            return fail(format!("no load of this run has a part '{part}'; those that count are {known}"));
        }
    }
    let Some(per_second) = per_second(rate) else {
        return fail(format!(
            "'{rate}' is no rate above 0: give work per second in the part's own unit, such as 2500, 500k, 20M or 1.5G"
        ));
    };
    Ok(LoadFloor { part: part.to_owned(), per_second })
}

/// `500k` or `500k/s` as 500,000.
fn per_second(text: &str) -> Option<f64> {
    let text = text.strip_suffix("/s").unwrap_or(text).trim_end();
    let factors = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let found = factors.iter().find_map(|(letter, factor)| Some((text.strip_suffix(*letter)?, *factor)));
    let (digits, factor) = found.unwrap_or((text, 1.0));
    // Rust reads `inf`, `nan` and `1e9` too, which nobody means here.
    let is_plain = digits.trim_end().chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    let rate = digits.trim_end().parse::<f64>().ok().filter(|_| is_plain)? * factor;
    (rate > 0.0 && rate.is_finite()).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_like_this() {
        for (text, rate) in [
            ("2500", Some(2500.0)),
            ("500k", Some(5e5)),
            ("500k/s", Some(5e5)),
            ("1.5 G/s", Some(1.5e9)),
            ("20M", Some(2e7)),
            ("0", None),
            ("-1", None),
            ("inf", None),
            ("nan", None),
            ("1e9", None),
            ("", None),
            ("k", None),
            ("5m", None),
        ] {
            assert_eq!(per_second(text), rate, "{text}");
        }
        assert_eq!(per_second(&"9".repeat(400)), None);
    }
}
