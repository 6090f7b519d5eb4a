//! Signals on every CPU: one handled by a handler, and two exchanged with a partner process.

use std::time::Duration;

use tardy_sys::child;
use tardy_sys::counters::Counter;
use tardy_sys::signal_exchange::{Exchange, Turn};

use super::crew;
use super::worker::{Ended, Worker};

/// Rounds between pauses, in which everybody else has their turn: partners that only ever wake each other kept
/// whoever shared their CPU waiting for up to 44 s on a Linux 6.18, tardy's own watching process among them, and
/// sched_yield(2) did not help.
const ROUNDS: u32 = 256;
const PAUSE: Duration = Duration::from_micros(50);

pub(super) fn run(worker: &Worker) -> Ended {
    crew::run(worker, crew::one_per_cpu(worker), |_| {
        let exchange = Exchange::prepare().map_err(|error| format!("signals cannot be handled: {error}"))?;
        let me = std::process::id();
        let partner = child::fork(|| u8::from(answer(me).is_err()))
            .map_err(|error| format!("no partner can be forked: {error}; raise ulimit -u"))?;
        Ok(signal(exchange, partner))
    })
}

/// A step is three signals: one to itself, one to the partner, and the partner's.
fn signal(exchange: Exchange, partner: u32) -> impl FnMut(&Counter) -> Result<(), String> {
    let mut round = 0;
    move |had| {
        round = (round + 1) % ROUNDS;
        if round == 0 {
            std::thread::sleep(PAUSE);
        }
        exchange.handle_one().map_err(|error| format!("a signal was not handled: {error}"))?;
        exchange.give_turn(partner).map_err(|error| format!("the partner cannot be signalled: {error}"))?;
        match exchange.wait() {
            Ok(Turn::Mine) => had.add(3),
            Ok(Turn::ChildEnded) => return Err("the partner of a task ended".to_owned()),
            Err(error) => return Err(format!("the partner cannot be waited for: {error}")),
        }
        Ok(())
    }
}

/// The partner: each signal that comes is answered.
fn answer(to: u32) -> std::io::Result<()> {
    let exchange = Exchange::prepare()?;
    loop {
        if exchange.wait()? == Turn::Mine {
            exchange.give_turn(to)?;
        }
    }
}
