//! The context of a load process: its task, its counters and its pipe to its parent.

use std::convert::Infallible;
use std::io::Write;

use tardy_record::load_spec::LoadTask;
use tardy_sys::child;
use tardy_sys::counters::{Counter, Counters};

use super::messages::Message;
use super::orders::Orders;
use super::task;

/// The result of a part's work, which only ends by failing.
pub(super) type Ended = Result<Infallible, String>;

/// The context in which a part works.
#[derive(Debug)]
pub(super) struct Worker {
    index: usize,
    pub(super) task: LoadTask,
    pub(super) seed: u64,
    pub(super) port: u16,
    pub(super) peer: Option<String>,
    pub(super) parent: u32,
    counters: Counters,
    first_counter: usize,
}

impl Worker {
    pub(super) fn new(orders: &Orders) -> Result<Self, String> {
        let index = orders.part.unwrap_or_default();
        let task = orders.tasks().nth(index).ok_or("there is no such task")?.clone();
        let count = orders.tasks().map(task::counters).sum();
        let first_counter = orders.tasks().take(index).map(task::counters).sum();
        // If the parent dies, the kernel kills this process. A command gets another signal, because it first ends its
        // process tree (see command.rs). The setting is repeated after exec, because a binary with capabilities loses
        // it.
        if !task.is_a_command() {
            child::tie_to_parent(orders.parent, child::signal::KILL)
                .map_err(|error| format!("its parent is gone: {error}"))?;
        }
        let counters = Counters::inherited(orders.counters, count);
        Ok(Self {
            index,
            task,
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
        &self.counters.all()[self.first_counter..][..task::counters(&self.task)]
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
