//! The changes that the doctor knows, and whether each can be tried on this machine.
//!
//! The check changes nothing: it tests permissions by opening a file, which has no effect on kernel files.

use serde::Serialize;
use tardy_record::cpu_list;
use tardy_sys::kernel_files::{KernelFileError, KernelFiles};
use tardy_sys::privileges;

use super::threads;
use tardy_host::facts::{major_minor, may_set_priorities};
use tardy_host::settings::{INTERRUPT_THREADS, Rank, TIMER_THREADS, ThreadRank};

/// A change that can be made and undone while the machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The frequency governor of the measured CPUs is `performance`.
    Governor,
    /// /dev/cpu_dma_latency keeps CPUs out of idle states that have an exit latency.
    Idle,
    /// Real-time tasks are not throttled (before Linux 6.12).
    Throttling,
    /// The fair server reserves no time for ordinary tasks on the measured CPUs (Linux 6.12 and later).
    FairServer,
    /// Interrupts go to the CPUs that are not measured.
    Interrupts,
    /// Interrupt threads have higher priority than the probe.
    #[serde(rename = "irq-threads-up")]
    InterruptThreadsRaised,
    /// Interrupt threads have lower priority than the probe.
    #[serde(rename = "irq-threads-down")]
    InterruptThreadsLowered,
    /// The threads that expire timers on RT kernels have higher priority than the probe.
    #[serde(rename = "ktimers-up")]
    TimerThreadsRaised,
    /// The threads that expire timers on RT kernels have lower priority than the probe.
    #[serde(rename = "ktimers-down")]
    TimerThreadsLowered,
    /// Timers stay on the CPU on which they were set.
    TimerMigration,
}

impl Change {
    /// Every change.
    pub const ALL: [Self; 10] = [
        Self::Governor,
        Self::Idle,
        Self::Throttling,
        Self::FairServer,
        Self::Interrupts,
        Self::InterruptThreadsRaised,
        Self::InterruptThreadsLowered,
        Self::TimerThreadsRaised,
        Self::TimerThreadsLowered,
        Self::TimerMigration,
    ];

    /// The change's name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Governor => "governor",
            Self::Idle => "idle",
            Self::Throttling => "throttling",
            Self::FairServer => "fair-server",
            Self::Interrupts => "interrupts",
            Self::InterruptThreadsRaised => "irq-threads-up",
            Self::InterruptThreadsLowered => "irq-threads-down",
            Self::TimerThreadsRaised => "ktimers-up",
            Self::TimerThreadsLowered => "ktimers-down",
            Self::TimerMigration => "timer-migration",
        }
    }

    /// The change called `name`.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.name() == name)
    }
}

/// The properties of the measurement on which the changes depend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The measured CPUs, in ascending order.
    pub cpus: Vec<u32>,
    /// The probe's real-time priority; 0 if it has none.
    pub priority: u32,
}

/// A change, and whether it can be tried here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Offer {
    /// The change.
    pub change: Change,
    /// Whether the change can be tried here.
    #[serde(flatten)]
    pub standing: Standing,
}

/// Whether a change can be tried here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
    /// The change can be tried.
    CanBeTried(Steps),
    /// There is nothing to change.
    AlreadySo {
        /// The present setting.
        what: String,
    },
    /// This user may not change it.
    NotPermitted {
        /// The operation that is not permitted.
        what: String,
    },
    /// This machine lacks something that the change needs.
    NotHere {
        /// The missing part.
        what: String,
    },
}

/// The steps of a change on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Steps {
    /// The present setting, for the user.
    pub now: String,
    /// The new setting, for the user.
    pub becomes: String,
    /// The steps, in the order in which they are made.
    #[serde(skip)]
    pub(super) steps: Vec<Step>,
    /// Whether some of the steps may be refused; some interrupts cannot be moved, for example.
    #[serde(skip)]
    pub(super) may_be_partial: bool,
}

impl Steps {
    /// Whether the probe keeps CPUs out of deep idle states.
    pub(super) fn keeps_out_of_idle(&self) -> bool {
        self.steps.contains(&Step::KeepOutOfIdle)
    }
}

/// One step of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `new` is written into a file.
    File { path: String, new: String },
    /// A kernel thread gets another rank.
    Thread(ThreadRank),
    /// The probe holds /dev/cpu_dma_latency at 0, which the kernel undoes when the probe ends.
    KeepOutOfIdle,
}

/// All changes, each with the result whether it can be tried on this machine.
pub fn offers(files: &KernelFiles, subject: &Subject) -> Vec<Offer> {
    Change::ALL
        .into_iter()
        .map(|change| {
            let looked = match change {
                Change::Governor => governor(files, subject),
                Change::Idle => idle(files, subject),
                Change::Throttling => throttling(files),
                Change::FairServer => fair_server(files, subject),
                Change::Interrupts => interrupts(files, subject),
                Change::InterruptThreadsRaised => ranks(files, subject, INTERRUPT_THREADS, true),
                Change::InterruptThreadsLowered => ranks(files, subject, INTERRUPT_THREADS, false),
                Change::TimerThreadsRaised => ranks(files, subject, TIMER_THREADS, true),
                Change::TimerThreadsLowered => ranks(files, subject, TIMER_THREADS, false),
                Change::TimerMigration => number(files, "/proc/sys/kernel/timer_migration", "0"),
            };
            Offer { change, standing: looked.map_or_else(|obstacle| obstacle, Standing::CanBeTried) }
        })
        .collect()
}

