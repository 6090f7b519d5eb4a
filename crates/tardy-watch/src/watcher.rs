//! Receives what a watched program did: writes one run after the other, keeps the last late cycles, and responds to them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tardy_attach::recorder::Seen;
use tardy_attach::session::{Listener, Request, Status, Watched};
use tardy_measure::engine::checkpoint::RunFile;
use tardy_measure::engine::result_file::{ResultFile, ResultFileError};
use tardy_present::sections::program::causes_text;
use tardy_record::Run;
use tardy_record::facts::Facts;
use tardy_record::run::Origin;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::EndSignals;

use crate::late_command::Occasion;
use crate::response::Response;
use crate::ring::{LateEntry, LateRing};

/// How often a run file is tried whose place could not be written to when its run began.
const RETRY_NS: u64 = 60_000_000_000;

/// Where runs go, and how often one is complete.
#[derive(Clone, Debug)]
pub struct Place {
    /// The directory.
    pub directory: PathBuf,
    /// The length of a run, in ns.
    pub every_ns: u64,
    /// The most runs of this watch that stay in the directory; `None`: all.
    pub runs_max: Option<usize>,
    /// Whether what identifies the machine is removed from run files.
    pub redacts: bool,
}

/// The origin of a run that begins at a time.
pub type MakeOrigin = fn(SystemTime) -> Origin;

/// Shows what happens while a program is watched.
pub trait Reporter {
    /// A round has ended.
    fn status(&mut self, status: &Status);
    /// A message for the user.
    fn message(&mut self, text: &str);
    /// A run file is complete.
    fn complete(&mut self, run_file: &Path);
}

/// The watcher.
pub struct Watcher<'a> {
    reporter: &'a mut dyn Reporter,
    request: Request,
    place: Place,
    facts: Facts,
    make_origin: MakeOrigin,
    current: Current,
    /// The file of the ring.
    late_file: ResultFile,
    ring: LateRing,
    ring_is_new: bool,
    /// `None` once watching has ended.
    response: Option<Response>,
    /// Run files that are complete and stay, the oldest first.
    complete: VecDeque<PathBuf>,
    has_failed: bool,
}

/// The run in progress.
#[derive(Debug)]
struct Current {
    path: PathBuf,
    /// `None` until the path can be claimed.
    file: Option<RunFile>,
    /// When it is tried next.
    retry_ns: u64,
    origin: Origin,
    started: SystemTime,
    /// Whether the file has a checkpoint.
    is_on_disk: bool,
}

impl Current {
    fn begin(place: &Place, make_origin: MakeOrigin) -> Self {
        let started = SystemTime::now();
        let origin = make_origin(started);
        let path = place.directory.join(format!("tardy-{}.run.json", origin.id));
        Self { path, file: None, retry_ns: 0, origin, started, is_on_disk: false }
    }

    fn is_due(&mut self, now_ns: u64) -> bool {
        match &mut self.file {
            Some(file) => file.is_due(now_ns, true, 0),
            None if now_ns < self.retry_ns => false,
            None => {
                self.retry_ns = now_ns + RETRY_NS;
                true
            }
        }
    }

    fn claim(&mut self, redacts: bool) -> Result<&mut RunFile, ResultFileError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => RunFile::at(ResultFile::claim(&self.path, false)?, redacts),
        };
        Ok(self.file.insert(file))
    }

    fn write(&mut self, run: &Run, redacts: bool) -> Result<(), ResultFileError> {
        self.claim(redacts)?.write(run)?;
        self.is_on_disk = true;
        Ok(())
    }

    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

