//! `tardy run`: a recipe, and flags that override it.

use std::path::PathBuf;

use clap::Args;

use crate::recipe::{GpioTable, NoiseTable, RunTable, TimerTable};

/// `tardy run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A recipe: quick, noise, osadl, rpi3-4.9, rpi3-4.14, rpi1-loaded, rpi1-wiggle, at91-timers, at91-xenomai; for the lab lab-quick,
    /// lab-full, lab-rpi3, lab-rpi1, lab-at91-timers, lab-at91-levels; or a file (docs/recipes.md).
    pub(crate) recipe: Option<String>,

    #[command(flatten)]
    pub(crate) run: RunFlags,
    #[command(flatten)]
    pub(crate) timer: TimerFlags,
    #[command(flatten)]
    pub(crate) noise: NoiseFlags,
    #[command(flatten)]
    pub(crate) gpio: GpioFlags,

    /// Multiply every duration and loop count, to try a long recipe out.
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", help_heading = "What to run")]
    pub(crate) scale: f64,
    /// Room temperature in °C, as you read it.
    #[arg(long, value_name = "CELSIUS", allow_negative_numbers = true, help_heading = "What to run")]
    pub(crate) ambient: Option<f64>,
    /// CPU for tardy's own second process: by default one that is not measured, if there is one.
    #[arg(long, value_name = "CPU", help_heading = "What to run")]
    pub(crate) housekeeping_cpu: Option<u32>,
    /// Show what would be done, and do nothing.
    #[arg(long, help_heading = "What to run")]
    pub(crate) dry_run: bool,

    /// The run file.
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Keep every sample as well: a CSV file for pandas and the like, 560 MB an hour for each CPU at 200us
    /// (docs/samples.md).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) samples: Option<PathBuf>,
    /// Replace the run file, the samples and the report if they are there.
    #[arg(long, help_heading = "Results")]
    pub(crate) force: bool,
    /// Write an HTML report as well: beside the run file, or where this says.
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = "Results")]
    pub(crate) report: Option<Option<PathBuf>>,
    /// The numbers as JSON on standard output, instead of the summary.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(short, long, help_heading = "Results")]
    pub(crate) quiet: bool,

    /// Invent the measurement from a seed, without waiting and without privileges.
    #[arg(long, hide = true, value_name = "SEED")]
    pub(crate) fake: Option<u64>,
    /// Read kernel files under this directory instead.
    #[arg(long, hide = true, default_value = "/")]
    pub(crate) kernel_root: PathBuf,
}

