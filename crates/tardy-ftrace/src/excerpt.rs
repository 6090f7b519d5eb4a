//! One late wake-up of a run, and its events.

use std::collections::BTreeSet;
use std::fmt;

use tardy_record::moment::{Happening, Moment, Task};
use tardy_record::{Run, Series};

/// The most CPUs of a kernel (`NR_CPUS_RANGE_END` in arch/x86/Kconfig).
const CPUS_MAX: u32 = 8192;

/// The trace of one late wake-up.
#[derive(Clone, Debug)]
pub struct Excerpt<'a> {
    /// The label of its series.
    pub series: &'a str,
    /// Its CPU.
    pub cpu: u32,
    /// Its latency, in ns.
    pub late_ns: i64,
    /// The deadline, in ns from the start of the run.
    pub deadline_ns: i64,
    moment: &'a Moment,
}

/// Why there is no such excerpt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoExcerpt {
    /// The number of wake-ups of the run with a trace.
    pub traced: usize,
}

impl fmt::Display for NoExcerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.traced {
            0 => f.write_str("the run has no trace of a late wake-up; measure with --causes"),
            1 => f.write_str("one late wake-up was traced; use --outlier 1"),
            traced => write!(f, "{traced} late wake-ups were traced; use --outlier 1 to {traced}"),
        }
    }
}

impl<'a> Excerpt<'a> {
    /// The trace of the `rank`-th worst traced wake-up of `run`, from 1.
    ///
    /// # Errors
    /// If `run` has no such trace.
    pub fn of(run: &'a Run, rank: usize) -> Result<Self, NoExcerpt> {
        let mut all: Vec<Self> = run.series.iter().flat_map(Self::of_series).collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.late_ns), one.deadline_ns, one.cpu));
        let traced = all.len();
        rank.checked_sub(1).and_then(|index| all.into_iter().nth(index)).ok_or(NoExcerpt { traced })
    }

    fn of_series(series: &'a Series) -> impl Iterator<Item = Self> {
        let worst = series.worst.iter().filter(|_| series.cpu() < CPUS_MAX);
        worst.filter_map(|outlier| {
            let at_ns = i64::try_from(outlier.at_ns).ok()?;
            Some(Self {
                series: &series.label,
                cpu: series.cpu(),
                late_ns: outlier.latency_ns,
                deadline_ns: at_ns.saturating_sub(outlier.latency_ns),
                moment: outlier.moment.as_ref()?,
            })
        })
    }

    /// The thread that was late.
    pub fn tid(&self) -> u32 {
        self.moment.tid
    }

    /// Its events in the order of time.
    pub(crate) fn events(&self) -> Vec<Event<'a>> {
        let first_task = self.moment.events.iter().find_map(|event| match &event.what {
            Happening::Switch { from, .. } => Some(from),
            _ => None,
        });
        let mut running = first_task.map_or((self.moment.tid, None), |task| (task.tid, Some(&*task.name)));
        let mut latest_ns = 0;
        let mut events = Vec::with_capacity(self.moment.events.len());
        for (index, event) in self.moment.events.iter().enumerate() {
            // Before the start of the run there is no time, and files have their events in the order of time.
            latest_ns = self.deadline_ns.saturating_add(event.at_ns).max(latest_ns);
            let (tid, name) = running;
            let sleeps = match &event.what {
                Happening::Switch { from, .. } => self.sleeps(index, from),
                _ => false,
            };
            let at_ns = latest_ns.unsigned_abs();
            events.push(Event { at_ns, tid, name, what: &event.what, sleeps });
            if let Happening::Switch { to, .. } = &event.what {
                running = (to.tid, Some(&to.name));
            }
        }
        events
    }

    /// Whether the task that leaves the CPU at event `index` sleeps: it is woken before it runs again. A task that runs
    /// again without a wake-up, or of which the excerpt has no later event, was ready.
    fn sleeps(&self, index: usize, task: &Task) -> bool {
        let later = self.moment.events[index + 1..].iter();
        let mut decisive = later.filter_map(|event| match &event.what {
            Happening::Ready { task: woken } if woken.tid == task.tid => Some(true),
            Happening::Switch { to, .. } if to.tid == task.tid => Some(false),
            _ => None,
        });
        !task.is_idle() && decisive.next().unwrap_or(false)
    }

    /// The names of all tasks, by their ids.
    pub(crate) fn tasks(&self) -> BTreeSet<(u32, &'a str)> {
        let tasks = self.moment.events.iter().flat_map(|event| match &event.what {
            Happening::Switch { from, to } => vec![from, to],
            Happening::Ready { task } => vec![task],
            _ => Vec::new(),
        });
        tasks.filter(|task| !task.is_idle()).map(|task| (task.tid, &*task.name)).collect()
    }
}

/// A kernel event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event<'a> {
    /// In ns from the start of the run; never before the event before it.
    pub(crate) at_ns: u64,
    /// The task that runs.
    pub(crate) tid: u32,
    /// Its name; `None` if the excerpt does not have it.
    pub(crate) name: Option<&'a str>,
    pub(crate) what: &'a Happening,
    /// Whether the task that leaves the CPU sleeps.
    pub(crate) sleeps: bool,
}
