//! Who is told while a run goes on.

use tardy_probe::order::Granted;
use tardy_probe::sample_ring::Sample;

/// Someone who watches a run. Called from the house's one thread, about once a second.
pub trait Observer {
    /// How far the run is.
    fn progress(&mut self, progress: &Standing<'_>);
    /// Something that a person should know at once.
    fn say(&mut self, text: &str);
    /// The threads of a phase stand ready: the kernel's ids of them, and how each will run, in the plan's order.
    fn threads(&mut self, _tids: &[u32], _granted: &[Granted]) {}
    /// A wake-up, of the thread with this number in the plan; only where the request asks for each of them. Called from
    /// the house's thread as well, about once a second for all that were recorded since, in the order of each thread.
    fn sample(&mut self, _thread: usize, _sample: Sample) {}
    /// A person has interrupted the run; it ends as soon as its probes have heard of it.
    fn interrupted(&mut self) {
        self.say("ending; the run is kept (once more to end at once)");
    }
    /// Whether the run shall end as if a person had interrupted it. Asked about once a second.
    fn wants_end(&mut self) -> bool {
        false
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// The phase's label.
    pub phase: &'a str,
    /// Its number, from 1.
    pub number: usize,
    /// How many phases there are.
    pub of: usize,
    /// Counted time in this phase.
    pub counted_ns: u64,
    /// Counted time that is planned for it.
    pub planned_ns: u64,
    /// The worst case so far in this phase, and its CPU.
    pub worst: Option<(i64, u32)>,
    /// Deadlines missed so far in this phase.
    pub missed: u64,
}