type Looked = Result<Steps, Standing>;

fn already(what: impl Into<String>) -> Standing {
    Standing::AlreadySo { what: what.into() }
}

fn missing(what: impl Into<String>) -> Standing {
    Standing::NotHere { what: what.into() }
}

fn cannot(error: &KernelFileError) -> Standing {
    /// What kernel files return if root is refused too, as by lockdown; other users get EACCES.
    const EPERM: i32 = 1;
    let what = error.to_string();
    if error.source.raw_os_error() == Some(EPERM) {
        return missing(format!("{what}; the kernel refuses it to root too, as lockdown does"));
    }
    if error.is_refused() { Standing::NotPermitted { what } } else { Standing::NotHere { what } }
}

/// The steps that write `new` into those of `paths` that have another content, and the present contents of these.
fn files_of(files: &KernelFiles, paths: &[String], new: &str) -> Result<(Vec<Step>, String), Standing> {
    let mut steps = Vec::new();
    let mut olds: Vec<String> = Vec::new();
    for path in paths {
        let old = files.text(path).map_err(|error| cannot(&error))?;
        if old == new {
            continue;
        }
        files.check_writable(path).map_err(|error| cannot(&error))?;
        steps.push(Step::File { path: path.clone(), new: new.to_owned() });
        if !olds.contains(&old) {
            olds.push(old);
        }
    }
    Ok((steps, olds.join(", ")))
}

fn number(files: &KernelFiles, path: &str, new: &str) -> Looked {
    let (steps, now) = files_of(files, &[path.to_owned()], new)?;
    let name = path.rsplit('/').next().unwrap_or(path);
    if steps.is_empty() {
        return Err(already(format!("{name} is {new}")));
    }
    Ok(Steps { now: format!("{name} {now}"), becomes: new.to_owned(), steps, may_be_partial: false })
}

/// Not offered since Linux 6.12, in which the fair server replaces throttling unless the kernel has CONFIG_RT_GROUP_SCHED:
/// the change could not be undone completely. Once sched_rt_runtime_us has been −1, the kernel no longer accounts for the fair servers' bandwidth, and
/// refuses (EBUSY) to change their settings until the next boot. Seen with 6.12.117-rt in the lab.
fn throttling(files: &KernelFiles) -> Looked {
    let release = files.text("/proc/sys/kernel/osrelease").ok();
    if release.and_then(|release| major_minor(&release)).is_some_and(|version| version >= (6, 12)) {
        return Err(missing(
            "since Linux 6.12 the fair server replaces throttling, except with CONFIG_RT_GROUP_SCHED, and the change \
             cannot be undone completely",
        ));
    }
    number(files, "/proc/sys/kernel/sched_rt_runtime_us", "-1")
}

fn governor(files: &KernelFiles, subject: &Subject) -> Looked {
    const WANTED: &str = "performance";
    let place = |cpu: &u32, file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}");
    let of = |file: &str| subject.cpus.iter().map(|cpu| place(cpu, file)).collect::<Vec<_>>();
    let known: Vec<String> = of("scaling_governor").into_iter().filter(|path| files.exists(path)).collect();
    if known.is_empty() {
        return Err(missing(
            "the kernel does not scale the frequency of these CPUs (no cpufreq/scaling_governor)",
        ));
    }
    let lacks = |path: &String| {
        files.text(path).is_ok_and(|list| !list.split_whitespace().any(|governor| governor == WANTED))
    };
    if of("scaling_available_governors").iter().any(lacks) {
        return Err(missing("the kernel does not have the performance governor"));
    }
    let (steps, now) = files_of(files, &known, WANTED)?;
    if steps.is_empty() {
        return Err(already("the governor is performance"));
    }
    Ok(Steps { now: format!("governor {now}"), becomes: WANTED.to_owned(), steps, may_be_partial: false })
}

fn idle(files: &KernelFiles, subject: &Subject) -> Looked {
    const PATH: &str = "/dev/cpu_dma_latency";
    let states = |cpu: &u32| {
        let place = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let names = files.names(&place).unwrap_or_default();
        names.into_iter().map(move |name| format!("{place}/{name}"))
    };
    let number = |state: &str, file: &str| files.number::<u64>(&format!("{state}/{file}")).ok();
    let slow: Vec<String> = subject
        .cpus
        .iter()
        .flat_map(states)
        .filter(|state| number(state, "latency").is_some_and(|us| us > 0))
        .collect();
    if slow.is_empty() {
        return Err(missing("these CPUs have no idle state with an exit latency (no cpuidle)"));
    }
    let deepest = slow
        .iter()
        .filter(|state| number(state, "disable") != Some(1))
        .filter_map(|state| number(state, "latency"))
        .max()
        .ok_or_else(|| already("every idle state with an exit latency is disabled"))?;
    files.check_writable(PATH).map_err(|error| cannot(&error))?;
    // The kernel returns the limit in force, in us, as a 32-bit integer in native byte order (kernel/power/qos.c).
    let held = files.bytes(PATH).ok().and_then(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)));
    if held == Some(0) {
        return Err(already("another process holds /dev/cpu_dma_latency at 0"));
    }
    Ok(Steps {
        now: format!("idle states of up to {deepest} us"),
        becomes: "none (/dev/cpu_dma_latency at 0)".to_owned(),
        steps: vec![Step::KeepOutOfIdle],
        may_be_partial: false,
    })
}

