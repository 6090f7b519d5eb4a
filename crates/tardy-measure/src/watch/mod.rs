//! What happens on the machine while it is measured.
//!
//! About once a second the housekeeping process reads the kernel's counters. Files stay open and buffers are used
//! again; what each watcher costs is measured and recorded, and what cannot be read, or must not be because reading it
//! would interrupt a measured CPU, is named with the reason.
//!
//! The road not taken: tracepoints or BPF. They need privileges and a kernel built for them, and they run on the
//! measured CPUs. The counters are there on every kernel since 3.2, and reading them costs only where it is done.

mod changes;
mod count_table;
mod faults;
mod frequency;
mod interrupts;
mod kernel_threads;
mod number;
mod polled;
mod pressure;
mod sheet;
mod softirqs;
mod system;
mod temperature;
mod throttling;

use tardy_record::environment::{Environment, WatcherCost};
use tardy_record::series::Change;
use tardy_sys::kernel_files::KernelFiles;

use sheet::Sheet;

/// What the watchers must know of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// The CPUs that are measured, and so must not be interrupted.
    pub measured_cpus: Vec<u32>,
}

/// One reading of all the watchers.
struct Round<'clock> {
    /// When, in ns from the start of the run.
    now_ns: u64,
    /// Since the reading before, in s; absent at the first, which only takes the counters' levels.
    seconds: Option<f64>,
    /// Number of the reading, from 0.
    number: u64,
    /// For how long readings take, in ns from wherever.
    clock: &'clock dyn Fn() -> u64,
}

/// Something that is read once a second.
trait Watcher {
    /// Its name in the record.
    fn name(&self) -> &'static str;
    /// Takes a reading.
    fn read(&mut self, round: &Round<'_>, sheet: &mut Sheet);
    /// What it does not read, and why; absent when it reads everything.
    fn left_out(&self) -> Option<String>;
    /// Adds what it counted over the whole run.
    fn add_totals(&self, _watched_ns: u64, _environment: &mut Environment) {}
}

/// All the watchers.
pub struct Watchers {
    watchers: Vec<(Box<dyn Watcher>, WatcherCost)>,
    sheet: Sheet,
    clock: Box<dyn Fn() -> u64>,
    rounds: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Watchers {
    /// Finds out what there is to watch and opens it. `clock` counts ns from wherever, and only serves to tell how
    /// long readings take.
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
        let with_cost = |watcher: Box<dyn Watcher>| {
            let cost = WatcherCost { name: watcher.name().to_owned(), ..WatcherCost::default() };
            (watcher, cost)
        };
        Self {
            watchers: watchers.into_iter().map(with_cost).collect(),
            sheet: Sheet::default(),
            clock: Box::new(clock),
            rounds: 0,
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Takes a reading of everything. `now_ns` counts from the start of the run; call this about once a second.
    ///
    /// A reading at the time of the one before, or earlier, is passed over: there is no rate over no time.
    pub fn read(&mut self, now_ns: u64) {
        if self.rounds > 0 && now_ns <= self.last_ns {
            return;
        }
        let seconds = (self.rounds > 0).then(|| (now_ns - self.last_ns) as f64 / 1e9);
        let round = Round { now_ns, seconds, number: self.rounds, clock: &*self.clock };
        self.sheet.begin(round.number);
        for (watcher, cost) in &mut self.watchers {
            let start = (self.clock)();
            watcher.read(&round, &mut self.sheet);
            let took = (self.clock)().saturating_sub(start);
            cost.readings += 1;
            cost.total_ns += took;
            cost.longest_ns = cost.longest_ns.max(took);
        }
        if self.rounds == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.rounds += 1;
    }

    /// What changed notably between the last two readings, the most unusual first, at most eight.
    pub fn recent_changes(&self) -> Vec<Change> {
        self.sheet.recent_changes()
    }

    /// All that was seen so far, for a checkpoint.
    pub fn snapshot(&self) -> Environment {
        let mut environment = Environment {
            series: self.sheet.series().to_vec(),
            series_left_out: self.sheet.left_out(),
            ..Environment::default()
        };
        self.add_totals(&mut environment);
        environment
    }

    /// All that was seen.
    pub fn finish(mut self) -> Environment {
        let (series, series_left_out) = self.sheet.take();
        let mut environment = Environment { series, series_left_out, ..Environment::default() };
        self.add_totals(&mut environment);
        environment
    }

    fn add_totals(&self, environment: &mut Environment) {
        for (watcher, cost) in &self.watchers {
            watcher.add_totals(self.last_ns - self.first_ns, environment);
            environment.watchers.push(WatcherCost { left_out: watcher.left_out(), ..cost.clone() });
        }
    }
}

#[cfg(test)]
mod tests;
