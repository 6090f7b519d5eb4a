//! The results of each wake method, for runs with several.

use serde::Serialize;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::{ProbePlan, Wake};
use tardy_record::{Run, Series};

use crate::name;
use crate::row::{self, Row};

/// The results of one wake method under one set of loads, over all rounds and CPUs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeRow {
    /// The method.
    pub wake: Wake,
    /// The loads, as given on the command line.
    pub loads: Vec<LoadSpec>,
    /// Whether the method has a schedule. A relative sleep has none, so its missed periods cannot be counted.
    pub has_schedule: bool,
    /// Its numbers.
    pub row: Row,
}

/// The methods of `run` in order; empty if there is only one.
pub fn of(run: &Run) -> Vec<WakeRow> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for series in &run.series {
        let Some(timer) = series.timer() else { continue };
        let plan = run.plan.phases.get(series.phase);
        let (loads, probe) = (plan.map_or(&[][..], |plan| &plan.loads[..]), plan.map(|plan| &plan.probe));
        let same =
            |group: &&mut Group<'_>| (group.wake, group.loads, group.probe) == (timer.wake, loads, probe);
        match groups.iter_mut().find(same) {
            Some(group) => group.series.push(series),
            None => groups.push(Group { wake: timer.wake, loads, probe, series: vec![series] }),
        }
    }
    if groups.iter().all(|group| group.wake == groups[0].wake) {
        return Vec::new();
    }
    let labels: Vec<String> = groups.iter().map(Group::label).collect();
    let phases: Vec<usize> = groups.iter().map(|group| group.series[0].phase).collect();
    let row = |(group, label): (Group<'_>, String)| {
        let row = row::of_several(&label, &group.series).ok()?;
        let has_schedule = group.wake.has_schedule();
        Some(WakeRow { wake: group.wake, loads: group.loads.to_vec(), has_schedule, row })
    };
    groups.into_iter().zip(name::distinct(&labels, &phases)).filter_map(row).collect()
}

/// Series of the same experiment.
struct Group<'a> {
    wake: Wake,
    loads: &'a [LoadSpec],
    probe: Option<&'a ProbePlan>,
    series: Vec<&'a Series>,
}

impl Group<'_> {
    fn label(&self) -> String {
        let under =
            if self.loads.is_empty() { String::new() } else { format!(", {}", self.loads.join(" + ")) };
        format!("{}{under}", self.wake.name())
    }
}
