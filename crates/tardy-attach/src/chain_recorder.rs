//! Makes series of the passages through chains of threads.

use std::collections::BTreeMap;

use tardy_record::program::{ChainStage, LatePassage, ProgramSeries, StageTimes, Timing, WatchedChain};
use tardy_record::series::{Level, Quantity, Series, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use crate::chain::{Passage, Stage};
use crate::recorder::{Settings, numbered};

/// The most chains that have series.
pub const CHAINS_MAX: usize = 16;
/// The most paths that are counted.
const PATHS_MAX: usize = 512;
/// A path is a chain if so many cycles passed through it, and one of so many cycles of its first thread.
const PASSAGES_MIN: u64 = 8;
const CYCLES_PER_PASSAGE_MAX: u64 = 10;
/// The most passages of a chain whose stages are kept.
const LATE_MAX: usize = 16;

/// The chains of a program.
#[derive(Debug, Default)]
pub struct ChainRecorder {
    settings: Settings,
    /// Passages of each path so far.
    paths: BTreeMap<Vec<u32>, u64>,
    /// Cycles of each first thread so far.
    cycles: BTreeMap<u32, u64>,
    chains: Vec<ChainRecord>,
    by_path: BTreeMap<Vec<u32>, usize>,
    /// Chains without series, because there are too many.
    pub left_out: u64,
}

#[derive(Debug)]
struct ChainRecord {
    label: String,
    stages: Vec<ChainStage>,
    /// One of its threads ended.
    ended: bool,
    latency: SeriesBuilder,
    parts: Vec<[SeriesBuilder; 2]>,
    next_number: u64,
    first_cycles: u64,
    /// The latest first.
    late: Vec<LatePassage>,
}

impl ChainRecorder {
    /// A recorder that has no chain yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// From now on, passages that begin from `counted_from_ns` on are counted.
    pub fn count_from(&mut self, counted_from_ns: u64) {
        self.settings.counted_from_ns = counted_from_ns;
        let settings = self.settings;
        for chain in &mut self.chains {
            (chain.latency, chain.parts) = builders(&settings, chain.stages.len());
            (chain.next_number, chain.first_cycles) = (0, 0);
            chain.late.clear();
        }
    }

    /// A new run begins at `start_ns` on the monotonic clock, and what was counted is forgotten.
    pub fn restart(&mut self, start_ns: u64) {
        self.settings.run_start_ns = start_ns;
        self.left_out = 0;
        self.count_from(start_ns);
    }

    /// How many chains there are.
    pub fn found(&self) -> usize {
        self.chains.len()
    }

    /// The thread `tid` began a cycle.
    pub fn begin_cycle(&mut self, tid: u32, at_ns: u64) {
        *self.cycles.entry(tid).or_default() += 1;
        if at_ns >= self.settings.counted_from_ns {
            let of_thread = self.chains.iter_mut().filter(|chain| chain.is_begun_by(tid));
            of_thread.for_each(|chain| chain.first_cycles += 1);
        }
    }

    /// Adds a passage. `name` returns the names of a thread.
    pub fn record(&mut self, passage: &Passage, name: &dyn Fn(u32) -> Named) {
        let path = passage.tids();
        let index = match self.by_path.get(&path) {
            Some(index) => *index,
            None => match self.add(path, name) {
                Some(index) => index,
                None => return,
            },
        };
        let first = passage.stages.first().map_or(0, |stage| stage.begun_ns);
        if first >= self.settings.counted_from_ns {
            self.chains[index].count(passage, self.settings.run_start_ns);
        }
    }

    /// Counts a passage of an unknown path. Returns the index of its chain once it is one.
    fn add(&mut self, path: Vec<u32>, name: &dyn Fn(u32) -> Named) -> Option<usize> {
        if !self.paths.contains_key(&path) && self.paths.len() >= PATHS_MAX {
            self.paths.clear();
        }
        let passages = self.paths.entry(path.clone()).or_default();
        *passages += 1;
        let cycles = path.first().and_then(|first| self.cycles.get(first)).copied().unwrap_or(0);
        if *passages < PASSAGES_MIN || *passages * CYCLES_PER_PASSAGE_MAX < cycles {
            return None;
        }
        let stages = stages(&path, name);
        let label = label_of(&stages);
        // A program that was started again continues its chains.
        let again = self.chains.iter().position(|known| known.ended && label_of(&known.stages) == label);
        let index = match again {
            Some(index) => {
                (self.chains[index].ended, self.chains[index].stages) = (false, stages);
                index
            }
            None if self.chains.len() >= CHAINS_MAX => {
                self.left_out += u64::from(*passages == PASSAGES_MIN);
                return None;
            }
            None => {
                let same = self.chains.iter().filter(|known| label_of(&known.stages) == label).count();
                let (latency, parts) = builders(&self.settings, stages.len());
                self.chains.push(ChainRecord {
                    label: numbered(&label, same),
                    stages,
                    ended: false,
                    latency,
                    parts,
                    next_number: 0,
                    first_cycles: 0,
                    late: Vec::new(),
                });
                self.chains.len() - 1
            }
        };
        self.paths.remove(&path);
        self.by_path.insert(path, index);
        Some(index)
    }

    /// Cycles of the thread were lost with their events.
    pub fn lose(&mut self, tid: u32, count: u64, now_ns: u64) {
        if now_ns < self.settings.counted_from_ns {
            return;
        }
        for chain in self.chains.iter_mut().filter(|chain| chain.is_begun_by(tid)) {
            chain.first_cycles += count;
            chain.latency.drop_readings(count);
        }
    }

    /// The thread ended.
    pub fn end(&mut self, tid: u32) {
        self.cycles.remove(&tid);
        self.paths.retain(|path, _| !path.contains(&tid));
        let chains = &mut self.chains;
        self.by_path.retain(|path, index| {
            let ends = path.contains(&tid);
            chains[*index].ended |= ends;
            !ends
        });
    }

    /// The series of all chains that cycles passed through.
    pub fn series(&self, phase: usize) -> Vec<Series> {
        let passed = self.chains.iter().filter(|chain| chain.next_number > 0);
        passed.enumerate().flat_map(|(number, chain)| chain.all(phase, number as u32)).collect()
    }
}

/// A thread as a stage: its process, its name, and its name with that of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The process.
    pub pid: u32,
    /// The thread's name.
    pub name: String,
    /// The same with the process' name, if that is another one.
    pub with_process: String,
}

