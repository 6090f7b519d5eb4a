//! The supervisor: the state of a run from its first checkpoint until the run is sealed.

use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use tardy_host::ptp_log::PtpLog;
use tardy_host::watch::{Overlap, WatchOptions, Watchers};
use tardy_record::Run;
use tardy_record::event::{self, Event, EventKind};
use tardy_record::plan::PhasePlan;
use tardy_record::run::State;
use tardy_record::samples::SamplesFile;
use tardy_record::self_cost::{LIVE_VIEW, ThreadCost};
use tardy_record::series::CHECKPOINT;
use tardy_record::validity;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::scheduling;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::EndSignals;
use tardy_sys::thread_usage::{self, ThreadUsage};

use super::checkpoint::RunFile;
use super::clock::{Clock, MonotonicClock, SyntheticClock};
use super::listener::Listener;
use super::loads::{LoadProcesses, LoadSet, LoadStarter};
use super::reading::OwnReads;
use super::request::{Outcome, Request, RunError};
use super::result_file::{ResultFile, ResultFileError};
use super::sample_file::SampleFile;

/// Receives SIGINT, SIGTERM and SIGHUP.
pub(crate) trait Signals {
    /// A descriptor that is readable while a signal is pending.
    fn descriptor(&self) -> RawFd;
    /// Takes a pending signal. Returns whether there was one.
    fn take(&self) -> bool;
}

impl Signals for EndSignals {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }

    fn take(&self) -> bool {
        Self::take(self).is_some()
    }
}

/// The parts of a run that tests replace: time, signals, loads.
pub(crate) struct Outside {
    /// The run's clock, which starts when it is made.
    pub(crate) clock: Rc<dyn Clock>,
    /// The signals that end the run.
    pub(crate) signals: Box<dyn Signals>,
    /// Starts the loads.
    pub(crate) loads: Box<dyn LoadStarter>,
}

impl Outside {
    /// Real signals and loads for `request`, and a real clock unless the measurement is synthetic.
    pub(crate) fn of(request: &Request) -> Result<Self, RunError> {
        let clock: Rc<dyn Clock> = match request.fake {
            Some(_) => Rc::new(SyntheticClock::default()),
            None => Rc::new(MonotonicClock::start()),
        };
        let signals = EndSignals::catch().map_err(cannot("signals cannot be caught"))?;
        Ok(Self { clock, signals: Box::new(signals), loads: Box::new(LoadProcesses::of(request)) })
    }
}

/// The state of a run in progress.
pub struct Supervisor<'r> {
    pub(crate) request: &'r Request,
    pub(crate) run: Run,
    pub(super) file: RunFile,
    pub(crate) samples: Option<SampleFile>,
    pub(crate) clock: Rc<dyn Clock>,
    pub(super) signals: Box<dyn Signals>,
    pub(crate) listener: &'r mut dyn Listener,
    pub(super) loads: LoadSet,
    pub(super) watchers: Watchers,
    used_before: ThreadUsage,
    /// The number of moments that the user has marked.
    pub(super) marks: u64,
    /// The cost of the live view.
    pub(super) live_cost: LiveCost,
    /// Cost of the last checkpoint, in ns.
    checkpoint_took_ns: u64,
    /// How long closing the checkpoint before took at most, in ns.
    closing_took_ns: u64,
}

impl<'r> Supervisor<'r> {
    /// Claims the run's files and writes the first checkpoint.
    pub(super) fn open(
        request: &'r Request,
        outside: Outside,
        listener: &'r mut dyn Listener,
    ) -> Result<Self, RunError> {
        if request.plan.until.is_some() && request.decide.is_none() {
            return Err(RunError::Start(
                "a phase cannot end by its data here; use a duration without --until".to_owned(),
            ));
        }
        let file = ResultFile::claim(&request.output, request.force)
            .map(|file| RunFile::at(file, request.redacts))?;
        if let Some(samples) = &request.samples {
            SampleFile::check(samples, &request.output, request.force)?;
        }
        let Outside { clock, signals, loads } = outside;
        let watchers = watchers(request, clock.start_ns())?;
        keep_to_housekeeping_cpu(request)?;
        let used_before = thread_usage::of_this_process().map_err(cannot("CPU usage is not available"))?;
        let mut supervisor = Self {
            run: Run {
                start_monotonic_ns: Some(clock.start_ns()),
                ..Run::begun(request.origin.clone(), request.plan.clone(), request.facts.clone())
            },
            request,
            file,
            samples: None,
            clock,
            signals,
            listener,
            loads: LoadSet::new(loads),
            watchers,
            used_before,
            marks: 0,
            live_cost: LiveCost::default(),
            checkpoint_took_ns: 0,
            closing_took_ns: 0,
        };
        if let Some(samples) = &request.samples {
            supervisor.samples = Some(SampleFile::create(samples, request.force)?);
            supervisor.account_for_samples(false);
        }
        supervisor.checkpoint_or_fail().inspect_err(|_| supervisor.discard_samples())?;
        Ok(supervisor)
    }