fn fair_server(files: &KernelFiles, subject: &Subject) -> Looked {
    const PLACE: &str = "/sys/kernel/debug/sched/fair_server";
    match files.names(PLACE) {
        Ok(_) => {}
        Err(error) if error.is_absent() => {
            return Err(missing(format!("no {PLACE}: Linux 6.12 and a mounted debugfs are required")));
        }
        Err(error) => return Err(cannot(&error)),
    }
    let paths: Vec<String> = subject.cpus.iter().map(|cpu| format!("{PLACE}/cpu{cpu}/runtime")).collect();
    let (steps, now) = files_of(files, &paths, "0")?;
    if steps.is_empty() {
        return Err(already("the fair server is off"));
    }
    let now = format!("fair server {now} ns per period");
    Ok(Steps { now, becomes: "off".to_owned(), steps, may_be_partial: false })
}

fn interrupts(files: &KernelFiles, subject: &Subject) -> Looked {
    const PLACE: &str = "/proc/irq";
    let online = files.text("/sys/devices/system/cpu/online").ok().and_then(|text| cpu_list::parse(&text));
    let online = online.ok_or_else(|| missing("/sys/devices/system/cpu/online does not list the CPUs"))?;
    let is_measured = |cpu: &u32| subject.cpus.contains(cpu);
    let others: Vec<u32> = online.into_iter().filter(|cpu| !is_measured(cpu)).collect();
    if others.is_empty() {
        return Err(missing("every CPU is measured; leave one for the interrupts with --cpus"));
    }
    let numbers = files.names(PLACE).map_err(|error| cannot(&error))?;
    let mut steps = Vec::new();
    let mut refusal = None;
    for number in numbers.iter().filter(|name| name.parse::<u32>().is_ok()) {
        let path = format!("{PLACE}/{number}/smp_affinity_list");
        let Some(now) = files.text(&path).ok().and_then(|text| cpu_list::parse(&text)) else { continue };
        if !now.iter().any(is_measured) {
            continue;
        }
        if let Err(error) = files.check_writable(&path) {
            refusal.get_or_insert(cannot(&error));
            continue;
        }
        let rest: Vec<u32> = now.into_iter().filter(|cpu| !is_measured(cpu)).collect();
        let new = cpu_list::format(if rest.is_empty() { &others } else { &rest });
        steps.push(Step::File { path, new });
    }
    if steps.is_empty() {
        return Err(refusal.unwrap_or_else(|| already("no interrupt may go to a measured CPU")));
    }
    let measured = cpu_list::format(&subject.cpus);
    Ok(Steps {
        now: format!("interrupts that may go to CPU {measured}: {}", steps.len()),
        becomes: format!("none (to CPU {} only)", cpu_list::format(&others)),
        steps,
        may_be_partial: true,
    })
}

fn ranks(files: &KernelFiles, subject: &Subject, names: &[&str], up: bool) -> Looked {
    let probe = subject.priority;
    let wanted = if up { probe + 1 } else { probe.saturating_sub(1) };
    if probe == 0 || !(1..=99).contains(&wanted) {
        return Err(missing(format!("not possible with a probe of priority {probe}; see --priority")));
    }
    let all = threads::find(files, names);
    if all.is_empty() {
        return Err(missing(format!("there is no real-time thread {}…", names[0])));
    }
    let is_so = |rank: Rank| if up { rank.priority > probe } else { rank.priority < probe };
    let numbers = |list: &[ThreadRank]| {
        let mut all: Vec<u32> = list.iter().map(|thread| thread.old.priority).collect();
        all.sort_unstable();
        all.dedup();
        all.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
    };
    let (so, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|thread| is_so(thread.old));
    if others.is_empty() {
        return Err(already(format!("their priority is {}, the probe's {probe}", numbers(&so))));
    }
    // After a crash, only root's journal can undo the change.
    if !may_set_priorities(files) || privileges::were_gained() {
        let what = "changing priorities of kernel threads requires root".to_owned();
        return Err(Standing::NotPermitted { what });
    }
    let count = others.len();
    let now =
        format!("{count} thread{} {}…: {}", if count == 1 { "" } else { "s" }, names[0], numbers(&others));
    let new = Rank::fifo(wanted);
    let steps = others.into_iter().map(|thread| Step::Thread(ThreadRank { new, ..thread })).collect();
    // A thread may end before it is changed.
    Ok(Steps { now, becomes: new.describe(), steps, may_be_partial: true })
}
