//! The supervisor's interface to loads: starts them, reads them once per second, and ends them.

use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tardy_record::load::{LoadPart, LoadResult, PartRecorder};
use tardy_record::load_spec::{LoadSpec, LoadTask};
use tardy_sys::child;
use tardy_sys::counters::{Counter, Counters};
use tardy_sys::privileges::capabilities::{Ambient, keep_only};
use tardy_sys::signals::wait_readable;

use super::messages::{Message, MessageReader};
use super::orders::Orders;
use super::task::{self, check_programs};
use super::{LoadError, PORT};

/// Time for all parts to start running; the network part gives its peer half of that.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// Time for the processes to end. A process that waits for a disk or a network file system cannot be killed.
const END_PATIENCE: Duration = Duration::from_secs(30);

/// The number of readings, one per second, over which [`Loads::rates`] takes the mean.
const RECENT_READINGS: usize = 2;

/// The settings that loads share.
#[derive(Clone, Debug)]
pub struct LoadContext {
    /// The executable whose `__load` subcommand is [`super::worker_main`]: tardy itself.
    pub exe: PathBuf,
    /// Seeds every random choice.
    pub seed: u64,
    /// The other host, which runs `tardy load sink`; `None` uses loopback.
    pub peer: Option<String>,
    /// The CPUs of all load processes; empty for every CPU that this process's cpuset allows.
    pub cpus: Vec<u32>,
    /// The TCP port of the network part: [`PORT`] unless a test needs another; 0 chooses a free one.
    pub port: u16,
}

impl LoadContext {
    /// A context in which `exe` is tardy: seed 0, no peer, every CPU, the article's port.
    pub fn new(exe: PathBuf) -> Self {
        Self { exe, seed: 0, peer: None, cpus: Vec::new(), port: PORT }
    }
}

/// Receives messages for the user.
type Tell<'a> = &'a mut dyn FnMut(&str);

/// Running loads. Dropping them ends them.
#[derive(Debug)]
pub struct Loads {
    parent: Option<LoadParent>,
    counters: Counters,
    loads: Vec<Load>,
    parts: Vec<Part>,
    /// Deaths that were reported before the first reading.
    unrecorded: Vec<(usize, String)>,
    /// Parts whose first pass was over before the first reading.
    through_once: Vec<usize>,
    last_read_ns: u64,
}

/// The present rate of one part of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadRate {
    /// The part, such as `scheduler`.
    pub part: &'static str,
    /// The unit of its work; empty if work cannot be counted.
    pub unit: &'static str,
    /// Work per second; `None` if it is not known.
    pub per_second: Option<f64>,
    /// Whether the part is alive.
    pub alive: bool,
}

/// Work per second over the last [`RECENT_READINGS`] readings; `None` if there is no time between them.
fn recent_rate(part: &LoadPart) -> Option<f64> {
    let last = part.at_ns.len().checked_sub(1)?;
    let first = last.saturating_sub(RECENT_READINGS);
    let seconds = part.at_ns[last].saturating_sub(part.at_ns[first]) as f64 / 1e9;
    (seconds > 0.0).then(|| part.done[last].saturating_sub(part.done[first]) as f64 / seconds)
}

/// The parent of all load processes.
#[derive(Debug)]
struct LoadParent {
    process: Child,
    /// Closing it requests the end.
    control: Option<ChildStdin>,
    messages: ChildStdout,
    listener: MessageReader,
}

#[derive(Debug)]
struct Load {
    spec: String,
    phases: Option<(usize, usize)>,
    remarks: Vec<String>,
}

#[derive(Debug)]
struct Part {
    load: usize,
    task: LoadTask,
    first_counter: usize,
    counters: usize,
    running: bool,
    alive: bool,
    recorder: PartRecorder,
}

impl Loads {
    /// Starts all loads and returns once every part is working.
    ///
    /// The loads end with the calling process.
    ///
    /// # Errors
    /// If a program that a load runs is not installed, a process cannot be started, or a part that counts its work
    /// fails before it runs, for example because its port is in use or its peer does not connect. The failure of a
    /// command is not an error: the next [`Self::read`] records it as a death. After an error no load process is left.
    pub fn start(specs: &[LoadSpec], context: &LoadContext) -> Result<Self, LoadError> {
        Self::start_telling(specs, context, &mut |_| {})
    }

