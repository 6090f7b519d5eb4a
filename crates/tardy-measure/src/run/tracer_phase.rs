//! A phase that one of the kernel's own tracers measures.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tardy_record::event::EventKind;
use tardy_record::plan::{PhasePlan, TracerPlan};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::wait_readable;

use super::fake_tracer::FakeTracer;
use super::house::House;
use super::map_place;
use super::phase::{End, READY_NS, TICK_NS};
use super::tracer_series::TracerSeries;
use tardy_host::trace::tracefs::Tracefs;
use tardy_host::trace::tracing::{Tracing, no_user_thread};
use tardy_host::watch::Occasion;

/// Where samples come from. Readers end before the tracer does: stopping it kills them, in some kernels badly.
enum Source {
    Real { readers: Vec<Reader>, tracing: Box<Tracing> },
    Fake(FakeTracer),
}

/// Runs phase `index` of the plan, which `tracer` measures.
pub(super) fn run(
    house: &mut House<'_>,
    index: usize,
    plan: &PhasePlan,
    tracer: &TracerPlan,
) -> Result<End, String> {
    house.start_loads(plan)?;
    let _sign = SignOfLife::make(&house.run.origin.id, index)?;
    let mut source = set_up(house, index, tracer)?;
    let has_user_thread = match &source {
        Source::Real { tracing, .. } => tracing.has_user_thread,
        Source::Fake(_) => true,
    };
    let remarks = if has_user_thread { None } else { no_user_thread(tracer) };
    let remarks = remarks.map(str::to_owned).into_iter().collect();
    let begin_ns = house.clock.now_ns();
    house.watchers.read_before(begin_ns);
    house.begin_phase(plan, begin_ns, remarks);
    source.start()?;
    let from_ns = house.clock.now_ns() + plan.warmup_ns;
    house.run.phases[index].start_ns = from_ns;
    let planned_ns = plan.planned_ns();
    let thresholds_ns = house.request.plan.thresholds_ns.clone();
    let series = TracerSeries::new(tracer, has_user_thread, from_ns, planned_ns, &thresholds_ns);
    let mut watch = Watch { house, index, from_ns, to_ns: from_ns + planned_ns, series, read_to_ns: 0 };
    let end = watch.until_the_end(&mut source);
    watch.take_over(source);
    end
}

fn set_up(house: &House<'_>, index: usize, plan: &TracerPlan) -> Result<Source, String> {
    if let Some(seed) = house.request.fake {
        return Ok(Source::Fake(FakeTracer::new(seed.wrapping_add(index as u64), plan)));
    }
    let tracefs = Tracefs::find(&KernelFiles::under(&house.request.kernel_root))?;
    let tracing = Box::new(Tracing::set_up(&tracefs, &house.run.origin.id, plan)?);
    let mut readers = Vec::new();
    if let Some(priority) = plan.priority.filter(|_| tracing.has_user_thread) {
        for cpu in &plan.cpus {
            let file = tracefs.files.resolve(&Tracing::user_thread_file(&tracefs, *cpu));
            readers.push(Reader::start(&house.request.exe, *cpu, priority, &file)?);
        }
    }
    Ok(Source::Real { readers, tracing })
}

impl Source {
    fn start(&self) -> Result<(), String> {
        match self {
            Self::Real { tracing, .. } => tracing.start(),
            Self::Fake(_) => Ok(()),
        }
    }
}

/// A phase that is under way. Times are ns from the start of the run.
struct Watch<'h, 'o> {
    house: &'h mut House<'o>,
    index: usize,
    from_ns: u64,
    to_ns: u64,
    series: TracerSeries,
    read_to_ns: u64,
}

impl Watch<'_, '_> {
    fn until_the_end(&mut self, source: &mut Source) -> Result<End, String> {
        let mut counts = false;
        let mut next_tick_ns = self.house.clock.now_ns() + TICK_NS;
        if let Source::Fake(fake) = source {
            self.house.loads_begin(self.index);
            fake.samples(self.from_ns, self.to_ns, |cpu, at_ns, sample| self.series.add(cpu, at_ns, sample));
            self.house.clock.advance_to(self.to_ns);
            return Ok(End::Complete);
        }
        loop {
            let now_ns = self.house.clock.now_ns();
            if !counts && now_ns >= self.from_ns {
                counts = true;
                self.house.loads_begin(self.index);
            }
            if now_ns >= self.to_ns {
                return Ok(End::Complete);
            }
            let next_ns = if counts { next_tick_ns.min(self.to_ns) } else { next_tick_ns.min(self.from_ns) };
            let fds = [self.house.signals.as_raw_fd()];
            let ready =
                wait_readable(&fds, next_ns.saturating_sub(now_ns)).map_err(|error| error.to_string())?;
            if ready[0] && self.house.signals.take().is_some() {
                self.house.note(EventKind::Interrupted, "asked to end", 0);
                self.house.observer.say("ending; the run is kept");
                self.to_ns = self.house.clock.now_ns();
                return Ok(End::Interrupted);
            }
            if self.house.clock.now_ns() >= next_tick_ns {
                self.tick(source);
                next_tick_ns = self.house.clock.now_ns() + TICK_NS;
            }
        }
    }

