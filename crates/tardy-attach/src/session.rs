//! Watches a program for a time: follows its threads, reads the trace, and records cycles.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tardy_host::trace::tracefs::Tracefs;
use tardy_record::series::Series;
use tardy_sys::clock::{Clock, monotonic_ns};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::processes;
use tardy_sys::signals::{EndSignals, wait_readable};
use tardy_sys::system_calls;

use crate::causes::Context;
use crate::chain_recorder::{ChainRecorder, Named};
use crate::cost::{self, Cost};
use crate::event::{Event, What};
use crate::habits::Habits;
use crate::mark::{self, MarkRecorder};
use crate::no_rhythm::{ObservationEnd, no_rhythm};
use crate::places::Places;
use crate::probe_search::ProbeSearch;
use crate::quota::Quotas;
use crate::reader::ProgramReader;
use crate::recorder::{Identity, Recorder, Seen, Settings};
use crate::rhythm::Rhythm;
pub use crate::status::Status;
use crate::targets::{self, Target};
use crate::thread::{Completed, Thread};
use crate::trace::{self, ProgramTrace};
use crate::tracker::{Clocks, Progress, Tracker};
use crate::wait::{TimerKind, Woken};
use crate::wait_text;

/// How often the trace is read.
const ROUND_NS: u64 = 100_000_000;
/// How often /proc is searched for new threads of the target.
const SEARCH_NS: u64 = 1_000_000_000;
/// How long a first periodic thread is waited for.
const FIRST_MAX_NS: u64 = 6_000_000_000;
/// Memory for all buffers, in KiB, and the least and the most for each CPU of each instance.
const BUFFERS_KIB: u32 = 256 << 10;
const BUFFER_KIB: [u32; 2] = [256, 8192];
/// How long a signal that asks tardy to end may wait for a round's end: a round reads /proc, where the kernel may wait for the watched
/// program.
const SIGNAL_PATIENCE: Duration = Duration::from_secs(20);

/// What to watch, and for how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// The run's id, which the trace instances have in their names.
    pub id: String,
    /// The program as the user named it.
    pub named: String,
    /// What is searched for.
    pub target: Target,
    /// How long threads are observed before cycles are counted.
    pub warmup_ns: u64,
    /// How long cycles are counted; `None`: until the program or the user ends it.
    pub duration_ns: Option<u64>,
    /// The latest end of a cycle's work after its due time; `None`: the interval.
    pub deadline_ns: Option<u64>,
    /// The limit on wake-up latencies.
    pub limit_ns: Option<u64>,
    /// Buffer of each CPU in each instance, in KiB; `None`: by the number of CPUs.
    pub buffer_kib: Option<u32>,
    /// Cycles whose wake-up is later, or with `deadline_ns` whose work ends later, are reported to the listener; `None`: none are.
    pub late_ns: Option<u64>,
    /// Whether the places in the program are found at which its periodic threads blocked.
    pub places: bool,
}

/// How watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After the planned time.
    Planned,
    /// The program ended.
    Program,
    /// A signal ended it.
    Interrupted,
    /// The listener ended it.
    Listener,
    /// It has not ended: these are the numbers so far.
    NotYet,
}

/// What was seen.
#[derive(Debug)]
pub struct Watched {
    /// Series of all periodic threads.
    pub series: Vec<Series>,
    /// Start of the run, on the monotonic clock.
    pub run_start_ns: u64,
    /// When counting began and ended, in ns from the start of the run.
    pub counted_ns: (u64, u64),
    /// How it ended.
    pub end: End,
    /// Why it could not go on; `None` if it ended as it should.
    pub failure: Option<String>,
    /// Events that the kernel's buffers lost in the whole run.
    pub lost_events: u64,
    /// What recording costs the program; `None` if it was not measured.
    pub cost: Option<Cost>,
    /// Periodic threads, chains and marked stretches without series, because there are too many.
    pub left_out: [u64; 3],
    /// Why USDT probes of the program have no events; `None` if all have, or there are none.
    pub refused_probe: Option<String>,
    /// Whether the program has a trace_marker open whose texts this kernel shows only to those who use the common buffer.
    pub unseen_marker: bool,
    /// What limits the places in the program, for the user.
    pub places: Vec<String>,
    /// The waits of threads that are not periodic: the thread's name, and each wait with its number.
    pub others: Vec<(String, Vec<(String, usize)>)>,
}

