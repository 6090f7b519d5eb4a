//! Which runs break which rules.

use tardy_archive::{Address, Entry, loads};
use tardy_compare::history::{Change, History, Line};
use tardy_compare::overview;
use tardy_gate::{Outcome, judge, sentence};
use tardy_present::history as shown;
use tardy_record::Run;

use crate::rules::{Demand, Rule, Rules};

/// A run that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The name of the rule.
    pub rule: String,
    /// The board.
    pub board: String,
    /// The run; of a change the first one after it.
    pub run: Address,
    /// What was found, in words.
    pub text: String,
}

/// The rules that a run breaks.
pub fn of_run(rules: &Rules, address: &Address, run: &Run) -> Vec<Finding> {
    let (board, loads) = (overview::machine(run), loads(run));
    let broken = |rule: &Rule| {
        let Demand::Meets(requirement) = &rule.demand else { return None };
        let judgement = judge(run, requirement);
        (judgement.outcome == Outcome::Failed).then(|| Finding {
            rule: rule.name.clone(),
            board: board.clone(),
            run: address.clone(),
            text: format!("{requirement} is not met. {}", sentence::of(&judgement)),
        })
    };
    rules.rules.iter().filter(|rule| rule.is_about(&board, &loads)).filter_map(broken).collect()
}

/// The rules that the history of a board breaks. `runs` are the board's, by which the runs of the history are known.
pub fn of_history(
    rules: &Rules,
    machine: &str,
    history: &History,
    runs: &[(Address, Entry)],
) -> Vec<Finding> {
    let changes = last_changes_for_the_worse(history);
    let Some(first) = changes.iter().map(|(_, change)| change.after).max() else { return Vec::new() };
    let file = &history.runs[first].file;
    let Some((run, _)) = runs.iter().find(|(_, entry)| entry.row.file == *file) else { return Vec::new() };
    let at_that_run = changes.iter().filter(|(_, change)| change.after == first);
    let text: Vec<String> = at_that_run.map(|(line, change)| shown::sentence(line, change)).collect();
    let is_broken = |rule: &&Rule| rule.demand == Demand::NoChangeForTheWorse && rule.is_about_board(machine);
    let finding = |rule: &Rule| Finding {
        rule: rule.name.clone(),
        board: machine.to_owned(),
        run: run.clone(),
        text: text.join(" "),
    };
    rules.rules.iter().filter(is_broken).map(finding).collect()
}

/// Of each figure the last change, if it is certain and for the worse: all figures are better when they are lower.
fn last_changes_for_the_worse(history: &History) -> Vec<(&Line, &Change)> {
    let all = history.lines.iter().filter_map(|line| Some((line, line.changes.last()?)));
    all.filter(|(_, change)| change.certain && change.to > change.from).collect()
}
