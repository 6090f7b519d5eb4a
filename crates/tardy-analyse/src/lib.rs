//! Analyses one run: quantiles, verdicts, causes. Several runs against each other: the crate tardy-compare.
//!
//! All functions depend only on runs and options; they do no I/O and read no clock. The crate tardy-present formats the
//! results as text, and `--json` prints them unchanged. `docs/statistics.md` describes the statistics, their sources
//! and their assumptions.

pub mod captures;
pub mod causes;
pub mod cost;
pub mod dependence;
pub mod episodes;
pub mod findings;
pub mod flows;
pub mod isolation;
pub mod judgement;
pub mod lab;
pub mod late;
pub mod levels;
pub mod loads;
pub mod name;
pub mod noise;
pub mod outcome;
pub mod periods;
pub mod phase_lock;
pub mod phases;
pub mod pool;
pub mod program;
pub mod ptp;
pub mod published;
pub mod quantile;
pub mod reactions;
pub mod readiness;
pub mod rounds;
pub mod row;
pub mod shape;
pub mod share_limits;
pub mod stationarity;
pub mod stop;
pub mod stops;
pub mod tail;
#[cfg(test)]
mod test_runs;
pub mod until;
pub mod verdict;
pub mod wakes;
pub mod wiggles;

pub use findings::Findings;
