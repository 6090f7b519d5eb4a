//! Makes series of a program's cycles.

use std::collections::BTreeMap;

use tardy_record::missed_periods::missed_behind;
use tardy_record::moment::{MOMENT_COUNT, Moment};
use tardy_record::program::{LateCycle, ProgramSeries, Timing, WatchedThread};
use tardy_record::series::{Level, Quantity, Series, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};

use crate::causes::{self, Context};
use crate::cycle::Cycle;
use crate::moments;
use crate::rhythm::Rhythm;
use crate::usual::Usual;
use crate::wait::TimerKind;

/// The most threads that have series; others are counted.
pub const SERIES_THREADS_MAX: usize = 64;
/// The most cycles of a thread that are explained.
const LATE_MAX: usize = 24;
/// The most late cycles that are explained at once between two calls of [`Recorder::take_seen`].
const SEEN_MAX: usize = 64;
/// Cycles before a late one is explained: what is usual must be known.
const LEARNT_MIN: u64 = 8;

/// When and how a program's cycles are counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Start of the run, on the monotonic clock.
    pub run_start_ns: u64,
    /// Cycles that begin earlier, on the monotonic clock, are not counted.
    pub counted_from_ns: u64,
    /// The counted time that is planned.
    pub planned_ns: u64,
    /// The latest end of a cycle's work after its due time; `None`: the interval.
    pub deadline_ns: Option<u64>,
    /// The limit on wake-up latencies.
    pub limit_ns: Option<u64>,
    /// Cycles whose wake-up is later are reported at once; `None`: none are.
    pub late_ns: Option<u64>,
}

/// A late cycle that is reported while the program is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The label of the thread's series.
    pub thread: String,
    /// The cycle, with the causes.
    pub cycle: LateCycle,
}

/// What is known of a thread from /proc.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The label of its series.
    pub label: String,
    /// Its process.
    pub pid: u32,
    /// Its thread number.
    pub tid: u32,
    /// Its real-time policy and priority; `None` if it ended before they were read.
    pub scheduling: Option<(tardy_record::plan::Policy, u32)>,
    /// The call in which it waits, and what ends the wait.
    pub wait: (String, String),
}

/// The cycles of all threads.
#[derive(Debug, Default)]
pub struct Recorder {
    settings: Settings,
    /// In the order in which they were found.
    threads: Vec<ThreadRecord>,
    by_tid: BTreeMap<u32, usize>,
    /// Periodic threads without series, because there are too many.
    pub left_out: u64,
    /// Late cycles since the last [`Self::take_seen`], and how many more there were.
    seen: Vec<Seen>,
    seen_more: u64,
}

/// Cycles that missed their deadline or the limit come first, then those with the longest response of their own.
type Rank = (bool, i64);

#[derive(Debug)]
struct ThreadRecord {
    identity: Identity,
    rhythm: Rhythm,
    ended: bool,
    series: [SeriesBuilder; 5],
    /// The number of the first counted cycle of the present thread, and the number that it has in the series.
    first_number: Option<(u64, u64)>,
    next_number: u64,
    usual: Usual,
    learnt: u64,
    thread: WatchedThread,
    /// The latest cycles, the latest first.
    late: Vec<(Rank, LateCycle)>,
    moments: Vec<(u64, i64, Moment)>,
}

/// The timings in the order of [`ThreadRecord::series`], with their quantity, their level and the end of their label.
const TIMINGS: [(Timing, Quantity, Level, &str); 5] = [
    (Timing::WakeUp, Quantity::Latency, Level::UserThread, ""),
    (Timing::Response, Quantity::Latency, Level::UserThread, ", response"),
    (Timing::Period, Quantity::Spacing, Level::UserThread, ", period"),
    (Timing::Execution, Quantity::Execution, Level::UserThread, ", execution"),
    (Timing::Preemption, Quantity::Noise, Level::UserThread, ", preemption"),
];

impl Recorder {
    /// A recorder that has no thread yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// From now on, cycles that begin from `counted_from_ns` on are counted.
    pub fn count_from(&mut self, counted_from_ns: u64) {
        self.settings.counted_from_ns = counted_from_ns;
        let settings = self.settings;
        for record in &mut self.threads {
            record.series = builders(&settings, &record.rhythm);
        }
    }

    /// A new run begins at `start_ns` on the monotonic clock, and what was counted is forgotten. What is usual for each thread stays.
    pub fn restart(&mut self, start_ns: u64) {
        self.settings.run_start_ns = start_ns;
        // A thread that starts again begins new series.
        self.threads.retain(|record| !record.ended);
        self.by_tid = self.threads.iter().enumerate().map(|(index, one)| (one.identity.tid, index)).collect();
        self.left_out = 0;
        for record in &mut self.threads {
            record.restart();
        }
        self.count_from(start_ns);
    }

