//! Watches the machine during a measurement.
//!
//! About once per second the supervisor reads the kernel's counters. Files stay open and buffers are reused; the cost
//! of each watcher is measured and recorded. Counters that are not readable, or are skipped because reading them would
//! interrupt a measured CPU, are recorded with the reason.
//!
//! Alternative not chosen: tracepoints or BPF. They need privileges and a kernel built for them, and they run on the
//! measured CPUs. The counters exist on every kernel since 3.2, and reading them costs time only on the reading CPU.

mod cgroup;
mod changes;
mod clocks;
mod count_table;
mod faults;
mod frequency;
mod frequency_limits;
mod interrupts;
mod kernel_threads;
pub(crate) mod number;
mod online_cpus;
mod polled;
mod pressure;
mod ptp;
mod readings;
mod room;
mod rt_throttling;
mod softirqs;
mod system;
mod temperature;
mod throttling;

use tardy_record::environment::{EnvSeries, Environment, WatcherCost};
use tardy_record::reason::Reason;
use tardy_record::series::Change;
use tardy_sys::clock::Clock;
use tardy_sys::kernel_files::KernelFiles;

use crate::ptp_log::{Line, PtpLog};
use readings::Readings;
use room::Room;
pub use room::{Overlap, WakeTimes};

/// The properties of the measurement that the watchers need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// The measured CPUs, which must not be interrupted.
    pub measured_cpus: Vec<u32>,
    /// Whether this process runs on a measured CPU.
    pub on_a_measured_cpu: bool,
    /// Whether the clocks are this machine's; a synthetic run has its own.
    pub clocks_are_real: bool,
    /// Whether a thread waits for CLOCK_REALTIME or CLOCK_TAI, so that setting the clock invalidates the run.
    pub uses_realtime: bool,
}

/// The occasion of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Once per second, during a phase.
    Tick,
    /// Before or after a phase.
    Boundary,
}

/// On a measured CPU, a watcher whose reading takes longer than this on average is read every [`SELDOM`] s, in ns.
const CHEAP_NS: u64 = 200_000;
/// How often an expensive watcher is read on a measured CPU: every so many rounds, which are a second apart.
const SELDOM: u64 = 10;

/// One reading of a watcher.
#[derive(Clone, Copy)]
struct Round<'r> {
    /// Time in ns since the start of the run.
    now_ns: u64,
    /// Seconds since the previous reading of the watcher, or of its file; `None` at the first, which only reads initial values.
    seconds: Option<f64>,
    /// Number of the watcher's reading, from 0.
    number: u64,
    /// Runs the system calls that read.
    room: &'r Room,
}

impl Round<'_> {
    /// The same round for a file that was last read `seconds` ago.
    fn over(&self, seconds: Option<f64>) -> Self {
        Self { seconds, ..*self }
    }
}

/// The newest reading of a series of the environment.
#[derive(Clone, Debug, PartialEq)]
pub struct LatestReading {
    /// The quantity: `temperature` or `frequency`.
    pub name: String,
    /// The sensor or the CPUs; empty if the CPU identifies the series.
    pub of: String,
    /// The CPU, if the quantity belongs to one.
    pub cpu: Option<u32>,
    /// Unit of the value.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// Reads one group of counters once per second.
trait Watcher {
    /// Its name in the record.
    fn name(&self) -> &'static str;
    /// Takes a reading.
    fn read(&mut self, round: &Round<'_>, readings: &mut Readings);
    /// The parts that it does not read, with the reasons; `None` if it reads everything.
    fn left_out(&self) -> Option<String>;
    /// Removes and returns the reasons for which the measurement is invalid.
    fn take_reasons(&mut self) -> Vec<Reason> {
        Vec::new()
    }
    /// Removes and returns remarks on the time since the last call.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Adds its totals over the whole run.
    fn add_totals(&self, _watched_ns: u64, _environment: &mut Environment) {}
}

/// A watcher, its cost, and the time of its last reading.
struct Held {
    watcher: Box<dyn Watcher>,
    cost: WatcherCost,
    last_ns: Option<u64>,
}

impl Held {
    fn of(watcher: Box<dyn Watcher>) -> Self {
        let cost = WatcherCost { name: watcher.name().to_owned(), ..WatcherCost::default() };
        Self { watcher, cost, last_ns: None }
    }

