//! Stretches of a program whose begin and end the program itself marks, and their series.

use std::collections::BTreeMap;

use tardy_record::program::{ProgramSeries, Timing, WatchedMark};
use tardy_record::series::{Level, Quantity, Series, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use crate::event::Edge;
use crate::recorder::{Settings, numbered};

/// The most marked stretches that have series.
pub const MARKS_MAX: usize = 32;
/// Distances of begins that define an interval.
const DISTANCES: usize = 64;
const DISTANCES_MIN: usize = 8;
/// The most stretches that a thread has begun and not ended.
const OPEN_MAX: usize = 64;
/// The marked stretches of a program.
#[derive(Debug, Default)]
pub struct MarkRecorder {
    settings: Settings,
    marks: Vec<MarkRecord>,
    /// By process, and the index of the name.
    known: BTreeMap<(u32, u16), usize>,
    /// What each thread has begun and not ended, the last at the end.
    open_by: BTreeMap<u32, Vec<u16>>,
    /// Stretches without series, because there are too many.
    pub left_out: u64,
}

#[derive(Debug)]
struct MarkRecord {
    label: String,
    name: String,
    pid: u32,
    tid: u32,
    begun_ns: Option<u64>,
    last_begun_ns: Option<u64>,
    distances_ns: Vec<u64>,
    interval_ns: Option<u64>,
    duration: SeriesBuilder,
    period: SeriesBuilder,
    next_number: u64,
    deadline_misses: u64,
    unfinished: u64,
}

/// Who marks, and how names and processes are found.
pub struct Source<'a> {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The name with an index.
    pub name: &'a dyn Fn(u16) -> String,
    /// Whether a process still has watched threads.
    pub lives: &'a dyn Fn(u32) -> bool,
}

impl MarkRecorder {
    /// A recorder that has no stretch yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// From now on, stretches that begin from `counted_from_ns` on are counted.
    pub fn count_from(&mut self, counted_from_ns: u64) {
        self.settings.counted_from_ns = counted_from_ns;
        for mark in &mut self.marks {
            [mark.duration, mark.period] = builders(&self.settings);
            (mark.next_number, mark.deadline_misses, mark.unfinished) = (0, 0, 0);
        }
    }

    /// A new run begins at `start_ns` on the monotonic clock, and what was counted is forgotten.
    pub fn restart(&mut self, start_ns: u64) {
        self.settings.run_start_ns = start_ns;
        self.left_out = 0;
        self.count_from(start_ns);
    }

    /// How many stretches there are.
    pub fn found(&self) -> usize {
        self.marks.len()
    }

    /// Adds a mark.
    pub fn record(&mut self, edge: Edge, at_ns: u64, source: &Source<'_>) {
        let open = self.open_by.entry(source.tid).or_default();
        let name = match (edge.name, edge.is_begin) {
            (Some(name), true) => {
                if open.len() < OPEN_MAX {
                    open.push(name);
                }
                name
            }
            (Some(name), false) => {
                // Another thread may end what this one began.
                if let Some(place) = open.iter().rposition(|known| *known == name) {
                    open.remove(place);
                }
                name
            }
            (None, _) => match open.pop() {
                Some(name) => name,
                None => return,
            },
        };
        let Some(index) = self.index_of(name, source) else { return };
        let (settings, mark) = (self.settings, &mut self.marks[index]);
        match edge.is_begin {
            true => mark.begin(at_ns, source.tid, &settings),
            false => mark.end(at_ns, &settings),
        }
    }

    fn index_of(&mut self, name: u16, source: &Source<'_>) -> Option<usize> {
        if let Some(index) = self.known.get(&(source.pid, name)) {
            return Some(*index);
        }
        let text = (source.name)(name);
        // A program that was started again continues its stretches.
        let again = self.marks.iter().position(|mark| mark.name == text && !(source.lives)(mark.pid));
        let index = match again {
            Some(index) => {
                let mark = &mut self.marks[index];
                (mark.pid, mark.begun_ns, mark.last_begun_ns) = (source.pid, None, None);
                index
            }
            None if self.marks.len() >= MARKS_MAX => {
                self.left_out += 1;
                return None;
            }
            None => {
                let same = self.marks.iter().filter(|mark| mark.name == text).count();
                let [duration, period] = builders(&self.settings);
                self.marks.push(MarkRecord {
                    label: numbered(&text, same),
                    name: text,
                    pid: source.pid,
                    tid: source.tid,
                    begun_ns: None,
                    last_begun_ns: None,
                    distances_ns: Vec::new(),
                    interval_ns: None,
                    duration,
                    period,
                    next_number: 0,
                    deadline_misses: 0,
                    unfinished: 0,
                });
                self.marks.len() - 1
            }
        };
        self.known.retain(|_, known| *known != index);
        self.known.insert((source.pid, name), index);
        Some(index)
    }

