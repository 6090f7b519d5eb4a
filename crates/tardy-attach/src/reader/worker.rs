//! The reader's process: reads files of watched programs, which may belong to any user.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::Duration;

use tardy_sys::{files, processes, signals, work_limits};

use super::messages::{Found, Place, ProbedFile, Request, receive, send};
use crate::elf::{Budget, Content};
use crate::mappings;
use crate::usdt::{self, PROBES_MAX, Probes};

/// Memory of the process. Half of it is for the content of files.
const MEMORY_MAX: u64 = 2 << 30;
/// Bytes of files that are read for places, and for probes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const PLACES_BYTES: u64 = 1 << 30;
const PROBES_BYTES: u64 = 256 << 20;
/// CPU time for a request. Reading the debug information of a web browser takes a few seconds.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Why a file may lack its probes.
const TOO_LONG: &str =
    "the program's files have more tables and notes than are searched for probes (256 MiB)";
/// The most files that are searched for probes.
const FILES_MAX: usize = 4096;
/// The most files of one answer, which are open at the same time.
const FOUND_MAX: usize = 64;
/// The longest place in a program, in characters.
const PLACE_MAX: usize = 400;

/// What was read so far.
#[derive(Debug)]
struct Worker {
    code: Codes,
    /// The files that were searched for probes.
    searched: BTreeSet<String>,
    probes_budget: Budget,
    /// The files of the last answer.
    open: Vec<File>,
}

/// Runs the process: answers the requests of standard input until it is closed.
pub(super) fn main() -> ExitCode {
    let run = || -> io::Result<()> {
        // Those of a terminal reach the session too, which ends this process.
        signals::ignore_end_signals()?;
        processes::set_own_command("tardy-reader")?;
        work_limits::limit_memory(MEMORY_MAX)?;
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        let mut worker = Worker::new();
        while worker.serve_one(&mut input, &mut output)? {}
        Ok(())
    };
    if run().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Worker {
    fn new() -> Self {
        Self {
            code: Codes::new(),
            searched: BTreeSet::new(),
            probes_budget: Budget::new(PROBES_BYTES),
            open: Vec::new(),
        }
    }

    /// Answers the next request; `false` if there is none.
    fn serve_one(&mut self, input: &mut impl Read, output: &mut impl Write) -> io::Result<bool> {
        let Some(request) = receive(input)? else { return Ok(false) };
        work_limits::limit_cpu_time(Some(REQUEST_TIME))?;
        self.open.clear();
        match Request::of(&request).ok_or(io::ErrorKind::InvalidData)? {
            Request::Follow { pid } => self.code.follow(pid),
            Request::Forget { pid } => self.code.forget(pid),
            Request::Place { pid, sample } => {
                let text = self.code.place(pid, &sample);
                let text = text.map(|text| text.chars().take(PLACE_MAX).collect());
                send(&Place { text, is_limited: self.code.is_limited() }.to_bytes(), output)?;
            }
            Request::Probes { pid } => send(&self.probes(pid).to_bytes(), output)?,
        }
        work_limits::limit_cpu_time(None)?;
        Ok(true)
    }

    /// The probes of the files that the process has mapped and that were not searched before.
    fn probes(&mut self, pid: u32) -> Found {
        let mut found = Found::default();
        let user = processes::user_of(pid);
        for mapping in mappings::code_of(pid) {
            // The next request finds the others.
            if found.files.len() >= FOUND_MAX {
                break;
            }
            if self.searched.contains(&mapping.identity) {
                continue;
            }
            if self.searched.len() >= FILES_MAX {
                found.refused = Some(format!("no more than {FILES_MAX} files are searched for probes"));
                break;
            }
            self.searched.insert(mapping.identity.clone());
            let Ok(file) = mapping.open() else { continue };
            let Ok(copy) = file.try_clone() else { continue };
            let Probes { probes, has_more } = usdt::probes(&Content::File(copy), &self.probes_budget);
            if has_more {
                found.refused = Some(format!(
                    "{}: it has more probes than are used ({PROBES_MAX}), or more notes of probes than are read",
                    mapping.path
                ));
            }
            if probes.is_empty() {
                continue;
            }
            let refusal = match user {
                Some(user) => files::only_writable_by(&file, user).err(),
                None => Some("the program has ended".to_owned()),
            };
            let path = &mapping.path;
            if let Some(why) = refusal {
                found.refused = Some(format!("{path}: {why}"));
                continue;
            }
            let (probes, others): (Vec<_>, Vec<_>) = probes.into_iter().partition(|probe| probe.is_nop);
            if let Some(other) = others.first() {
                let (name, offset) = (&other.name, other.offset);
                found.refused = Some(format!(
                    "{path}: the instruction of probe {name} at {offset:#x} is not one that does nothing"
                ));
            }
            if !probes.is_empty() {
                found.files.push(ProbedFile { descriptor: file.as_raw_fd() as u32, probes });
                self.open.push(file);
            }
        }
        if self.probes_budget.was_exceeded() {
            found.refused = Some(TOO_LONG.to_owned());
        }
        found
    }
}

/// The code of the processes whose places are wanted.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[derive(Debug)]
struct Codes {
    of: std::collections::BTreeMap<u32, crate::unwinding::Code>,
    budget: std::rc::Rc<Budget>,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Codes {
    fn new() -> Self {
        Self { of: Default::default(), budget: std::rc::Rc::new(Budget::new(PLACES_BYTES)) }
    }

    fn follow(&mut self, pid: u32) {
        self.of.entry(pid).or_insert_with(|| crate::unwinding::Code::of(pid, &self.budget));
    }

    fn forget(&mut self, pid: u32) {
        self.of.remove(&pid);
    }

    fn place(&mut self, pid: u32, sample: &tardy_sys::perf_event::Sample) -> Option<String> {
        self.of.get_mut(&pid)?.place(sample)
    }

    fn is_limited(&self) -> bool {
        self.budget.was_exceeded()
    }
}

/// Stacks of other processors are not unwound.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[derive(Debug)]
struct Codes;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Codes {
    fn new() -> Self {
        Self
    }

    fn follow(&mut self, _pid: u32) {}

    fn forget(&mut self, _pid: u32) {}

    fn place(&mut self, _pid: u32, _sample: &tardy_sys::perf_event::Sample) -> Option<String> {
        None
    }

    fn is_limited(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_search_for_probes_are_stated() {
        let own = std::process::id();
        let mut worker = Worker::new();
        assert_eq!(worker.probes(own).refused, None);
        let mut few_bytes = Worker { probes_budget: Budget::new(1), ..Worker::new() };
        // Only root may open the files.
        let can_open = mappings::code_of(own).first().is_some_and(|mapping| mapping.open().is_ok());
        assert_eq!(few_bytes.probes(own).refused.as_deref(), can_open.then_some(TOO_LONG));
        let searched = (0..FILES_MAX).map(|number| format!("file {number}")).collect();
        let mut many_files = Worker { searched, ..Worker::new() };
        let refused = many_files.probes(own).refused.unwrap();
        assert_eq!(refused, "no more than 4096 files are searched for probes");
    }
}
