//! hackbench's groups: every sender of a group sends to every receiver of the group.
//!
//! As in rt-tests' `hackbench` (src/hackbench/hackbench.c): processes; a pair of AF_UNIX stream sockets per receiver; one
//! write(2) and one read(2) per message; all start together once all are ready. The default is one group of 20 senders and 20
//! receivers with messages of 100 bytes, which is `hackbench 1`. The article's script killed and restarted it every 5 s, so all
//! tasks are forked again every 5 s here. The only difference: hackbench sends a fixed number of messages and ends, while these
//! tasks run until they are killed, and each receiver counts what it received.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tardy_record::load_spec::SchedulerShape;
use tardy_sys::child::ChildSignals;
use tardy_sys::counters::Counter;

use super::forked_tasks::{self, ForkedTasks, Gate};
use super::messages::Message;
use super::worker::{Ended, Worker};

/// How long the groups run until they are killed, as in the article's script.
const GROUP_LIFE: Duration = Duration::from_secs(5);
pub(super) fn run(worker: &Worker, shape: SchedulerShape) -> Ended {
    let signals = forked_tasks::catch_signals()?;
    let mut running = false;
    loop {
        let tasks = start(shape, worker.counters(), &signals)?;
        if !running {
            worker.send(&Message::Running);
            running = true;
        }
        tasks.watch_until(Instant::now() + GROUP_LIFE)?;
        tasks.end()?;
    }
}

/// Forks all tasks of all groups, waits until all are ready, and starts them.
fn start<'a>(
    shape: SchedulerShape,
    counters: &[Counter],
    signals: &'a ChildSignals,
) -> Result<ForkedTasks<'a>, String> {
    let mut tasks = ForkedTasks::new(signals, 2 * shape.receivers())?;
    for counters in counters.chunks(shape.pairs) {
        let pair = |_| {
            UnixStream::pair()
                .map_err(|error| format!("cannot create a socket pair: {error}; raise ulimit -n"))
        };
        let pairs: Vec<_> = (0..shape.pairs).map(pair).collect::<Result<_, _>>()?;
        for (counter, (socket, _)) in counters.iter().zip(&pairs) {
            tasks.fork(|gate| receive(gate, socket, shape.message_bytes, counter))?;
        }
        for _ in 0..shape.pairs {
            tasks.fork(|gate| send(gate, &pairs, shape.message_bytes))?;
        }
    }
    tasks.begin()?;
    Ok(tasks)
}

fn receive(gate: &mut Gate, mut socket: &UnixStream, bytes: usize, received: &Counter) -> io::Result<()> {
    let mut message = vec![0; bytes];
    gate.pass()?;
    loop {
        socket.read_exact(&mut message)?;
        received.add(1);
    }
}

fn send(gate: &mut Gate, pairs: &[(UnixStream, UnixStream)], bytes: usize) -> io::Result<()> {
    let message = vec![b'-'; bytes];
    gate.pass()?;
    loop {
        for (_, socket) in pairs {
            let mut socket = socket;
            socket.write_all(&message)?;
        }
    }
}