fn stages(path: &[u32], name: &dyn Fn(u32) -> Named) -> Vec<ChainStage> {
    let named: Vec<(u32, Named)> = path.iter().map(|tid| (*tid, name(*tid))).collect();
    let is_one_process = named.windows(2).all(|pair| pair[0].1.pid == pair[1].1.pid);
    let stage = |(tid, Named { pid, name, with_process })| ChainStage {
        pid,
        tid,
        name: if is_one_process { name } else { with_process },
    };
    named.into_iter().map(stage).collect()
}

/// The names of the threads, in order.
fn label_of(stages: &[ChainStage]) -> String {
    let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
    names.join(" > ")
}

fn builders(settings: &Settings, stages: usize) -> (SeriesBuilder, Vec<[SeriesBuilder; 2]>) {
    let start_ns = settings.counted_from_ns.saturating_sub(settings.run_start_ns);
    let builder = || SeriesBuilder::new(start_ns, None, settings.planned_ns, &[]);
    (builder(), (0..stages).map(|_| [builder(), builder()]).collect())
}

impl ChainRecord {
    fn is_begun_by(&self, tid: u32) -> bool {
        !self.ended && self.stages.first().is_some_and(|stage| stage.tid == tid)
    }

    fn count(&mut self, passage: &Passage, run_start_ns: u64) {
        let number = self.next_number;
        self.next_number += 1;
        let at = |ns: u64| ns.saturating_sub(run_start_ns);
        let took_ns = passage.took_ns();
        let times: Vec<StageTimes> = passage.stages.iter().map(times_of).collect();
        let ended_ns = passage.stages.last().map_or(0, |stage| stage.ended_ns);
        let reading = |value_ns: u64, at_ns: u64| Reading {
            value_ns: value_ns as i64,
            at_ns: at(at_ns),
            cycle: number,
            missed: 0,
        };
        self.latency.record(reading(took_ns, ended_ns));
        for ((parts, times), stage) in self.parts.iter_mut().zip(&times).zip(&passage.stages) {
            let [wake_up, run] = parts;
            wake_up.record(reading(times.wake_up_ns, stage.begun_ns));
            run.record(reading(times.run_ns, stage.ended_ns));
        }
        let due_ns = at(passage.stages.first().map_or(0, |stage| stage.woken_ns));
        let place = self.late.partition_point(|known| known.took_ns >= took_ns);
        if place < LATE_MAX {
            self.late.insert(place, LatePassage { due_ns, took_ns, stages: times });
            self.late.truncate(LATE_MAX);
        }
    }

    /// The series of the latency, and those of the stages.
    fn all(&self, phase: usize, number: u32) -> Vec<Series> {
        let tid = |index: usize| self.stages.get(index).map_or(0, |stage| stage.tid);
        let chain = WatchedChain {
            stages: self.stages.clone(),
            first_cycles: self.first_cycles,
            late: self.late.clone(),
        };
        let kind = ProgramSeries {
            chain: Some(Box::new(chain)),
            number: Some(number),
            ..ProgramSeries::of_thread(Timing::Chain, tid(0), None)
        };
        let kind = SeriesKind::Program(kind);
        let label = self.label.clone();
        let mut all = vec![self.latency.series(label, phase, Quantity::Latency, Level::UserThread, kind)];
        for (index, (parts, stage)) in self.parts.iter().zip(&self.stages).enumerate() {
            let kinds = [
                (Timing::StageWakeUp, Quantity::Latency, "wake-up"),
                (Timing::StageRun, Quantity::Spacing, "run"),
            ];
            for (builder, (timing, quantity, what)) in parts.iter().zip(kinds) {
                let kind = ProgramSeries {
                    number: Some(number),
                    stage: Some(index as u32),
                    ..ProgramSeries::of_thread(timing, tid(index), None)
                };
                let label = format!("{}, {} {}, {what}", self.label, index + 1, stage.name);
                let kind = SeriesKind::Program(kind);
                all.push(builder.series(label, phase, quantity, Level::UserThread, kind));
            }
        }
        all
    }
}