/// The `[run]` keys of a recipe as flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "What to run")]
pub(crate) struct RunFlags {
    /// What measures: timer; kernel: where on the way from the timer's interrupt to the thread it gets late; noise: a
    /// loop that notices whenever it stood still (docs/noise.md); gpio-reaction: a thread that answers edges of one pin on
    /// another, gpio-wiggle: one that makes a pin high and low in turn (docs/pins.md); xenomai: a co-kernel's own program at its three levels; timerlat, osnoise, hwlat: the
    /// kernel's own tracers
    /// (docs/levels.md) [default: timer]
    #[arg(long, value_name = "WHAT")]
    probe: Option<String>,
    /// How long each phase lasts, such as 90s or 5h33m [default: 1m]
    #[arg(long, value_name = "TIME", conflicts_with = "loops")]
    duration: Option<String>,
    /// How many cycles each thread makes in a phase.
    #[arg(long, value_name = "COUNT")]
    loops: Option<u64>,
    /// Measured but not counted, at the start of each phase [default: 1s]
    #[arg(long, value_name = "TIME")]
    warmup: Option<String>,
    /// Rounds of each wake method [default: 1]
    #[arg(long, value_name = "COUNT")]
    repeat: Option<u32>,
    /// What runs meanwhile: none; doload or a part of it (scheduler[:GROUPS,PAIRS,BYTES], network, copy, listing); cpu,
    /// memory[:MIB], io[:DIRECTORY], fork, timers[:COUNT], signals, compile[:DIRECTORY], ipi, net[:PORT], ping-flood,
    /// ping-flood-in; stress-ng:ARGS, hackbench[:ARGS], iperf3:ARGS; 'cmd:COMMAND'; may be given several times
    /// (docs/loads.md) [default: none]
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets in the help are what may be left out")]
    #[arg(long, value_name = "LOAD")]
    load: Option<Vec<String>>,
    /// What a load's part must do at least, on average over each phase, for the phase to count: its name, and how much
    /// a second in its own unit, such as scheduler=500k or copy=1G; may be given several times (docs/loads.md)
    #[arg(long, value_name = "PART=RATE")]
    load_floor: Option<Vec<String>>,
    /// The other host that network loads send to.
    #[arg(long, value_name = "HOST")]
    peer: Option<String>,
    /// A part of the run with a load and a length of its own, such as 'none 30s' or 'doload 1m'; given several times,
    /// one after the other.
    #[arg(long, value_name = "LOAD TIME", conflicts_with_all = ["load", "duration", "loops"])]
    phase: Option<Vec<String>>,
    /// What you need: the worst case is held against it.
    #[arg(long, value_name = "TIME")]
    limit: Option<String>,
    /// Further limits whose exceedances are counted exactly.
    #[arg(long, value_name = "TIME,…", value_delimiter = ',')]
    thresholds: Option<Vec<String>>,
    /// Seeds dither and loads [default: 1]
    #[arg(long)]
    seed: Option<u64>,
}

/// The `[timer]` keys of a recipe as flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Timer probe")]
pub(crate) struct TimerFlags {
    /// How threads wait: clock_nanosleep, nanosleep, timer_settime, setitimer, timerfd, busy, deadline; several run
    /// in turn [default: clock_nanosleep]
    #[arg(long, value_name = "METHOD,…", value_delimiter = ',')]
    wake: Option<Vec<String>>,
    /// monotonic, realtime or tai [default: monotonic]
    #[arg(long)]
    clock: Option<String>,
    /// From one deadline to the next, at least 20us; gpio-wiggle with --wake busy is as fast as it can without, and takes 1us
    /// [default: 200us]
    #[arg(short, long, value_name = "TIME")]
    interval: Option<String>,
    /// Each next CPU's thread has an interval longer by this [default: 0s]
    #[arg(long, value_name = "TIME")]
    distance: Option<String>,
    /// Each deadline is put off by up to this, at random, so that the timer is not locked to a periodic noise.
    #[arg(long, value_name = "TIME")]
    dither: Option<String>,
    /// fifo, rr, other or deadline [default: fifo; of the noise probe: other]
    #[arg(long)]
    policy: Option<String>,
    /// Real-time priority, 1 to 99 [default: 90; of the noise probe: 1]
    #[arg(short, long)]
    priority: Option<u32>,
    /// Each next thread's priority is lower by this [default: 0]
    #[arg(long, value_name = "STEP")]
    priority_step: Option<u32>,
    /// CPUs to measure, such as all or 0-3,5 [default: all]
    #[arg(short, long, value_name = "LIST")]
    cpus: Option<String>,
    /// hold: keep CPUs out of deep idle states; leave: measure with them [default: hold]
    #[arg(long, value_name = "WHAT")]
    dma_latency: Option<String>,
    /// Keep what the kernel did before each of the worst wake-ups, or of those later than a time: its own trace, which
    /// needs root and costs latency itself (docs/causes.md)
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "worst")]
    causes: Option<String>,
}

/// The `[noise]` keys of a recipe as flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Noise probe")]
pub(crate) struct NoiseFlags {
    /// Shorter gaps are not noise, and shorter toggles of gpio-wiggle no holes, from 50ns up [default: 500ns]
    #[arg(long, value_name = "TIME")]
    threshold: Option<String>,
}

