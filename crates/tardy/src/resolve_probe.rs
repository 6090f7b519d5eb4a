//! From `--probe` to the phases that it takes.

use tardy_host::co_kernel::CoKernel;
use tardy_record::Knowable;
use tardy_record::foreign::{ForeignPlan, LatePeriods};
use tardy_record::pins::ReactionPlan;
use tardy_record::plan::{
    ClockId, KernelPlan, NoisePlan, NoiseThread, Policy, ProbePlan, Span, TimerPlan, Tracer, TracerPlan, Wake,
};
use tardy_record::series::Level;
use tardy_record::units::format_duration_ns;

use crate::recipe::Recipe;
use crate::resolve::{Machine, UsageError, choice, positive, wrong};
use crate::resolve_pins::{self, GPIO_REACTION, GPIO_WIGGLE};
use crate::resolve_wiggle;

/// The plain phase that the events' own cost is measured against is no longer than this.
const PLAIN_NS_MAX: u64 = 10_000_000_000;
/// The trace's buffers hold what a thread writes in this time: the house reads them once a second, and may be late.
const BUFFER_NS: u64 = 3_000_000_000;
/// What the four events of a cycle take in the trace at the most, in bytes.
const CYCLE_BYTES: u64 = 256;
/// The least and the most room for a CPU's events, and the most for all, in KiB.
const BUFFER_KIB: (u64, u64, u64) = (256, 32 << 10, 256 << 10);

/// What timerlat takes as its period (trace_osnoise.c).
const TIMERLAT_PERIOD_NS: (u64, u64) = (100_000, 1_000_000_000);
/// Period, runtime and threshold of osnoise: the kernel's own defaults, but that a twentieth of the CPU is left to
/// others.
const OSNOISE: (u64, u64, u64) = (1_000_000_000, 950_000_000, 5000);
/// Window, width and threshold of hwlat: the kernel's own defaults.
/// The shortest threshold of the noise probe: below it a turn of its own loop is hardly told from a gap.
const NOISE_THRESHOLD_NS_MIN: u64 = 50;
/// Longer gaps than a second are no noise.
const NOISE_THRESHOLD_NS_MAX: u64 = 1_000_000_000;

const HWLAT: (u64, u64, u64) = (1_000_000_000, 500_000_000, 10_000);

/// One of the phases that a probe takes for each wake method and round.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) label: String,
    pub(crate) span: Span,
    pub(crate) probe: ProbePlan,
}

