//! The threads of a user's program: their timings, and what made their late cycles late.

use serde::Serialize;
use tardy_record::Run;
use tardy_record::program::{LateCycle, Timing, WatchedThread, Why};

use crate::row::{self, Row};

/// One periodic thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramThread {
    /// Its label.
    pub label: String,
    /// Its thread number.
    pub tid: u32,
    /// Index of the series of its wake-ups.
    pub series: usize,
    /// What is known of it.
    #[serde(flatten)]
    pub thread: WatchedThread,
    /// Its cycles that were counted.
    pub cycles: u64,
    /// Its other timings: responses, periods, execution and preemption.
    pub timings: Vec<TimingRow>,
    /// The main cause of each explained cycle that missed its deadline or the limit, with their number, the most frequent first.
    pub tally: Vec<(Why, String, usize)>,
}

/// The numbers of one timing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingRow {
    /// What is measured.
    pub timing: Timing,
    /// Its numbers.
    pub row: Row,
}

impl ProgramThread {
    /// The numbers of a timing.
    pub fn timing(&self, timing: Timing) -> Option<&Row> {
        self.timings.iter().find(|one| one.timing == timing).map(|one| &one.row)
    }

    /// The explained cycles that were late, the latest first.
    pub fn late(&self) -> impl Iterator<Item = &LateCycle> {
        self.thread.late.iter().filter(|cycle| cycle.missed)
    }
}

/// The periodic threads of `run`; empty if it watched no program.
pub fn of(run: &Run) -> Vec<ProgramThread> {
    let thread = |(index, series): (usize, &tardy_record::Series)| {
        let program = series.program()?;
        let thread = program.thread.as_deref()?;
        let of_thread = |other: &&tardy_record::Series| {
            other.phase == series.phase
                && other
                    .program()
                    .is_some_and(|known| known.tid == program.tid && known.timing != Timing::WakeUp)
        };
        let timings = run.series.iter().filter(of_thread).filter_map(|other| {
            Some(TimingRow { timing: other.program()?.timing, row: row::of_series(other) })
        });
        Some(ProgramThread {
            label: series.label.clone(),
            tid: program.tid,
            series: index,
            cycles: series.tally.recorded,
            timings: timings.collect(),
            tally: tally(&thread.late),
            thread: thread.clone(),
        })
    };
    run.series.iter().enumerate().filter_map(thread).collect()
}

fn tally(late: &[LateCycle]) -> Vec<(Why, String, usize)> {
    let mut tally: Vec<(Why, String, usize)> = Vec::new();
    let main = late.iter().filter(|cycle| cycle.missed).filter_map(|cycle| cycle.causes.first());
    for cause in main {
        match tally.iter_mut().find(|(why, what, _)| *why == cause.why && *what == cause.what) {
            Some((_, _, count)) => *count += 1,
            None => tally.push((cause.why, cause.what.clone(), 1)),
        }
    }
    tally.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    tally
}