    fn discard_samples(&self) {
        if let Some(samples) = &self.samples {
            samples.discard();
        }
    }

    /// Writes the first checkpoint before anything is measured, so that a full disk is noticed early.
    fn checkpoint_or_fail(&mut self) -> Result<(), ResultFileError> {
        self.run.validity = validity::judge(&self.run);
        self.file.write(&self.run)
    }

    /// Writes a checkpoint. A failure is recorded as an event, and the run continues; the previous checkpoint is kept.
    pub(super) fn checkpoint(&mut self) {
        let began_ns = self.clock.now_ns();
        self.run.validity = validity::judge(&self.run);
        let outcome = self.file.write(&self.run);
        let took_ns = self.clock.now_ns() - began_ns;
        match outcome {
            Ok(()) => {
                self.checkpoint_took_ns = took_ns;
                let now_ns = self.clock.now_ns();
                self.file.remove_counters(now_ns);
                self.note(EventKind::Checkpoint, "", took_ns);
            }
            Err(error) => {
                let text = error.to_string();
                if !self.run.events.iter().any(|event| event.text == text) {
                    self.message(&format!(
                        "the checkpoint failed: {text}; the measurement continues in memory"
                    ));
                }
                self.note(EventKind::CheckpointFailed, &text, took_ns);
            }
        }
        self.end_saving(began_ns);
    }

    /// Closes what was replaced by what has been written since `began_ns`.
    fn end_saving(&mut self, began_ns: u64) {
        let start_ns = self.clock.start_ns();
        let (from_ns, to_ns) = (start_ns + began_ns, start_ns + self.clock.now_ns());
        self.watchers.note_overlap(Overlap { watcher: CHECKPOINT, from_ns, to_ns });
        let replaced = self.file.take_replaced();
        if replaced.iter().any(Option::is_some) {
            self.watchers.between_wakeups(CHECKPOINT, &mut self.closing_took_ns, || drop(replaced));
        }
    }

    /// Whether a checkpoint is due at `now_ns`, in a phase whose source counts in a map, or elsewhere.
    pub(super) fn checkpoint_is_due(&mut self, now_ns: u64, has_counters: bool) -> bool {
        self.file.is_due(now_ns, has_counters, self.checkpoint_took_ns)
    }

    /// Writes the counters of phase `index` to the disk, if that is due. A disk that is full is reported by the next checkpoint.
    pub(super) fn write_counters(&mut self, now_ns: u64, index: usize, map: &SharedMap) {
        if let Some(Ok(())) = self.file.write_counters(now_ns, index, map) {
            let took_ns = self.clock.now_ns() - now_ns;
            self.note(EventKind::Checkpoint, "counters", took_ns);
            self.end_saving(now_ns);
        }
    }

    /// Starts the loads of a phase.
    pub(super) fn start_loads(&mut self, plan: &PhasePlan) -> Result<(), String> {
        self.loads.start(plan, &mut |text| self.listener.message(text))
    }

    /// Brings the run's environment and loads up to date.
    pub(super) fn refresh_environment(&mut self) {
        self.run.loads = self.loads.results();
        self.run.environment = self.watchers.snapshot();
    }

    /// Removes and returns the watchers' reads and the checkpoints during which a measuring thread on the same CPU was due.
    pub(super) fn take_overlaps(&mut self) -> OwnReads {
        let cpu = self.request.plan.housekeeping_cpu;
        OwnReads::new(cpu, self.clock.start_ns(), self.watchers.take_overlaps())
    }

    /// Sends the user a message.
    pub fn message(&mut self, text: &str) {
        self.listener.message(text);
    }

    /// Records an event that has just ended, after `took_ns`.
    pub(crate) fn note(&mut self, kind: EventKind, text: &str, took_ns: u64) {
        let at_ns = self.clock.now_ns().saturating_sub(took_ns);
        event::push(&mut self.run.events, Event { at_ns, kind, text: text.to_owned(), took_ns, count: 1 });
    }

    /// Updates the run's counts of kept and lost samples. `settled`: the rings are empty, and every other recorded
    /// sample is lost, including one that a killed probe had counted but not yet put into its ring.
    pub(super) fn account_for_samples(&mut self, settled: bool) {
        let (Some(file), Some(path)) = (&self.samples, &self.request.samples) else { return };
        let path = path.to_string_lossy().into_owned();
        let mut account = SamplesFile { path, kept: file.kept(), lost: file.lost() };
        if settled {
            account.settle(self.run.recorded_samples());
        }
        self.run.samples = Some(account);
    }

    /// Syncs the samples file.
    fn close_samples(&mut self) {
        if let Some(Err(trouble)) = self.samples.as_ref().map(SampleFile::sync) {
            self.message(&trouble);
            self.note(EventKind::Warning, &trouble, 0);
        }
        self.account_for_samples(true);
    }

