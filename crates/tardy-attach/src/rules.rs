//! Whether a program is set up as real-time programs must be: the rules of `tardy check PID`.
//!
//! The rules are those of the kernel's documentation (Documentation/trace/rv/monitor_rtapp.rst for sleeps, page faults and
//! mutexes; sched(7), mlock(2) and cgroup-v2.rst for the others). A rule whose facts are not known is not checked, and says so.

use tardy_host::trace::monitors::Reports;
use tardy_record::plan::Policy;

use crate::habits::Habits;

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramFacts {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Memory that is resident and memory that is locked, in KiB.
    pub memory_kib: Option<(u64, u64)>,
    /// The CPU time that a real-time thread may use without sleeping, in us; `None` without a limit or if it is unknown.
    pub rt_time_limit_us: Option<u64>,
    /// A CPU quota of its cgroup or of one above it, as the kernel writes it, and the file.
    pub cpu_quota: Option<(String, String)>,
    /// The CPUs that the process may use, and the number of CPUs of the machine.
    pub cpus: Option<(usize, usize)>,
    /// The highest priority of the kernel's interrupt threads.
    pub interrupt_priority: Option<u32>,
    /// Its threads.
    pub threads: Vec<ThreadFacts>,
    /// How long the threads were observed, in ns; `None` if only /proc was read.
    pub observed_ns: Option<u64>,
    /// What the kernel's own monitors reported meanwhile, or why they were not used; `None` if it has none.
    pub monitors: Option<Result<Vec<Reports>, String>>,
}

/// What is known of one of its threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadFacts {
    /// The thread.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its policy and real-time priority.
    pub scheduling: Option<(Policy, u32)>,
    /// Its interval, if it is periodic.
    pub interval_ns: Option<u64>,
    /// What it did while it was observed.
    pub habits: Option<Habits>,
    /// Page faults while it was observed, without and with disk access, from /proc.
    pub faults: Option<(u64, u64)>,
    /// Its timer slack, in ns.
    pub slack_ns: Option<u64>,
}

impl ThreadFacts {
    /// Whether it has a real-time policy.
    fn is_realtime(&self) -> bool {
        self.scheduling.is_some_and(|(policy, _)| policy != Policy::Other)
    }

    /// Whether the rules of real-time threads apply: it has a real-time policy, or it is periodic.
    fn matters(&self) -> bool {
        self.is_realtime() || self.interval_ns.is_some()
    }
}

/// The state of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The program follows the rule.
    Followed,
    /// It does not.
    Broken,
    /// What the rule needs is not known.
    Unknown,
}

/// A rule and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// The rule's name.
    pub rule: &'static str,
    /// Its state.
    pub state: State,
    /// What was found, or why it is unknown.
    pub found: String,
    /// What to do; empty if nothing.
    pub remedy: &'static str,
}

/// The rules and their rulings, in the order of their usual effect.
pub fn judge(facts: &ProgramFacts) -> Vec<Ruling> {
    let mut rulings = vec![
        policy(facts),
        memory_locked(facts),
        page_faults(facts),
        sleeps(facts),
        mutexes(facts),
        allocations(facts),
        interrupt_threads(facts),
        cpu_quota(facts),
        time_limit(facts),
        slack(facts),
        affinity(facts),
    ];
    rulings.extend(kernel_monitors(facts));
    rulings
}

fn followed(rule: &'static str, found: String) -> Ruling {
    Ruling { rule, state: State::Followed, found, remedy: "" }
}

fn broken(rule: &'static str, found: String, remedy: &'static str) -> Ruling {
    Ruling { rule, state: State::Broken, found, remedy }
}

fn unknown(rule: &'static str, why: &str) -> Ruling {
    Ruling { rule, state: State::Unknown, found: why.to_owned(), remedy: "" }
}

const NOT_OBSERVED: &str = "not observed: this needs root and tracefs";
const NONE_MATTERS: &str = "no thread is periodic or has a real-time policy";

/// The threads that matter, or why the rule cannot be checked.
fn threads(facts: &ProgramFacts) -> Result<Vec<&ThreadFacts>, &'static str> {
    let threads: Vec<&ThreadFacts> = facts.threads.iter().filter(|thread| thread.matters()).collect();
    if threads.is_empty() { Err(NONE_MATTERS) } else { Ok(threads) }
}

/// The threads that matter for which `count` is not 0, with the number.
fn offenders(
    facts: &ProgramFacts,
    count: impl Fn(&Habits) -> u64,
) -> Result<Vec<(&ThreadFacts, u64)>, &'static str> {
    let threads = threads(facts)?;
    if facts.observed_ns.is_none() {
        return Err(NOT_OBSERVED);
    }
    let counted = threads.into_iter().filter_map(|thread| Some((thread, count(&thread.habits?))));
    Ok(counted.filter(|(_, count)| *count > 0).collect())
}

