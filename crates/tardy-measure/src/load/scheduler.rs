//! hackbench's one group: 20 senders, 20 receivers, every sender sends to every receiver.
//!
//! As `hackbench 1` of rt-tests does it (src/hackbench/hackbench.c): processes; a socket pair of AF_UNIX stream
//! sockets for each receiver; messages of 100 bytes, one write(2) and one read(2) each; all wait until everybody is
//! there, then all begin. The article's script killed it every 5 s and ran it anew, so this forks the forty anew
//! every 5 s. The sole difference: hackbench counts its messages beforehand and ends, these go on until they are
//! killed, and each receiver counts what it got.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tardy_sys::child::{self, ChildSignals, Ended as ChildEnded};
use tardy_sys::counters::Counter;
use tardy_sys::signals::wait_readable;

use super::words::Word;
use super::worker::{Ended, Worker};

/// hackbench's `-f`, half of the group's tasks.
pub(super) const RECEIVERS: usize = 20;
const SENDERS: usize = 20;
/// hackbench's `-s`.
const MESSAGE_BYTES: usize = 100;
/// From one group's beginning to its kill, as in the article's script.
const GROUP_LIFE: Duration = Duration::from_secs(5);

pub(super) fn run(worker: &Worker) -> Ended {
    let signals = ChildSignals::catch().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let mut running = false;
    loop {
        let group = Group::start(worker.counters(), &signals)?;
        if !running {
            worker.say(&Word::Running);
            running = true;
        }
        group.live(&signals)?;
        group.end()?;
    }
}

/// The forty tasks of one group. Those that are left when it is dropped die with this process.
struct Group {
    tasks: Vec<u32>,
}

impl Group {
    /// Forks all tasks, waits until all are there, and lets them go.
    fn start(counters: &[Counter], signals: &ChildSignals) -> Result<Self, String> {
        let (ready, go) = (pipe()?, pipe()?);
        let mut pairs = Vec::new();
        for _ in 0..RECEIVERS {
            pairs.push(
                UnixStream::pair()
                    .map_err(|error| format!("a socket pair cannot be made: {error}; raise ulimit -n"))?,
            );
        }
        let mut gate = Gate { ready: ready.1, go: go.0 };
        let mut tasks = Vec::new();
        for (index, counter) in counters.iter().enumerate() {
            tasks.push(fork(tasks.len(), || receive(&mut gate, &pairs[index].0, counter))?);
        }
        for _ in 0..SENDERS {
            tasks.push(fork(tasks.len(), || send(&mut gate, &pairs))?);
        }
        let group = Self { tasks };
        group.wait_for_all(ready.0, signals)?;
        let mut go = go.1;
        go.write_all(b"!").map_err(|error| format!("the group cannot be let go: {error}"))?;
        Ok(group)
    }

    /// Waits until every task has said that it is here.
    fn wait_for_all(&self, mut ready: PipeReader, signals: &ChildSignals) -> Result<(), String> {
        let mut here = 0;
        while here < self.tasks.len() {
            let watched = [ready.as_raw_fd(), signals.as_raw_fd()];
            let can = wait_readable(&watched, u64::MAX).map_err(|error| format!("cannot wait: {error}"))?;
            self.check(signals)?;
            if can[0] {
                here += ready
                    .read(&mut [0; RECEIVERS + SENDERS])
                    .map_err(|error| format!("cannot read: {error}"))?;
            }
        }
        Ok(())
    }

    /// Nobody but this process ends a task.
    fn check(&self, signals: &ChildSignals) -> Result<(), String> {
        while signals.take().is_some() {}
        let Some(ended) = ChildEnded::take() else { return Ok(()) };
        let which = self.tasks.iter().position(|pid| *pid == ended.pid).map_or(0, |index| index + 1);
        Err(format!("task {which} of {} ended too early: {}", self.tasks.len(), ended.how))
    }

    /// Waits until the group's time has come.
    fn live(&self, signals: &ChildSignals) -> Result<(), String> {
        let until = Instant::now() + GROUP_LIFE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            wait_readable(&[signals.as_raw_fd()], left.as_nanos() as u64)
                .map_err(|error| format!("cannot wait: {error}"))?;
            self.check(signals)?;
        }
    }

    /// Kills all, and waits until all are gone.
    fn end(self) -> Result<(), String> {
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

fn fork(number: usize, task: impl FnOnce() -> io::Result<()>) -> Result<u32, String> {
    let all = RECEIVERS + SENDERS;
    child::fork(|| u8::from(task().is_err()))
        .map_err(|error| format!("task {} of {all} cannot be forked: {error}; raise ulimit -u", number + 1))
}

/// Where tasks wait for each other.
struct Gate {
    ready: PipeWriter,
    go: PipeReader,
}

impl Gate {
    /// Says that this task is here, and waits for the word that nobody takes off the pipe, so that all get it.
    fn pass(&mut self) -> io::Result<()> {
        self.ready.write_all(b".")?;
        while !wait_readable(&[self.go.as_raw_fd()], u64::MAX)?[0] {}
        Ok(())
    }
}

fn receive(gate: &mut Gate, mut socket: &UnixStream, received: &Counter) -> io::Result<()> {
    gate.pass()?;
    let mut message = [0; MESSAGE_BYTES];
    loop {
        socket.read_exact(&mut message)?;
        received.add(1);
    }
}

fn send(gate: &mut Gate, pairs: &[(UnixStream, UnixStream)]) -> io::Result<()> {
    gate.pass()?;
    let message = [b'-'; MESSAGE_BYTES];
    loop {
        for (_, socket) in pairs {
            let mut socket = socket;
            socket.write_all(&message)?;
        }
    }
}
