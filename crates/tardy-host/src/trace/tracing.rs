//! A kernel tracer with its instance and its settings, which are restored at the end.

use tardy_record::plan::{Tracer, TracerPlan};
use tardy_record::{cpu_list, plan};

use super::instance::Instance;
use super::page::Piece;
use super::reader::TraceReader;
use super::tracefs::Tracefs;
use super::tracers::{Sample, TracerLayout};
use crate::journal::Place;
use crate::settings::Changed;

/// Buffer of each CPU, in KiB: a timerlat period takes three entries of 32 bytes.
const BUFFER_KIB: u32 = 4096;

/// A tracer that is set up and, once started, runs. Dropping it stops it and then restores the settings. A thread that
/// reads `timerlat_fd` must have ended before: the kernel would kill it.
#[derive(Debug)]
pub struct Tracing {
    /// Dropped first: the kernel does not change an instance's tracer, and does not remove it, while its pipes are
    /// open.
    reader: Option<TraceReader>,
    layout: TracerLayout,
    instance: Instance,
    /// In the order in which they are restored, the last change first.
    settings: Vec<Changed>,
    /// Whether timerlat waits for a user thread.
    pub has_user_thread: bool,
}

impl Tracing {
    /// Sets the tracer up; its entries are recorded once [`Self::start`] is called.
    ///
    /// # Errors
    /// If the kernel lacks or refuses something.
    pub fn set_up(tracefs: &Tracefs, id: &str, plan: &TracerPlan) -> Result<Self, String> {
        tracefs.has_tracer(plan.tracer)?;
        let (page, format) = (tracefs.page()?, tracefs.format(&format!("ftrace/{}", plan.tracer.name()))?);
        let layout = TracerLayout::of(plan.tracer, format)?;
        let instance = Instance::make(tracefs, id)?;
        let mut this = Self { reader: None, layout, instance, settings: Vec::new(), has_user_thread: false };
        this.configure(tracefs, plan)?;
        this.instance.write("trace_clock", "mono")?;
        this.instance.make_room(&plan.cpus, BUFFER_KIB)?;
        let name = plan.tracer.name();
        this.instance.write("current_tracer", name).map_err(|error| {
            format!(
                "{error}; another {name} may be running, and before Linux 5.16 osnoise and timerlat did not run in a \
                 separate instance"
            )
        })?;
        this.reader = Some(this.instance.reader(page)?);
        Ok(this)
    }

    /// The file that a thread pinned to `cpu` reads to become timerlat's user thread.
    pub fn user_thread_file(tracefs: &Tracefs, cpu: u32) -> String {
        tracefs.path(&format!("osnoise/per_cpu/cpu{cpu}/timerlat_fd"))
    }