    /// The late cycles since the last call, and how many more there were than are explained.
    pub fn take_seen(&mut self) -> (Vec<Seen>, u64) {
        (std::mem::take(&mut self.seen), std::mem::take(&mut self.seen_more))
    }

    /// The threads so far, by number.
    pub fn tids(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_tid.keys().copied()
    }

    /// Whether this thread has series.
    pub fn has(&self, tid: u32) -> bool {
        self.by_tid.contains_key(&tid)
    }

    /// The cycles that were counted, and those of them that missed their deadline.
    pub fn counts(&self) -> (u64, u64) {
        let sum = |of: &dyn Fn(&ThreadRecord) -> u64| self.threads.iter().map(of).sum();
        (sum(&|one| one.series[0].recorded()), sum(&|one| one.thread.deadline_misses))
    }

    /// How many threads have series, and the shortest interval.
    pub fn found(&self) -> (usize, Option<u64>) {
        (self.threads.len(), self.threads.iter().map(|one| one.rhythm.interval_ns).min())
    }

    /// Adds a thread whose rhythm was found. It continues the series of one that ended with the same name and rhythm.
    pub fn add(&mut self, identity: Identity, rhythm: Rhythm) {
        let continues = |known: &ThreadRecord| {
            known.ended
                && known.rhythm.signature == rhythm.signature
                && is_label_of(&known.identity.label, &identity.label)
        };
        if let Some(index) = self.threads.iter().position(continues) {
            let known = &mut self.threads[index];
            (known.ended, known.first_number) = (false, None);
            known.thread.restarts += 1;
            known.identity = Identity { label: known.identity.label.clone(), ..identity };
            self.by_tid.insert(known.identity.tid, index);
            return;
        }
        if self.threads.len() >= SERIES_THREADS_MAX {
            self.left_out += 1;
            return;
        }
        let same =
            self.threads.iter().filter(|known| is_label_of(&known.identity.label, &identity.label)).count();
        let label = numbered(&identity.label, same);
        let identity = Identity { label, ..identity };
        self.by_tid.insert(identity.tid, self.threads.len());
        let deadline_ns = self.settings.deadline_ns.unwrap_or(rhythm.interval_ns);
        let thread = WatchedThread {
            pid: identity.pid,
            policy: identity.scheduling.map(|(policy, _)| policy),
            priority: identity.scheduling.map_or(0, |(_, priority)| priority),
            wait: identity.wait.0.clone(),
            woken_by: identity.wait.1.clone(),
            has_schedule: rhythm.has_schedule,
            interval_ns: rhythm.interval_ns,
            first_due_ns: 0,
            slack_ns: 0,
            deadline_ns,
            deadline_misses: 0,
            skipped: 0,
            faults: 0,
            migrations: 0,
            restarts: 0,
            late: Vec::new(),
        };
        self.threads.push(ThreadRecord {
            identity,
            rhythm,
            ended: false,
            series: builders(&self.settings, &rhythm),
            first_number: None,
            next_number: 0,
            usual: Usual::default(),
            learnt: 0,
            thread,
            late: Vec::new(),
            moments: Vec::new(),
        });
    }

    /// The thread ended.
    pub fn end(&mut self, tid: u32) {
        if let Some(index) = self.by_tid.remove(&tid) {
            self.threads[index].ended = true;
        }
    }

    /// Cycles of the thread were lost with their events.
    pub fn lose(&mut self, tid: u32, count: u64, now_ns: u64) {
        let Some(index) = self.by_tid.get(&tid) else { return };
        let record = &mut self.threads[*index];
        record.first_number = None;
        if now_ns >= self.settings.counted_from_ns {
            record.next_number += count;
            record.series.iter_mut().for_each(|series| series.drop_readings(count));
        }
    }

