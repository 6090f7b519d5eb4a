//! The parent of all load processes: starts them, forwards their messages, and ends them when tardy ends.
//!
//! It ends when its standard input is closed, which also happens if tardy is killed by SIGKILL. PR_SET_PDEATHSIG covers
//! the case that another child of tardy holds the pipe open. It has its own session, so that Ctrl-C or the kill of a
//! process group, as by `timeout -s KILL`, does not end it before it has cleaned up.

use std::io;
use std::os::fd::AsRawFd;
use std::process::{ChildStdout, Command, ExitCode, Stdio};

use tardy_sys::child::{self, ChildSignals, Ended, Notice};
use tardy_sys::processes::OWN_EXECUTABLE;
use tardy_sys::signals::wait_readable;

use super::messages::{Message, MessageReader};
use super::orders::Orders;
use super::worker::{name_process, send};

pub(super) fn run(orders: &Orders) -> ExitCode {
    let reported = LoadParent::start(orders).and_then(|mut parent| parent.watch(orders.parent));
    if let Err(error) = &reported {
        send(0, &Message::Death(format!("the parent of the load processes failed: {error}")));
    }
    let leftovers = child::end_descendants().unwrap_or_default();
    if !leftovers.is_empty() {
        send(
            0,
            &Message::Remark(format!(
                "processes {leftovers:?} belong to another user and could not be ended"
            )),
        );
    }
    if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct LoadParent {
    signals: ChildSignals,
    workers: Vec<Worker>,
}

/// A worker process.
struct Worker {
    pid: u32,
    alive: bool,
    output: Option<ChildStdout>,
    listener: MessageReader,
    death_reported: bool,
}

impl LoadParent {
    fn start(orders: &Orders) -> io::Result<Self> {
        name_process("loads");
        let signals = ChildSignals::catch()?;
        child::tie_to_parent(orders.parent, child::signal::LOOK)?;
        child::own_session()?;
        if !child::adopt_orphans() {
            send(
                0,
                &Message::Remark(
                    "daemons of `cmd:` loads may outlive the run, because this kernel is older than 3.4"
                        .to_owned(),
                ),
            );
        }
        if !child::be_ordinary(&orders.cpus)? {
            send(
                0,
                &Message::Remark(
                    "the loads run at tardy's own nice value, not at 0: no privilege to raise it".to_owned(),
                ),
            );
        }
        let workers = (0..orders.tasks().count()).map(|task| Worker::start(orders, task));
        Ok(Self { signals, workers: workers.collect::<io::Result<_>>()? })
    }

    /// Forwards messages until the end is requested.
    fn watch(&mut self, parent: u32) -> io::Result<()> {
        let control = io::stdin().as_raw_fd();
        loop {
            let mut watched = vec![control, self.signals.as_raw_fd()];
            watched.extend(
                self.workers.iter().filter_map(|worker| worker.output.as_ref()).map(AsRawFd::as_raw_fd),
            );
            let ready = wait_readable(&watched, u64::MAX)?;
            if ready[0] {
                return Ok(());
            }
            for (part, worker) in self.workers.iter_mut().enumerate() {
                worker.pass_on(part);
            }
            while let Some(notice) = self.signals.take() {
                match notice {
                    Notice::ChildEnded => self.reap()?,
                    Notice::ParentMayBeGone if !child::is_orphan(parent) => {}
                    Notice::ParentMayBeGone | Notice::End => return Ok(()),
                }
            }
        }
    }

    /// Reports the workers that have ended, and ends the processes that they left behind.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(ended) = Ended::take() {
            let found = self
                .workers
                .iter_mut()
                .enumerate()
                .find(|(_, worker)| worker.alive && worker.pid == ended.pid);
            let Some((part, worker)) = found else { continue };
            worker.alive = false;
            worker.pass_on(part);
            if !worker.death_reported {
                worker.death_reported = true;
                send(part, &Message::Death(ended.how.to_string()));
            }
        }
        let living: Vec<u32> =
            self.workers.iter().filter(|worker| worker.alive).map(|worker| worker.pid).collect();
        child::end_strays(&living)
    }
}

impl Worker {
    fn start(orders: &Orders, part: usize) -> io::Result<Self> {
        let orders = Orders { part: Some(part), parent: std::process::id(), ..orders.clone() };
        let mut command = Command::new(OWN_EXECUTABLE);
        command.args(orders.to_arguments()).stdin(Stdio::null()).stdout(Stdio::piped());
        child::prepare(&mut command, &[orders.counters]);
        let mut child = command.spawn()?;
        let output = child.stdout.take();
        if let Some(output) = &output {
            child::do_not_wait_on(output)?;
        }
        Ok(Self {
            pid: child.id(),
            alive: true,
            output,
            listener: MessageReader::default(),
            death_reported: false,
        })
    }

    /// Forwards the messages that part `part` has sent since the last call.
    fn pass_on(&mut self, part: usize) {
        let Some(pipe) = &mut self.output else { return };
        let (output, open) = self.listener.read(pipe);
        for (_, message) in output {
            self.death_reported |= matches!(message, Message::Death(_));
            send(part, &message);
        }
        if !open {
            self.output = None;
        }
    }
}