/// `'control' (42), 'loop' (7)`, the first few.
fn listed(offenders: &[(&ThreadFacts, u64)]) -> String {
    const SHOWN: usize = 4;
    let shown = offenders.iter().take(SHOWN).map(|(thread, count)| format!("'{}' ({count})", thread.name));
    let more = offenders.len().saturating_sub(SHOWN);
    let shown = shown.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

fn by_habit(
    facts: &ProgramFacts,
    rule: &'static str,
    count: impl Fn(&Habits) -> u64,
    what: [&str; 2],
    remedy: &'static str,
) -> Ruling {
    match offenders(facts, count) {
        Err(why) => unknown(rule, why),
        Ok(offenders) if offenders.is_empty() => followed(rule, what[0].to_owned()),
        Ok(offenders) => broken(rule, format!("{}: {}", what[1], listed(&offenders)), remedy),
    }
}

fn policy(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "real-time-policy";
    let periodic: Vec<&ThreadFacts> =
        facts.threads.iter().filter(|thread| thread.interval_ns.is_some()).collect();
    let without: Vec<(&ThreadFacts, u64)> = periodic
        .iter()
        .filter(|thread| !thread.is_realtime())
        .map(|thread| (*thread, u64::from(thread.tid)))
        .collect();
    let any = facts.threads.iter().any(ThreadFacts::is_realtime);
    match (periodic.is_empty(), without.is_empty(), any) {
        (false, true, _) => followed(RULE, "every periodic thread has a real-time policy".to_owned()),
        (true, _, true) => followed(RULE, "it has threads with a real-time policy".to_owned()),
        (false, false, _) => broken(
            RULE,
            format!("periodic threads without a real-time policy (thread number): {}", listed(&without)),
            "use sched_setscheduler(2) in the program, or `chrt -f -p 80 TID`",
        ),
        (true, _, false) => broken(
            RULE,
            "no thread has a real-time policy".to_owned(),
            "use sched_setscheduler(2) in the program, or `chrt -f -p 80 TID`",
        ),
    }
}

fn memory_locked(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "memory-locked";
    match facts.memory_kib {
        None => unknown(RULE, "/proc/PID/status has no VmLck"),
        // mlockall locks all of it but mappings that cannot be locked, such as the vDSO.
        Some((resident, locked)) if locked * 10 >= resident * 9 => {
            followed(RULE, format!("{locked} KiB of {resident} KiB are locked"))
        }
        Some((resident, locked)) => broken(
            RULE,
            format!("{locked} KiB of {resident} KiB are locked"),
            "call mlockall(MCL_CURRENT | MCL_FUTURE) before the first cycle",
        ),
    }
}

fn page_faults(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "page-faults";
    let threads = match threads(facts) {
        Ok(threads) => threads,
        Err(why) => return unknown(RULE, why),
    };
    let count = |thread: &&ThreadFacts| thread.faults.map(|(minor, major)| minor + major);
    let with: Vec<(&ThreadFacts, u64)> = threads
        .iter()
        .filter_map(|thread| Some((*thread, count(thread).filter(|count| *count > 0)?)))
        .collect();
    match with.is_empty() {
        true if threads.iter().all(|thread| thread.faults.is_none()) => {
            unknown(RULE, "/proc/PID/task/TID/stat is not readable")
        }
        true => followed(RULE, "none while it was observed".to_owned()),
        false => broken(
            RULE,
            format!("page faults while it was observed: {}", listed(&with)),
            "lock memory, and touch the stack and the heap that cycles use before the first one",
        ),
    }
}

fn sleeps(facts: &ProgramFacts) -> Ruling {
    by_habit(
        facts,
        "absolute-sleeps",
        |habits| habits.relative_sleeps + habits.realtime_sleeps,
        ["no sleep is relative or on CLOCK_REALTIME", "sleeps that are relative or on CLOCK_REALTIME"],
        "sleep by clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME), so that lateness does not add up and no clock is set",
    )
}

fn mutexes(facts: &ProgramFacts) -> Ruling {
    by_habit(
        facts,
        "mutex-inheritance",
        |habits| habits.plain_mutexes,
        [
            "no thread waited for a mutex without inheritance",
            "waits for mutexes without priority inheritance",
        ],
        "initialise mutexes with pthread_mutexattr_setprotocol(PTHREAD_PRIO_INHERIT)",
    )
}

fn allocations(facts: &ProgramFacts) -> Ruling {
    by_habit(
        facts,
        "memory-allocation",
        |habits| habits.allocations,
        ["no thread took or returned memory", "calls of brk, mmap or munmap"],
        "allocate before the first cycle; mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0) keep the heap",
    )
}

fn interrupt_threads(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "priority";
    let Some(interrupts) = facts.interrupt_priority else {
        return followed(RULE, "the kernel has no interrupt threads".to_owned());
    };
    let realtime = facts.threads.iter().filter_map(|thread| Some((thread, thread.scheduling?)));
    let fixed: Vec<_> = realtime.filter(|(_, (policy, _))| policy.has_priority()).collect();
    let below: Vec<(&ThreadFacts, u64)> = fixed
        .iter()
        .filter(|(_, (_, priority))| *priority <= interrupts)
        .map(|(thread, (_, priority))| (*thread, u64::from(*priority)))
        .collect();
    match (fixed.is_empty(), below.is_empty()) {
        (true, _) => unknown(RULE, "no thread has a real-time priority"),
        (_, true) => {
            followed(RULE, format!("real-time priorities are above {interrupts}, that of interrupt threads"))
        }
        (_, false) => broken(
            RULE,
            format!(
                "priorities up to that of interrupt threads, {interrupts}, which therefore delay: {}",
                listed(&below)
            ),
            "use a higher priority, unless the thread waits for such an interrupt",
        ),
    }
}

fn cpu_quota(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "cpu-quota";
    match &facts.cpu_quota {
        None => followed(RULE, "no cgroup of it has a quota".to_owned()),
        Some((quota, file)) => broken(
            RULE,
            format!("{quota} in {file}: its threads stop when it is used up"),
            "move it to a cgroup without a quota",
        ),
    }
}

fn time_limit(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "real-time-limit";
    match facts.rt_time_limit_us {
        None => followed(RULE, "RLIMIT_RTTIME is unlimited".to_owned()),
        Some(us) => broken(
            RULE,
            format!("RLIMIT_RTTIME is {us} us (rtkit sets it): a thread that computes for longer is killed"),
            "raise it in limits.conf, or make sure that every cycle sleeps",
        ),
    }
}

fn slack(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "timer-slack";
    let of = |thread: &ThreadFacts| {
        thread.slack_ns.filter(|_| thread.interval_ns.is_some() && !thread.is_realtime())
    };
    let with: Vec<(&ThreadFacts, u64)> =
        facts.threads.iter().filter_map(|thread| Some((thread, of(thread).filter(|ns| *ns > 1)?))).collect();
    match with.is_empty() {
        true => followed(RULE, "timers of periodic threads have no slack".to_owned()),
        false => broken(
            RULE,
            format!("the kernel may wake these later, by ns: {}", listed(&with)),
            "use a real-time policy, or prctl(PR_SET_TIMERSLACK, 1)",
        ),
    }
}

fn affinity(facts: &ProgramFacts) -> Ruling {
    const RULE: &str = "affinity";
    match facts.cpus {
        None => unknown(RULE, "/proc/PID/status has no Cpus_allowed_list"),
        Some((allowed, all)) if allowed >= all && all > 1 => broken(
            RULE,
            format!("it may run on all {all} CPUs, so it shares them with everything else, and migrates"),
            "keep a CPU for it (isolcpus= or a cpuset), and use taskset(1) or sched_setaffinity(2)",
        ),
        Some((allowed, all)) => followed(RULE, format!("it may run on {allowed} of {all} CPUs")),
    }
}

/// What the kernel's own monitors reported of the program's threads. Most kernels have none, and then nothing is judged.
fn kernel_monitors(facts: &ProgramFacts) -> Option<Ruling> {
    const RULE: &str = "kernel-monitors";
    let reports = match facts.monitors.as_ref()? {
        Err(why) => return Some(unknown(RULE, why)),
        Ok(reports) => reports,
    };
    let of_monitor = |one: &Reports| {
        let counted = facts.threads.iter().filter_map(|thread| Some((thread, *one.counts.get(&thread.tid)?)));
        let offenders: Vec<(&ThreadFacts, u64)> = counted.collect();
        (!offenders.is_empty()).then(|| format!("{} reported {}", one.monitor, listed(&offenders)))
    };
    let found: Vec<String> = reports.iter().filter_map(of_monitor).collect();
    let names: Vec<&str> = reports.iter().map(|one| one.monitor).collect();
    Some(match found.is_empty() {
        true => followed(RULE, format!("no report by {}", names.join(" and "))),
        false => broken(
            RULE,
            found.join("; "),
            "the rules above name the sleeps, page faults and mutexes; what else the monitors refuse is in \
             Documentation/trace/rv/monitor_rtapp.rst of the kernel's source",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that follows all rules.
    fn right() -> ProgramFacts {
        let thread = ThreadFacts {
            tid: 7,
            name: "loop".to_owned(),
            scheduling: Some((Policy::Fifo, 80)),
            interval_ns: Some(1_000_000),
            habits: Some(Habits { absolute_sleeps: 100, ..Habits::default() }),
            faults: Some((0, 0)),
            slack_ns: Some(0),
        };
        ProgramFacts {
            pid: 7,
            name: "control".to_owned(),
            memory_kib: Some((1000, 1000)),
            cpus: Some((1, 4)),
            interrupt_priority: Some(50),
            threads: vec![thread],
            observed_ns: Some(2_000_000_000),
            ..ProgramFacts::default()
        }
    }

    fn broken_by(change: impl Fn(&mut ProgramFacts)) -> Vec<&'static str> {
        let mut facts = right();
        change(&mut facts);
        judge(&facts)
            .into_iter()
            .filter(|ruling| ruling.state == State::Broken)
            .map(|ruling| ruling.rule)
            .collect()
    }

    #[test]
    fn each_rule_is_broken_by_its_own_fault_alone() {
        assert_eq!(broken_by(|_| {}), Vec::<&str>::new());
        let habit = |change: fn(&mut Habits)| {
            broken_by(move |facts| change(facts.threads[0].habits.as_mut().unwrap()))
        };
        assert_eq!(habit(|habits| habits.relative_sleeps = 1), ["absolute-sleeps"]);
        assert_eq!(habit(|habits| habits.realtime_sleeps = 1), ["absolute-sleeps"]);
        assert_eq!(habit(|habits| habits.plain_mutexes = 1), ["mutex-inheritance"]);
        assert_eq!(habit(|habits| habits.inherited_mutexes = 1), Vec::<&str>::new());
        assert_eq!(habit(|habits| habits.allocations = 1), ["memory-allocation"]);
        assert_eq!(broken_by(|facts| facts.threads[0].faults = Some((3, 0))), ["page-faults"]);
        assert_eq!(broken_by(|facts| facts.memory_kib = Some((1000, 100))), ["memory-locked"]);
        assert_eq!(broken_by(|facts| facts.threads[0].scheduling = Some((Policy::Fifo, 50))), ["priority"]);
        assert_eq!(
            broken_by(|facts| facts.cpu_quota = Some(("1 2".to_owned(), "cpu.max".to_owned()))),
            ["cpu-quota"]
        );
        assert_eq!(broken_by(|facts| facts.rt_time_limit_us = Some(200_000)), ["real-time-limit"]);
        assert_eq!(broken_by(|facts| facts.cpus = Some((4, 4))), ["affinity"]);
        let ordinary = broken_by(|facts| {
            facts.threads[0].scheduling = Some((Policy::Other, 0));
            facts.threads[0].slack_ns = Some(50_000);
        });
        assert_eq!(ordinary, ["real-time-policy", "timer-slack"]);
    }

    #[test]
    fn what_the_kernels_monitors_report_of_the_program_breaks_a_rule() {
        let of_kernel = |monitors| {
            let mut facts = right();
            facts.monitors = monitors;
            judge(&facts).into_iter().find(|ruling| ruling.rule == "kernel-monitors")
        };
        let reports = |tid| {
            let counts = std::collections::BTreeMap::from([(tid, 3)]);
            Some(Ok(vec![Reports { monitor: "rtapp:sleep", counts }]))
        };
        assert_eq!(of_kernel(None), None);
        let ruling = of_kernel(reports(7)).unwrap();
        assert_eq!((ruling.state, ruling.found.as_str()), (State::Broken, "rtapp:sleep reported 'loop' (3)"));
        // Of another program.
        let ruling = of_kernel(reports(8)).unwrap();
        assert_eq!((ruling.state, ruling.found.as_str()), (State::Followed, "no report by rtapp:sleep"));
        assert_eq!(of_kernel(Some(Err("busy".to_owned()))).unwrap().state, State::Unknown);
    }

    #[test]
    fn what_was_not_observed_is_unknown() {
        let mut facts = right();
        facts.observed_ns = None;
        let unknown: Vec<&str> = judge(&facts)
            .into_iter()
            .filter(|ruling| ruling.state == State::Unknown)
            .map(|ruling| ruling.rule)
            .collect();
        assert_eq!(unknown, ["absolute-sleeps", "mutex-inheritance", "memory-allocation"]);
    }
}