    /// Adds a completed cycle.
    pub fn record(
        &mut self,
        tid: u32,
        cycle: &Cycle,
        context: &Context<'_>,
        kind: &dyn Fn(u64) -> TimerKind,
    ) {
        let Some(index) = self.by_tid.get(&tid) else { return };
        let (settings, record) = (self.settings, &mut self.threads[*index]);
        if cycle.wait.left_ns >= settings.counted_from_ns {
            record.count(cycle, &settings);
            let is_reported = is_reported(cycle, &settings);
            let has_room = self.seen.len() < SEEN_MAX;
            let rank = record.rank(cycle, &settings);
            let is_kept = record.learnt >= LEARNT_MIN && record.is_among_latest(rank);
            if is_kept || is_reported && has_room {
                let cycle = record.explained(cycle, rank.0, &settings, context);
                if is_reported && has_room {
                    let thread = record.identity.label.clone();
                    self.seen.push(Seen { thread, cycle: cycle.clone() });
                }
                if is_kept {
                    record.keep(rank, cycle);
                }
            }
            self.seen_more += u64::from(is_reported && !has_room);
            record.keep_moment(cycle, context, kind);
        }
        record.usual.learn(cycle);
        record.learnt += 1;
    }

    /// The series of all threads that had cycles; of all threads if none had.
    pub fn series(&self, phase: usize) -> Vec<Series> {
        // Recorded or dropped.
        let has_cycles = |record: &&ThreadRecord| record.next_number > 0;
        let none = !self.threads.iter().any(|record| has_cycles(&record));
        let shown = self.threads.iter().filter(|record| none || has_cycles(record));
        shown.flat_map(|record| record.all(phase, self.settings.run_start_ns)).collect()
    }
}

/// `name`, with a number behind it if so many others have it already.
pub(crate) fn numbered(name: &str, same: usize) -> String {
    if same == 0 { name.to_owned() } else { format!("{name} #{}", same + 1) }
}

/// Whether `label` is `name`, or `name` with a number behind it.
fn is_label_of(label: &str, name: &str) -> bool {
    label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
}

fn builders(settings: &Settings, rhythm: &Rhythm) -> [SeriesBuilder; 5] {
    let start_ns = settings.counted_from_ns.saturating_sub(settings.run_start_ns);
    let limits: Vec<u64> = settings.limit_ns.into_iter().collect();
    let builder =
        |interval_ns, limits: &[u64]| SeriesBuilder::new(start_ns, interval_ns, settings.planned_ns, limits);
    let scheduled = rhythm.has_schedule.then_some(rhythm.interval_ns);
    [
        builder(scheduled, &limits),
        builder(None, &[]),
        builder(None, &[]),
        builder(None, &[]),
        builder(None, &[]),
    ]
}

impl ThreadRecord {
    fn count(&mut self, cycle: &Cycle, settings: &Settings) {
        let (first, base) = *self.first_number.get_or_insert((cycle.number, self.next_number));
        let number = base + cycle.number.saturating_sub(first);
        let at = |ns: u64| ns.saturating_sub(settings.run_start_ns);
        if self.series[0].recorded() == 0 {
            self.thread.first_due_ns = at(cycle.wait.due_ns() as u64);
        }
        // Of the due times that passed, those wait that passed before the thread ran. The others were skipped by its work.
        let latency_ns = cycle.latency_ns();
        let missed = match self.rhythm.has_schedule {
            true => cycle.skipped.min(missed_behind(latency_ns, self.rhythm.interval_ns)),
            false => 0,
        };
        self.next_number = number + 1 + missed;
        let (begin_ns, end_ns) = (at(cycle.wait.left_ns), at(cycle.end_ns));
        let mut add = |index: usize, value_ns: i64, at_ns: u64, missed: u64| {
            self.series[index].record(Reading { value_ns, at_ns, cycle: number, missed });
        };
        add(0, latency_ns, begin_ns, missed);
        add(1, cycle.response_ns(), end_ns, 0);
        if let Some(period_ns) = cycle.period_ns {
            add(2, period_ns as i64, begin_ns, 0);
        }
        add(3, cycle.times.own_ns as i64, end_ns, 0);
        add(4, cycle.times.preempted_ns as i64, end_ns, 0);
        let thread = &mut self.thread;
        let slack_ns = cycle.wait.due.map_or(0, |due| due.hard_ns.saturating_sub(due.soft_ns));
        thread.slack_ns = thread.slack_ns.max(slack_ns.max(0) as u64);
        thread.skipped += cycle.skipped;
        thread.faults += cycle.times.faults;
        thread.migrations += u64::from(cycle.migrated);
        thread.deadline_misses += u64::from(is_missed(cycle, thread.deadline_ns));
    }

    /// The cycle with its causes.
    fn explained(
        &self,
        cycle: &Cycle,
        missed: bool,
        settings: &Settings,
        context: &Context<'_>,
    ) -> LateCycle {
        LateCycle {
            due_ns: (cycle.wait.due_ns() as u64).saturating_sub(settings.run_start_ns),
            latency_ns: cycle.latency_ns(),
            response_ns: cycle.response_ns(),
            missed,
            causes: match self.learnt >= LEARNT_MIN {
                true => causes::of(cycle, self.identity.tid, &self.usual, context),
                false => Vec::new(),
            },
        }
    }

