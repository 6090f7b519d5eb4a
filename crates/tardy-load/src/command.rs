//! Commands for a shell, and tools whose output reports their progress ([`super::meter`]), which no shell starts.
//!
//! The load lasts as long as the program or any process that it started: `iperf3 -s -D` returns to the shell at once and
//! is still a load. A program that fails ends the load even if processes are left.
//!
//! This process is a second subreaper between the load parent and the program. If one of the two subreapers is killed,
//! the other finds and ends the command's daemons.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode, Stdio};

use tardy_record::load_spec::LoadTask;
use tardy_sys::child::{self, ChildSignals, Ended, How, Notice};
use tardy_sys::programs;
use tardy_sys::signals::wait_readable;

use super::invocation::{Invocation, SHELL};
use super::messages::Message;
use super::meter::Meter;
use super::tail::Tail;
use super::worker::Worker;

pub(super) fn run(worker: &Worker) -> ExitCode {
    let how = match Running::start(worker) {
        Ok(mut running) => {
            // A command counts as running once it is started; a tool must first report progress.
            if matches!(worker.task, LoadTask::Command { .. }) {
                worker.send(&Message::Running);
            }
            running.watch(worker)
        }
        Err(error) => Some(format!("the command cannot be started: {error}")),
    };
    let leftovers = child::end_descendants().unwrap_or_default();
    if !leftovers.is_empty() {
        worker.send(&Message::Remark(format!(
            "processes {leftovers:?} belong to another user and could not be ended"
        )));
    }
    match how {
        Some(how) => {
            worker.send(&Message::Death(how));
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

/// A running command.
struct Running {
    signals: ChildSignals,
    invocation: Invocation,
    program: u32,
    program_end: Option<How>,
    output: Option<PipeReader>,
    /// The other end of `output`, for a program that is started again.
    writer: Option<PipeWriter>,
    tail: Tail,
    meter: Meter,
    counted: bool,
}

impl Running {
    fn start(worker: &Worker) -> io::Result<Self> {
        let signals = ChildSignals::catch()?;
        child::tie_to_parent(worker.parent, child::signal::LOOK)?;
        child::adopt_orphans();
        let (output, writer) = io::pipe()?;
        child::do_not_wait_on(&output)?;
        let no_program = || io::Error::other("the load is not a program");
        let invocation = Invocation::of(&worker.task).ok_or_else(no_program)?;
        let program = spawn(&invocation, &writer)?;
        Ok(Self {
            signals,
            program,
            program_end: None,
            output: Some(output),
            writer: Some(writer).filter(|_| invocation.repeats),
            invocation,
            tail: Tail::default(),
            meter: Meter::new(worker.task.clone()),
            counted: false,
        })
    }

    /// Waits for the command's end and describes it; `None` if the end was requested.
    fn watch(&mut self, worker: &Worker) -> Option<String> {
        loop {
            let output = self.output.as_ref().map(AsRawFd::as_raw_fd);
            let watched: Vec<i32> = [self.signals.as_raw_fd()].into_iter().chain(output).collect();
            if let Err(error) = wait_readable(&watched, u64::MAX) {
                return Some(format!("the command cannot be watched: {error}"));
            }
            self.read_output(worker);
            while let Some(notice) = self.signals.take() {
                match notice {
                    Notice::ChildEnded => {
                        if let Err(error) = self.reap() {
                            return Some(format!("the command cannot be started again: {error}"));
                        }
                    }
                    Notice::ParentMayBeGone if !child::is_orphan(worker.parent) => {}
                    Notice::ParentMayBeGone | Notice::End => return None,
                }
            }
            if let Some(how) = self.ended() {
                self.read_output(worker);
                return Some(self.with_last_output(how));
            }
        }
    }

    fn read_output(&mut self, worker: &Worker) {
        let mut chunk = [0; 16 << 10];
        let Some(output) = &mut self.output else { return };
        // One chunk at a time: a command that never stops writing must not prevent this loop from handling signals.
        match output.read(&mut chunk) {
            Ok(0) => self.output = None,
            Ok(read) => {
                self.tail.push(&chunk[..read]);
                let done = self.meter.read(&chunk[..read]);
                self.count(done, worker);
            }
            Err(_) => {}
        }
    }

    /// Adds to the counter; plain commands have none.
    fn count(&mut self, done: u64, worker: &Worker) {
        let Some(counter) = worker.counters().first().filter(|_| done > 0) else { return };
        counter.add(done);
        if !self.counted {
            self.counted = true;
            worker.send(&Message::Running);
        }
    }

    /// Notes the end of the program, or starts it again.
    fn reap(&mut self) -> io::Result<()> {
        while let Some(ended) = Ended::take() {
            match &self.writer {
                _ if ended.pid != self.program => {}
                Some(writer) if ended.how == How::Exited(0) => {
                    self.program = spawn(&self.invocation, writer)?
                }
                _ => self.program_end = Some(ended.how),
            }
        }
        Ok(())
    }

    /// How the command ended; `None` if it has not.
    fn ended(&self) -> Option<How> {
        self.program_end.filter(|how| *how != How::Exited(0) || !child::has_children())
    }

    fn with_last_output(&self, how: How) -> String {
        let lines = self.tail.last_lines();
        if lines.is_empty() { how.to_string() } else { format!("{how}; its last output: {lines}") }
    }
}

/// Starts the program with `writer` as its output; returns its process id.
fn spawn(invocation: &Invocation, writer: &PipeWriter) -> io::Result<u32> {
    // The user's line may use what the user's PATH has.
    let mut command = match invocation.program {
        SHELL => {
            let mut shell = Command::new(SHELL);
            shell.env("PATH", programs::path_of_user());
            shell
        }
        tool => programs::command(tool)?,
    };
    command.args(&invocation.arguments);
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer.try_clone()?);
    child::prepare(&mut command, &[]);
    Ok(command.spawn()?.id())
}