impl<'a> Watcher<'a> {
    /// A watcher that has claimed its first run file and the file of the last late cycles.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn claim(
        request: &Request,
        place: Place,
        facts: Facts,
        make_origin: MakeOrigin,
        response: Response,
        reporter: &'a mut dyn Reporter,
    ) -> Result<Self, ResultFileError> {
        let mut current = Current::begin(&place, make_origin);
        current.claim(place.redacts)?;
        let late = place.directory.join(format!("tardy-{}.late.json", current.origin.id));
        Ok(Self {
            reporter,
            request: request.clone(),
            late_file: ResultFile::claim(&late, false)?,
            place,
            facts,
            make_origin,
            current,
            ring: LateRing::default(),
            ring_is_new: false,
            response: Some(response),
            complete: VecDeque::new(),
            has_failed: false,
        })
    }

    /// The last late cycles.
    pub fn ring(&self) -> &LateRing {
        &self.ring
    }

    /// The file of the last late cycles; `None` if there were none, or if run files are redacted.
    pub fn late_file(&self) -> Option<&Path> {
        (self.ring.late > 0 && !self.place.redacts).then(|| self.late_file.path())
    }

    /// Whether a run or the late cycles could not be written at some time.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn run(&self, watched: Watched) -> Run {
        tardy_attach::run::of(&self.request, watched, self.current.origin.clone(), self.facts.clone())
    }

    /// Writes the run. Returns whether it is on the disk. A full disk ends no watching: it is reported, and the next checkpoint
    /// may succeed.
    fn write(&mut self, run: &Run) -> bool {
        let written = self.current.write(run, self.place.redacts);
        let is_written = written.is_ok();
        self.note_written(written.map_err(|error| error.to_string()));
        // Names of threads and causes may identify the machine.
        if std::mem::take(&mut self.ring_is_new) && !self.place.redacts {
            let written = self.late_file.write(self.ring.text().as_bytes());
            self.note_written(written.map_err(|error| error.to_string()));
        }
        is_written
    }

    fn note_written(&mut self, written: Result<(), String>) {
        if let Err(error) = written {
            self.has_failed = true;
            self.reporter.message(&error);
        }
    }

    fn respond(&mut self) {
        let now_ns = monotonic_ns();
        if let Some(response) = self.response.as_mut().filter(|response| response.is_due(now_ns)) {
            let messages = response.respond(&self.current.path, now_ns);
            messages.iter().for_each(|message| self.reporter.message(message));
        }
    }

    /// Writes the present run, which is complete, and removes the oldest ones.
    fn seal(&mut self, run: &Run) {
        let path = self.current.path.clone();
        if self.write(run) {
            self.reporter.complete(&path);
        }
        // Else it may have a checkpoint.
        self.complete.extend(self.current.is_on_disk.then_some(path));
        let max = self.place.runs_max.unwrap_or(usize::MAX);
        while self.complete.len() > max {
            let Some(oldest) = self.complete.pop_front() else { return };
            if let Err(error) = tardy_sys::files::remove_own(&oldest) {
                self.reporter.message(&format!("{} cannot be removed: {error}", oldest.display()));
            }
        }
    }

    /// Writes the last run, waits for the command to end, or for a signal, and returns the run.
    pub fn finish(&mut self, watched: Watched, signals: &EndSignals) -> Run {
        let run = self.run(watched);
        self.ring_is_new |= self.ring.late > 0;
        self.seal(&run);
        self.respond();
        if let Some(response) = self.response.take() {
            response.finish(signals).iter().for_each(|message| self.reporter.message(message));
        }
        run
    }
}

impl Listener for Watcher<'_> {
    fn progress(&mut self, status: &Status) {
        let failed = self.response.as_mut().and_then(|response| response.poll(monotonic_ns()));
        failed.iter().for_each(|message| self.reporter.message(message));
        self.reporter.status(status);
    }

    fn wants_checkpoint(&mut self, now_ns: u64) -> bool {
        // Both are asked: the first call also sets the next time.
        let is_due = self.current.is_due(now_ns);
        is_due || self.response.as_ref().is_some_and(|response| response.is_due(monotonic_ns()))
    }

    fn checkpoint(&mut self, watched: Watched) {
        let run = self.run(watched);
        self.write(&run);
        self.respond();
    }

    fn late(&mut self, cycles: Vec<Seen>, more: u64) {
        let run = self.current.name();
        for Seen { thread, cycle } in cycles {
            if let Some(response) = &mut self.response {
                response.note(Occasion {
                    cause: causes_text(&cycle),
                    latency_ns: cycle.latency_ns,
                    count: 1,
                    run: PathBuf::new(),
                    thread: thread.clone(),
                });
            }
            self.ring.push(LateEntry::of(&thread, &cycle, self.current.started, &run));
        }
        self.ring.count_more(more);
        self.ring_is_new = true;
    }

    fn wants_next_run(&mut self, now_ns: u64) -> bool {
        now_ns >= self.place.every_ns
    }

    fn next_run(&mut self, watched: Watched) {
        let run = self.run(watched);
        self.seal(&run);
        self.respond();
        self.current = Current::begin(&self.place, self.make_origin);
        let claimed = self.current.claim(self.place.redacts).map(drop);
        self.note_written(claimed.map_err(|error| error.to_string()));
    }

    fn wants_end(&mut self) -> bool {
        self.response.as_ref().is_some_and(Response::has_stopped)
    }
}
