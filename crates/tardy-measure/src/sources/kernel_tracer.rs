//! One of the kernel's latency tracers as a source.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tardy_host::trace::tracefs::Tracefs;
use tardy_host::trace::tracing::{Tracing, no_user_thread};
use tardy_record::Series;
use tardy_record::plan::TracerPlan;
use tardy_record::reason::Reason;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::wait_readable;

use super::synthetic_tracer::SyntheticTracer;
use super::tracer_series::TracerSeries;
use crate::engine::{
    Counted, Finished, KillReason, PhaseContext, Reading, Ready, Source, SourceProgress, Supervisor,
};
use crate::probe_program::ProbeProgram;

/// Time limit for a user thread to become ready.
const READY_NS: u64 = 30_000_000_000;

/// The tracer of one phase. Times are ns from the start of the run.
pub(crate) struct KernelTracer<'r> {
    context: PhaseContext<'r>,
    plan: &'r TracerPlan,
    /// `None` after the phase.
    tracer: Option<Tracer>,
    /// Set once the tracer has started.
    counting: Option<Counting>,
}

/// The source of the samples. The readers must end before the tracer: it would kill them, which harms some kernels.
enum Tracer {
    Kernel { readers: Vec<UserThread>, tracing: Box<Tracing> },
    Synthetic(SyntheticTracer),
}

struct Counting {
    from_ns: u64,
    to_ns: u64,
    series: TracerSeries,
    read_to_ns: u64,
}

impl<'r> KernelTracer<'r> {
    /// The tracer of `plan`, not set up.
    pub(crate) fn new(context: PhaseContext<'r>, plan: &'r TracerPlan) -> Self {
        Self { context, plan, tracer: None, counting: None }
    }

    fn make_tracer(&self) -> Result<Tracer, String> {
        let PhaseContext { request, index, .. } = &self.context;
        if let Some(seed) = request.fake {
            let seed = seed.wrapping_add(*index as u64);
            return Ok(Tracer::Synthetic(SyntheticTracer::new(seed, self.plan)));
        }
        let tracefs = Tracefs::find(&KernelFiles::under(&request.kernel_root))?;
        let tracing = Box::new(Tracing::set_up(&tracefs, &request.origin.id, self.plan)?);
        let mut readers = Vec::new();
        if let Some(priority) = self.plan.priority.filter(|_| tracing.has_user_thread) {
            for cpu in &self.plan.cpus {
                let file = tracefs.files.resolve(&Tracing::user_thread_file(&tracefs, *cpu));
                let cgroup = request.plan.placement.cgroup_of(*cpu);
                readers.push(UserThread::start(&request.programs.probe, cgroup, *cpu, priority, &file)?);
            }
        }
        Ok(Tracer::Kernel { readers, tracing })
    }

    /// Reads the tracer's new samples. Returns reasons that invalidate the phase: a failed pipe, a user thread that
    /// ended.
    fn take(&mut self) -> Vec<Reason> {
        let start_ns = self.context.clock.start_ns();
        let (Some(Tracer::Kernel { readers, tracing }), Some(counting)) =
            (&mut self.tracer, &mut self.counting)
        else {
            return Vec::new();
        };
        let Counting { from_ns, to_ns, series, .. } = counting;
        let counted = *from_ns..=*to_ns;
        let outcome = tracing.read(monotonic_ns(), |cpu, at_ns, sample| {
            let at_ns = at_ns.saturating_sub(start_ns);
            if counted.contains(&at_ns) {
                series.add(cpu, at_ns, sample);
            }
        });
        series.set_lost_events(tracing.lost_events());
        let died = readers.iter_mut().filter_map(|reader| {
            let ended = reader.has_ended();
            ended.then_some(Reason::UserThreadEnded { cpu: reader.cpu })
        });
        died.chain(outcome.err().map(Reason::from)).collect()
    }

    /// The end of the counted part so far.
    fn counted_to_ns(&self, counting: &Counting) -> u64 {
        counting.to_ns.min(self.context.clock.now_ns()).max(counting.from_ns)
    }
}

