//! From `[gpio]` to the ways of answering that a reaction is measured in.

use tardy_host::gpio::chips;
use tardy_host::gpio::{Found, header};
use tardy_record::facts::Facts;
use tardy_record::pins::{AnswerBy, Line, ReactionPlan, StimulusSource};
use tardy_record::plan::{Plan, Policy, ProbePlan, TimerPlan};
use tardy_record::wiggle::WigglePlan;
use tardy_sys::pins_log::CHIP_LABEL;

use crate::recipe::Recipe;
use crate::resolve::{Machine, Pins, UsageError, choice, given_twice, wrong};
use crate::resolve_stimulus;

/// What the probe is called that answers a pin.
pub(crate) const GPIO_REACTION: &str = "gpio-reaction";
/// What the probe is called that wiggles one.
pub(crate) const GPIO_WIGGLE: &str = "gpio-wiggle";

/// A plan for each way of answering, for a timer that was resolved already: its CPU, policy and priority are the thread's.
pub(crate) fn reactions(
    recipe: &Recipe,
    timer: &TimerPlan,
    housekeeping_cpu: u32,
    machine: &Machine,
) -> Result<Vec<ReactionPlan>, UsageError> {
    let input = line(GPIO_REACTION, "in", recipe.gpio.input.as_deref(), machine)?;
    let output = line(GPIO_REACTION, "out", recipe.gpio.output.as_deref(), machine)?;
    if input == output {
        return Err(wrong(
            "out",
            format!("{} is the input already; the answer needs a line of its own", output.place()),
        ));
    }
    let policy = match timer.policy {
        Policy::Deadline => {
            return Err(wrong(
                "policy",
                "a thread that waits for edges has no period; give fifo, rr or other",
            ));
        }
        policy => policy,
    };
    let cpu = cpu(recipe, timer)?;
    let priority = timer.threads.first().map_or(0, |thread| thread.priority);
    let ways = ways(recipe)?;
    if ways.contains(&AnswerBy::Busy) && policy != Policy::Other && cpu == housekeeping_cpu {
        return Err(wrong(
            "answer_by",
            format!(
                "busy with a real-time policy on cpu {cpu} would keep tardy itself, and everything else, from that CPU; \
                 give --policy other, or another CPU with --cpus or --housekeeping-cpu"
            ),
        ));
    }
    let stimulus = resolve_stimulus::stimulus(recipe, [&input, &output], cpu, housekeeping_cpu, machine)?;
    let by_the_same = stimulus.as_ref().is_some_and(
        |stimulus| matches!(stimulus.source, StimulusSource::Line { cpu: driving, .. } if driving == cpu),
    );
    if by_the_same && ways.contains(&AnswerBy::Busy) {
        return Err(wrong(
            "answer_by",
            format!(
                "busy on cpu {cpu} would keep the thread that makes the stimulus from it; give another --stimulus-cpu"
            ),
        ));
    }
    let plan = |answer_by| ReactionPlan {
        input: input.clone(),
        output: output.clone(),
        answer_by,
        cpu,
        policy,
        priority,
        memory_locked: timer.memory_locked,
        dma_latency_us: timer.dma_latency_us,
        stimulus: stimulus.clone().map(Box::new),
    };
    Ok(ways.into_iter().map(plan).collect())
}

/// The one CPU of the one thread: as given, or the last of those that may be used, since interrupts mostly go to the first.
pub(crate) fn cpu(recipe: &Recipe, timer: &TimerPlan) -> Result<u32, UsageError> {
    match timer.threads.as_slice() {
        [one] => Ok(one.cpu),
        [.., last] if recipe.timer.cpus.as_deref().is_none_or(|cpus| cpus.trim() == "all") => Ok(last.cpu),
        _ => Err(wrong("cpus", "one thread is at the pins; give one CPU, or leave the key out")),
    }
}