    /// As [`Self::start`]; `tell` receives messages for the waiting user.
    ///
    /// # Errors
    /// As [`Self::start`]'s.
    pub fn start_telling(
        specs: &[LoadSpec],
        context: &LoadContext,
        tell: Tell<'_>,
    ) -> Result<Self, LoadError> {
        if let Some(LoadSpec::Unrecognised(text)) =
            specs.iter().find(|spec| matches!(spec, LoadSpec::Unrecognised(_)))
        {
            return Err(LoadError::Unrecognised { text: text.clone() });
        }
        let working: Vec<LoadSpec> = specs.iter().filter(|spec| !spec.is_none()).cloned().collect();
        if let (true, Some(other)) = (working.len() < specs.len(), working.first()) {
            return Err(LoadError::NoneAmongOthers { other: other.text().to_owned() });
        }
        for spec in &working {
            check_programs(spec)?;
        }
        let fail = |what, source| LoadError::Start { what, path: context.exe.clone(), source };
        let count = working.iter().flat_map(LoadSpec::tasks).map(task::counters).sum();
        let counters = Counters::create(count).map_err(|error| fail("cannot create the counters", error))?;
        let (loads, parts) = (working.iter().map(Load::new).collect(), Part::all(&working));
        let mut started = Self {
            parent: None,
            counters,
            loads,
            parts,
            unrecorded: Vec::new(),
            through_once: Vec::new(),
            last_read_ns: 0,
        };
        if !working.is_empty() {
            let parent = LoadParent::start(working, context, started.counters.as_raw_fd());
            started.parent =
                Some(parent.map_err(|error| fail("the parent of the load processes does not start", error))?);
            started.wait_until_running(tell)?;
        }
        Ok(started)
    }

    fn wait_until_running(&mut self, tell: Tell<'_>) -> Result<(), LoadError> {
        let deadline = Instant::now() + START_PATIENCE;
        while self.parts.iter().any(|part| !part.running && part.alive) {
            let left = deadline.saturating_duration_since(Instant::now());
            self.wait_for_message(left);
            self.process_messages(tell);
            let died =
                |(part, _): &&(usize, String)| !matches!(self.parts[*part].task, LoadTask::Command { .. });
            if let Some((part, how)) = self.unrecorded.iter().find(died) {
                let (part, how) = (&self.parts[*part], how.clone());
                return Err(LoadError::DidNotStart {
                    spec: self.loads[part.load].spec.clone(),
                    part: part.task.name(),
                    how,
                });
            }
            if left.is_zero() {
                let late = self.parts.iter().filter(|part| !part.running).map(|part| part.task.name());
                let (parts, seconds) = (late.collect::<Vec<_>>().join(", "), START_PATIENCE.as_secs());
                return Err(LoadError::TooSlow { parts, seconds });
            }
        }
        Ok(())
    }

    /// Begins the counted part of the phase with this index; readings belong to it until [`Self::end_phase`]. `now_ns`
    /// counts from the start of the run, in all calls here.
    pub fn begin_phase(&mut self, phase: usize, now_ns: u64) {
        for load in &mut self.loads {
            load.phases = Some((load.phases.map_or(phase, |(first, _)| first), phase));
        }
        for part in &mut self.parts {
            part.recorder.begin_phase(phase);
        }
        self.read(now_ns);
    }

    /// Ends the counted part of the phase.
    pub fn end_phase(&mut self, now_ns: u64) {
        self.read(now_ns);
        for part in &mut self.parts {
            part.recorder.end_phase();
        }
    }

    /// Records each part's count and deaths. Called about once per second; it only reads memory and a pipe.
    pub fn read(&mut self, now_ns: u64) {
        self.last_read_ns = now_ns;
        self.process_messages(&mut |_| {});
        self.record_deaths();
        let all = self.counters.all();
        for part in &mut self.parts {
            part.recorder.push(now_ns, done(part, all), part.alive);
        }
        for part in self.through_once.drain(..) {
            self.parts.get_mut(part).into_iter().for_each(|part| part.recorder.end_first_pass(now_ns));
        }
    }

    /// For each part: its name, the unit of its work, its total so far, and whether it is alive.
    pub(super) fn latest(&self) -> impl Iterator<Item = (&str, &'static str, u64, bool)> {
        let all = self.counters.all();
        self.parts.iter().map(|part| (part.task.name(), part.task.unit(), done(part, all), part.alive))
    }

    /// Whether any part is alive.
    pub fn any_alive(&self) -> bool {
        self.parts.iter().any(|part| part.alive)
    }

    /// The rate of each part over its last readings.
    pub fn rates(&self) -> Vec<LoadRate> {
        let rate = |part: &Part| LoadRate {
            part: part.task.name(),
            unit: part.task.unit(),
            per_second: recent_rate(part.recorder.part()).filter(|_| !part.task.unit().is_empty()),
            alive: part.alive,
        };
        self.parts.iter().map(rate).collect()
    }

    /// The results so far, for a checkpoint.
    pub fn snapshot(&self) -> Vec<LoadResult> {
        let parts_of = |load| self.parts.iter().filter(move |part| part.load == load);
        let result = |(index, load): (usize, &Load)| LoadResult {
            spec: load.spec.clone(),
            first_phase: load.phases.map_or(0, |(first, _)| first),
            last_phase: load.phases.map_or(0, |(_, last)| last),
            parts: parts_of(index).map(|part| part.recorder.part().clone()).collect(),
            remarks: load.remarks.clone(),
        };
        self.loads.iter().enumerate().map(result).collect()
    }