/// What is notified while a program is watched.
pub trait Listener {
    /// A round has ended.
    fn progress(&mut self, status: &Status);

    /// Whether the numbers so far are to be kept, `now_ns` after the start of the run.
    fn wants_checkpoint(&mut self, _now_ns: u64) -> bool {
        false
    }

    /// The numbers so far. That they cannot be kept ends no watching.
    fn checkpoint(&mut self, _watched: Watched) {}

    /// A round had late cycles, if [`Request::late_ns`] is set: those that are explained, and how many more there were.
    fn late(&mut self, _cycles: Vec<Seen>, _more: u64) {}

    /// Whether the run is complete and the next one begins, `now_ns` after the start of the run.
    fn wants_next_run(&mut self, _now_ns: u64) -> bool {
        false
    }

    /// The numbers of a run that is complete, while the next one has begun. That they cannot be kept ends no watching.
    fn next_run(&mut self, _watched: Watched) {}

    /// Whether a signal that tardy received ends watching.
    fn wants_end_by(&mut self, _signal: i32) -> bool {
        true
    }

    /// Whether watching is to end.
    fn wants_end(&mut self) -> bool {
        false
    }
}

/// A program that is watched.
pub struct Session {
    request: Request,
    trace: ProgramTrace,
    /// Buffer of each CPU in each instance.
    buffer_kib: u32,
    /// Dropped after the trace, which records its events.
    probes: ProbeSearch,
    /// Reads the programs' files for probes and places.
    reader: Rc<RefCell<ProgramReader>>,
    tracker: Tracker,
    recorder: Recorder,
    chains: ChainRecorder,
    marks: MarkRecorder,
    functions: BTreeMap<u64, TimerKind>,
    run_start_ns: u64,
    searched_ns: u64,
    events: Vec<Event>,
    counted_from_ns: Option<u64>,
    quotas: Quotas,
    places: Option<Places>,
    cost: Option<Cost>,
    /// Whether a signal asked tardy to end, which the program may have got too.
    was_signalled: bool,
    /// Events that were lost before the present run.
    lost_before: u64,
}

impl Session {
    /// Makes the trace instances. Nothing is recorded yet.
    ///
    /// # Errors
    /// What this kernel lacks or refuses.
    pub fn set_up(request: Request, tracefs: &Tracefs) -> Result<Self, String> {
        let functions = trace::timer_functions(tracefs);
        let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        let [least, most] = BUFFER_KIB;
        let buffer_kib = request.buffer_kib.unwrap_or((BUFFERS_KIB / cpus / 2).clamp(least, most));
        let trace = ProgramTrace::make(tracefs, &request.id, &functions, buffer_kib)?;
        let reader = Rc::default();
        let places = request.places.then(|| Places::set_up(tracefs, &reader)).transpose()?;
        let run_start_ns = monotonic_ns();
        let settings = Settings {
            run_start_ns,
            // Until counting begins.
            counted_from_ns: i64::MAX as u64,
            planned_ns: request.duration_ns.unwrap_or(0),
            deadline_ns: request.deadline_ns,
            limit_ns: request.limit_ns,
            late_ns: request.late_ns,
        };
        let tracker = Tracker::new(functions.clone(), request.target.thread_name().as_deref());
        Ok(Self {
            request,
            trace,
            buffer_kib,
            probes: ProbeSearch::new(tracefs, &reader),
            reader,
            tracker,
            recorder: Recorder::new(settings),
            chains: ChainRecorder::new(settings),
            marks: MarkRecorder::new(settings),
            functions,
            run_start_ns,
            searched_ns: 0,
            events: Vec::new(),
            counted_from_ns: None,
            quotas: Quotas::default(),
            places,
            cost: None,
            was_signalled: false,
            lost_before: 0,
        })
    }

    /// The file in which a program may write its marks if it is started by tardy. The program must have ended when this is dropped.
    pub fn marker(&self) -> PathBuf {
        self.trace.marker()
    }

