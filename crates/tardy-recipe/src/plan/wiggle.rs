//! The gpio-wiggle probe.

use tardy_probe::gpio::registers;
use tardy_record::pins::Line;
use tardy_record::plan::{NoisePlan, NoiseThread, Policy, ThreadPlan, TimerPlan, Wake};
use tardy_record::wiggle::{Pace, Through, WigglePlan};

use super::machine::Machine;
use super::{noise, pins};
use crate::recipe::Recipe;
use crate::usage_error::{UsageError, wrong};

/// The plan for a resolved timer. The thread that toggles has the policy and priority of the timer's first thread. With busy
/// waiting and no interval it toggles as fast as possible.
pub(super) fn wiggle(
    recipe: &Recipe,
    timer: &TimerPlan,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<WigglePlan, UsageError> {
    let output = pins::required_line("gpio-wiggle", "out", recipe.gpio.output.as_ref(), machine)?;
    let through = recipe.gpio.through.unwrap_or_default();
    if through == Through::Gpiomem {
        registers::registers(&output).map_err(|reason| wrong("through", reason))?;
    }
    let echo = recipe.gpio.echo.as_ref().map(|name| pins::line("echo", name, machine)).transpose()?;
    if echo.as_ref() == Some(&output) {
        let reason = format!("{} is the output; the echo needs a separate line", output.place());
        return Err(wrong("echo", reason));
    }
    let pace = match &recipe.gpio.by {
        Some(_) if echo.is_none() => {
            let reason = "the edges of another program are measured on a second line; name it with --echo";
            return Err(wrong("by", reason));
        }
        Some(program) => Pace::Command { words: program.words_for(&output.place()) },
        None => own_pace(recipe, timer, echo.as_ref(), housekeeping_cpu)?,
    };
    Ok(WigglePlan { output, through, pace, echo })
}

/// The pace if tardy's own thread toggles the line.
fn own_pace(
    recipe: &Recipe,
    timer: &TimerPlan,
    echo: Option<&Line>,
    housekeeping_cpu: u32,
) -> Result<Pace, UsageError> {
    let cpu = pins::cpu(recipe, timer)?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    if timer.wake == Wake::Busy && timer.policy != Policy::Other && cpu == housekeeping_cpu {
        return Err(wrong(
            "wake",
            format!(
                "busy with a real-time policy would starve tardy itself on CPU {cpu}; use --policy other, or another CPU \
                 with --cpus or --housekeeping-cpu"
            ),
        ));
    }
    let is_fastest = timer.wake == Wake::Busy && recipe.timer.interval.is_none();
    if is_fastest && echo.is_some() {
        return Err(wrong(
            "echo",
            "each edge on the echo raises an interrupt, and without an interval they are too frequent for the machine; give an \
             --interval, or measure the line with an instrument",
        ));
    }
    if is_fastest {
        return fastest(recipe, timer, NoiseThread { cpu, priority });
    }
    let thread = timer.threads.iter().find(|thread| thread.cpu == cpu);
    let thread = *thread.ok_or_else(|| wrong("cpus", "no CPU to measure"))?;
    let interval_ns = timer.threads.first().map_or(thread.interval_ns, |first| first.interval_ns);
    let threads = vec![ThreadPlan { priority, interval_ns, offset_ns: 0, ..thread }];
    Ok(Pace::Timer(TimerPlan { threads, ..timer.clone() }))
}

fn fastest(recipe: &Recipe, timer: &TimerPlan, thread: NoiseThread) -> Result<Pace, UsageError> {
    Ok(Pace::Fastest(NoisePlan {
        policy: noise::policy_of_a_loop(timer.policy)?,
        threshold_ns: noise::threshold_ns(&recipe.noise)?,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        threads: vec![thread],
    }))
}
