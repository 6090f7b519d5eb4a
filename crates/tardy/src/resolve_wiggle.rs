//! From `[gpio]` and `[timer]` to how a pin is wiggled.

use tardy_probe::gpio::registers;
use tardy_record::plan::{NoisePlan, NoiseThread, Policy, ThreadPlan, TimerPlan, Wake};
use tardy_record::wiggle::{Pace, Through, WigglePlan};

use crate::program_words;
use crate::recipe::Recipe;
use crate::resolve::{Machine, UsageError, choice, wrong};
use crate::resolve_pins::{self, GPIO_WIGGLE};
use crate::resolve_probe;

/// The plan for a timer that was resolved already, whose first thread's policy and priority are the thread's. Spinning
/// with no interval given is as fast as it can.
pub(crate) fn plan(
    recipe: &Recipe,
    timer: &TimerPlan,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<WigglePlan, UsageError> {
    let output = resolve_pins::line(GPIO_WIGGLE, "out", recipe.gpio.output.as_deref(), machine)?;
    let through = choice("through", recipe.gpio.through.as_deref(), Through::ALL, Through::name)?;
    if through == Through::Gpiomem {
        registers::registers(&output).map_err(|reason| wrong("through", reason))?;
    }
    let echo = match &recipe.gpio.echo {
        None => None,
        Some(text) => Some(resolve_pins::line(GPIO_WIGGLE, "echo", Some(text), machine)?),
    };
    if echo.as_ref() == Some(&output) {
        return Err(wrong("echo", format!("{} is driven; the echo needs a line of its own", output.place())));
    }
    if let Some(program) = &recipe.gpio.by {
        if echo.is_none() {
            return Err(wrong(
                "by",
                "what another program writes is only heard on an --echo; name that line",
            ));
        }
        let pace = Pace::Command { words: program_words::of(program, &output.place())? };
        return Ok(WigglePlan { output, through, pace, echo });
    }
    let cpu = resolve_pins::cpu(recipe, timer)?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    let policy = timer.policy;
    if timer.wake == Wake::Busy && policy != Policy::Other && cpu == housekeeping_cpu {
        return Err(wrong(
            "wake",
            format!(
                "busy with a real-time policy on cpu {cpu} would keep tardy itself, and everything else, from that CPU; \
                 give --policy other, or another CPU with --cpus or --housekeeping-cpu"
            ),
        ));
    }
    let is_fastest = timer.wake == Wake::Busy && recipe.timer.interval.is_none();
    if is_fastest && echo.is_some() {
        return Err(wrong(
            "echo",
            "each echoed edge is an interrupt, and these come faster than a machine can take them; give an --interval, or \
             watch the line with an instrument",
        ));
    }
    let pace = if is_fastest {
        fastest(recipe, timer, NoiseThread { cpu, priority })?
    } else {
        let thread = timer.threads.iter().find(|thread| thread.cpu == cpu);
        let thread = *thread.ok_or_else(|| wrong("cpus", "no CPU to wiggle on"))?;
        let interval_ns = timer.threads.first().map_or(thread.interval_ns, |first| first.interval_ns);
        let threads = vec![ThreadPlan { priority, interval_ns, offset_ns: 0, ..thread }];
        Pace::Timer(TimerPlan { threads, ..timer.clone() })
    };
    Ok(WigglePlan { output, through, pace, echo })
}

fn fastest(recipe: &Recipe, timer: &TimerPlan, thread: NoiseThread) -> Result<Pace, UsageError> {
    let policy = match timer.policy {
        Policy::Deadline => {
            return Err(wrong("policy", "a loop that never waits has no deadlines; give other, fifo or rr"));
        }
        policy => policy,
    };
    Ok(Pace::Fastest(NoisePlan {
        threshold_ns: resolve_probe::noise_threshold(recipe)?,
        policy,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        threads: vec![thread],
    }))
}