fn times_of(stage: &Stage) -> StageTimes {
    StageTimes {
        wake_up_ns: stage.begun_ns.saturating_sub(stage.woken_ns),
        run_ns: stage.ended_ns.saturating_sub(stage.begun_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn passage(tids: &[u32], due_ns: u64, each_ns: u64) -> Passage {
        let stage = |(index, tid): (usize, &u32)| {
            let woken_ns = due_ns + index as u64 * 3 * each_ns;
            Stage { tid: *tid, woken_ns, begun_ns: woken_ns + each_ns, ended_ns: woken_ns + 3 * each_ns }
        };
        Passage { stages: tids.iter().enumerate().map(stage).collect() }
    }

    fn name(tid: u32) -> Named {
        let name = format!("thread {}", tid % 10);
        Named { pid: tid / 100, with_process: format!("process {}/{name}", tid / 100), name }
    }

    /// A recorder that has seen so many cycles, one of `every` with a passage.
    fn recorder(cycles: u64, every: u64, tids: &[u32]) -> ChainRecorder {
        let mut recorder = ChainRecorder::new(Settings::default());
        add(&mut recorder, 0..cycles, every, tids);
        recorder
    }

    fn add(recorder: &mut ChainRecorder, cycles: std::ops::Range<u64>, every: u64, tids: &[u32]) {
        for cycle in cycles {
            recorder.begin_cycle(tids[0], cycle * MS);
            if cycle % every == 0 {
                recorder.record(&passage(tids, cycle * MS, 1000), &name);
            }
        }
    }

    #[test]
    fn rare_paths_are_not_chains() {
        assert_eq!(recorder(100, 4, &[1, 2, 3]).found(), 1);
        assert_eq!(recorder(7, 1, &[1, 2, 3]).found(), 0);
        assert_eq!(recorder(1000, 20, &[1, 2, 3]).found(), 0);
    }

    #[test]
    fn the_parts_of_a_chain_add_up_to_its_latency() {
        let mut recorder = recorder(50, 2, &[1, 2, 3]);
        recorder.count_from(50 * MS);
        add(&mut recorder, 50..150, 2, &[1, 2, 3]);
        let series = recorder.series(0);
        assert_eq!(series.len(), 7);
        let labels: Vec<&str> = series.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels[0], "thread 1 > thread 2 > thread 3");
        assert_eq!(labels[3], "thread 1 > thread 2 > thread 3, 2 thread 2, wake-up");
        let chain = series[0].program().unwrap().chain.as_ref().unwrap();
        assert_eq!((series[0].tally.recorded, chain.first_cycles), (50, 100));
        let sums: Vec<i64> = series.iter().map(|one| one.sum_ns.get().unwrap()).collect();
        assert_eq!(sums[0], 50 * 9000);
        assert_eq!(sums[0], sums[1..].iter().sum::<i64>());
        let late = &chain.late[0];
        let parts: u64 = late.stages.iter().map(|one| one.wake_up_ns + one.run_ns).sum();
        assert_eq!((late.took_ns, parts), (9000, 9000));
    }

    #[test]
    fn threads_of_the_same_names_continue_a_chain_that_ended() {
        let mut recorder = recorder(50, 1, &[1, 2]);
        recorder.end(2);
        add(&mut recorder, 50..100, 1, &[11, 12]);
        assert_eq!(recorder.found(), 1);
        add(&mut recorder, 100..150, 1, &[21, 22]);
        assert_eq!(recorder.found(), 2, "the first one has not ended");
        assert!(recorder.series(0).iter().any(|one| one.label == "thread 1 > thread 2 #2"));
    }

    #[test]
    fn stages_of_several_processes_have_their_names() {
        let series = recorder(50, 1, &[101, 202]).series(0);
        assert_eq!(series[0].label, "process 1/thread 1 > process 2/thread 2");
    }

    #[test]
    fn lost_cycles_are_dropped_passages() {
        let mut recorder = recorder(50, 1, &[1, 2]);
        recorder.lose(1, 5, 50 * MS);
        let series = recorder.series(0);
        assert_eq!(series[0].tally.dropped.get(), Some(5));
        assert_eq!(series[0].tally.attempted.get(), Some(series[0].tally.recorded + 5));
    }
}
