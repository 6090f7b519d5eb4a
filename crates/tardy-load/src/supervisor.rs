//! The process over all load processes: starts them, passes on their output, and ends them when tardy ends.
//!
//! It is asked to end by the closing of its standard input, the one signal that a SIGKILL of tardy cannot prevent; the
//! kernel's word that the parent has died (PR_SET_PDEATHSIG) comes beside it, for the case that another child of
//! tardy's holds the pipe open. It has a session of its own, so that a Ctrl-C or the kill of a process group, which
//! `timeout -s KILL` does, does not take it away before its work is done.

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
    let reported = Supervisor::start(orders).and_then(|mut supervisor| supervisor.supervise(orders.parent));
    if let Err(error) = &reported {
        send(0, &Message::Death(format!("the supervisor of the loads failed: {error}")));
    }
    let leftovers = child::end_descendants().unwrap_or_default();
    if !leftovers.is_empty() {
        send(
            0,
            &Message::Remark(format!(
                "could not be ended, for they are another user's: processes {leftovers:?}"
            )),
        );
    }
    if reported.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Supervisor {
    signals: ChildSignals,
    workers: Vec<Worker>,
}

/// A part's process, seen from above.
struct Worker {
    pid: u32,
    alive: bool,
    output: Option<ChildStdout>,
    listener: MessageReader,
    death_told: bool,
}

impl Supervisor {
    fn start(orders: &Orders) -> io::Result<Self> {
        name_process("loads");
        let signals = ChildSignals::catch()?;
        child::tie_to_parent(orders.parent, child::signal::LOOK)?;
        child::own_session()?;
        if !child::adopt_orphans() {
            send(
                0,
                &Message::Remark(
                    "daemons of a cmd: may outlive the run: this kernel is older than 3.4".to_owned(),
                ),
            );
        }
        if !child::be_ordinary()? {
            send(
                0,
                &Message::Remark(
                    "the loads run at tardy's own nice value, not at 0: no privilege to raise it".to_owned(),
                ),
            );
        }
        let workers = (0..orders.parts().count()).map(|part| Worker::start(orders, part));
        Ok(Self { signals, workers: workers.collect::<io::Result<_>>()? })
    }

    /// Passes output on until an end is asked for.
    fn supervise(&mut self, parent: u32) -> io::Result<()> {
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

    /// Tells of the workers that have ended, and ends what they left behind.
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
            if !worker.death_told {
                worker.death_told = true;
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
            death_told: false,
        })
    }

    /// Passes on what the part, which is number `part`, has said since.
    fn pass_on(&mut self, part: usize) {
        let Some(pipe) = &mut self.output else { return };
        let (output, open) = self.listener.read(pipe);
        for (_, message) in output {
            self.death_told |= matches!(message, Message::Death(_));
            send(part, &message);
        }
        if !open {
            self.output = None;
        }
    }
}
