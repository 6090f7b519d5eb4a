//! What recording costs the watched threads: their CPU time per cycle with and without it.

/// The shortest and the longest time for which recording is on or off.
const WINDOW_NS: [u64; 2] = [50_000_000, 500_000_000];
/// How many cycles of the fastest thread a window has if that is not too long.
const CYCLES: u64 = 50;

/// The time for which recording is on or off, for a thread with this interval.
pub fn window_ns(interval_ns: u64) -> u64 {
    interval_ns.saturating_mul(CYCLES).clamp(WINDOW_NS[0], WINDOW_NS[1])
}

/// CPU time of all watched threads, per time that one of them was put on a CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// With recording, in ns.
    pub recorded_ns: f64,
    /// Without recording, in ns.
    pub unrecorded_ns: f64,
}

impl Cost {
    /// The additional CPU time; negative if chance is larger than the cost.
    pub fn cost_ns(&self) -> f64 {
        self.recorded_ns - self.unrecorded_ns
    }
}

/// CPU time and number of stretches on a CPU of all threads.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    cpu_ns: u64,
    times: u64,
}

/// The windows so far.
#[derive(Debug)]
pub struct Windows {
    tids: Vec<u32>,
    at_begin: Used,
    /// Without recording, and with it.
    sums: [Used; 2],
}

impl Windows {
    /// Windows for these threads.
    pub fn new(tids: Vec<u32>) -> Self {
        Self { tids, at_begin: Used::default(), sums: [Used::default(); 2] }
    }

    /// A window begins.
    pub fn begin(&mut self) {
        self.at_begin = self.used();
    }

    /// It ends, in which recording was `on` or off.
    pub fn end(&mut self, on: bool) {
        let now = self.used();
        let sum = &mut self.sums[usize::from(on)];
        sum.cpu_ns += now.cpu_ns.saturating_sub(self.at_begin.cpu_ns);
        sum.times += now.times.saturating_sub(self.at_begin.times);
    }

    /// The cost; `None` if a thread did not run in both kinds of windows.
    pub fn cost(&self) -> Option<Cost> {
        let mean = |used: &Used| (used.times > 0).then(|| used.cpu_ns as f64 / used.times as f64);
        Some(Cost { unrecorded_ns: mean(&self.sums[0])?, recorded_ns: mean(&self.sums[1])? })
    }

    fn used(&self) -> Used {
        let of = |tid: &u32| {
            // CPU time in ns, time of waiting for a CPU, and how often it was put on one (Documentation/scheduler/sched-stats.rst).
            let text = tardy_sys::processes::thread_file(*tid, *tid, "schedstat")?;
            let mut numbers = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
            Some(Used { cpu_ns: numbers.next()??, times: numbers.nth(1)?? })
        };
        let add =
            |sum: Used, one: Used| Used { cpu_ns: sum.cpu_ns + one.cpu_ns, times: sum.times + one.times };
        self.tids.iter().filter_map(of).fold(Used::default(), add)
    }
}