    /// Runs `start`, which starts the program and returns its pid, in a thread that the trace follows already, so that no event of the program is
    /// missing.
    ///
    /// # Errors
    /// That of `start`, or the kernel's.
    pub fn start_program<T: Send>(
        &mut self,
        start: impl FnOnce() -> Result<(T, u32), String> + Send,
    ) -> Result<T, String> {
        self.trace.set_on(true)?;
        let trace = &self.trace;
        let (tid, started) = std::thread::scope(|scope| -> Result<_, String> {
            let thread = scope.spawn(move || {
                let tid = tardy_sys::scheduling::thread_id();
                (tid, trace.follow(tid).and_then(|()| start()))
            });
            thread.join().map_err(|_| "the program could not be started; please report it".to_owned())
        })?;
        self.tracker.follow(std::process::id(), tid, "tardy");
        let (program, pid) = started?;
        self.request.target = Target::Pid(pid);
        Ok(program)
    }

    /// Watches until the planned time has passed, the program has ended, or a signal has arrived. `listener` is notified in each
    /// round; `has_ended` returns whether a program that was started here has ended.
    ///
    /// # Errors
    /// If the target does not exist, has no periodic thread and no mark, or the kernel refuses to be read before anything was
    /// counted. If it refuses later, what was counted is returned with [`Watched::failure`].
    pub fn watch(
        &mut self,
        signals: &EndSignals,
        has_ended: &mut dyn FnMut() -> bool,
        listener: &mut dyn Listener,
    ) -> Result<Watched, String> {
        match self.watch_to_end(signals, has_ended, listener) {
            Err(error) if self.recorder.counts().0 > 0 => {
                let _ = self.trace.set_on(false);
                Ok(Watched { failure: Some(error), ..self.watched(End::Interrupted) })
            }
            end => self.finish(end?),
        }
    }

    fn watch_to_end(
        &mut self,
        signals: &EndSignals,
        has_ended: &mut dyn FnMut() -> bool,
        listener: &mut dyn Listener,
    ) -> Result<End, String> {
        end_always(signals)?;
        self.search()?;
        if self.tracker.threads.is_empty() {
            return Err(self.request.target.absent());
        }
        self.trace.set_on(true)?;
        let end = self.warm_up(signals, has_ended, listener)?;
        let end = match end {
            Some(end) => end,
            None => self.count(signals, has_ended, listener)?,
        };
        if end == End::Interrupted {
            self.reader.borrow_mut().hurry();
        }
        self.trace.set_on(false)?;
        self.read()?;
        Ok(end)
    }

    /// Observes the threads for the warm-up's time, and returns what they did, by thread number.
    ///
    /// # Errors
    /// If the target does not exist, or the kernel refuses to be read.
    pub fn observe(mut self, signals: &EndSignals) -> Result<BTreeMap<u32, (Option<u64>, Habits)>, String> {
        end_always(signals)?;
        self.search()?;
        self.trace.set_on(true)?;
        let begin_ns = monotonic_ns();
        while monotonic_ns() - begin_ns < self.request.warmup_ns {
            if self.round(signals, &mut || false, &mut NoListener)?.is_some() {
                break;
            }
        }
        let habits =
            self.tracker.threads.iter().map(|(tid, thread)| {
                (*tid, (thread.rhythm().map(|rhythm| rhythm.interval_ns), thread.habits))
            });
        Ok(habits.collect())
    }

    /// Observes the threads until their rhythms are known.
    fn warm_up(
        &mut self,
        signals: &EndSignals,
        has_ended: &mut dyn FnMut() -> bool,
        listener: &mut dyn Listener,
    ) -> Result<Option<End>, String> {
        let begin_ns = monotonic_ns();
        loop {
            if let Some(end) = self.round(signals, has_ended, listener)? {
                return Ok(Some(end));
            }
            let passed_ns = monotonic_ns() - begin_ns;
            if passed_ns < self.request.warmup_ns {
                continue;
            }
            if self.recorder.found().0 > 0 || self.marks.found() > 0 {
                break;
            }
            // A program that was started here may begin its cycles late, and it is watched until it ends.
            if self.request.duration_ns.is_some() && passed_ns >= FIRST_MAX_NS.max(self.request.warmup_ns) {
                return Err(self.no_rhythm(&ObservationEnd::TimeOver));
            }
        }
        if self.request.warmup_ns > 0 {
            self.measure_cost(signals)?;
        }
        Ok(None)
    }