/// What `--probe` says, for a timer that was resolved already.
pub(crate) fn parts(
    recipe: &Recipe,
    timer: &TimerPlan,
    span: Span,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Vec<Part>, UsageError> {
    let part = |label: &str, span, probe| Part { label: label.to_owned(), span, probe };
    match recipe.run.probe.as_deref().unwrap_or("timer") {
        "timer" => Ok(vec![part(timer.wake.name(), span, ProbePlan::Timer(timer.clone()))]),
        "kernel" => {
            let kernel = ProbePlan::Kernel(kernel(timer, machine)?);
            let plain = part("plain", shortened(span, timer), ProbePlan::Timer(timer.clone()));
            let mut parts = vec![plain, part("events", span, kernel)];
            if machine.trace.tracer(Tracer::Timerlat).is_ok() {
                let timerlat = ProbePlan::Tracer(timerlat(timer));
                parts.push(part(Tracer::Timerlat.name(), span, timerlat));
            }
            Ok(parts)
        }
        "noise" => {
            let noise = ProbePlan::Noise(gaps(recipe, timer, span, housekeeping_cpu, machine)?);
            Ok(vec![part("noise", span, noise)])
        }
        "xenomai" => co_kernel(timer, span, machine),
        GPIO_REACTION => {
            let ways = resolve_pins::reactions(recipe, timer, housekeeping_cpu, machine)?;
            let reaction = |plan: ReactionPlan| part(plan.answer_by.name(), span, ProbePlan::Reaction(plan));
            Ok(ways.into_iter().map(reaction).collect())
        }
        GPIO_WIGGLE => {
            let plan = resolve_wiggle::plan(recipe, timer, housekeeping_cpu, machine)?;
            Ok(vec![part(timer.wake.name(), span, ProbePlan::Wiggle(plan))])
        }
        other => {
            let known = [Tracer::Timerlat, Tracer::Osnoise, Tracer::Hwlat];
            let Some(tracer) = known.into_iter().find(|tracer| tracer.name() == other) else {
                let reason = format!(
                    "'{other}' is none of timer, kernel, noise, {GPIO_REACTION}, {GPIO_WIGGLE}, xenomai, timerlat, osnoise, \
                     hwlat"
                );
                return Err(wrong("probe", reason));
            };
            machine.trace.tracer(tracer).map_err(|reason| wrong("probe", reason))?;
            let plan = match tracer {
                Tracer::Timerlat => timerlat(timer),
                Tracer::Osnoise => noise(tracer, timer, OSNOISE),
                Tracer::Hwlat => noise(tracer, timer, HWLAT),
            };
            Ok(vec![part(tracer.name(), span, ProbePlan::Tracer(plan))])
        }
    }
}

/// timerlat with the timer's interval, as far as the kernel allows, and a user thread of the same priority.
fn timerlat(timer: &TimerPlan) -> TracerPlan {
    let shortest_ns = timer.threads.iter().map(|thread| thread.interval_ns).min().unwrap_or(0);
    let priority =
        timer.threads.first().map(|thread| thread.priority).filter(|_| timer.policy.has_priority());
    TracerPlan {
        tracer: Tracer::Timerlat,
        cpus: timer.threads.iter().map(|thread| thread.cpu).collect(),
        // The kernel counts in whole us.
        period_ns: (shortest_ns / 1000 * 1000).clamp(TIMERLAT_PERIOD_NS.0, TIMERLAT_PERIOD_NS.1),
        runtime_ns: None,
        priority,
        threshold_ns: None,
    }
}

fn noise(
    tracer: Tracer,
    timer: &TimerPlan,
    (period_ns, runtime_ns, threshold_ns): (u64, u64, u64),
) -> TracerPlan {
    TracerPlan {
        tracer,
        cpus: timer.threads.iter().map(|thread| thread.cpu).collect(),
        period_ns,
        runtime_ns: Some(runtime_ns),
        priority: None,
        threshold_ns: Some(threshold_ns),
    }
}

/// The noise probe on the timer's CPUs. It is SCHED_OTHER unless told otherwise, as oslat is: a real-time loop starves
/// whatever else its CPU is for. So it also leaves tardy's own CPU alone, if the person named none.
fn gaps(
    recipe: &Recipe,
    timer: &TimerPlan,
    span: Span,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<NoisePlan, UsageError> {
    if matches!(span, Span::Loops(_)) {
        return Err(wrong("loops", "noise is measured for a time and not for cycles; give a duration"));
    }
    let threshold_ns = noise_threshold(recipe)?;
    let policies = [Policy::Other, Policy::Fifo, Policy::Rr];
    let asked = recipe.noise.policy.as_deref().or(recipe.timer.policy.as_deref());
    let policy = match asked {
        None => Policy::Other,
        Some("deadline") => {
            return Err(wrong("policy", "a loop that never waits has no deadlines; give other, fifo or rr"));
        }
        asked => choice("policy", asked, policies, Policy::name)?,
    };
    let asked = recipe.noise.priority.or(recipe.timer.priority).unwrap_or(1);
    if policy.has_priority() && !(1..=99).contains(&asked) {
        return Err(wrong(
            "priority",
            format!("{asked} is out of range; real-time priorities go from 1 to 99"),
        ));
    }
    let spares_housekeeping =
        policy.has_priority() && recipe.timer.cpus.is_none() && machine.allowed.len() > 1;
    let cpus = timer.threads.iter().map(|thread| thread.cpu);
    let threads = cpus
        .filter(|cpu| !spares_housekeeping || *cpu != housekeeping_cpu)
        .map(|cpu| NoiseThread { cpu, priority: if policy.has_priority() { asked } else { 0 } })
        .collect();
    Ok(NoisePlan {
        threshold_ns,
        policy,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        threads,
    })
}

/// From which length on a gap counts.
pub(crate) fn noise_threshold(recipe: &Recipe) -> Result<u64, UsageError> {
    let threshold_ns = positive("threshold", recipe.noise.threshold.as_deref().unwrap_or("500ns"))?;
    if !(NOISE_THRESHOLD_NS_MIN..=NOISE_THRESHOLD_NS_MAX).contains(&threshold_ns) {
        let [given, least, most] =
            [threshold_ns, NOISE_THRESHOLD_NS_MIN, NOISE_THRESHOLD_NS_MAX].map(format_duration_ns);
        return Err(wrong("threshold", format!("{given} is not between {least} and {most}")));
    }
    Ok(threshold_ns)
}

/// The co-kernel's own program at each of its levels, one after the other.
fn co_kernel(timer: &TimerPlan, span: Span, machine: &Machine) -> Result<Vec<Part>, UsageError> {
    let core = machine.co_kernel.as_ref().map_err(|reason| wrong("probe", reason))?;
    let Span::DurationNs(duration_ns) = span else {
        return Err(wrong("loops", format!("{} measures for a time; give a duration", core.tool())));
    };
    let thread = timer.threads.first().ok_or_else(|| wrong("cpus", "no CPU to measure"))?;
    let (period_us, seconds) = (thread.interval_ns.div_ceil(1000), duration_ns.div_ceil(1_000_000_000));
    let part = |level: Level| {
        let run = core.command(level, period_us, thread.priority, thread.cpu, seconds);
        let plan = ForeignPlan {
            format: core.format().to_owned(),
            tool: core.tool().to_owned(),
            command: Knowable::Known(run.join(" ")),
            measures: "from a timer's deadline to the handler or the task that waited for it".to_owned(),
            late_periods: LatePeriods::Counted,
            period_ns: Knowable::Known(period_us * 1000),
            duration_ns: Knowable::Known(seconds * 1_000_000_000),
            run,
            level: Some(level),
            gravity: core.gravity().map(str::to_owned),
            ..ForeignPlan::default()
        };
        Part { label: level.name().to_owned(), span, probe: ProbePlan::Foreign(plan) }
    };
    Ok(CoKernel::LEVELS.map(part).to_vec())
}

fn kernel(timer: &TimerPlan, machine: &Machine) -> Result<KernelPlan, UsageError> {
    if timer.wake != Wake::ClockNanosleep {
        let name = timer.wake.name();
        let reason = format!(
            "kernel follows the timer of clock_nanosleep, whose deadline it can tell from the events; {name} has \
             another; leave --wake out"
        );
        return Err(wrong("probe", reason));
    }
    if timer.clock != ClockId::Monotonic {
        let reason = format!(
            "kernel needs deadlines on the trace's own clock, monotonic, and not on {}; leave --clock out",
            timer.clock.name()
        );
        return Err(wrong("probe", reason));
    }
    machine.trace.events.as_ref().map_err(|reason| wrong("probe", reason))?;
    let shortest_ns = timer.threads.iter().map(|thread| thread.interval_ns).min().unwrap_or(1);
    let wanted_kib = BUFFER_NS / shortest_ns.max(1) * CYCLE_BYTES / 1024;
    let (least, most, all) = BUFFER_KIB;
    let share = (all / timer.threads.len().max(1) as u64).max(least);
    let buffer_kib = wanted_kib.clamp(least, most.min(share)) as u32;
    let alone_because = machine.trace.tracer(Tracer::Timerlat).err();
    Ok(KernelPlan { timer: timer.clone(), buffer_kib, alone_because })
}

/// The span of the plain phase: the same, but not for long.
fn shortened(span: Span, timer: &TimerPlan) -> Span {
    let longest_ns = timer.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(1);
    match span {
        Span::DurationNs(ns) => Span::DurationNs(ns.min(PLAIN_NS_MAX)),
        Span::Loops(loops) => Span::Loops(loops.min(PLAIN_NS_MAX / longest_ns.max(1)).max(1)),
        Span::Unknown => Span::Unknown,
    }
}