    /// Starts recording.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn start(&self) -> Result<(), String> {
        self.instance.write("tracing_on", "1")
    }

    /// Reads samples up to `until_ns` of the monotonic clock: `take(cpu, time, sample)`.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn read(&mut self, until_ns: u64, mut take: impl FnMut(u32, u64, Sample)) -> Result<(), String> {
        let (Some(reader), layout) = (&mut self.reader, &self.layout) else { return Ok(()) };
        reader.read(until_ns, |cpu, piece| {
            let Piece::Event { at_ns, bytes } = piece else { return };
            if let Some(sample) = layout.sample(bytes) {
                take(cpu, at_ns, sample);
            }
        })
    }

    /// How many entries were lost.
    pub fn lost_events(&self) -> u64 {
        self.instance.lost_events()
    }

    fn configure(&mut self, tracefs: &Tracefs, plan: &TracerPlan) -> Result<(), String> {
        let us = |ns: u64| (ns / 1000).to_string();
        match plan.tracer {
            Tracer::Timerlat | Tracer::Osnoise => {
                self.set(tracefs, "osnoise/cpus", &cpu_list::format(&plan.cpus))?;
                // An existing limit would stop the trace early.
                self.set(tracefs, "osnoise/stop_tracing_us", "0")?;
                self.set(tracefs, "osnoise/stop_tracing_total_us", "0")?;
            }
            Tracer::Hwlat => {
                self.instance.watch_only(&plan.cpus)?;
                // Since 5.14; before, one thread migrates from CPU to CPU.
                let mode = tracefs.path("hwlat_detector/mode");
                if tracefs.files.exists(&mode) {
                    // It reads as a list with the current choice in brackets.
                    let known = tracefs.files.text(&mode).unwrap_or_default();
                    let old = known.split(['[', ']']).nth(1).unwrap_or("round-robin").to_owned();
                    self.set_undone_by(tracefs, "hwlat_detector/mode", "per-cpu", &old)?;
                }
            }
        }
        match plan.tracer {
            Tracer::Timerlat => {
                self.set(tracefs, "osnoise/timerlat_period_us", &us(plan.period_ns))?;
                self.use_user_thread(tracefs, plan)
            }
            Tracer::Osnoise => self.set_window(tracefs, ["osnoise/period_us", "osnoise/runtime_us"], plan),
            Tracer::Hwlat => {
                self.set_window(tracefs, ["hwlat_detector/window", "hwlat_detector/width"], plan)
            }
        }?;
        if let Some(threshold_ns) = plan.threshold_ns {
            self.set(tracefs, "tracing_thresh", &us(threshold_ns))?;
        }
        Ok(())
    }

    /// Makes timerlat wait for a user thread, if the kernel supports it.
    fn use_user_thread(&mut self, tracefs: &Tracefs, plan: &TracerPlan) -> Result<(), String> {
        let option = "OSNOISE_WORKLOAD";
        let file = plan.cpus.first().map(|cpu| Self::user_thread_file(tracefs, *cpu)).unwrap_or_default();
        let options = tracefs.files.text(&tracefs.path("osnoise/options")).unwrap_or_default();
        if plan.priority.is_none() || !tracefs.files.exists(&file) || !options.contains(option) {
            return Ok(());
        }
        self.has_user_thread = true;
        let works = options.split_whitespace().any(|word| word == option);
        if works {
            self.set_undone_by(tracefs, "osnoise/options", "NO_OSNOISE_WORKLOAD", option)
        } else {
            Ok(())
        }
    }

    /// Sets the period and the runtime within it. The kernel refuses a runtime above the current period.
    fn set_window(
        &mut self,
        tracefs: &Tracefs,
        [period, part]: [&str; 2],
        plan: &TracerPlan,
    ) -> Result<(), String> {
        let (period_us, part_us) =
            (plan.period_ns / 1000, plan.runtime_ns.unwrap_or(plan.period_ns / 2) / 1000);
        let part_before: u64 =
            tracefs.files.number(&tracefs.path(part)).map_err(|error| error.to_string())?;
        let mut order = [(period, period_us), (part, part_us)];
        if period_us <= part_before {
            order.reverse();
        }
        order.into_iter().try_for_each(|(name, us)| self.set(tracefs, name, &us.to_string()))
    }

    fn set(&mut self, tracefs: &Tracefs, name: &str, text: &str) -> Result<(), String> {
        let changed = Changed::make(&Place::own(), &tracefs.files, &tracefs.path(name), text)?;
        changed.into_iter().for_each(|changed| self.settings.insert(0, changed));
        Ok(())
    }

    fn set_undone_by(&mut self, tracefs: &Tracefs, name: &str, text: &str, undo: &str) -> Result<(), String> {
        let path = tracefs.path(name);
        let changed = Changed::make_undone_by(&Place::own(), &tracefs.files, &path, text, undo)?;
        self.settings.insert(0, changed);
        Ok(())
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        let _ = self.instance.write("tracing_on", "0");
        self.reader = None;
        // Settings are restored after the tracer has ended: with the workload on, it would start its own threads.
        let _ = self.instance.write("current_tracer", "nop");
    }
}

/// A remark on a phase of `plan` without a user thread; `None` for tracers that never have one.
pub fn no_user_thread(plan: &plan::TracerPlan) -> Option<&'static str> {
    (plan.tracer == Tracer::Timerlat).then_some(
        "this kernel's timerlat has no user thread (this needs Linux 6.6), so its kernel thread is the highest \
         level",
    )
}