    /// Records alternately on and off, and compares the CPU time of the threads.
    fn measure_cost(&mut self, signals: &EndSignals) -> Result<(), String> {
        let tids: Vec<u32> = self.recorder.tids().collect();
        let Some(interval_ns) = self.recorder.found().1 else { return Ok(()) };
        let window_ns = cost::window_ns(interval_ns);
        let mut windows = cost::Windows::new(tids);
        for on in [false, true, false, true] {
            self.trace.set_on(on)?;
            self.places.as_ref().map_or(Ok(()), |places| places.set_on(on))?;
            self.read()?;
            self.tracker.forget(monotonic_ns());
            windows.begin();
            wait_readable(&[signals.as_raw_fd()], window_ns).map_err(|error| error.to_string())?;
            windows.end(on);
        }
        self.cost = windows.cost();
        Ok(())
    }

    fn count(
        &mut self,
        signals: &EndSignals,
        has_ended: &mut dyn FnMut() -> bool,
        listener: &mut dyn Listener,
    ) -> Result<End, String> {
        self.read()?;
        let from_ns = monotonic_ns();
        self.counted_from_ns = Some(from_ns);
        self.tracker.threads.values_mut().for_each(Thread::start_counting);
        self.recorder.count_from(from_ns);
        self.chains.count_from(from_ns);
        self.marks.count_from(from_ns);
        loop {
            if let Some(end) = self.round(signals, has_ended, listener)? {
                return Ok(end);
            }
            if self.request.duration_ns.is_some_and(|duration_ns| monotonic_ns() - from_ns >= duration_ns) {
                return Ok(End::Planned);
            }
        }
    }

    /// Waits for a round's time, and processes what was recorded.
    fn round(
        &mut self,
        signals: &EndSignals,
        has_ended: &mut dyn FnMut() -> bool,
        listener: &mut dyn Listener,
    ) -> Result<Option<End>, String> {
        wait_readable(&[signals.as_raw_fd()], ROUND_NS).map_err(|error| error.to_string())?;
        let signal = signals.take();
        self.was_signalled |= signal.is_some();
        if signal.is_some_and(|signal| listener.wants_end_by(signal)) {
            return Ok(Some(End::Interrupted));
        }
        let ended = has_ended();
        self.read()?;
        if monotonic_ns() - self.searched_ns >= SEARCH_NS {
            self.search()?;
        } else if self.counted_from_ns.is_none() {
            self.search_probes();
        }
        let (cycles, missed) = self.recorder.counts();
        listener.progress(&Status {
            threads: self.recorder.found().0,
            counted_ns: self.counted_from_ns.map(|from_ns| monotonic_ns() - from_ns),
            cycles,
            missed,
        });
        let now_ns = monotonic_ns() - self.run_start_ns;
        if self.counted_from_ns.is_some() {
            let (cycles, more) = self.recorder.take_seen();
            if !cycles.is_empty() {
                listener.late(cycles, more);
            }
            if listener.wants_next_run(now_ns) {
                listener.next_run(self.next_run());
            } else if listener.wants_checkpoint(now_ns) {
                listener.checkpoint(self.watched(End::NotYet));
            }
            if listener.wants_end() {
                return Ok(Some(End::Listener));
            }
        }
        // Programs that are named may start again.
        let is_gone = matches!(self.request.target, Target::Pid(_)) && self.tracker.threads.is_empty();
        Ok((ended || is_gone).then_some(End::Program))
    }

    /// Ends the present run and begins the next one. Returns what was seen in the one that ended.
    fn next_run(&mut self) -> Watched {
        let watched = self.watched(End::Planned);
        let start_ns = monotonic_ns();
        self.run_start_ns = start_ns;
        self.counted_from_ns = Some(start_ns);
        self.lost_before += watched.lost_events;
        self.recorder.restart(start_ns);
        self.chains.restart(start_ns);
        self.marks.restart(start_ns);
        watched
    }

