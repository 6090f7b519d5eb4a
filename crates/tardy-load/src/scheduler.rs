//! hackbench's groups: senders and receivers, every sender of a group sends to every receiver of it.
//!
//! As `hackbench` of rt-tests does it (src/hackbench/hackbench.c): processes; a socket pair of AF_UNIX stream sockets
//! for each receiver; one write(2) and one read(2) for each message; all wait until everybody is there, then all
//! begin. Unless told otherwise one group of 20 senders and 20 receivers with messages of 100 bytes, which is
//! `hackbench 1`. The article's script killed it every 5 s and ran it anew, so this forks all tasks anew every 5 s. The
//! sole difference: hackbench counts its messages beforehand and ends, these go on until they are killed, and each
//! receiver counts what it got.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tardy_record::load_spec::SchedulerShape;
use tardy_sys::child::ChildSignals;
use tardy_sys::counters::Counter;

use super::crew::{self, Crew, Gate};
use super::words::Word;
use super::worker::{Ended, Worker};

/// From the beginning of the groups to their kill, as in the article's script.
const GROUP_LIFE: Duration = Duration::from_secs(5);
pub(super) fn run(worker: &Worker, shape: SchedulerShape) -> Ended {
    let signals = crew::catch_signals()?;
    let mut running = false;
    loop {
        let crew = start(shape, worker.counters(), &signals)?;
        if !running {
            worker.say(&Word::Running);
            running = true;
        }
        crew.watch_until(Instant::now() + GROUP_LIFE)?;
        crew.end()?;
    }
}

/// Forks all tasks of all groups, waits until all are there, and lets them go.
fn start<'a>(
    shape: SchedulerShape,
    counters: &[Counter],
    signals: &'a ChildSignals,
) -> Result<Crew<'a>, String> {
    let mut crew = Crew::new(signals, 2 * shape.receivers())?;
    for counters in counters.chunks(shape.pairs) {
        let pair = |_| {
            UnixStream::pair()
                .map_err(|error| format!("a socket pair cannot be made: {error}; raise ulimit -n"))
        };
        let pairs: Vec<_> = (0..shape.pairs).map(pair).collect::<Result<_, _>>()?;
        for (counter, (socket, _)) in counters.iter().zip(&pairs) {
            crew.fork(|gate| receive(gate, socket, shape.message_bytes, counter))?;
        }
        for _ in 0..shape.pairs {
            crew.fork(|gate| send(gate, &pairs, shape.message_bytes))?;
        }
    }
    crew.begin()?;
    Ok(crew)
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