fn ways(recipe: &Recipe) -> Result<Vec<AnswerBy>, UsageError> {
    let Some(names) = &recipe.gpio.answer_by else { return Ok(vec![AnswerBy::default()]) };
    let way = |name: &String| choice("answer_by", Some(name.trim()), AnswerBy::ALL, AnswerBy::name);
    let ways: Vec<AnswerBy> = names.iter().map(way).collect::<Result<_, _>>()?;
    if ways.is_empty() {
        return Err(wrong("answer_by", "the list is empty; name a way, or leave the key out for events"));
    }
    match given_twice(&ways) {
        Some(twice) => {
            let reason = format!("{} is given twice; --repeat measures a way several times", twice.name());
            Err(wrong("answer_by", reason))
        }
        None => Ok(ways),
    }
}

/// The line that `text` names under `key` for `probe`.
pub(crate) fn line(
    probe: &str,
    key: &'static str,
    text: Option<&str>,
    machine: &Machine,
) -> Result<Line, UsageError> {
    let Some(text) = text.map(str::trim) else {
        let reason = format!("{probe} needs a line: --{key} gpiochip0:17, say; `tardy gpio list` shows them");
        return Err(wrong(key, reason));
    };
    let found: Result<Found, String> = match &machine.pins {
        Pins::Known(chips) => chips::find(text, chips),
        Pins::Elsewhere => chips::elsewhere(text),
    };
    let found = found.map_err(|reason| wrong(key, reason))?;
    match found.taken() {
        Some(reason) => Err(wrong(key, reason)),
        None => Ok(found.line),
    }
}

/// What a person should know before pins are driven: which these are, where that is known, and that one of them is
/// something else.
pub(crate) fn beforehand(plan: &Plan, facts: &Facts) -> Vec<String> {
    let Some((lines, driven)) = plan.phases.iter().find_map(|phase| lines(&phase.probe)) else {
        return Vec::new();
    };
    let board = facts.machine.board.get().map(String::as_str);
    let on_a_board = |line: &Line| line.label != CHIP_LABEL;
    let mut told: Vec<String> = (lines.iter())
        .filter(|(_, line)| on_a_board(line))
        .map(|(what, line)| which_pin(what, line, board))
        .collect();
    told.extend(driven.into_iter().filter(|line| on_a_board(line)).filter_map(is_something_else));
    told.extend(plan.phases.iter().find_map(|phase| stimulus_from_the_same_cpu(&phase.probe)));
    told
}

fn which_pin(what: &str, line: &Line, board: Option<&str>) -> String {
    let name = line.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let pin = header::pin(board, &line.label, line.offset)
        .unwrap_or_else(|| "which pin that is, is unknown for this board".to_owned());
    format!("{what}: {}{name}, {}: {pin}", line.place(), line.label)
}

fn is_something_else(line: &Line) -> Option<String> {
    let name = line.name.as_deref().filter(|name| header::is_something_else(Some(name)))?;
    Some(format!(
        "warning: the line that will be driven, {}, is named {name}: that sounds like something on the board, and not \
         like a pin for a wire",
        line.place()
    ))
}

fn stimulus_from_the_same_cpu(probe: &ProbePlan) -> Option<String> {
    let ProbePlan::Reaction(reaction) = probe else { return None };
    let (_, cpu) = reaction.driven().filter(|(_, cpu)| *cpu == reaction.cpu)?;
    Some(format!(
        "warning: the stimulus is made on cpu {cpu}, which answers it: what holds interrupts or preemption off there holds \
         the stimulus up as well, and will not be seen"
    ))
}

/// A line, with its option.
type Called<'a> = (&'static str, &'a Line);

/// The lines of a probe, with what each is called on the command line, and those that are driven.
fn lines(probe: &ProbePlan) -> Option<(Vec<Called<'_>>, Vec<&Line>)> {
    match probe {
        ProbePlan::Reaction(reaction) => {
            let mut lines = vec![("in", &reaction.input), ("out", &reaction.output)];
            lines.extend(reaction.driven().map(|(line, _)| ("stimulus", line)));
            lines.extend(reaction.echo().map(|line| ("echo", line)));
            Some((lines, reaction.outputs().collect()))
        }
        ProbePlan::Wiggle(WigglePlan { output, echo, .. }) => {
            let echo = echo.iter().map(|line| ("echo", line));
            Some((std::iter::once(("out", output)).chain(echo).collect(), vec![output]))
        }
        _ => None,
    }
}