impl Source for KernelTracer<'_> {
    fn set_up(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<Ready, String> {
        let tracer = self.tracer.insert(self.make_tracer()?);
        let remark = if tracer.has_user_thread() { None } else { no_user_thread(self.plan) };
        Ok(Ready { remarks: remark.map(str::to_owned).into_iter().collect(), ..Ready::default() })
    }

    fn start(&mut self, counted: Counted) -> Result<(), String> {
        let PhaseContext { request, plan, clock, .. } = &self.context;
        let Some(tracer) = &self.tracer else { return Err("the tracer is not set up".to_owned()) };
        if let Tracer::Kernel { tracing, .. } = tracer {
            tracing.start()?;
        }
        let (from_ns, thresholds_ns) = (counted.counted_from_ns(), &request.plan.thresholds_ns);
        let has_user_thread = tracer.has_user_thread();
        let series = TracerSeries::new(self.plan, has_user_thread, from_ns, plan.planned_ns(), thresholds_ns);
        clock.advance_to(from_ns);
        self.counting = Some(Counting { from_ns, to_ns: counted.counted_to_ns(), series, read_to_ns: 0 });
        Ok(())
    }

    fn wait_ns(&self) -> u64 {
        match (&self.tracer, &self.counting) {
            (Some(Tracer::Kernel { .. }), Some(counting)) => {
                counting.to_ns.saturating_sub(self.context.clock.now_ns())
            }
            _ => 0,
        }
    }

    /// Generates all samples of a synthetic tracer at once.
    fn on_wake(&mut self, _readable: &[bool]) -> Vec<Reason> {
        if let (Some(Tracer::Synthetic(tracer)), Some(counting)) = (&mut self.tracer, &mut self.counting)
            && self.context.clock.now_ns() < counting.to_ns
        {
            let Counting { from_ns, to_ns, series, .. } = counting;
            tracer.samples(*from_ns, *to_ns, |cpu, at_ns, sample| series.add(cpu, at_ns, sample));
            self.context.clock.advance_to(*to_ns);
        }
        Vec::new()
    }

    fn read(&mut self, reading: &Reading<'_>) -> Vec<Reason> {
        let reasons = if reading.is_last { Vec::new() } else { self.take() };
        if let Some(counting) = &mut self.counting {
            counting.series.annotate_worst(counting.read_to_ns, reading.changes);
            counting.read_to_ns = reading.now_ns;
        }
        reasons
    }

    fn has_ended(&self) -> bool {
        self.counting.as_ref().is_none_or(|counting| self.context.clock.now_ns() >= counting.to_ns)
    }

    /// Ends the counted part now.
    fn stop(&mut self) {
        let now_ns = self.context.clock.now_ns();
        self.counting.iter_mut().for_each(|counting| counting.to_ns = now_ns);
    }

    fn stop_patience_ns(&self) -> u64 {
        0
    }

    fn kill(&mut self, _reason: KillReason) -> Vec<Reason> {
        self.stop();
        Vec::new()
    }

    /// Takes the last samples, ends the user threads and the tracer, and restores every setting.
    fn finish(&mut self) -> Finished {
        let reasons = self.take();
        self.tracer = None;
        Finished { reasons, ..Finished::default() }
    }

    fn progress(&self) -> SourceProgress {
        let Some(counting) = &self.counting else { return SourceProgress::default() };
        let counted_to_ns = self.counted_to_ns(counting);
        SourceProgress {
            counted_from_ns: Some(counting.from_ns),
            counted_to_ns: Some(counted_to_ns),
            counted_ns: counted_to_ns - counting.from_ns,
            worst: counting.series.worst(),
            missed: 0,
        }
    }

    fn series(&self) -> Vec<Series> {
        let counting = self.counting.iter();
        counting.flat_map(|counting| counting.series.series(self.context.index)).collect()
    }
}

impl Tracer {
    fn has_user_thread(&self) -> bool {
        match self {
            Self::Kernel { tracing, .. } => tracing.has_user_thread,
            Self::Synthetic(_) => true,
        }
    }
}

/// timerlat's user thread on one CPU. Dropping this kills it.
struct UserThread {
    cpu: u32,
    child: Child,
}

impl UserThread {
    fn start(
        program: &ProbeProgram,
        cgroup: Option<&str>,
        cpu: u32,
        priority: u32,
        file: &Path,
    ) -> Result<Self, String> {
        let pid = std::process::id().to_string();
        let prepare = |command: &mut Command| {
            command
                .args(["__timerlat", &pid, &cpu.to_string(), &priority.to_string()])
                .arg(file)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .process_group(0);
        };
        let child =
            program.spawn(cgroup, prepare).map_err(|error| format!("timerlat's user thread, {error}"))?;
        let mut this = Self { cpu, child };
        let Some(stdout) = this.child.stdout.take() else { unreachable!("it was requested") };
        let ready = wait_readable(&[stdout.as_raw_fd()], READY_NS).map_err(|error| error.to_string())?;
        let mut line = String::new();
        if ready[0] {
            BufReader::new(stdout).read_line(&mut line).map_err(|error| error.to_string())?;
        }
        match line.trim() {
            "ready" => Ok(this),
            "" => Err(format!("timerlat's user thread on cpu {cpu} did not become ready")),
            reason => Err(format!("timerlat's user thread on cpu {cpu}: {reason}")),
        }
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for UserThread {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
