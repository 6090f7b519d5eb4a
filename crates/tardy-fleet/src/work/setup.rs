//! From the first connection to a run that goes on.

use tardy_sys::files;

use super::HostWork;
use crate::answer::{Answer, shown};
use crate::binaries::Binary;
use crate::failure::Failure;
use crate::script;
use crate::state::Step;

/// What a run may need next to the program, in KiB: its file, twice while it is replaced, and its log.
const ROOM_FOR_RUN_KIB: u64 = 4 * 1024;

impl HostWork<'_> {
    /// Brings the program to the host and starts the run.
    pub(super) fn set_up(&mut self) -> Result<(), Failure> {
        self.state.run_id =
            files::random_name().map_err(|error| Failure::Local(format!("no random number: {error}")))?;
        self.state.is_on_host = false;
        self.state.exit_status = None;
        self.state.judged = None;
        self.state.has_limit = None;
        self.state.run = None;
        self.enter(Step::Probing)?;
        let (answer, end) = self.ask(&script::probe(self.host, &self.state.run_id))?;
        self.check_place(&answer, &end.errors)?;
        let machine = answer.get("machine").unwrap_or_default().to_owned();
        self.state.machine = Some(shown(&machine));
        let binary = self.work.binaries.choose(self.host, &machine)?;
        let is_there = answer.has_program(&binary.sha256);
        let size_kib = if is_there { 0 } else { binary.size.div_ceil(1024) };
        self.check_room(&answer, size_kib + ROOM_FOR_RUN_KIB)?;
        if !is_there {
            self.copy(&binary)?;
        }
        self.start(&binary)
    }

    fn check_place(&self, answer: &Answer, errors: &str) -> Result<(), Failure> {
        let directory = self.host.directory.clone();
        if answer.get("missing").is_some() {
            return Err(Failure::NoDirectory { directory });
        }
        if answer.get("refused").is_some() {
            if answer.all("refused").any(|message| message.contains("No space left")) {
                self.check_room(answer, ROOM_FOR_RUN_KIB)?;
            }
            return Err(Failure::CannotMakeDirectory { directory, message: answer.shown("refused") });
        }
        if answer.get("foreign").is_some() {
            return Err(Failure::ForeignDirectory { path: answer.shown("foreign") });
        }
        match answer.get("ready") {
            Some(_) => Ok(()),
            None => Err(Failure::StrangeAnswer { step: self.state.step.name(), message: shown(errors) }),
        }
    }

    /// Checks the free space. A host that does not report it is tried.
    fn check_room(&self, answer: &Answer, needed_kib: u64) -> Result<(), Failure> {
        match answer.number("free") {
            Some(free_kib) if free_kib < needed_kib => {
                Err(Failure::NoSpace { directory: self.host.directory.clone(), free_kib, needed_kib })
            }
            _ => Ok(()),
        }
    }

    fn copy(&mut self, binary: &Binary) -> Result<(), Failure> {
        self.enter(Step::Copying)?;
        let copy = script::copy(self.host, &self.state.run_id, &binary.sha256, binary.size);
        let (answer, end) = self.ask_with(&copy, Some(&binary.path), self.time_for(binary.size))?;
        if answer.get("copied").is_some() {
            return Ok(());
        }
        let failure = self.write_error(&answer, &end, |message| {
            let message = match (answer.get("size"), answer.get("sha256")) {
                (Some(_), _) => format!("{} of {} bytes arrived", answer.shown("size"), binary.size),
                (_, Some(_)) => "its SHA-256 is another there".to_owned(),
                _ => message,
            };
            Failure::CopyFailed { message }
        });
        self.remove_quietly();
        Err(failure)
    }

    /// Makes the run's directory, tries the program, and starts the run.
    fn start(&mut self, binary: &Binary) -> Result<(), Failure> {
        let id = self.state.run_id.clone();
        self.state.is_on_host = true;
        self.enter(Step::Starting)?;
        let prepare = script::prepare(self.host, &id, &binary.sha256);
        let (answer, end) = self.ask_with(&prepare, Some(self.work.recipe_file), self.work.timeout)?;
        if answer.get("tried") != Some("0") {
            let failure = match answer.get("tried") {
                Some(_) => Failure::DoesNotRun {
                    program: binary.path.display().to_string(),
                    message: answer.shown("version"),
                },
                None => self.write_error(&answer, &end, |message| Failure::StrangeAnswer {
                    step: Step::Starting.name(),
                    message,
                }),
            };
            self.remove_quietly();
            return Err(failure);
        }
        self.state.version = Some(answer.shown("version"));
        let (answer, end) = self.ask(&script::start(self.host, &id, &binary.sha256, self.work.words))?;
        if answer.get("started").is_none() {
            let message = shown(&end.errors);
            return Err(Failure::StrangeAnswer { step: Step::Starting.name(), message });
        }
        self.enter(Step::Measuring)
    }
}