    /// Forgets what was counted.
    fn restart(&mut self) {
        (self.first_number, self.next_number) = (None, 0);
        let thread = &mut self.thread;
        (thread.deadline_misses, thread.skipped, thread.faults) = (0, 0, 0);
        (thread.migrations, thread.restarts, thread.slack_ns) = (0, 0, 0);
        self.late.clear();
        self.moments.clear();
    }

    /// By what the latest cycles are chosen.
    fn rank(&self, cycle: &Cycle, settings: &Settings) -> Rank {
        let missed = is_missed(cycle, self.thread.deadline_ns)
            || settings.limit_ns.is_some_and(|limit| cycle.latency_ns() > limit as i64);
        (missed, cycle.own_response_ns())
    }

    fn is_among_latest(&self, rank: Rank) -> bool {
        self.late.len() < LATE_MAX || self.late.last().is_none_or(|(least, _)| *least < rank)
    }

    /// Keeps one of the latest cycles.
    fn keep(&mut self, rank: Rank, cycle: LateCycle) {
        let place = self.late.partition_point(|(known, _)| *known >= rank);
        self.late.insert(place, (rank, cycle));
        self.late.truncate(LATE_MAX);
    }

    /// Keeps the kernel's events of the wake-up if it is among the latest.
    fn keep_moment(&mut self, cycle: &Cycle, context: &Context<'_>, kind: &dyn Fn(u64) -> TimerKind) {
        let latency_ns = cycle.latency_ns();
        if self.moments.len() == MOMENT_COUNT
            && self.moments.last().is_some_and(|(_, least, _)| *least >= latency_ns)
        {
            return;
        }
        let tid = self.identity.tid;
        let priority = context.tracker.threads.get(&tid).map_or(120, |thread| thread.priority);
        let cpu = cycle.wait.due.map_or(cycle.wait.cpu, |due| due.cpu);
        // A wake-up that began on one CPU and ended on another has no moment: it is of one CPU.
        let log = context.tracker.cpus.get(&cpu).filter(|_| cpu == cycle.wait.cpu);
        let Some(moment) =
            log.and_then(|log| moments::of(&cycle.wait, tid, priority, log, context.handler, kind))
        else {
            return;
        };
        let at_ns = cycle.wait.left_ns;
        let place = self.moments.partition_point(|(_, known, _)| *known >= latency_ns);
        self.moments.insert(place, (at_ns, latency_ns, moment));
        self.moments.truncate(MOMENT_COUNT);
    }

    fn all(&self, phase: usize, run_start_ns: u64) -> Vec<Series> {
        let series = TIMINGS.iter().zip(&self.series).map(|((timing, quantity, level, end), builder)| {
            let is_wake_up = *timing == Timing::WakeUp;
            let late = || self.late.iter().map(|(_, cycle)| cycle.clone()).collect();
            let thread = is_wake_up.then(|| Box::new(WatchedThread { late: late(), ..self.thread.clone() }));
            let kind = SeriesKind::Program(ProgramSeries::of_thread(*timing, self.identity.tid, thread));
            let series =
                builder.series(format!("{}{end}", self.identity.label), phase, *quantity, *level, kind);
            if is_wake_up { self.with_moments(series, run_start_ns) } else { series }
        });
        series.collect()
    }

    /// The moments that belong to the worst wake-ups of the series.
    fn with_moments(&self, mut series: Series, run_start_ns: u64) -> Series {
        for outlier in &mut series.worst {
            let of_outlier = |(at_ns, latency_ns, _): &&(u64, i64, Moment)| {
                *latency_ns == outlier.latency_ns && at_ns.saturating_sub(run_start_ns) == outlier.at_ns
            };
            outlier.moment = self.moments.iter().find(of_outlier).map(|(_, _, moment)| moment.clone());
        }
        series
    }
}

/// Whether a cycle is reported at once: its wake-up was late, or it missed the deadline that the user set.
fn is_reported(cycle: &Cycle, settings: &Settings) -> bool {
    settings.late_ns.is_some_and(|late_ns| {
        cycle.latency_ns() > i64::try_from(late_ns).unwrap_or(i64::MAX)
            || settings.deadline_ns.is_some_and(|deadline_ns| is_missed(cycle, deadline_ns))
    })
}

fn is_missed(cycle: &Cycle, deadline_ns: u64) -> bool {
    cycle.response_ns() > i64::try_from(deadline_ns).unwrap_or(i64::MAX)
}
