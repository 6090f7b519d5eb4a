//! A load process: one part of one load, or the supervisor over all of them.

use std::convert::Infallible;
use std::io::Write;
use std::process::ExitCode;

use tardy_sys::child;
use tardy_sys::counters::{Counter, Counters};

use super::messages::Message;
use super::orders::Orders;
use super::spec::{Kind, Part};
use super::{
    affinity, command, compile, copy, cpu, datagrams, disk, listing, memory, mprotect, network, ping,
    ping_in, processes, scheduler, signalling, sink, stream, supervisor, timers,
};

/// The entry point of `tardy __load …`; `arguments` are those after the subcommand.
///
/// The binary calls it before anything else, so that a load process starts no thread and reads no configuration.
pub fn worker_main(arguments: Vec<String>) -> ExitCode {
    match Orders::from_arguments(&arguments) {
        Ok(orders) if orders.part.is_none() => supervisor::run(&orders),
        Ok(orders) => work(&orders),
        Err(error) => {
            eprintln!(
                "tardy {}: {error}; this command is tardy's own, run `tardy load`",
                super::orders::SUBCOMMAND
            );
            ExitCode::from(2)
        }
    }
}

fn work(orders: &Orders) -> ExitCode {
    let worker = match Worker::new(orders) {
        Ok(worker) => worker,
        Err(error) => {
            send(orders.part.unwrap_or_default(), &Message::Death(error));
            return ExitCode::FAILURE;
        }
    };
    name_process(worker.part.kind.name());
    if worker.part.kind.is_a_command() {
        return command::run(&worker);
    }
    let Err(how) = do_the_work(&worker);
    worker.send(&Message::Death(how));
    ExitCode::FAILURE
}

fn do_the_work(worker: &Worker) -> Ended {
    match worker.part.kind {
        Kind::Scheduler => scheduler::run(worker),
        Kind::Network => network::run(worker),
        Kind::Copy => copy::run(worker),
        Kind::Listing => listing::run(worker),
        Kind::Cpu => cpu::run(worker),
        Kind::Memory => memory::run(worker),
        Kind::Io => disk::run(worker),
        Kind::Fork => processes::run(worker),
        Kind::Timers => timers::run(worker),
        Kind::Signals => signalling::run(worker),
        Kind::Compile => compile::run(worker),
        Kind::Mprotect => mprotect::run(worker),
        Kind::Affinity => affinity::run(worker),
        Kind::Tcp => stream::run(worker),
        Kind::Udp => datagrams::run(worker),
        Kind::Ping => ping::run(worker),
        Kind::PingIn => ping_in::run(worker),
        Kind::Sink => sink::run(worker),
        Kind::StressNg | Kind::Hackbench | Kind::Iperf3 | Kind::Command => {
            Err("it is no work of this process's own".to_owned())
        }
    }
}

/// What the part's work ends with: it only ends by failing.
pub(super) type Ended = Result<Infallible, String>;

/// What a part has to work with.
#[derive(Debug)]
pub(super) struct Worker {
    index: usize,
    pub(super) part: Part,
    pub(super) seed: u64,
    pub(super) port: u16,
    pub(super) peer: Option<String>,
    pub(super) parent: u32,
    counters: Counters,
    first_counter: usize,
}

impl Worker {
    fn new(orders: &Orders) -> Result<Self, String> {
        let index = orders.part.unwrap_or_default();
        let part = orders.parts().nth(index).ok_or("there is no such part")?.clone();
        let count = orders.parts().map(|part| part.counters()).sum();
        let first_counter = orders.parts().take(index).map(|part| part.counters()).sum();
        // A command ends its tree before it goes, so it is told (see command.rs); the others just go. Asked again after
        // exec: a binary with capabilities has lost what was asked before.
        if !part.kind.is_a_command() {
            child::tie_to_parent(orders.parent, child::signal::KILL)
                .map_err(|error| format!("its supervisor is gone: {error}"))?;
        }
        let counters = Counters::inherited(orders.counters, count);
        Ok(Self {
            index,
            part,
            seed: orders.seed,
            port: orders.port,
            peer: orders.peer.clone(),
            parent: orders.parent,
            counters: counters.map_err(|error| format!("its counters cannot be mapped: {error}"))?,
            first_counter,
        })
    }

    /// The counters of this part.
    pub(super) fn counters(&self) -> &[Counter] {
        &self.counters.all()[self.first_counter..][..self.part.counters()]
    }

    /// Sends a message to the parent.
    pub(super) fn send(&self, message: &Message) {
        send(self.index, message);
    }
}

/// Writes the message to standard output. If the parent is gone, this process is about to end anyway.
pub(super) fn send(part: usize, message: &Message) {
    let mut pipe = std::io::stdout().lock();
    let _ = pipe.write_all(message.to_line(part).as_bytes()).and_then(|()| pipe.flush());
}

/// Names the process, so that `ps` and `top` show which part it is; failure does not matter.
pub(super) fn name_process(part: &str) {
    let _ = tardy_sys::processes::set_own_command(&format!("tardy-{part}"));
}