/// The `[gpio]` keys of a recipe as flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pins")]
pub(crate) struct GpioFlags {
    /// The line whose rising edges are answered: gpiochip0:17, its chip's label instead, or the line's name (docs/pins.md)
    #[arg(long = "in", value_name = "CHIP:LINE")]
    input_line: Option<String>,
    /// The line that answers, or wiggles; it is driven.
    #[arg(long = "out", value_name = "CHIP:LINE")]
    output_line: Option<String>,
    /// How the thread learns of an edge: events, busy, sysfs; several are measured in turn [default: events]
    #[arg(long, value_name = "WAY,…", value_delimiter = ',')]
    answer_by: Option<Vec<String>>,
    /// Make the edges too, on this line with a wire to --in, or by a PWM output with a wire to it (pwmchip0:1).
    #[arg(long, value_name = "CHIP:LINE")]
    stimulus: Option<String>,
    /// From one edge to the next [default: 1ms]
    #[arg(long, value_name = "TIME")]
    stimulus_period: Option<String>,
    /// Put each edge off at random by up to this, so that it is in step with nothing [default: a fifth of the period; a PWM
    /// has none]
    #[arg(long, value_name = "TIME")]
    stimulus_dither: Option<String>,
    /// The CPU that makes the edges: another than the one that answers [default: tardy's own, or the first other one]
    #[arg(long, value_name = "CPU")]
    stimulus_cpu: Option<u32>,
    /// Read the answer, or the wiggle, back on this line, with a wire to --out: of an answer the whole way is timed to
    /// there.
    #[arg(long, value_name = "CHIP:LINE")]
    echo: Option<String>,
    /// Let another program wiggle --out, for which {line} stands in its words, and listen to its --echo; no shell runs.
    #[arg(long, value_name = "PROGRAM")]
    by: Option<String>,
    /// How gpio-wiggle writes its line: chardev, sysfs, or on Raspberry Pis up to the 4 gpiomem [default: chardev]
    #[arg(long, value_name = "WAY")]
    through: Option<String>,
}

impl GpioFlags {
    /// As a recipe would say it.
    pub(crate) fn table(&self) -> GpioTable {
        GpioTable {
            input: self.input_line.clone(),
            output: self.output_line.clone(),
            answer_by: self.answer_by.clone(),
            stimulus: self.stimulus.clone(),
            stimulus_period: self.stimulus_period.clone(),
            stimulus_dither: self.stimulus_dither.clone(),
            stimulus_cpu: self.stimulus_cpu,
            echo: self.echo.clone(),
            by: self.by.clone(),
            through: self.through.clone(),
        }
    }
}

impl NoiseFlags {
    /// As a recipe would say it.
    pub(crate) fn table(&self) -> NoiseTable {
        NoiseTable { threshold: self.threshold.clone(), ..NoiseTable::default() }
    }
}

impl RunFlags {
    /// The parts, as typed.
    pub(crate) fn phases(&self) -> &[String] {
        self.phase.as_deref().unwrap_or_default()
    }

    /// As a recipe would say it.
    pub(crate) fn table(&self) -> RunTable {
        RunTable {
            probe: self.probe.clone(),
            duration: self.duration.clone(),
            loops: self.loops,
            warmup: self.warmup.clone(),
            repeat: self.repeat,
            load: self.load.clone(),
            load_floor: self.load_floor.clone(),
            peer: self.peer.clone(),
            limit: self.limit.clone(),
            thresholds: self.thresholds.clone(),
            seed: self.seed,
        }
    }
}

impl TimerFlags {
    /// As a recipe would say it.
    pub(crate) fn table(&self) -> TimerTable {
        TimerTable {
            wake: self.wake.clone(),
            clock: self.clock.clone(),
            interval: self.interval.clone(),
            distance: self.distance.clone(),
            dither: self.dither.clone(),
            policy: self.policy.clone(),
            priority: self.priority,
            priority_step: self.priority_step,
            cpus: self.cpus.clone(),
            dma_latency: self.dma_latency.clone(),
            causes: self.causes.clone(),
        }
    }
}
