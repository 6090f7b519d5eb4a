//! Signals on every CPU: one to the task itself, and two exchanged with a partner process.

use std::time::Duration;

use tardy_sys::child;
use tardy_sys::counters::Counter;
use tardy_sys::signal_exchange::{Exchange, Turn};

use super::forked_tasks;
use super::worker::{Ended, Worker};

/// Rounds between pauses. Without pauses, other tasks on the CPU of two partners, tardy's supervisor among them, waited
/// for up to 44 s on Linux 6.18; sched_yield(2) did not help.
const ROUNDS: u32 = 256;
const PAUSE: Duration = Duration::from_micros(50);

pub(super) fn run(worker: &Worker) -> Ended {
    forked_tasks::run(worker, forked_tasks::one_per_cpu(worker), |_| {
        let exchange = Exchange::prepare().map_err(|error| format!("signals cannot be handled: {error}"))?;
        let me = std::process::id();
        let partner = child::fork(|| u8::from(answer(me).is_err()))
            .map_err(|error| format!("no partner can be forked: {error}; raise ulimit -u"))?;
        Ok(signal(exchange, partner))
    })
}

/// One step is three signals: one to itself, one to the partner, and the partner's reply.
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

/// The partner: replies to each signal.
fn answer(to: u32) -> std::io::Result<()> {
    let exchange = Exchange::prepare()?;
    loop {
        if exchange.wait()? == Turn::Mine {
            exchange.give_turn(to)?;
        }
    }
}