    /// Follows the threads of the target that are not followed yet.
    fn search(&mut self) -> Result<(), String> {
        self.searched_ns = monotonic_ns();
        for found in self.request.target.threads() {
            if self.tracker.threads.contains_key(&found.tid) {
                continue;
            }
            match self.trace.follow(found.tid) {
                Ok(()) => self.tracker.follow(found.pid, found.tid, &found.name),
                // It ended in between.
                Err(_) if targets::thread_name(found.pid, found.tid).is_none() => {}
                Err(error) => return Err(error),
            }
        }
        self.search_probes();
        Ok(())
    }

    /// Searches the watched processes for USDT probes.
    fn search_probes(&mut self) {
        for pid in self.pids() {
            self.probes.search(pid, &mut self.trace);
        }
    }

    fn pids(&self) -> BTreeSet<u32> {
        self.tracker.threads.values().map(|thread| thread.pid).collect()
    }

    /// Reads and processes what was recorded until now.
    fn read(&mut self) -> Result<(), String> {
        self.tracker.clocks = Clocks { realtime_ns: Clock::Realtime.ahead_of_ns(Clock::Monotonic) };
        let mut events = std::mem::take(&mut self.events);
        self.trace.read(&mut events)?;
        // After the events, so that the samples have all threads that blocked in them.
        self.places.iter_mut().for_each(Places::read);
        // After the events, so that the count has all stops that ended before them.
        self.quotas.read(&KernelFiles::real(), &self.pids());
        let mut progress = Vec::new();
        for event in &events {
            if matches!(event.what, What::Lost { .. }) {
                self.marks.forget();
            }
            self.tracker.take(event, &mut progress);
            for one in progress.drain(..) {
                self.take(one, event.at_ns);
            }
        }
        self.events = events;
        Ok(())
    }

    fn take(&mut self, progress: Progress, now_ns: u64) {
        match progress {
            Progress::Ended(tid) => {
                self.recorder.end(tid);
                self.places.iter_mut().for_each(|places| places.end(tid));
                self.chains.end(tid);
                self.marks.end_thread(tid);
            }
            Progress::Begun(tid) => self.chains.begin_cycle(tid, now_ns),
            Progress::Passage(passage) => {
                let threads = &self.tracker.threads;
                self.chains.record(&passage, &|tid| {
                    let thread = threads.get(&tid);
                    let (pid, name) =
                        thread.map_or((0, String::new()), |thread| (thread.pid, thread.name.text()));
                    Named { pid, with_process: label(pid, tid, name.clone()), name }
                });
            }
            Progress::Mark(tid, edge) => {
                let (threads, layouts) = (&self.tracker.threads, &self.trace.layouts);
                let source = mark::Source {
                    pid: threads.get(&tid).map_or(0, |thread| thread.pid),
                    tid,
                    name: &|index| layouts.handler_name(index).to_owned(),
                    lives: &|pid| threads.values().any(|thread| thread.pid == pid),
                };
                self.marks.record(edge, now_ns, &source);
            }
            Progress::Thread(tid, Completed::Found(rhythm, woken)) => self.add(tid, rhythm, woken),
            Progress::Thread(tid, Completed::Lost(count)) => {
                self.recorder.lose(tid, count, now_ns);
                self.chains.lose(tid, count, now_ns);
            }
            Progress::Thread(tid, Completed::Cycle(cycle)) => {
                let layouts = &self.trace.layouts;
                let context = Context {
                    tracker: &self.tracker,
                    handler: &|index| layouts.handler_name(index).to_owned(),
                    descriptor: &targets::descriptor,
                    stopped: &|pid, from_ns, to_ns| self.quotas.stopped(pid, from_ns, to_ns),
                    place: &|tid, at_ns| self.places.as_ref()?.place(tid, at_ns),
                };
                let functions = &self.functions;
                let kind = |function| functions.get(&function).copied().unwrap_or(TimerKind::Other);
                self.recorder.record(tid, &cycle, &context, &kind);
            }
        }
    }

