//! Parts of the sentence that states the result of a phase, shared by the kinds of measurement.

use tardy_analyse::phases::PhaseFindings;
use tardy_analyse::row::Row;
use tardy_record::foreign::LOADS_UNKNOWN;
use tardy_record::plan::{PhasePlan, Policy, TimerPlan};

use crate::section::Planned;
use tardy_plot::numbers::{counted, harmless, rounded, with_unit};

/// Parts of a sentence about a phase.
#[derive(Clone, Debug)]
pub struct PhaseWords<'a> {
    /// All series together.
    pub all: &'a Row,
    /// The highest value, with its unit.
    pub max: String,
    /// The number of readings and their noun: `8,000 wake-ups`.
    pub readings: String,
    /// ` over 1m`, or empty if the time is unknown.
    pub over: String,
    /// `under doload`, `with no load`.
    pub under: String,
    /// `, on cpu 1`: the series with the highest value.
    pub on: String,
    /// `2 CPUs`, `1 unpinned thread`.
    pub threads: String,
}

impl<'a> PhaseWords<'a> {
    /// The parts for `phase`; `None` if nothing was recorded, or its series cannot be pooled. `thread` is the noun for
    /// a thread without a CPU.
    pub fn of(phase: &'a PhaseFindings, thread: &str) -> Option<Self> {
        let all = phase.all.as_ref()?;
        let max = all.max_ns?;
        let worst = phase.rows.iter().find(|row| row.max_ns == Some(max));
        Some(Self {
            all,
            max: tardy_plot::numbers::highest_with_unit(max, all.max_at_least),
            readings: counted(all.quoted_count, phase.readings.one(), phase.readings.name()),
            over: phase.measured_ns.map_or_else(String::new, |ns| format!(" over {}", rounded(ns))),
            under: match phase.loads.as_slice() {
                [] => "with no load".to_owned(),
                [one] if *one == LOADS_UNKNOWN => "under an unknown load".to_owned(),
                loads => format!("under {}", harmless(&loads.join(" and "))),
            },
            on: worst.map_or_else(String::new, |row| format!(", on {}", harmless(&row.label))),
            threads: threads(phase, thread),
        })
    }

    /// A share and the value that is exceeded by that share of readings: `1 in 1,000` and p99.9, or else `1 in 100` and
    /// p99.
    pub fn body(&self) -> Option<(&'static str, String)> {
        self.below("p99.9", "1 in 1,000").or_else(|| self.below("p99", "1 in 100"))
    }

    /// `1 in 1,000` and p99.9; `None` if that is not determined.
    pub fn thousandth(&self) -> Option<(&'static str, String)> {
        self.below("p99.9", "1 in 1,000")
    }

    fn below(&self, level: &str, share: &'static str) -> Option<(&'static str, String)> {
        let quantile = self.all.quantiles.iter().find(|quantile| quantile.level == level)?;
        // A quantile beyond the histogram has no upper edge.
        let value = quantile.value.filter(|value| !value.at_least)?;
        Some((share, with_unit(value.upper_ns as f64)))
    }
}

fn threads(phase: &PhaseFindings, thread: &str) -> String {
    let count_of = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
    let cpus = phase.rows.iter().filter(|row| row.cpu.is_some()).count();
    match (cpus, phase.rows.len() - cpus) {
        (cpus, 0) => count_of(cpus, "CPU"),
        (0, threads) => count_of(threads, thread),
        (cpus, threads) => format!("{} and {}", count_of(cpus, "CPU"), count_of(threads, thread)),
    }
}

/// `SCHED_FIFO 90`, `SCHED_OTHER`.
pub fn scheduling(policy: Policy, priority: u32) -> String {
    let priority = if policy.has_priority() { format!(" {priority}") } else { String::new() };
    format!("SCHED_{}{priority}", policy.name().to_uppercase())
}

/// The planned columns of a timer probe; for a phase without timer threads only the name of the probe.
pub fn planned_timer(plan: &PhasePlan) -> Planned {
    let Some(timer) = plan.probe.timer() else {
        return Planned { wake: plan.probe.name().to_owned(), ..Planned::default() };
    };
    let TimerPlan { threads, .. } = timer;
    Planned {
        wake: timer.wake.name().to_owned(),
        clock: timer.clock.name(),
        policy: timer.policy.name(),
        priorities: distinct(threads.iter().map(|thread| u64::from(thread.priority))),
        intervals_ns: distinct(threads.iter().map(|thread| thread.interval_ns)),
    }
}

/// Distinct values, ascending.
pub fn distinct(values: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}
