//! The reader: a process that reads the files of watched programs, and unwinds their stacks.
//!
//! The files belong to any user, and the process of the session is root's. So another process reads them, whose memory and CPU time are
//! limited, and which may end by whatever a file makes of it. The session waits for its answers for a limited time, and not at all once
//! a signal asks it to end.

mod messages;
mod worker;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use tardy_sys::child;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::perf_event::Sample;
use tardy_sys::processes::{self, OWN_EXECUTABLE};
use tardy_sys::signals::{is_end_pending, wait_readable};

use crate::usdt::Probe;
use messages::{Found, Place, Request, length_of, send};

/// The hidden command of the process.
const COMMAND: &str = "__read-program";
/// How long an answer may take: a file system may wait for another user's process. The CPU time has a limit of its own.
const ANSWER_MAX_NS: u64 = 120_000_000_000;
/// The same when the session is about to end.
const LAST_ANSWER_MAX_NS: u64 = 2_000_000_000;
/// Between two looks at whether the session is to end.
const LOOK_NS: u64 = 20_000_000;
/// How many readers are started in all.
const STARTS_MAX: u32 = 4;

/// Why places may lack their functions.
const TOO_LONG: &str = "the program's files have more tables, symbols and debug information than are read (1 GiB, and 256 MiB in one \
                        section), so causes may lack their place in the program";

/// Runs the hidden command `words`; `None` if it is another one.
pub fn run_command(words: &[&str]) -> Option<ExitCode> {
    (words == [COMMAND]).then(worker::main)
}

/// The session's end of the reader, which is started when it is needed first.
#[derive(Debug)]
pub struct ProgramReader {
    process: Option<Process>,
    answer_max_ns: u64,
    starts: u32,
    /// The processes whose code the reader has been asked to keep.
    followed: BTreeSet<u32>,
    /// Those of which nothing is read any longer, because a reader ended over them.
    given_up: BTreeSet<u32>,
    is_limited: bool,
    /// Why something was not read, for the user.
    failures: Vec<String>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// A file with probes.
#[derive(Debug)]
pub struct ProbedFile {
    /// The file that was read.
    pub file: File,
    /// Its probes, whose instructions do nothing.
    pub probes: Vec<Probe>,
}

impl Default for ProgramReader {
    fn default() -> Self {
        Self {
            process: None,
            answer_max_ns: ANSWER_MAX_NS,
            starts: 0,
            followed: BTreeSet::new(),
            given_up: BTreeSet::new(),
            is_limited: false,
            failures: Vec::new(),
        }
    }
}

impl ProgramReader {
    /// The session was asked to end: answers are waited for shortly only.
    pub fn hurry(&mut self) {
        self.answer_max_ns = LAST_ANSWER_MAX_NS;
    }

    /// Reads the code of a process from now on, so that the places of its stacks are known also after its end.
    pub fn follow(&mut self, pid: u32) {
        if self.followed.insert(pid) {
            // A new reader begins with all that are followed.
            if self.process.is_some() {
                let _ = self.request(pid, &Request::Follow { pid });
            } else {
                self.start(pid);
            }
        }
    }

    /// The process has ended.
    pub fn forget(&mut self, pid: u32) {
        if self.followed.remove(&pid) && self.process.is_some() {
            let _ = self.request(pid, &Request::Forget { pid });
        }
    }

    /// The place in the program at which a thread of the process blocked.
    pub fn place(&mut self, pid: u32, sample: &Sample) -> Option<String> {
        let answer = self.ask(pid, &Request::Place { pid, sample: sample.clone() })?;
        let Place { text, is_limited } = Place::of(&answer)?;
        if is_limited && !std::mem::replace(&mut self.is_limited, true) {
            self.failures.push(TOO_LONG.to_owned());
        }
        text
    }

    /// The probes of the files that the process has mapped and that were not searched before, and why others are left out.
    pub fn probes(&mut self, pid: u32) -> (Vec<ProbedFile>, Option<String>) {
        // Another reader would find the same probes once more.
        if self.starts > u32::from(self.process.is_some()) {
            return (Vec::new(), None);
        }
        let before = self.failures.len();
        let found = self.ask(pid, &Request::Probes { pid }).and_then(|answer| Found::of(&answer));
        let (Some(found), Some(process)) = (found, &self.process) else {
            return (Vec::new(), self.failures.get(before).cloned());
        };
        let reader = process.child.id();
        let mut refused = found.refused;
        let mut files = Vec::new();
        for messages::ProbedFile { descriptor, probes } in found.files {
            match processes::file_of_descriptor(reader, descriptor) {
                Ok(file) => files.push(ProbedFile { file, probes }),
                Err(error) => refused = Some(format!("a file with probes cannot be referred to: {error}")),
            }
        }
        (files, refused)
    }