    /// Events were lost: stretches that are open are dropped.
    pub fn forget(&mut self) {
        self.open_by.clear();
        for mark in &mut self.marks {
            mark.last_begun_ns = None;
            if mark.begun_ns.take().is_some_and(|ns| ns >= self.settings.counted_from_ns) {
                mark.duration.drop_readings(1);
            }
        }
    }

    /// The thread ended.
    pub fn end_thread(&mut self, tid: u32) {
        self.open_by.remove(&tid);
    }

    /// The series of all stretches that were counted.
    pub fn series(&self, phase: usize) -> Vec<Series> {
        let counted = self.marks.iter().filter(|mark| mark.next_number > 0);
        let deadline_ns = self.settings.deadline_ns;
        counted.enumerate().flat_map(|(number, mark)| mark.all(phase, number as u32, deadline_ns)).collect()
    }
}

fn builders(settings: &Settings) -> [SeriesBuilder; 2] {
    let start_ns = settings.counted_from_ns.saturating_sub(settings.run_start_ns);
    [(); 2].map(|()| SeriesBuilder::new(start_ns, None, settings.planned_ns, &[]))
}

impl MarkRecord {
    fn deadline_ns(&self, of_user: Option<u64>) -> Option<u64> {
        of_user.or(self.interval_ns)
    }

    fn begin(&mut self, at_ns: u64, tid: u32, settings: &Settings) {
        self.tid = tid;
        let is_counted = at_ns >= settings.counted_from_ns;
        if self.begun_ns.replace(at_ns).is_some_and(|ns| ns >= settings.counted_from_ns) {
            self.unfinished += 1;
        }
        let Some(last_ns) = self.last_begun_ns.replace(at_ns) else { return };
        let distance_ns = at_ns.saturating_sub(last_ns);
        if self.distances_ns.len() < DISTANCES {
            self.distances_ns.push(distance_ns);
            self.interval_ns = median(&self.distances_ns);
        }
        if is_counted && last_ns >= settings.counted_from_ns {
            self.period.record(self.reading(distance_ns, at_ns, settings));
        }
    }

    fn end(&mut self, at_ns: u64, settings: &Settings) {
        let Some(begun_ns) = self.begun_ns.take().filter(|ns| *ns >= settings.counted_from_ns) else {
            return;
        };
        let took_ns = at_ns.saturating_sub(begun_ns);
        self.duration.record(self.reading(took_ns, at_ns, settings));
        self.next_number += 1;
        let deadline_ns = self.deadline_ns(settings.deadline_ns);
        self.deadline_misses += u64::from(deadline_ns.is_some_and(|deadline_ns| took_ns > deadline_ns));
    }

    fn reading(&self, value_ns: u64, at_ns: u64, settings: &Settings) -> Reading {
        let at_ns = at_ns.saturating_sub(settings.run_start_ns);
        Reading { value_ns: value_ns as i64, at_ns, cycle: self.next_number, missed: 0 }
    }

    fn all(&self, phase: usize, number: u32, deadline_ns: Option<u64>) -> [Series; 2] {
        let mark = WatchedMark {
            name: self.name.clone(),
            pid: self.pid,
            interval_ns: self.interval_ns,
            deadline_ns: self.deadline_ns(deadline_ns),
            deadline_misses: self.deadline_misses,
            unfinished: self.unfinished,
        };
        let of = |timing, mark| {
            let series = ProgramSeries::of_thread(timing, self.tid, None);
            SeriesKind::Program(ProgramSeries { mark, number: Some(number), ..series })
        };
        let series = |builder: &SeriesBuilder, end: &str, kind| {
            let label = format!("{}, {end}", self.label);
            builder.series(label, phase, Quantity::Spacing, Level::UserThread, kind)
        };
        [
            series(&self.duration, "marked", of(Timing::Marked, Some(Box::new(mark)))),
            series(&self.period, "marked period", of(Timing::MarkedPeriod, None)),
        ]
    }
}

