//! The threads of a user's program: their timings, and what made their late cycles late; the chains in which they wake one another;
//! and the stretches that the program marks.

use serde::Serialize;
use tardy_record::program::{
    LateCycle, ProgramSeries, Timing, WatchedChain, WatchedMark, WatchedThread, Why,
};
use tardy_record::{Run, Series};

use crate::row::{self, Row};

/// A wake-up is worth an explanation, though the cycle ended in time, if it is later than the interval divided by this.
const WOKEN_LATE_PART: u64 = 10;

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

/// A chain of threads that wake one another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramChain {
    /// Its label: the names of its threads.
    pub label: String,
    /// Index of the series of its latency.
    pub series: usize,
    /// What is known of it.
    #[serde(flatten)]
    pub chain: WatchedChain,
    /// The numbers of its latency.
    pub latency: Row,
    /// The numbers of its stages, in their order.
    pub parts: Vec<ChainPart>,
}

/// A part of a stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainPart {
    /// The index of the stage.
    pub stage: usize,
    /// The part.
    pub timing: Timing,
    /// Its numbers.
    pub row: Row,
}

/// A stretch that the program marks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgramMark {
    /// Its label.
    pub label: String,
    /// Index of the series of its duration.
    pub series: usize,
    /// What is known of it.
    #[serde(flatten)]
    pub mark: WatchedMark,
    /// The numbers of its duration.
    pub duration: Row,
    /// The numbers of the distances of its begins; `None` if the run has no such series.
    pub period: Option<Row>,
}

/// The chains of `run`; empty if it found none.
pub fn chains(run: &Run) -> Vec<ProgramChain> {
    let chain = |(index, series, program): (usize, &Series, &ProgramSeries)| {
        let chain = program.chain.as_deref()?;
        let parts = program_series(run).filter(|(_, other, known)| {
            other.phase == series.phase && known.number == program.number && known.stage.is_some()
        });
        let part = |(_, other, known): (usize, &Series, &ProgramSeries)| {
            Some(ChainPart { stage: known.stage? as usize, timing: known.timing, row: row::of_series(other) })
        };
        Some(ProgramChain {
            label: series.label.clone(),
            series: index,
            chain: chain.clone(),
            latency: row::of_series(series),
            parts: parts.filter_map(part).collect(),
        })
    };
    program_series(run).filter_map(chain).collect()
}

/// The marked stretches of `run`; empty if it has none.
pub fn marks(run: &Run) -> Vec<ProgramMark> {
    let mark = |(index, series, program): (usize, &Series, &ProgramSeries)| {
        let mark = program.mark.as_deref()?;
        let mut periods = program_series(run).filter(|(_, other, known)| {
            other.phase == series.phase
                && known.number == program.number
                && known.timing == Timing::MarkedPeriod
        });
        Some(ProgramMark {
            label: series.label.clone(),
            series: index,
            mark: mark.clone(),
            duration: row::of_series(series),
            period: periods.next().map(|(_, other, _)| row::of_series(other)),
        })
    };
    program_series(run).filter_map(mark).collect()
}

/// The series of programs, with their indices.
fn program_series(run: &Run) -> impl Iterator<Item = (usize, &Series, &ProgramSeries)> {
    let indexed = run.series.iter().enumerate();
    indexed.filter_map(|(index, series)| Some((index, series, series.program()?)))
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

    /// The explained cycles that ended in time, and whose wake-up was later than a tenth of the interval.
    pub fn woken_late(&self) -> impl Iterator<Item = &LateCycle> {
        let is_late = |cycle: &&LateCycle| {
            u64::try_from(cycle.latency_ns).is_ok_and(|ns| ns > self.thread.interval_ns / WOKEN_LATE_PART)
        };
        self.thread.late.iter().filter(|cycle| !cycle.missed).filter(is_late)
    }
}

/// The periodic threads of `run`; empty if it watched no program.
pub fn of(run: &Run) -> Vec<ProgramThread> {
    let thread = |(index, series): (usize, &tardy_record::Series)| {
        let program = series.program()?;
        let thread = program.thread.as_deref()?;
        let of_thread = |other: &&tardy_record::Series| {
            other.phase == series.phase
                && other.program().is_some_and(|known| known.tid == program.tid && is_of_thread(known.timing))
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

/// Whether it is a timing of a thread, other than its wake-ups.
fn is_of_thread(timing: Timing) -> bool {
    matches!(timing, Timing::Response | Timing::Period | Timing::Execution | Timing::Preemption)
}

fn tally(late: &[LateCycle]) -> Vec<(Why, String, usize)> {
    let mut tally: Vec<(Why, String, usize)> = Vec::new();
    let late = late.iter().filter(|cycle| cycle.missed);
    // The first one may be the cycle before, though another took longer.
    let main = late.filter_map(|cycle| cycle.causes.iter().rev().max_by_key(|cause| cause.excess_ns));
    for cause in main {
        match tally.iter_mut().find(|(why, what, _)| *why == cause.why && *what == cause.what) {
            Some((_, _, count)) => *count += 1,
            None => tally.push((cause.why, cause.what.clone(), 1)),
        }
    }
    tally.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    tally
}
