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

use tardy_sys::child::ChildSignals;
use tardy_sys::counters::Counter;

use super::crew::{self, Crew, Gate};
use super::words::Word;
use super::worker::{Ended, Worker};

/// From the beginning of the groups to their kill, as in the article's script.
const GROUP_LIFE: Duration = Duration::from_secs(5);
/// So many receivers are no load but a way to run out of processes.
const RECEIVERS_MAX: usize = 4096;
/// More than a socket's buffer takes at once; beyond it hackbench measures copying.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// What hackbench calls `-g`, half of a group's tasks (`-f`), and `-s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    groups: usize,
    pairs: usize,
    message_bytes: usize,
}

impl Shape {
    /// Reads `GROUPS,FDS,BYTES`, of which the end may be missing.
    pub(super) fn parse(argument: &str) -> Result<Self, String> {
        let mut numbers: [usize; 3] = [1, 20, 100];
        let given: Vec<&str> = argument.split(',').filter(|_| !argument.is_empty()).collect();
        if given.len() > numbers.len() {
            return Err(format!("'{argument}' has more than groups, receivers and bytes"));
        }
        for (number, text) in numbers.iter_mut().zip(&given) {
            *number = text.trim().parse().map_err(|_| format!("'{text}' is no number"))?;
        }
        let [groups, pairs, message_bytes] = numbers;
        let receivers = groups.saturating_mul(pairs);
        if !(1..=RECEIVERS_MAX).contains(&receivers) {
            return Err(format!(
                "{groups} groups of {pairs} receivers are not 1 to {RECEIVERS_MAX} receivers in all"
            ));
        }
        if !(1..=MESSAGE_BYTES_MAX).contains(&message_bytes) {
            return Err(format!("messages of {message_bytes} bytes; 1 to {MESSAGE_BYTES_MAX} can be sent"));
        }
        Ok(Self { groups, pairs, message_bytes })
    }

    /// Those who count.
    pub(super) fn receivers(self) -> usize {
        self.groups * self.pairs
    }
}

pub(super) fn run(worker: &Worker) -> Ended {
    let shape = Shape::parse(&worker.part.argument)?;
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
fn start<'a>(shape: Shape, counters: &[Counter], signals: &'a ChildSignals) -> Result<Crew<'a>, String> {
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
