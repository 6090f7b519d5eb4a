//! Times and progress that the engine, a source and its observers exchange.

use tardy_host::watch::Overlap;
use tardy_record::series::{Change, Outlier};

/// Start of a phase and bounds of its counted part, in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Start of the run.
    pub run_start_ns: u64,
    /// The common start, at which the warm-up begins.
    pub start_ns: u64,
    /// Beginning of the counted part.
    pub from_ns: u64,
    /// Planned end of the counted part.
    pub to_ns: u64,
}

impl Counted {
    /// Beginning of the counted part, in ns from the start of the run.
    pub fn counted_from_ns(&self) -> u64 {
        self.from_ns.saturating_sub(self.run_start_ns)
    }

    /// Planned end of the counted part, in ns from the start of the run.
    pub fn counted_to_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.run_start_ns)
    }
}

/// Context of one reading of the source.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Time of the reading, in ns from the start of the run.
    pub now_ns: u64,
    /// Changes that the watchers saw since the previous reading.
    pub changes: &'a [Change],
    /// Reads of the watchers since then during which a thread on the supervisor's CPU may have been due to wake up.
    pub(crate) overlaps: &'a OwnReads,
    /// Waits of the supervisor since the previous reading that were broken.
    pub(crate) broken_waits: &'a [BrokenWait],
    /// Whether the source has ended.
    pub is_last: bool,
}

/// A wait in which the supervisor slept more than once. Its own timer, a descriptor and a pause of the whole machine end a
/// wait after one sleep. A stop signal, the freezer of cgroups and a debugger wake a thread in poll(2), which then sleeps
/// again. (In clock_nanosleep(2) it would not be woken: since Linux 6.1 the freezer of cgroup v1 freezes it in its sleep.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokenWait {
    /// Its beginning, in ns from the start of the run.
    pub(crate) from_ns: u64,
    /// When it was to end at the latest, in ns from the start of the run.
    pub(crate) due_ns: u64,
    /// Its end, in ns from the start of the run.
    pub(crate) to_ns: u64,
}

/// The most broken waits that are kept between two readings.
const BROKEN_WAITS_MAX: usize = 64;

impl BrokenWait {
    /// Adds this wait, in which the supervisor slept `sleeps` times, to `broken`, if it is a broken one.
    pub(crate) fn note(self, sleeps: u64, broken: &mut Vec<Self>) {
        if sleeps > 1 && broken.len() < BROKEN_WAITS_MAX {
            broken.push(self);
        }
    }

    /// How late it ended, in ns.
    pub(crate) fn late_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.due_ns)
    }
}

/// The progress of a source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceProgress {
    /// When the counted part began, in ns from the start of the run, once it is known.
    pub counted_from_ns: Option<u64>,
    /// When the counted part ended, in ns from the start of the run; `None` if it is still in progress.
    pub counted_to_ns: Option<u64>,
    /// Counted time, in ns.
    pub counted_ns: u64,
    /// The highest value and its CPU.
    pub worst: Option<(i64, u32)>,
    /// Missed deadlines.
    pub missed: u64,
}

/// Reads of kernel files that the watchers took on the CPU that they share with a measuring thread, and checkpoints written there.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnReads {
    cpu: u32,
    run_start_ns: u64,
    reads: Vec<Overlap>,
}

impl OwnReads {
    /// `reads` on `cpu`, in a run that started at `run_start_ns` on the monotonic clock.
    pub(crate) fn new(cpu: u32, run_start_ns: u64, reads: Vec<Overlap>) -> Self {
        Self { cpu, run_start_ns, reads }
    }

    /// The watcher that was reading on `cpu`, or the checkpoint, between the time when the thread was due and the time when it ran.
    pub(crate) fn during(&self, cpu: u32, outlier: &Outlier) -> Option<&'static str> {
        let ran_ns = self.run_start_ns + outlier.at_ns;
        let due_ns = ran_ns.saturating_sub(outlier.latency_ns.max(0).unsigned_abs());
        let overlaps = |read: &&Overlap| read.from_ns <= ran_ns && due_ns <= read.to_ns;
        (cpu == self.cpu).then(|| self.reads.iter().find(overlaps))?.map(|read| read.watcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_that_overlaps_a_read_on_its_cpu_is_found() {
        let reads = vec![Overlap { watcher: "interrupts", from_ns: 1_000_500, to_ns: 1_000_700 }];
        let own = OwnReads::new(1, 1_000_000, reads);
        let outlier = |due_ns: u64, at_ns: u64| Outlier {
            latency_ns: (at_ns - due_ns).cast_signed(),
            at_ns,
            cycle: 0,
            around: Vec::new(),
            overlaps: None,
            moment: None,
        };
        assert_eq!(own.during(1, &outlier(600, 720)), Some("interrupts"));
        assert_eq!(own.during(0, &outlier(600, 720)), None, "another CPU");
        assert_eq!(own.during(1, &outlier(701, 720)), None, "it was due after the read");
        assert_eq!(own.during(1, &outlier(300, 499)), None, "it ran before the read");
    }
}
