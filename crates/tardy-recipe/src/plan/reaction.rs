//! The gpio-reaction probe.

use tardy_record::pins::{AnswerBy, ReactionPlan, StimulusSource};
use tardy_record::plan::{Policy, TimerPlan};

use super::machine::Machine;
use super::{duplicate, pins, stimulus};
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};

/// A plan for each way to detect an edge. The thread has the CPU, policy and priority of the resolved timer.
pub(super) fn reactions(
    recipe: &Recipe,
    timer: &TimerPlan,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Vec<ReactionPlan>, UsageError> {
    const PROBE: &str = "gpio-reaction";
    let input = pins::required_line(PROBE, "in", recipe.gpio.input.as_ref(), machine)?;
    let output = pins::required_line(PROBE, "out", recipe.gpio.output.as_ref(), machine)?;
    if input == output {
        let reason = format!("{} is the input; the answer needs a separate line", output.place());
        return Err(wrong("out", reason));
    }
    if timer.policy == Policy::Deadline {
        let reason = "a thread that waits for edges has no period; expected fifo, rr or other";
        return Err(wrong("policy", reason));
    }
    let cpu = pins::cpu(recipe, timer)?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    let ways = ways(recipe)?;
    if ways.contains(&AnswerBy::Busy) && timer.policy != Policy::Other && cpu == housekeeping_cpu {
        return Err(wrong(
            "answer_by",
            format!(
                "busy with a real-time policy would starve tardy itself on CPU {cpu}; use --policy other, or another CPU \
                 with --cpus or --housekeeping-cpu"
            ),
        ));
    }
    let stimulus = stimulus::stimulus(&recipe.gpio, [&input, &output], cpu, housekeeping_cpu, machine)?;
    let is_driven_by_the_same_cpu = stimulus.as_ref().is_some_and(
        |stimulus| matches!(stimulus.source, StimulusSource::Line { cpu: driving, .. } if driving == cpu),
    );
    if is_driven_by_the_same_cpu && ways.contains(&AnswerBy::Busy) {
        let reason = format!(
            "busy would starve the thread that drives the stimulus on CPU {cpu}; use another --stimulus-cpu"
        );
        return Err(wrong("answer_by", reason));
    }
    let plan = |answer_by| ReactionPlan {
        input: input.clone(),
        output: output.clone(),
        answer_by,
        cpu,
        policy: timer.policy,
        priority,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        stimulus: stimulus.clone().map(Box::new),
    };
    Ok(ways.into_iter().map(plan).collect())
}

fn ways(recipe: &Recipe) -> Result<Vec<AnswerBy>, UsageError> {
    let ways = recipe.gpio.ways();
    if ways.is_empty() {
        return Err(wrong("answer_by", "the list is empty; name a way, or remove the key for events"));
    }
    match duplicate(&ways) {
        Some(twice) => {
            let reason =
                format!("{} is given twice; use --repeat to measure a way several times", twice.name());
            Err(wrong("answer_by", reason))
        }
        None => Ok(ways),
    }
}
