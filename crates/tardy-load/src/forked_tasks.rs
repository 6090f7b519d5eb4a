//! Tasks: processes forked by a load's worker, which start together and end with it.
//!
//! Only the worker ends tasks. If a task ends unexpectedly, the load ends, because with fewer tasks it would not be the
//! requested load.

use std::convert::Infallible;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::time::Instant;

use tardy_sys::child::{self, ChildSignals, Ended as ChildEnded};
use tardy_sys::counters::Counter;
use tardy_sys::scheduling;
use tardy_sys::signals::wait_readable;

use super::messages::Message;
use super::worker::{Ended, Worker};

/// The tasks of a load's worker. Tasks left when it is dropped die with this process.
pub(super) struct ForkedTasks<'a> {
    signals: &'a ChildSignals,
    gate: Gate,
    ready: PipeReader,
    go: PipeWriter,
    planned: usize,
    tasks: Vec<u32>,
}

/// A barrier at which tasks wait for each other.
pub(super) struct Gate {
    ready: PipeWriter,
    go: PipeReader,
}

impl Gate {
    /// Reports this task as ready and waits for the start byte, which no task reads, so that all see it.
    pub(super) fn pass(&mut self) -> io::Result<()> {
        self.ready.write_all(b".")?;
        while !wait_readable(&[self.go.as_raw_fd()], u64::MAX)?[0] {}
        Ok(())
    }
}

impl<'a> ForkedTasks<'a> {
    /// An empty set, for `planned` tasks; `signals` reports when a task ends.
    pub(super) fn new(signals: &'a ChildSignals, planned: usize) -> Result<Self, String> {
        let (ready, go) = (pipe()?, pipe()?);
        let gate = Gate { ready: ready.1, go: go.0 };
        Ok(Self { signals, gate, ready: ready.0, go: go.1, planned, tasks: Vec::new() })
    }

    /// Forks a task, which passes the gate once it is ready.
    pub(super) fn fork<E>(&mut self, task: impl FnOnce(&mut Gate) -> Result<(), E>) -> Result<(), String> {
        let (gate, number) = (&mut self.gate, self.tasks.len() + 1);
        let pid = child::fork(|| u8::from(task(gate).is_err())).map_err(|error| {
            format!("task {number} of {} cannot be forked: {error}; raise ulimit -u", self.planned)
        })?;
        self.tasks.push(pid);
        Ok(())
    }

    /// Waits until every task is ready, and starts them.
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
        self.go.write_all(b"!").map_err(|error| format!("the tasks cannot be started: {error}"))
    }

    /// Checks that all tasks are still running.
    fn check(&self) -> Result<(), String> {
        while self.signals.take().is_some() {}
        let Some(ended) = ChildEnded::take() else { return Ok(()) };
        let which = self.tasks.iter().position(|pid| *pid == ended.pid).map_or(0, |index| index + 1);
        Err(format!("task {which} of {} ended too early: {}", self.planned, ended.how))
    }

    /// Watches the tasks until `until`.
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

    /// Kills all tasks and waits for their ends.
    pub(super) fn end(self) -> Result<(), String> {
        for pid in &self.tasks {
            child::send(*pid, child::signal::KILL)
                .map_err(|error| format!("task {pid} cannot be killed: {error}"))?;
        }
        for _ in &self.tasks {
            ChildEnded::wait().map_err(|error| format!("a task was lost: {error}"))?;
        }
        Ok(())
    }
}

fn pipe() -> Result<(PipeReader, PipeWriter), String> {
    io::pipe().map_err(|error| format!("cannot create a pipe: {error}; raise ulimit -n"))
}

/// Redirects the signals about the worker's children to a descriptor.
pub(super) fn catch_signals() -> Result<ChildSignals, String> {
    ChildSignals::catch().map_err(|error| format!("signals cannot be caught: {error}"))
}

/// The number of tasks of a load with one task per CPU: the number of CPUs in this process's affinity mask, at most one
/// task per counter.
pub(super) fn one_per_cpu(worker: &Worker) -> usize {
    scheduling::affinity().map_or(1, |cpus| cpus.len()).clamp(1, worker.counters().len())
}

/// Runs `count` tasks, each with its own counter, for ever.
///
/// `prepare` runs in the process of the task with that index and returns the step that the task repeats. A task counts
/// as running after its first step; a later error ends the load.
pub(super) fn run<S>(worker: &Worker, count: usize, prepare: impl Fn(usize) -> Result<S, String>) -> Ended
where
    S: FnMut(&Counter) -> Result<(), String>,
{
    let signals = catch_signals()?;
    let mut tasks = ForkedTasks::new(&signals, count)?;
    for (index, counter) in worker.counters().iter().take(count).enumerate() {
        tasks.fork(|gate| {
            let Err(how) = repeat(counter, gate, || prepare(index));
            worker.send(&Message::Death(how));
            Err(())
        })?;
    }
    tasks.begin()?;
    worker.send(&Message::Running);
    tasks.watch_for_ever()
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