    /// Ends all loads, waits until all their processes have ended, and returns the results.
    ///
    /// A remark records processes that do not end within 30 s, for example because they wait for a dead disk.
    pub fn stop(mut self) -> Vec<LoadResult> {
        self.end();
        self.snapshot()
    }

    fn end(&mut self) {
        let Some(parent) = &mut self.parent else { return };
        parent.control = None;
        let deadline = Instant::now() + END_PATIENCE;
        while self.parent.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            self.wait_for_message(left);
            self.process_messages(&mut |_| {});
            if left.is_zero() && self.parent.take().is_some() {
                let seconds = END_PATIENCE.as_secs();
                self.remark(
                    0,
                    format!("load processes were still running {seconds} s after the request to end"),
                );
            }
        }
        self.record_deaths();
    }

    /// Waits for a message, at most for `patience`.
    fn wait_for_message(&self, patience: Duration) {
        if let Some(parent) = &self.parent {
            // An error ends the wait early; the caller checks the time.
            let _ = wait_readable(&[parent.messages.as_raw_fd()], patience.as_nanos() as u64);
        }
    }

    /// Processes the messages that have come since the last call.
    fn process_messages(&mut self, tell: Tell<'_>) {
        let Some(parent) = &mut self.parent else { return };
        let (messages, open) = parent.listener.read(&mut parent.messages);
        for (part, message) in messages {
            match message {
                Message::Running => self.parts.get_mut(part).into_iter().for_each(|part| part.running = true),
                Message::FirstPassOver => self.through_once.push(part),
                Message::Notice(text) => tell(&text),
                Message::Remark(text) => self.remark(part, text),
                Message::Death(how) => self.died(part, how),
            }
        }
        if !open {
            self.parent_ended();
        }
    }

    /// Handles the exit of the parent, the only event that closes its end of the pipe.
    fn parent_ended(&mut self) {
        let Some(mut parent) = self.parent.take() else { return };
        let how = parent.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        if parent.control.is_some() {
            for part in 0..self.parts.len() {
                self.died(part, format!("the parent of the load processes ended: {how}"));
            }
        }
    }

    fn died(&mut self, part: usize, how: String) {
        let Some(dead) = self.parts.get_mut(part).filter(|part| part.alive) else { return };
        dead.alive = false;
        self.unrecorded.push((part, how));
    }

    fn record_deaths(&mut self) {
        for (part, how) in self.unrecorded.drain(..) {
            self.parts[part].recorder.died(self.last_read_ns, how);
        }
    }

    fn remark(&mut self, part: usize, text: String) {
        let Some(load) = self.parts.get(part).map(|part| part.load) else { return };
        let remarks = &mut self.loads[load].remarks;
        if !remarks.contains(&text) {
            remarks.push(text);
        }
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        self.end();
    }
}

/// A part's total so far.
fn done(part: &Part, all: &[Counter]) -> u64 {
    all[part.first_counter..][..part.counters].iter().fold(0, |sum, counter| sum.wrapping_add(counter.get()))
}

impl LoadParent {
    fn start(specs: Vec<LoadSpec>, context: &LoadContext, counters: i32) -> io::Result<Self> {
        let orders = Orders {
            part: None,
            parent: std::process::id(),
            counters,
            seed: context.seed,
            port: context.port,
            peer: context.peer.clone(),
            cpus: context.cpus.clone(),
            specs,
        };
        let mut command = Command::new(&context.exe);
        command.args(orders.to_arguments()).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Loads get no capability, not even one for nice 0 or for raw sockets: their workers, which are tardy again, and the
        // user's commands would inherit it.
        keep_only(&mut command, &[], Ambient::UnlessGained);
        child::prepare(&mut command, &[counters]);
        let mut process = command.spawn()?;
        let (control, messages) = (process.stdin.take(), process.stdout.take());
        let messages = messages.ok_or_else(|| io::Error::other("it has no standard output"))?;
        child::do_not_wait_on(&messages)?;
        Ok(Self { process, control, messages, listener: MessageReader::default() })
    }
}

impl Load {
    fn new(spec: &LoadSpec) -> Self {
        Self { spec: spec.text().to_owned(), phases: None, remarks: Vec::new() }
    }
}

impl Part {
    fn all(specs: &[LoadSpec]) -> Vec<Self> {
        let mut first_counter = 0;
        let mut parts = Vec::new();
        for (load, spec) in specs.iter().enumerate() {
            for task in spec.tasks() {
                let mut recorder = PartRecorder::new(task.name(), task.unit(), task::burst_every_ns(task));
                if task::has_first_pass(task) {
                    recorder.begin_first_pass();
                }
                let counters = task::counters(task);
                parts.push(Self {
                    load,
                    task: task.clone(),
                    first_counter,
                    counters,
                    running: false,
                    alive: true,
                    recorder,
                });
                first_counter += counters;
            }
        }
        parts
    }
}
