//! Wake methods side by side, where a run has several.

use serde::Serialize;
use tardy_record::plan::Wake;
use tardy_record::{Run, Series};

use crate::row::{self, Row};

/// One wake method under one set of loads, all its rounds and CPUs together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeRow {
    /// The method.
    pub wake: Wake,
    /// The loads meanwhile, as the person wrote them.
    pub loads: Vec<String>,
    /// Whether the method has a schedule; a relative one has none, and its missed periods are invisible.
    pub has_schedule: bool,
    /// Its numbers.
    pub row: Row,
}

/// The methods of `run` in the order in which they came; empty where there is only one.
pub fn of(run: &Run) -> Vec<WakeRow> {
    let mut groups: Vec<(Wake, &[String], Vec<&Series>)> = Vec::new();
    for series in &run.series {
        let Some(timer) = series.timer() else { continue };
        let loads = run.plan.phases.get(series.phase).map_or(&[][..], |phase| &phase.loads[..]);
        match groups.iter_mut().find(|(wake, under, _)| *wake == timer.wake && *under == loads) {
            Some((_, _, group)) => group.push(series),
            None => groups.push((timer.wake, loads, vec![series])),
        }
    }
    if groups.iter().all(|(wake, _, _)| *wake == groups[0].0) {
        return Vec::new();
    }
    let row = |(wake, loads, series): (Wake, &[String], Vec<&Series>)| {
        let row = row::of_several(wake.name(), &series).ok()?;
        Some(WakeRow { wake, loads: loads.to_vec(), has_schedule: wake.has_schedule(), row })
    };
    groups.into_iter().filter_map(row).collect()
}