    /// A thread's rhythm was found.
    fn add(&mut self, tid: u32, rhythm: Rhythm, woken: Woken) {
        let Some(thread) = self.tracker.threads.get_mut(&tid) else { return };
        // A thread that was followed by its parent's event may be of another process.
        thread.pid = targets::process_of(tid).unwrap_or(thread.pid);
        let pid = thread.pid;
        let label = label(pid, tid, thread.name.text());
        let wait = wait_text::call_and_source(&rhythm.signature, &woken, &self.trace.layouts);
        let identity = Identity { label, pid, tid, scheduling: targets::scheduling_of(tid), wait };
        self.recorder.add(identity, rhythm);
        if let Some(places) = self.places.as_mut().filter(|_| self.recorder.has(tid)) {
            places.follow(pid, tid, rhythm.interval_ns);
        }
    }

    fn finish(&self, end: End) -> Result<Watched, String> {
        if self.recorder.found().0 == 0 && self.marks.found() == 0 {
            return Err(self.no_rhythm(&self.observation_end(end)));
        }
        Ok(self.watched(end))
    }

    /// That no thread is periodic.
    fn no_rhythm(&self, end: &ObservationEnd) -> String {
        no_rhythm(&self.request.named, end, &self.others(), self.trace.lost_events(), self.buffer_kib)
    }

    /// How an observation ended that found nothing.
    fn observation_end(&self, end: End) -> ObservationEnd {
        match end {
            End::Interrupted => ObservationEnd::Interrupted,
            End::Program if self.was_signalled => ObservationEnd::Interrupted,
            End::Program => ObservationEnd::of_ended_program(self.tracker.threads.keys().copied()),
            End::Planned | End::Listener | End::NotYet => ObservationEnd::TimeOver,
        }
    }

    /// What was seen until now.
    fn watched(&self, end: End) -> Watched {
        let end_ns = monotonic_ns();
        let since_start = |ns: u64| ns - self.run_start_ns;
        let series = [self.recorder.series(0), self.chains.series(0), self.marks.series(0)].concat();
        Watched {
            series,
            run_start_ns: self.run_start_ns,
            counted_ns: (since_start(self.counted_from_ns.unwrap_or(end_ns)), since_start(end_ns)),
            end,
            failure: None,
            lost_events: self.trace.lost_events().saturating_sub(self.lost_before),
            cost: self.cost,
            left_out: [self.recorder.left_out, self.chains.left_out, self.marks.left_out],
            refused_probe: self.probes.refused.clone(),
            unseen_marker: !self.trace.has_marker && self.has_common_marker(),
            places: self.places.as_ref().map_or_else(Vec::new, Places::remarks),
            others: self.others(),
        }
    }

    /// Whether a process of the program has the trace_marker of all of tracefs open.
    fn has_common_marker(&self) -> bool {
        let is_common = |path: String| path.ends_with("tracing/trace_marker");
        self.pids().into_iter().any(|pid| processes::descriptors_of(pid).into_iter().any(is_common))
    }

    /// The threads that are not periodic, with their waits.
    fn others(&self) -> Vec<(String, Vec<(String, usize)>)> {
        let without = self.tracker.threads.values().filter(|thread| thread.rhythm().is_none());
        without
            .map(|thread| {
                let waits = thread.observed.signatures().map(|(signature, count)| {
                    let call = system_calls::name(signature.call).unwrap_or("a system call");
                    let source = wait_text::source(&signature.source, "", &self.trace.layouts);
                    (format!("{call} until {source}"), count)
                });
                (thread.name.text(), waits.collect())
            })
            .collect()
    }
}

/// Makes sure that the signals end this process, whatever it waits for.
fn end_always(signals: &EndSignals) -> Result<(), String> {
    let always = signals.end_process_unless_taken(SIGNAL_PATIENCE);
    always.map_err(|error| format!("no thread can be started that waits for signals: {error}"))
}

/// A listener that ignores everything.
struct NoListener;

impl Listener for NoListener {
    fn progress(&mut self, _status: &Status) {}
}

/// The name of a thread, with that of its process if it is another one. A name may be empty.
fn label(pid: u32, tid: u32, name: String) -> String {
    let process = targets::thread_name(pid, pid).unwrap_or_else(|| name.clone());
    let name = if name.trim().is_empty() { format!("thread {tid}") } else { name };
    if process == name || process.trim().is_empty() { name } else { format!("{process}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_without_a_name_has_its_number_as_label() {
        assert_eq!(label(u32::MAX, 7, String::new()), "thread 7");
        assert_eq!(label(u32::MAX, 7, "loop".to_owned()), "loop");
    }
}