/// The median of the distances; `None` if there are too few.
fn median(distances_ns: &[u64]) -> Option<u64> {
    let mut sorted = distances_ns.to_vec();
    sorted.sort_unstable();
    (sorted.len() >= DISTANCES_MIN).then(|| sorted[sorted.len() / 2]).filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const BEGIN: Edge = Edge { is_begin: true, name: Some(0) };
    const END: Edge = Edge { is_begin: false, name: Some(0) };
    const END_LAST: Edge = Edge { is_begin: false, name: None };

    struct Marks(MarkRecorder);

    impl Marks {
        fn new(deadline_ns: Option<u64>) -> Self {
            Self(MarkRecorder::new(Settings { deadline_ns, ..Settings::default() }))
        }

        fn mark(&mut self, edge: Edge, at_ns: u64, pid: u32, tid: u32) {
            let name = |index: u16| ["control", "filter"][usize::from(index)].to_owned();
            let source = Source { pid, tid, name: &name, lives: &|pid| pid != 1 };
            self.0.record(edge, at_ns, &source);
        }

        fn known(&self, index: usize) -> (Series, WatchedMark) {
            let series = self.0.series(0)[2 * index].clone();
            let mark = series.program().unwrap().mark.as_deref().unwrap().clone();
            (series, mark)
        }
    }

    #[test]
    fn stretches_have_durations_periods_and_a_deadline() {
        let mut marks = Marks::new(None);
        for cycle in 0..20u64 {
            marks.mark(BEGIN, cycle * MS, 2, 3);
            // The thread that ends it may be another one.
            marks.mark(END, cycle * MS + if cycle == 15 { 2 * MS - 1 } else { 1000 }, 2, 4);
        }
        let (series, mark) = marks.known(0);
        assert_eq!((series.tally.recorded, series.max_ns, series.min_ns), (20, Some(1_999_999), Some(1000)));
        assert_eq!((mark.interval_ns, mark.deadline_ns, mark.deadline_misses), (Some(MS), Some(MS), 1));
        assert_eq!(series.label, "control, marked");
        assert_eq!(marks.0.series(0)[1].tally.recorded, 19);
    }

    #[test]
    fn the_users_deadline_is_that_of_every_stretch() {
        let mut marks = Marks::new(Some(500));
        marks.mark(BEGIN, 0, 2, 3);
        marks.mark(END_LAST, 501, 2, 3);
        assert_eq!(marks.known(0).1.deadline_misses, 1);
    }

    #[test]
    fn an_end_without_a_name_ends_what_the_thread_began_last() {
        let mut marks = Marks::new(None);
        let filter = Edge { is_begin: true, name: Some(1) };
        marks.mark(BEGIN, 0, 2, 3);
        marks.mark(filter, 10, 2, 3);
        marks.mark(END_LAST, 30, 2, 3);
        marks.mark(END_LAST, 100, 2, 3);
        marks.mark(END_LAST, 200, 2, 3);
        assert_eq!((marks.known(0).0.max_ns, marks.known(1).0.max_ns), (Some(100), Some(20)));
    }

    #[test]
    fn a_begin_without_an_end_is_unfinished_and_a_loss_drops() {
        let mut marks = Marks::new(None);
        for at_ns in [0, 10, 20] {
            marks.mark(BEGIN, at_ns, 2, 3);
        }
        marks.mark(END, 25, 2, 3);
        marks.mark(BEGIN, 30, 2, 3);
        marks.0.forget();
        marks.mark(END, 40, 2, 3);
        let (series, mark) = marks.known(0);
        assert_eq!((series.tally.recorded, series.tally.dropped.get(), mark.unfinished), (1, Some(1), 2));
    }

    #[test]
    fn a_program_that_starts_again_continues_and_another_does_not() {
        let mut marks = Marks::new(None);
        for pid in [1, 2, 3] {
            marks.mark(BEGIN, u64::from(pid) * 100, pid, pid);
            marks.mark(END, u64::from(pid) * 100 + 10, pid, pid);
        }
        let (first, second) = (marks.known(0), marks.known(1));
        assert_eq!((first.0.tally.recorded, first.1.pid), (2, 2));
        assert_eq!((second.0.tally.recorded, second.0.label.as_str()), (1, "control #2, marked"));
    }
}
