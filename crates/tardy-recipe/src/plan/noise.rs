//! The noise probe.

use tardy_record::plan::{NoisePlan, NoiseThread, Policy, Span, TimerPlan};
use tardy_record::units::format_duration_ns;

use super::machine::Machine;
use crate::options::NoiseOptions;
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};

/// Shortest threshold, in ns. One iteration of the probe's loop takes only a little less.
const THRESHOLD_NS_MIN: u64 = 50;
/// Longest threshold, in ns.
const THRESHOLD_NS_MAX: u64 = 1_000_000_000;

/// The noise probe on the timer's CPUs. Like oslat it uses SCHED_OTHER by default, because a real-time loop starves
/// everything else on its CPU. With a real-time policy it omits the supervisor's CPU, unless the user chose the CPUs.
pub(super) fn noise(
    recipe: &Recipe,
    timer: &TimerPlan,
    span: Span,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<NoisePlan, UsageError> {
    if matches!(span, Span::Loops(_)) {
        return Err(wrong(
            "loops",
            "the noise probe measures for a duration, not a number of loops; use --duration",
        ));
    }
    let threshold_ns = threshold_ns(&recipe.noise)?;
    let policy = policy_of_a_loop(recipe.noise.policy.or(recipe.timer.policy).unwrap_or(Policy::Other))?;
    let priority = recipe.noise.priority.or(recipe.timer.priority).unwrap_or(1);
    if policy.has_priority() && !(1..=99).contains(&priority) {
        let reason = format!("{priority} is out of range; expected a real-time priority from 1 to 99");
        return Err(wrong("priority", reason));
    }
    let spares_housekeeping =
        policy.has_priority() && recipe.timer.cpus.is_none() && machine.cpus.reachable.len() > 1;
    let cpus = timer.threads.iter().map(|thread| thread.cpu);
    let threads = cpus
        .filter(|cpu| !spares_housekeeping || *cpu != housekeeping_cpu)
        .map(|cpu| NoiseThread { cpu, priority: if policy.has_priority() { priority } else { 0 } })
        .collect();
    Ok(NoisePlan {
        threshold_ns,
        policy,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        threads,
    })
}

/// Checks the policy of a thread that spins: any except SCHED_DEADLINE.
pub(super) fn policy_of_a_loop(policy: Policy) -> Result<Policy, UsageError> {
    match policy {
        Policy::Deadline => {
            Err(wrong("policy", "a thread that never waits has no deadlines; expected other, fifo or rr"))
        }
        policy => Ok(policy),
    }
}

/// The shortest gap that counts as noise, in ns.
pub(super) fn threshold_ns(options: &NoiseOptions) -> Result<u64, UsageError> {
    let threshold_ns = options.threshold_ns();
    if !(THRESHOLD_NS_MIN..=THRESHOLD_NS_MAX).contains(&threshold_ns) {
        let [given, least, most] = [threshold_ns, THRESHOLD_NS_MIN, THRESHOLD_NS_MAX].map(format_duration_ns);
        return Err(wrong("threshold", format!("{given} is out of range; expected {least} to {most}")));
    }
    Ok(threshold_ns)
}
