//! Tasks: processes forked by a load's worker, that begin together and end with it.
//!
//! Nobody but the worker ends a task, so that a task's end is the load's: a load that goes on with fewer hands than it
//! began with is not the load that was asked for.

use std::convert::Infallible;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::time::Instant;

use tardy_sys::child::{self, ChildSignals, Ended as ChildEnded};
use tardy_sys::counters::Counter;
use tardy_sys::scheduling;
use tardy_sys::signals::wait_readable;

use super::words::Word;
use super::worker::{Ended, Worker};

/// Tasks of a load's worker. Those that are left when it is dropped die with this process.
pub(super) struct Crew<'a> {
    signals: &'a ChildSignals,
    gate: Gate,
    ready: PipeReader,
    go: PipeWriter,
    planned: usize,
    tasks: Vec<u32>,
}

/// Where tasks wait for each other.
pub(super) struct Gate {
    ready: PipeWriter,
    go: PipeReader,
}

impl Gate {
    /// Says that this task is here, and waits for the word that nobody takes off the pipe, so that all get it.
    pub(super) fn pass(&mut self) -> io::Result<()> {
        self.ready.write_all(b".")?;
        while !wait_readable(&[self.go.as_raw_fd()], u64::MAX)?[0] {}
        Ok(())
    }
}

impl<'a> Crew<'a> {
    /// A crew that will have `planned` tasks; their ends are announced by `signals`.
    pub(super) fn new(signals: &'a ChildSignals, planned: usize) -> Result<Self, String> {
        let (ready, go) = (pipe()?, pipe()?);
        let gate = Gate { ready: ready.1, go: go.0 };
        Ok(Self { signals, gate, ready: ready.0, go: go.1, planned, tasks: Vec::new() })
    }

    /// Forks a task, which is to pass the gate once it is ready.
    pub(super) fn fork<E>(&mut self, task: impl FnOnce(&mut Gate) -> Result<(), E>) -> Result<(), String> {
        let (gate, number) = (&mut self.gate, self.tasks.len() + 1);
        let pid = child::fork(|| u8::from(task(gate).is_err())).map_err(|error| {
            format!("task {number} of {} cannot be forked: {error}; raise ulimit -u", self.planned)
        })?;
        self.tasks.push(pid);
        Ok(())
    }

    /// Waits until every task has said that it is ready, and lets all go.
    pub(super) fn begin(&mut self) -> Result<(), String> {
        let mut here = 0;
        while here < self.tasks.len() {
            let watched = [self.ready.as_raw_fd(), self.signals.as_raw_fd()];
            let can = wait_readable(&watched, u64::MAX).map_err(|error| format!("cannot wait: {error}"))?;
            self.check()?;
            if can[0] {
                here += self.ready.read(&mut [0; 64]).map_err(|error| format!("cannot read: {error}"))?;
            }
        }
        self.go.write_all(b"!").map_err(|error| format!("the tasks cannot be let go: {error}"))
    }

    /// Looks whether all tasks are still there.
    fn check(&self) -> Result<(), String> {
        while self.signals.take().is_some() {}
        let Some(ended) = ChildEnded::take() else { return Ok(()) };
        let which = self.tasks.iter().position(|pid| *pid == ended.pid).map_or(0, |index| index + 1);
        Err(format!("task {which} of {} ended too early: {}", self.planned, ended.how))
    }

    /// Watches the tasks until that moment.
    pub(super) fn watch_until(&self, until: Instant) -> Result<(), String> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.watch(left.as_nanos() as u64)?;
        }
    }

    /// Watches the tasks until one of them ends.
    fn watch_for_ever(&self) -> Ended {
        loop {
            self.watch(u64::MAX)?;
        }
    }

    fn watch(&self, patience_ns: u64) -> Result<(), String> {
        wait_readable(&[self.signals.as_raw_fd()], patience_ns)
            .map_err(|error| format!("cannot wait: {error}"))?;
        self.check()
    }

    /// Kills all, and waits until all are gone.
    pub(super) fn end(self) -> Result<(), String> {
        for pid in &self.tasks {
            child::send(*pid, child::signal::KILL)
                .map_err(|error| format!("task {pid} cannot be killed: {error}"))?;
        }
        for _ in &self.tasks {
            ChildEnded::wait().map_err(|error| format!("a task vanished: {error}"))?;
        }
        Ok(())
    }
}

fn pipe() -> Result<(PipeReader, PipeWriter), String> {
    io::pipe().map_err(|error| format!("a pipe cannot be made: {error}; raise ulimit -n"))
}

/// Signals of the worker's children, from now on read from a descriptor.
pub(super) fn catch_signals() -> Result<ChildSignals, String> {
    ChildSignals::catch().map_err(|error| format!("signals cannot be caught: {error}"))
}

/// How many tasks one for each CPU are: of the CPUs that this process may use, or as many as there are counters.
pub(super) fn one_per_cpu(worker: &Worker) -> usize {
    scheduling::affinity().map_or(1, |cpus| cpus.len()).clamp(1, worker.counters().len())
}

/// Runs `count` tasks, each with a counter of its own, for ever.
///
/// `prepare` makes what the task with that index repeats, in the task's own process. A task counts as running once it
/// has done its work for the first time; what goes wrong later is the load's death.
pub(super) fn run<S>(worker: &Worker, count: usize, prepare: impl Fn(usize) -> Result<S, String>) -> Ended
where
    S: FnMut(&Counter) -> Result<(), String>,
{
    let signals = catch_signals()?;
    let mut crew = Crew::new(&signals, count)?;
    for (index, counter) in worker.counters().iter().take(count).enumerate() {
        crew.fork(|gate| {
            let Err(how) = repeat(counter, gate, || prepare(index));
            worker.say(&Word::Death(how));
            Err(())
        })?;
    }
    crew.begin()?;
    worker.say(&Word::Running);
    crew.watch_for_ever()
}

fn repeat<S>(
    counter: &Counter,
    gate: &mut Gate,
    prepare: impl FnOnce() -> Result<S, String>,
) -> Result<Infallible, String>
where
    S: FnMut(&Counter) -> Result<(), String>,
{
    let mut step = prepare()?;
    step(counter)?;
    gate.pass().map_err(|error| format!("a task cannot begin: {error}"))?;
    loop {
        step(counter)?;
    }
}
