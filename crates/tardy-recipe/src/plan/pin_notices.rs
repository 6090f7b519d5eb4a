//! Messages for the user before tardy drives GPIO lines.

use tardy_host::gpio::header;
use tardy_record::facts::Facts;
use tardy_record::pins::Line;
use tardy_record::plan::{Plan, ProbePlan};
use tardy_record::wiggle::WigglePlan;
use tardy_sys::pins_log::CHIP_LABEL;

/// The messages: the pin of each line, if known, and warnings about lines that the board itself uses and about a stimulus
/// from the CPU that answers it.
pub fn pin_notices(plan: &Plan, facts: &Facts) -> Vec<String> {
    let Some((lines, driven)) = plan.phases.iter().find_map(|phase| lines(&phase.probe)) else {
        return Vec::new();
    };
    let board = facts.machine.board.get().map(String::as_str);
    let is_on_a_board = |line: &Line| line.label != CHIP_LABEL;
    let mut notices: Vec<String> = (lines.iter())
        .filter(|(_, line)| is_on_a_board(line))
        .map(|(option, line)| pin(option, line, board))
        .collect();
    notices.extend(driven.into_iter().filter(|line| is_on_a_board(line)).filter_map(serves_the_board));
    notices.extend(plan.phases.iter().find_map(|phase| stimulus_from_the_same_cpu(&phase.probe)));
    notices
}

fn pin(option: &str, line: &Line, board: Option<&str>) -> String {
    let name = line.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let pin = header::pin(board, &line.label, line.offset)
        .unwrap_or_else(|| "pin unknown on this board".to_owned());
    format!("{option}: {}{name}, {}: {pin}", line.place(), line.label)
}

fn serves_the_board(line: &Line) -> Option<String> {
    let name = line.name.as_deref().filter(|name| header::is_something_else(Some(name)))?;
    Some(format!(
        "warning: {} is named {name}, which suggests a function of the board and not a free pin; tardy will drive it",
        line.place()
    ))
}

fn stimulus_from_the_same_cpu(probe: &ProbePlan) -> Option<String> {
    let ProbePlan::Reaction(reaction) = probe else { return None };
    let (_, cpu) = reaction.driven().filter(|(_, cpu)| *cpu == reaction.cpu)?;
    Some(format!(
        "warning: CPU {cpu} drives the stimulus and answers it; code that disables interrupts or preemption there also \
         delays the stimulus, and this delay is not measured"
    ))
}

/// An option and the line that it names.
type OfOption<'a> = (&'static str, &'a Line);

/// The lines of a probe with their options, and those that are driven.
fn lines(probe: &ProbePlan) -> Option<(Vec<OfOption<'_>>, Vec<&Line>)> {
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
