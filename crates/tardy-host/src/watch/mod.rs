//! What happens on the machine during a measurement.
//!
//! About once per second the supervisor reads the kernel's counters. Files stay open and buffers are reused; the cost of each watcher
//! is measured and recorded. What is not readable, or is skipped because reading it would interrupt a measured CPU, is named with
//! the reason.
//!
//! Road not taken: tracepoints or BPF. They need privileges and a kernel built for them, and they run on the measured CPUs. The
//! counters exist on every kernel since 3.2, and reading them costs only the CPU that reads.

mod changes;
mod count_table;
mod faults;
mod frequency;
mod interrupts;
mod kernel_threads;
mod number;
mod polled;
mod pressure;
mod readings;
mod softirqs;
mod system;
mod temperature;
mod throttling;

use tardy_record::environment::{Environment, WatcherCost};
use tardy_record::series::Change;
use tardy_sys::kernel_files::KernelFiles;

use readings::Readings;

/// What the watchers need to know about the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// The measured CPUs, which must not be interrupted.
    pub measured_cpus: Vec<u32>,
    /// Whether this process runs on one of them.
    pub on_a_measured_cpu: bool,
}

/// The occasion of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// Once per second, during a phase.
    Tick,
    /// Before or after a phase.
    Boundary,
}

/// One reading of all watchers.
struct Round<'clock> {
    /// Time in ns since the start of the run.
    now_ns: u64,
    /// Seconds since the previous reading; `None` at the first, which only reads initial values.
    seconds: Option<f64>,
    /// Number of the reading, from 0.
    number: u64,
    /// A clock in ns, to time readings.
    clock: &'clock dyn Fn() -> u64,
}

/// Something that is read once per second.
trait Watcher {
    /// Its name in the record.
    fn name(&self) -> &'static str;
    /// Takes a reading.
    fn read(&mut self, round: &Round<'_>, readings: &mut Readings);
    /// Whether a reading is short (a few lines from a driver) and worth its cost every second on any CPU.
    ///
    /// The other watchers make the kernel write long tables without a pause. If the supervisor shares its CPU with a probe and the kernel
    /// does not preempt itself, such a table delays the probe: on Debian's standard kernel with one emulated CPU, by 195 us for
    /// /proc/interrupts, where the latest wake-up was 15 us late otherwise. In that case they are read between the phases only.
    fn is_light(&self) -> bool {
        false
    }
    /// What it does not read, and why; `None` if it reads everything.
    fn left_out(&self) -> Option<String>;
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

    fn read(&mut self, now_ns: u64, number: u64, clock: &dyn Fn() -> u64, readings: &mut Readings) {
        let seconds = self.last_ns.map(|last_ns| (now_ns - last_ns) as f64 / 1e9);
        let start = clock();
        self.watcher.read(&Round { now_ns, seconds, number, clock }, readings);
        let took = clock().saturating_sub(start);
        self.cost.readings += 1;
        self.cost.total_ns += took;
        self.cost.longest_ns = self.cost.longest_ns.max(took);
        self.last_ns = Some(now_ns);
    }

    fn left_out(&self, between_phases: bool) -> Option<String> {
        let seldom = between_phases && !self.watcher.is_light();
        let why = "read between the phases only: a reading would delay the measured CPU that it is taken on";
        let reasons = [self.watcher.left_out(), seldom.then(|| why.to_owned())];
        let said: Vec<String> = reasons.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// All the watchers.
pub struct Watchers {
    watchers: Vec<Held>,
    /// Whether only the light watchers are read during a phase.
    between_phases: bool,
    readings: Readings,
    clock: Box<dyn Fn() -> u64>,
    rounds: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Watchers {
    /// Finds out what can be watched and opens it. `clock` counts ns from any start; it only serves to time readings.
    pub fn new(files: &KernelFiles, options: &WatchOptions, clock: impl Fn() -> u64 + 'static) -> Self {
        let measured = &options.measured_cpus;
        let watchers: Vec<Box<dyn Watcher>> = vec![
            Box::new(temperature::Temperature::new(files, measured)),
            Box::new(frequency::Frequency::new(files, measured)),
            Box::new(throttling::Throttling::new(files)),
            Box::new(interrupts::new(files, measured)),
            Box::new(softirqs::new(files, measured)),
            Box::new(kernel_threads::KernelThreads::new(files)),
            Box::new(system::System::new(files)),
            Box::new(faults::Faults::new(files)),
            Box::new(pressure::Pressure::new(files)),
        ];
        Self {
            watchers: watchers.into_iter().map(Held::of).collect(),
            between_phases: options.on_a_measured_cpu,
            readings: Readings::default(),
            clock: Box::new(clock),
            rounds: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Takes a reading before a phase if none can be taken during it.
    pub fn read_before(&mut self, now_ns: u64) {
        if self.between_phases {
            self.read(now_ns, Occasion::Boundary);
        }
    }

    /// Reads everything that may be read on that occasion. `now_ns` counts from the start of the run; to be called about once per second.
    ///
    /// A reading that is not later than the previous one is ignored: there is no rate over an empty span.
    pub fn read(&mut self, now_ns: u64, occasion: Occasion) {
        if self.rounds > 0 && now_ns <= self.last_ns {
            return;
        }
        self.readings.begin(self.rounds);
        let all = occasion == Occasion::Boundary || !self.between_phases;
        for held in self.watchers.iter_mut().filter(|held| all || held.watcher.is_light()) {
            held.read(now_ns, self.rounds, &*self.clock, &mut self.readings);
        }
        if self.rounds == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.rounds += 1;
    }

    /// The notable changes between the last two readings, the most unusual first, at most eight.
    pub fn recent_changes(&self) -> Vec<Change> {
        self.readings.recent_changes()
    }

    /// Everything seen so far, for a checkpoint.
    pub fn snapshot(&self) -> Environment {
        let mut environment = Environment {
            series: self.readings.series().to_vec(),
            series_left_out: self.readings.left_out(),
            ..Environment::default()
        };
        self.add_totals(&mut environment);
        environment
    }

    /// Everything seen.
    pub fn finish(mut self) -> Environment {
        let (series, series_left_out) = self.readings.take();
        let mut environment = Environment { series, series_left_out, ..Environment::default() };
        self.add_totals(&mut environment);
        environment
    }

    fn add_totals(&self, environment: &mut Environment) {
        for held in &self.watchers {
            held.watcher.add_totals(self.last_ns - self.first_ns, environment);
            let left_out = held.left_out(self.between_phases);
            environment.watchers.push(WatcherCost { left_out, ..held.cost.clone() });
        }
    }
}

#[cfg(test)]
mod tests;
