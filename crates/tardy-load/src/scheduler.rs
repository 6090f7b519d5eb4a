//! hackbench's groups: every sender of a group sends to every receiver of it.
//!
//! As in rt-tests' `hackbench` (src/hackbench/hackbench.c): processes; a pair of AF_UNIX stream sockets per receiver; one write(2)
//! and one read(2) per message; all start together once all are ready. The default is one group of 20 senders and 20 receivers with
//! messages of 100 bytes, which is `hackbench 1`. The article's script killed and restarted it every 5 s, so all tasks are forked
//! anew every 5 s here. The only difference: hackbench sends a fixed number of messages and ends, while these tasks run until they
//! are killed, and each receiver counts what it received.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tardy_sys::child::ChildSignals;
use tardy_sys::counters::Counter;

use super::forked_tasks::{self, ForkedTasks, Gate};
use super::messages::Message;
use super::worker::{Ended, Worker};

/// From the start of the groups until they are killed, as in the article's script.
const GROUP_LIFE: Duration = Duration::from_secs(5);
/// More receivers only exhaust the process limit.
const RECEIVERS_MAX: usize = 4096;
/// More than a socket buffer holds; beyond that, hackbench measures copying.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// What hackbench calls `-g`, half of a group's tasks (`-f`), and `-s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    groups: usize,
    pairs: usize,
    message_bytes: usize,
}

impl Shape {
    /// Parses `GROUPS,FDS,BYTES`; later fields may be omitted.
    pub(super) fn parse(argument: &str) -> Result<Self, String> {
        let mut numbers: [usize; 3] = [1, 20, 100];
        let given: Vec<&str> = argument.split(',').filter(|_| !argument.is_empty()).collect();
        if given.len() > numbers.len() {
            return Err(format!("'{argument}' has more than three fields; expected GROUPS,RECEIVERS,BYTES"));
        }
        for (number, text) in numbers.iter_mut().zip(&given) {
            *number = text.trim().parse().map_err(|_| format!("'{text}' is not a number"))?;
        }
        let [groups, pairs, message_bytes] = numbers;
        let receivers = groups.saturating_mul(pairs);
        if !(1..=RECEIVERS_MAX).contains(&receivers) {
            return Err(format!(
                "{groups} groups of {pairs} receivers are too many or too few; expected 1 to {RECEIVERS_MAX} receivers in total"
            ));
        }
        if !(1..=MESSAGE_BYTES_MAX).contains(&message_bytes) {
            return Err(format!(
                "messages of {message_bytes} bytes are not possible; expected 1 to {MESSAGE_BYTES_MAX}"
            ));
        }
        Ok(Self { groups, pairs, message_bytes })
    }

    /// The tasks that count.
    pub(super) fn receivers(self) -> usize {
        self.groups * self.pairs
    }
}

pub(super) fn run(worker: &Worker) -> Ended {
    let shape = Shape::parse(&worker.part.argument)?;
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
    shape: Shape,
    counters: &[Counter],
    signals: &'a ChildSignals,
) -> Result<ForkedTasks<'a>, String> {
    let mut tasks = ForkedTasks::new(signals, 2 * shape.receivers())?;
    for counters in counters.chunks(shape.pairs) {
        let pair = |_| {
            UnixStream::pair()
                .map_err(|error| format!("a socket pair cannot be made: {error}; raise ulimit -n"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_written_like_this() {
        let shape = |groups, pairs, message_bytes| Ok(Shape { groups, pairs, message_bytes });
        for (text, expected) in [
            ("", shape(1, 20, 100)),
            ("4", shape(4, 20, 100)),
            ("4,10", shape(4, 10, 100)),
            ("4, 10, 4096", shape(4, 10, 4096)),
        ] {
            assert_eq!(Shape::parse(text), expected, "{text}");
        }
        assert_eq!(Shape::parse("3,7").unwrap().receivers(), 21);
        for text in [
            "0",
            "1,0",
            "1,1,0",
            "x",
            "1,",
            "1,2,3,4",
            "-1",
            "4097",
            "99999999999,99999999999",
            "1,1,2000000",
        ] {
            assert!(Shape::parse(text).is_err(), "{text}");
        }
    }
}
