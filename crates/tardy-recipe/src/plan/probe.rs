//! The phases that a probe needs for each wake method and round.

use tardy_host::co_kernel::CoKernel;
use tardy_record::Knowable;
use tardy_record::foreign::{ForeignPlan, LatePeriods};
use tardy_record::pins::ReactionPlan;
use tardy_record::plan::{ProbePlan, Span, TimerPlan, Tracer};
use tardy_record::series::Level;

use super::machine::Machine;
use super::{noise, reaction, round_trip, tracer, wiggle};
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, lacking, wrong};
use crate::values::ProbeKind;

/// Longest phase without trace events, in ns. It is the baseline for the cost of the events.
const PLAIN_NS_MAX: u64 = 10_000_000_000;

/// A phase of a probe.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) label: String,
    pub(super) span: Span,
    pub(super) probe: ProbePlan,
}

/// The phases of the recipe's probe, for a resolved timer.
pub(super) fn parts(
    recipe: &Recipe,
    timer: &TimerPlan,
    span: Span,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Vec<Part>, UsageError> {
    let part = |label: &str, span, probe| Part { label: label.to_owned(), span, probe };
    let traced = |kind: Tracer| -> Result<Vec<Part>, UsageError> {
        Ok(vec![part(kind.name(), span, ProbePlan::Tracer(tracer::tracer(kind, timer, machine)?))])
    };
    match recipe.run.probe() {
        ProbeKind::Timer => Ok(vec![part(timer.wake.name(), span, ProbePlan::Timer(timer.clone()))]),
        ProbeKind::Kernel => {
            let events = ProbePlan::Kernel(tracer::events(timer, machine)?);
            let plain = part("plain", shortened(span, timer), ProbePlan::Timer(timer.clone()));
            let mut parts = vec![plain, part("events", span, events)];
            if machine.trace.tracer(Tracer::Timerlat).is_ok() {
                let timerlat = ProbePlan::Tracer(tracer::timerlat(timer));
                parts.push(part(Tracer::Timerlat.name(), span, timerlat));
            }
            Ok(parts)
        }
        ProbeKind::Noise => {
            let noise = ProbePlan::Noise(noise::noise(recipe, timer, span, housekeeping_cpu, machine)?);
            Ok(vec![part("noise", span, noise)])
        }
        ProbeKind::Xenomai => co_kernel(timer, span, machine),
        ProbeKind::GpioReaction => {
            let ways = reaction::reactions(recipe, timer, housekeeping_cpu, machine)?;
            let reaction = |plan: ReactionPlan| part(plan.answer_by.name(), span, ProbePlan::Reaction(plan));
            Ok(ways.into_iter().map(reaction).collect())
        }
        ProbeKind::GpioWiggle => {
            let plan = wiggle::wiggle(recipe, timer, housekeeping_cpu, machine)?;
            Ok(vec![part(timer.wake.name(), span, ProbePlan::Wiggle(plan))])
        }
        ProbeKind::RoundTrip => {
            let plan = ProbePlan::RoundTrip(round_trip::round_trip(recipe, timer)?);
            Ok(vec![part("round-trip", span, plan)])
        }
        ProbeKind::Timerlat => traced(Tracer::Timerlat),
        ProbeKind::Osnoise => traced(Tracer::Osnoise),
        ProbeKind::Hwlat => traced(Tracer::Hwlat),
    }
}

/// The co-kernel's latency program at each of its levels, in sequence.
fn co_kernel(timer: &TimerPlan, span: Span, machine: &Machine) -> Result<Vec<Part>, UsageError> {
    let core = machine.co_kernel.as_ref().map_err(|reason| lacking("probe", reason))?;
    let Span::DurationNs(duration_ns) = span else {
        return Err(wrong(
            "loops",
            format!("{} measures for a duration, not a number of loops; use --duration", core.tool()),
        ));
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

/// The span of the phase without trace events: `span`, but at most [`PLAIN_NS_MAX`].
fn shortened(span: Span, timer: &TimerPlan) -> Span {
    match span {
        Span::DurationNs(ns) => Span::DurationNs(ns.min(PLAIN_NS_MAX)),
        Span::Loops(loops) => {
            let longest_ns = timer.threads.iter().map(|thread| thread.interval_ns).max().unwrap_or(1);
            Span::Loops(loops.min(PLAIN_NS_MAX / longest_ns.max(1)).max(1))
        }
        Span::Unknown => Span::Unknown,
    }
}