    fn tick(&mut self, source: &mut Source) {
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Tick);
        self.house.read_loads(now_ns);
        self.read(source);
        let changes = self.house.watchers.recent_changes();
        self.series.annotate_worst(self.read_to_ns, &changes);
        self.read_to_ns = now_ns;
        self.report();
        if self.house.file.is_due(now_ns) {
            self.refresh();
            self.house.checkpoint();
        }
    }

    /// Takes what the tracer has written. A reader that has died spoils the phase, and so does a pipe that fails.
    fn read(&mut self, source: &mut Source) {
        let Source::Real { readers, tracing } = source else { return };
        let start_ns = self.house.clock.start_ns();
        let (series, from_ns, to_ns) = (&mut self.series, self.from_ns, self.to_ns);
        let outcome = tracing.read(monotonic_ns(), |cpu, at_ns, sample| {
            let at_ns = at_ns.saturating_sub(start_ns);
            if (from_ns..=to_ns).contains(&at_ns) {
                series.add(cpu, at_ns, sample);
            }
        });
        self.series.set_lost_events(tracing.lost_events());
        let died = readers.iter_mut().filter_map(|reader| {
            let ended = reader.has_ended();
            ended.then(|| format!("timerlat's user thread on cpu {} ended unasked", reader.cpu))
        });
        for reason in died.chain(outcome.err()) {
            self.house.spoil(self.index, reason);
        }
    }

    fn report(&mut self) {
        let counted_ns = self.house.clock.now_ns().saturating_sub(self.from_ns);
        self.house.report(self.index, counted_ns, self.series.worst(), 0);
    }

    fn refresh(&mut self) {
        let run = &mut self.house.run;
        run.series.retain(|series| series.phase < self.index);
        run.series.extend(self.series.series(self.index));
        self.house.refresh_surroundings();
        self.house.run.refresh_progress();
    }

    /// Takes the last samples, ends readers and tracer, puts every setting back, and writes the run.
    fn take_over(&mut self, mut source: Source) {
        self.read(&mut source);
        drop(source);
        self.house.loads_end();
        let now_ns = self.house.clock.now_ns();
        self.house.watchers.read(now_ns, Occasion::Boundary);
        let changes = self.house.watchers.recent_changes();
        self.series.annotate_worst(self.read_to_ns, &changes);
        self.house.run.phases[self.index].end_ns = Some(self.to_ns.min(now_ns).max(self.from_ns));
        self.refresh();
        self.house.end_phase(self.index);
    }
}

/// A map in which nothing is counted: whoever opens the run file sees by it that the run goes on. Dropping it removes
/// it.
pub(super) struct SignOfLife(SharedMap);

impl SignOfLife {
    pub(super) fn make(run_id: &str, phase: usize) -> Result<Self, String> {
        let path = map_place::of_phase(run_id, phase).ok_or("the run has no usable id; please report it")?;
        SharedMap::create(&path, 1, 1).map(Self).map_err(|error| error.to_string())
    }
}

impl Drop for SignOfLife {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

/// timerlat's user thread on one CPU. It is killed when this is dropped.
struct Reader {
    cpu: u32,
    child: Child,
}

impl Reader {
    fn start(exe: &Path, cpu: u32, priority: u32, file: &Path) -> Result<Self, String> {
        let pid = std::process::id().to_string();
        let child = Command::new(exe)
            .args(["__timerlat", &pid, &cpu.to_string(), &priority.to_string()])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                format!("timerlat's user thread, {}, cannot be started: {error}", exe.display())
            })?;
        let mut this = Self { cpu, child };
        let Some(stdout) = this.child.stdout.take() else { unreachable!("it was asked for") };
        let ready = wait_readable(&[stdout.as_raw_fd()], READY_NS).map_err(|error| error.to_string())?;
        let mut line = String::new();
        if ready[0] {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        match line.trim() {
            "ready" => Ok(this),
            "" => Err(format!("timerlat's user thread on cpu {cpu} did not get ready")),
            reason => Err(format!("timerlat's user thread on cpu {cpu}: {reason}")),
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
