//! The tools of rt-tests: what each measures, and how it treats late periods.

use tardy_record::Knowable;
use tardy_record::foreign::LatePeriods;
use tardy_record::plan::Wake;

use crate::imported::Counts;

pub(super) const MEASURES_OF_CYCLICTEST: &str = "from a timer's deadline to the thread that waited for it";

/// One of rt-tests' programs.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) measures: &'static str,
    pub(super) late_periods: LatePeriods,
}

impl Tool {
    /// How the tool's threads wait for a timer: unknown if options decide it. `None` if they do not wait for one.
    pub(super) fn wake(&self) -> Option<Knowable<Wake>> {
        match self.name {
            "cyclictest" => Some(Knowable::Unknown),
            "cyclicdeadline" => Some(Knowable::Known(Wake::Deadline)),
            _ => None,
        }
    }
}

/// The program called `name`.
pub(super) fn tool_named(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The remark on cyclicdeadline's minima.
pub(super) const MINIMA_OF_0: &str = "cyclicdeadline treats a minimum of 0 as none and uses the next reading instead; \
    without a histogram, the true minimum may be lower";

/// Corrects a minimum above 0 if there is a bin at 0: cyclicdeadline treats a minimum of 0 as none and uses the next
/// reading instead (do_runtime in cyclicdeadline.c).
pub(super) fn remember_minima_of_0(counts: &mut Counts) {
    if let (Some(first), Some(min_ns)) = (counts.bins.first(), counts.min_ns)
        && first.lower_ns == 0
        && counts.bins.len() > 1
    {
        counts.min_ns = Some(min_ns.min(first.lower_ns));
    }
}

const fn tool(name: &'static str, measures: &'static str, late_periods: LatePeriods) -> Tool {
    Tool { name, measures, late_periods }
}

static TOOLS: [Tool; 12] = [
    tool("cyclictest", MEASURES_OF_CYCLICTEST, LatePeriods::Skipped),
    tool("oslat", "how long a busy loop was stopped", LatePeriods::NoSchedule),
    tool("pmqtest", "from sending a POSIX message to the other thread receiving it", LatePeriods::NoSchedule),
    tool("ptsematest", "from releasing a mutex to the other thread acquiring it", LatePeriods::NoSchedule),
    tool(
        "svsematest",
        "from releasing a System V semaphore to the other thread acquiring it",
        LatePeriods::NoSchedule,
    ),
    tool(
        "signaltest",
        "from sending a signal until it has passed through all threads",
        LatePeriods::NoSchedule,
    ),
    tool("sigwaittest", "from sending a signal to the other thread receiving it", LatePeriods::NoSchedule),
    tool(
        "cyclicdeadline",
        "from the start of a deadline task's period to its thread running",
        LatePeriods::Skipped,
    ),
    tool("ssdd", "nothing: single-stepping with ptrace passes or fails", LatePeriods::NoSchedule),
    tool("queuelat", "how long a burst of memory copies took", LatePeriods::NoSchedule),
    tool(
        "rt-migrate-test",
        "from releasing all threads to the thread of this priority running",
        LatePeriods::NoSchedule,
    ),
    tool("pi_stress", "nothing: priority inheritance passes or fails", LatePeriods::NoSchedule),
];
