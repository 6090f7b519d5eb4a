//! The house: what a run needs from its first checkpoint to its seal.

use tardy_record::Run;
use tardy_record::event::{self, Event, EventKind};
use tardy_record::run::State;
use tardy_record::self_cost::ThreadCost;
use tardy_record::validity;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;
use tardy_sys::signals::EndSignals;
use tardy_sys::thread_usage::{self, ThreadUsage};

use super::checkpoint::RunFile;
use super::house_clock::HouseClock;
use super::observer::Observer;
use super::request::{Outcome, Request, RunError};
use super::result_file::{ResultFile, ResultFileError};
use super::sample_file::SampleFile;
use super::surroundings::LoadBook;
use tardy_host::watch::{WatchOptions, Watchers};

/// All that a run in progress holds.
pub(super) struct House<'a> {
    pub(super) request: &'a Request,
    pub(super) run: Run,
    pub(super) file: RunFile,
    pub(super) samples: Option<SampleFile>,
    pub(super) clock: HouseClock,
    pub(super) signals: EndSignals,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) loads: LoadBook,
    pub(super) watchers: Watchers,
    used_before: ThreadUsage,
}

impl<'a> House<'a> {
    pub(super) fn open(request: &'a Request, observer: &'a mut dyn Observer) -> Result<Self, RunError> {
        let file = ResultFile::claim(&request.output, request.force).map(RunFile::at)?;
        if let Some(samples) = &request.samples {
            SampleFile::check(samples, &request.output, request.force)?;
        }
        let cannot = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| RunError::Start(format!("{what}: {error}"))
        };
        let signals = EndSignals::catch().map_err(cannot("signals cannot be caught"))?;
        if request.fake.is_none() {
            scheduling::set_affinity(&[request.plan.housekeeping_cpu]).map_err(cannot(&format!(
                "cpu {} cannot be had for housekeeping",
                request.plan.housekeeping_cpu
            )))?;
        }
        let used_before = thread_usage::of_this_process().map_err(cannot("the kernel keeps no accounts"))?;
        let mut house = Self {
            run: Run::begun(request.origin.clone(), request.plan.clone(), request.facts.clone()),
            request,
            file,
            samples: None,
            clock: HouseClock::start(request.fake.is_some()),
            signals,
            observer,
            loads: LoadBook::default(),
            watchers: watchers(request),
            used_before,
        };
        if let Some(samples) = &request.samples {
            house.samples = Some(SampleFile::create(samples, request.force)?);
            house.account_for_samples(false);
        }
        house.checkpoint_or_fail().inspect_err(|_| house.discard_samples())?;
        Ok(house)
    }

    /// Whether somebody wants every sample.
    pub(super) fn takes_samples(&self) -> bool {
        self.samples.is_some() || self.request.tells_samples
    }

    fn discard_samples(&self) {
        if let Some(samples) = &self.samples {
            samples.discard();
        }
    }

    /// Writes the first checkpoint, before anything is measured: what cannot be written is known now.
    fn checkpoint_or_fail(&mut self) -> Result<(), ResultFileError> {
        self.run.validity = validity::judge(&self.run);
        self.file.write(&self.run)
    }

    /// Writes a checkpoint. A failure is an event, not the end: what was written before is still there.
    pub(super) fn checkpoint(&mut self) {
        let began_ns = self.clock.now_ns();
        self.run.validity = validity::judge(&self.run);
        let outcome = self.file.write(&self.run);
        let took_ns = self.clock.now_ns() - began_ns;
        match outcome {
            Ok(()) => self.note(EventKind::Checkpoint, "", took_ns),
            Err(error) => {
                let text = error.to_string();
                if !self.run.events.iter().any(|event| event.text == text) {
                    self.observer.say(&format!("checkpoint failed: {text}; measuring goes on, in memory"));
                }
                self.note(EventKind::CheckpointFailed, &text, took_ns);
            }
        }
    }

    /// Notes an event.
    pub(super) fn note(&mut self, kind: EventKind, text: &str, took_ns: u64) {
        let at_ns = self.clock.now_ns().saturating_sub(took_ns);
        event::push(&mut self.run.events, Event { at_ns, kind, text: text.to_owned(), took_ns, count: 1 });
    }

    /// Nothing was measured: leaves no file behind.
    pub(super) fn abandon(self) {
        self.file.remove();
        self.discard_samples();
    }

    pub(super) fn seal(mut self, state: State, mut trouble: Option<String>) -> Outcome {
        self.stop_loads();
        self.close_samples();
        self.run.progress.state = state;
        if let Some(cost) = self.own_cost() {
            self.run.self_cost.push(cost);
        }
        self.run.validity = validity::judge(&self.run);
        debug_assert_eq!(tardy_record::file::check(&self.run).map_err(|error| error.to_string()), Ok(()));
        if let Err(error) = self.file.write(&self.run) {
            trouble = Some(self.rescue(&error));
        }
        Outcome { run: self.run, trouble }
    }

    fn own_cost(&self) -> Option<ThreadCost> {
        let used = thread_usage::of_this_process().ok()?.since(&self.used_before);
        Some(ThreadCost {
            thread: format!("housekeeping, cpu {}", self.request.plan.housekeeping_cpu),
            phase: None,
            cycles: None,
            cpu_ns: used.cpu_ns,
            minor_faults: used.minor_faults,
            major_faults: used.major_faults,
            voluntary_switches: used.voluntary_switches,
            involuntary_switches: used.involuntary_switches,
            migrations: used.migrations,
        })
    }

    /// The sealed run fits nowhere on its disk: tries memory, so that nothing is lost.
    fn rescue(&self, error: &ResultFileError) -> String {
        let place = std::path::Path::new("/dev/shm").join(format!("tardy-{}.run.json", self.run.origin.id));
        match std::fs::write(&place, tardy_record::file::to_text(&self.run)) {
            Ok(()) => format!(
                "{error}. The whole run is in {} instead: move it before the next boot",
                place.display()
            ),
            Err(second) => {
                format!("{error}; nor could {} ({second}). What follows is all there is", place.display())
            }
        }
    }
}

fn watchers(request: &Request) -> Watchers {
    let measured_cpus = request.plan.measured_cpus();
    let clock = if request.fake.is_some() { || 0 } else { tardy_sys::clock::monotonic_ns };
    let on_a_measured_cpu = measured_cpus.contains(&request.plan.housekeeping_cpu) && request.fake.is_none();
    let options = WatchOptions { measured_cpus, on_a_measured_cpu };
    Watchers::new(&KernelFiles::under(&request.kernel_root), &options, clock)
}