    /// Removes the run's files, since nothing was measured.
    pub(super) fn abandon(self) {
        self.file.remove();
        self.discard_samples();
    }

    /// Ends the loads, and writes the run for the last time.
    pub(super) fn seal(mut self, state: State, mut trouble: Option<String>) -> Outcome {
        self.loads.stop();
        self.run.loads = self.loads.results();
        self.close_samples();
        self.run.progress.state = state;
        self.run.self_cost.extend(self.own_costs());
        self.run.validity = validity::judge(&self.run);
        debug_assert_eq!(tardy_record::file::check(&self.run).map_err(|error| error.to_string()), Ok(()));
        let written = self.file.write(&self.run);
        if let Err(error) = &written {
            trouble = Some(self.file.rescue(&self.run, error));
        }
        let now_ns = self.clock.now_ns();
        self.file.remove_counters(now_ns);
        Outcome { run: self.run, trouble, is_saved: written.is_ok() }
    }

    /// The cost of this process, and in it that of the live view as a separate entry.
    fn own_costs(&self) -> Vec<ThreadCost> {
        let Ok(used) = thread_usage::of_this_process() else { return Vec::new() };
        let cpu = self.request.plan.housekeeping_cpu;
        let process = match self.request.measures_in_process {
            true => "this process".to_owned(),
            false => format!("housekeeping, cpu {cpu}"),
        };
        let whole = cost(process, None, used.since(&self.used_before));
        let LiveCost { frames, used } = self.live_cost;
        if frames == 0 {
            return vec![whole];
        }
        let live = ThreadCost {
            migrations: whole.migrations.map(|_| 0),
            ..cost(format!("{LIVE_VIEW}, cpu {cpu}"), Some(frames), used)
        };
        let rest = ThreadCost {
            cpu_ns: whole.cpu_ns.saturating_sub(live.cpu_ns),
            minor_faults: whole.minor_faults.saturating_sub(live.minor_faults),
            major_faults: whole.major_faults.saturating_sub(live.major_faults),
            voluntary_switches: whole.voluntary_switches.saturating_sub(live.voluntary_switches),
            involuntary_switches: whole.involuntary_switches.saturating_sub(live.involuntary_switches),
            ..whole
        };
        vec![rest, live]
    }
}

/// What the live view has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LiveCost {
    frames: u64,
    used: ThreadUsage,
}

impl LiveCost {
    /// CPU time per frame so far, in ns; `None` before the first frame.
    pub(super) fn per_frame_ns(&self) -> Option<u64> {
        self.used.cpu_ns.checked_div(self.frames)
    }

    /// Adds a frame.
    pub(super) fn add(&mut self, used: ThreadUsage) {
        self.frames += 1;
        self.used.cpu_ns += used.cpu_ns;
        self.used.minor_faults += used.minor_faults;
        self.used.major_faults += used.major_faults;
        self.used.voluntary_switches += used.voluntary_switches;
        self.used.involuntary_switches += used.involuntary_switches;
    }
}

fn cost(thread: String, cycles: Option<u64>, used: ThreadUsage) -> ThreadCost {
    ThreadCost {
        thread,
        phase: None,
        cycles,
        cpu_ns: used.cpu_ns,
        minor_faults: used.minor_faults,
        major_faults: used.major_faults,
        voluntary_switches: used.voluntary_switches,
        involuntary_switches: used.involuntary_switches,
        migrations: used.migrations,
    }
}

fn cannot(what: &str) -> impl FnOnce(std::io::Error) -> RunError {
    let what = what.to_owned();
    move |error| RunError::Start(format!("{what}: {error}"))
}

fn keep_to_housekeeping_cpu(request: &Request) -> Result<(), RunError> {
    if request.fake.is_some() || request.measures_in_process {
        return Ok(());
    }
    let cpu = request.plan.housekeeping_cpu;
    scheduling::set_affinity(&[cpu]).map_err(cannot(&format!("cpu {cpu} is not available for housekeeping")))
}

/// The watchers of a run that started at `start_ns` of the monotonic clock.
fn watchers(request: &Request, start_ns: u64) -> Result<Watchers, RunError> {
    let measured_cpus = request.plan.measured_cpus();
    let clock = if request.fake.is_some() { || 0 } else { tardy_sys::clock::monotonic_ns };
    let shares_cpu = measured_cpus.contains(&request.plan.housekeeping_cpu) || request.measures_in_process;
    let options = WatchOptions {
        measured_cpus,
        on_a_measured_cpu: shares_cpu && request.fake.is_none(),
        clocks_are_real: request.fake.is_none(),
        uses_realtime: request.plan.phases.iter().any(|phase| phase.probe.uses_realtime()),
    };
    let mut watchers = Watchers::new(&KernelFiles::under(&request.kernel_root), &options, clock);
    if let Some(path) = &request.ptp4l_log {
        let (log, lines) = PtpLog::open(path).map_err(RunError::Start)?;
        watchers.follow_ptp(log, lines, start_ns);
    }
    Ok(watchers)
}