    /// Why something was not read.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// The answer to a request about a process; `None` if there is none.
    fn ask(&mut self, pid: u32, request: &Request) -> Option<Vec<u8>> {
        self.request(pid, request)?;
        let answer = self.process.as_mut()?.answer(self.answer_max_ns);
        match answer {
            Ok(Some(answer)) => Some(answer),
            Ok(None) => {
                // The answer that is still to come would be taken for the next one's.
                (self.process, self.starts) = (None, STARTS_MAX);
                None
            }
            Err(why) => {
                self.end(pid, &why);
                None
            }
        }
    }

    /// Sends a request about a process, to a new reader if the last one has ended.
    fn request(&mut self, pid: u32, request: &Request) -> Option<()> {
        if self.given_up.contains(&pid) || is_end_pending() {
            return None;
        }
        if self.process.is_none() {
            self.start(pid);
        }
        let sent = send(&request.to_bytes(), &mut self.process.as_mut()?.input);
        sent.map_err(|_| self.end(pid, "it ended")).ok()
    }

    fn start(&mut self, pid: u32) {
        if self.starts == STARTS_MAX || self.given_up.contains(&pid) {
            return;
        }
        self.starts += 1;
        match Process::start() {
            Ok(process) => {
                self.process = Some(process);
                for pid in self.followed.difference(&self.given_up).copied().collect::<Vec<_>>() {
                    let _ = self.request(pid, &Request::Follow { pid });
                }
            }
            Err(error) => {
                self.failures.push(format!("no process to read the program's files can be started: {error}"));
            }
        }
    }

    /// Gives a process up, over which the reader ended or has to be ended.
    fn end(&mut self, pid: u32, why: &str) {
        let Some(process) = self.process.take() else { return };
        self.given_up.insert(pid);
        let why = process.end().unwrap_or_else(|| why.to_owned());
        self.failures.push(format!(
            "files of process {pid} are not read any longer, and no more probes are found: the process that reads them was ended ({why})"
        ));
    }
}

impl Process {
    fn start() -> io::Result<Self> {
        let mut command = Command::new(OWN_EXECUTABLE);
        command.arg(COMMAND).env_clear().current_dir("/");
        // What a file makes of it is not the session's message.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        child::prepare(&mut command, &[]);
        child::gain_nothing(&mut command);
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        child::do_not_wait_on(&output)?;
        Ok(Self { child, input, output })
    }

    /// The next answer; `None` if the session is to end.
    fn answer(&mut self, answer_max_ns: u64) -> Result<Option<Vec<u8>>, String> {
        let until_ns = monotonic_ns().saturating_add(answer_max_ns);
        let mut length = [0; 8];
        if !self.fill(&mut length, until_ns)? {
            return Ok(None);
        }
        let mut answer = vec![0; length_of(length).ok_or("its answer is too long")?];
        Ok(self.fill(&mut answer, until_ns)?.then_some(answer))
    }

    /// Fills `into`; `false` if the session is to end.
    fn fill(&mut self, into: &mut [u8], until_ns: u64) -> Result<bool, String> {
        let mut filled = 0;
        while filled < into.len() {
            match self.output.read(&mut into[filled..]) {
                Ok(0) => return Err("it ended".to_owned()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if is_end_pending() {
                        return Ok(false);
                    }
                    if monotonic_ns() > until_ns {
                        return Err("it did not answer in time".to_owned());
                    }
                    wait_readable(&[self.output.as_raw_fd()], LOOK_NS).map_err(|error| error.to_string())?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(true)
    }

    /// Ends the process. Returns how it ended, if it did so itself.
    fn end(mut self) -> Option<String> {
        use std::os::unix::process::ExitStatusExt;
        let own = match self.child.try_wait() {
            Ok(Some(status)) => Some(status),
            _ => None,
        };
        let _ = self.child.kill();
        let ended = self.child.wait().ok();
        // A process that closed its output is ending.
        let status = own.or(ended.filter(|status| status.signal() != Some(child::signal::KILL)))?;
        Some(match status.signal() {
            Some(child::signal::CPU_TIME) => "it used more CPU time than 20 s for one request".to_owned(),
            Some(signal) => child::How::Killed(signal).to_string(),
            None => child::How::Exited(status.code().unwrap_or_default()).to_string(),
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