    fn read(&mut self, now_ns: u64, room: &mut Room, readings: &mut Readings) {
        let seconds = self.last_ns.map(|last_ns| (now_ns - last_ns) as f64 / 1e9);
        readings.set_interval(seconds);
        room.begin(self.watcher.name());
        let start_ns = room.now_ns();
        let number = self.cost.readings;
        self.watcher.read(&Round { now_ns, seconds, number, room }, readings);
        let took_ns = room.now_ns().saturating_sub(start_ns).saturating_sub(room.waited_ns());
        self.cost.readings += 1;
        self.cost.total_ns += took_ns;
        self.cost.longest_ns = self.cost.longest_ns.max(took_ns);
        self.last_ns = Some(now_ns);
    }

    /// The average duration of a reading, in ns.
    fn mean_ns(&self) -> u64 {
        self.cost.total_ns / self.cost.readings.max(1)
    }

    /// Whether a reading is short enough to be taken every second on a measured CPU.
    fn is_cheap(&self) -> bool {
        self.mean_ns() <= CHEAP_NS
    }

    fn left_out(&self, on_a_measured_cpu: bool) -> Option<String> {
        let seldom = on_a_measured_cpu && !self.is_cheap();
        let why = || {
            let took_ms = self.mean_ns() as f64 / 1e6;
            format!("read every {SELDOM} s only: a reading takes {took_ms:.2} ms of a measured CPU")
        };
        let reasons = [self.watcher.left_out(), seldom.then(why)];
        let said: Vec<String> = reasons.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// All the watchers.
pub struct Watchers {
    watchers: Vec<Held>,
    readings: Readings,
    room: Room,
    rounds: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Watchers {
    /// Opens the files of all counters that this machine has. `clock` times readings: the monotonic clock, in ns.
    pub fn new(files: &KernelFiles, options: &WatchOptions, clock: impl Fn() -> u64 + 'static) -> Self {
        let measured = &options.measured_cpus;
        let watchers: Vec<Box<dyn Watcher>> = vec![
            Box::new(temperature::Temperature::new(files, measured)),
            Box::new(frequency::Frequency::new(files, measured)),
            Box::new(frequency_limits::FrequencyLimits::new(files, measured)),
            Box::new(throttling::Throttling::new(files)),
            Box::new(cgroup::Cgroup::new(files)),
            Box::new(rt_throttling::RtThrottling::new(files)),
            Box::new(clocks::Clocks::new(files, options.clocks_are_real, options.uses_realtime)),
            Box::new(online_cpus::OnlineCpus::new(files, measured)),
            Box::new(interrupts::new(files, measured)),
            Box::new(softirqs::new(files, measured)),
            Box::new(kernel_threads::KernelThreads::new(files)),
            Box::new(system::System::new(files)),
            Box::new(faults::Faults::new(files)),
            Box::new(pressure::Pressure::new(files)),
        ];
        Self {
            watchers: watchers.into_iter().map(Held::of).collect(),
            readings: Readings::default(),
            room: Room::new(options.on_a_measured_cpu, clock, sleep_until),
            rounds: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Also follows the log of ptp4l or phc2sys, which began with `lines`. `start_ns` is the start of the run, in ns of
    /// CLOCK_MONOTONIC.
    pub fn follow_ptp(&mut self, log: PtpLog, lines: Vec<Line>, start_ns: u64) {
        // First, so that its series are the first that a report draws.
        self.watchers.insert(0, Held::of(Box::new(ptp::Ptp::new(log, lines, start_ns))));
    }

    /// Takes a reading before a phase if fewer are taken during it.
    pub fn read_before(&mut self, now_ns: u64) {
        if self.room.is_shared() {
            self.read(now_ns, Occasion::Boundary);
        }
        self.room.take_overlaps();
        // Changes between two phases belong to neither.
        self.take_reasons();
        self.take_remarks();
    }

    /// Sets when the thread that is measured on this process's CPU wakes up, so that readings are taken between its wake-ups.
    /// `None` if no thread is measured here, or if its wake-ups are not regular.
    pub fn avoid(&mut self, wakes: Option<WakeTimes>) {
        self.room.set_wakes(wakes);
    }

    /// Takes a reading. `now_ns` counts from the start of the run. To be called about once per second. During a phase whose
    /// measured CPU the watchers share, expensive ones are read every tenth time, in turn.
    ///
    /// A reading that is not later than the previous one is ignored: there is no rate over an empty span.
    pub fn read(&mut self, now_ns: u64, occasion: Occasion) {
        if self.rounds > 0 && now_ns <= self.last_ns {
            return;
        }
        if occasion == Occasion::Boundary {
            self.room.set_wakes(None);
        }
        self.readings.begin(self.rounds, now_ns);
        self.room.begin_round(now_ns);
        let all = occasion == Occasion::Boundary || !self.room.is_shared();
        let turn = self.rounds % SELDOM;
        for (index, held) in self.watchers.iter_mut().enumerate() {
            if all || held.is_cheap() || index as u64 % SELDOM == turn {
                held.read(now_ns, &mut self.room, &mut self.readings);
            }
        }
        if self.rounds == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.rounds += 1;
    }

    /// Removes and returns the reasons since the last call for which the measurement is invalid.
    pub fn take_reasons(&mut self) -> Vec<Reason> {
        self.watchers.iter_mut().flat_map(|held| held.watcher.take_reasons()).collect()
    }

    /// Removes and returns remarks on the time since the last call, such as the one on throttling.
    pub fn take_remarks(&mut self) -> Vec<String> {
        self.watchers.iter_mut().flat_map(|held| held.watcher.take_remarks()).collect()
    }

    /// Does other work of this process that may keep its CPU, between two wake-ups of the thread that is measured there if it fits.
    /// `longest_ns`: how long it took at most so far; updated.
    pub fn between_wakeups<T>(
        &mut self,
        name: &'static str,
        longest_ns: &mut u64,
        work: impl FnOnce() -> T,
    ) -> T {
        self.room.begin(name);
        self.room.run(longest_ns, work)
    }

    /// Adds work of this process that did not wait for the time between two wake-ups.
    pub fn note_overlap(&mut self, overlap: Overlap) {
        self.room.note_overlap(overlap);
    }

    /// Removes and returns the reads and the noted work since the last call during which the measuring thread on this CPU was
    /// due to wake up.
    pub fn take_overlaps(&mut self) -> Vec<Overlap> {
        self.room.take_overlaps()
    }

    /// The notable changes between the last two readings, the most unusual first, at most eight.
    pub fn recent_changes(&self) -> Vec<Change> {
        self.readings.recent_changes()
    }

    /// The newest temperatures and frequencies.
    pub fn latest(&self) -> Vec<LatestReading> {
        let shown = self.readings.series().iter();
        let shown = shown.filter(|series| matches!(series.name.as_str(), "temperature" | "frequency"));
        let latest = |series: &EnvSeries| {
            Some(LatestReading {
                name: series.name.clone(),
                of: series.of.clone(),
                cpu: series.cpu,
                unit: series.unit.clone(),
                value: *series.values.last()?,
            })
        };
        shown.filter_map(latest).collect()
    }

    /// The record so far, for a checkpoint.
    pub fn snapshot(&self) -> Environment {
        let mut environment = Environment {
            series: self.readings.series().to_vec(),
            series_left_out: self.readings.left_out(),
            ..Environment::default()
        };
        self.add_totals(&mut environment);
        environment
    }

    /// The complete record.
    pub fn finish(mut self) -> Environment {
        let (series, series_left_out) = self.readings.take();
        let mut environment = Environment { series, series_left_out, ..Environment::default() };
        self.add_totals(&mut environment);
        environment
    }

    fn add_totals(&self, environment: &mut Environment) {
        for held in &self.watchers {
            held.watcher.add_totals(self.last_ns - self.first_ns, environment);
            let left_out = held.left_out(self.room.is_shared());
            environment.watchers.push(WatcherCost { left_out, ..held.cost.clone() });
        }
    }
}

fn sleep_until(monotonic_ns: u64) {
    // An error leaves the reading where it is; the overlap is recorded.
    let _ = tardy_sys::waiting::sleep_until(Clock::Monotonic, monotonic_ns.cast_signed());
}

#[cfg(test)]
mod tests;
