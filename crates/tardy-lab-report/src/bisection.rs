//! The table of a bisection: what was tested, and what made it bad.

use tardy_plot::numbers::harmless;
use tardy_search::Verdict;
use tardy_search::measure::Condition;
use tardy_search::outcome::{Outcome, Step, Tested};

use tardy_present::table::Table;

/// The result of a search, about `width` columns wide.
pub fn text(outcome: &Outcome, condition: &Condition, width: usize) -> String {
    let measure = condition.measure.to_string();
    let mut table = Table::of_words(&["kernel", &measure, ""]);
    for one in &outcome.tested {
        let value = one.value.map_or_else(|| "-".to_owned(), |value| condition.measure.shown(value));
        let verdict = match one.verdict {
            Verdict::Good => "good",
            Verdict::Bad => "bad",
            Verdict::Untestable => "cannot be tested",
        };
        table.push(vec![harmless(&one.kernel), value, verdict.to_owned()]);
    }
    let mut lines = table.lines(width);
    let new = outcome.tested.iter().filter(|one| one.is_new).count();
    lines.push(format!(
        "{} boots, {} of them from an earlier search",
        outcome.tested.len(),
        outcome.tested.len() - new
    ));
    lines.push(String::new());
    if let Some(Step { last_good, first_bad, untestable }) = &outcome.step {
        lines.push(format!("first bad: {}", harmless(first_bad)));
        lines.push(format!("last good: {}", harmless(last_good)));
        if !untestable.is_empty() {
            lines.push(format!("between them, not tested: {}", harmless(&untestable.join(", "))));
        }
    }
    for change in outcome.changes.iter().flatten() {
        lines.push(format!("bad because of: {}", harmless(&change.to_string())));
    }
    lines.extend(what_next(outcome));
    lines.join("\n") + "\n"
}

/// The number of a candidate and its verdict, or why it has none, in one line.
pub fn describe(tested: &Tested, condition: &Condition) -> String {
    let measure = &condition.measure;
    match (tested.value, tested.verdict) {
        (Some(value), Verdict::Bad) => format!("{measure} {}, bad", measure.shown(value)),
        (Some(value), _) => format!("{measure} {}, good", measure.shown(value)),
        (None, _) => {
            let problem = tested.problem.as_deref().unwrap_or_default();
            let log = problem.lines().skip(1).find(|line| line.starts_with("console log: "));
            let lines = problem.lines().next().into_iter().chain(log);
            format!("cannot be tested: {}", lines.collect::<Vec<_>>().join("; "))
        }
    }
}

/// The command that explains the difference.
fn what_next(outcome: &Outcome) -> Option<String> {
    let last = |verdict| {
        let found = outcome.tested.iter().filter(|one| one.verdict == verdict);
        let wanted = outcome.step.as_ref().map(|step| match verdict {
            Verdict::Good => &step.last_good,
            _ => &step.first_bad,
        });
        let mut found = found.filter(|one| wanted.is_none_or(|wanted| *wanted == one.kernel));
        found.next_back().and_then(|one| one.file.as_ref())
    };
    let (good, bad) = (last(Verdict::Good)?, last(Verdict::Bad)?);
    Some(format!("what they spend their time on: tardy lab explain {} {}", good.display(), bad.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested(kernel: &str, value: Option<f64>, verdict: Verdict) -> Tested {
        let file = value.map(|_| format!("{kernel}.run.json").into());
        let problem = value.is_none().then(|| "building the kernel failed\n  error".to_owned());
        Tested { kernel: kernel.to_owned(), value, verdict, problem, file, is_new: kernel != "a" }
    }

    #[test]
    fn a_step_and_a_set_of_changes_are_shown_with_the_command_that_explains_them() {
        let condition: Condition = "p99>12us".parse().unwrap();
        let all = vec![
            tested("a", Some(9_000.0), Verdict::Good),
            tested("d", Some(13_000.0), Verdict::Bad),
            tested("b", None, Verdict::Untestable),
        ];
        let step = Step { last_good: "a".into(), first_bad: "d".into(), untestable: vec!["b".into()] };
        let mut outcome =
            Outcome { condition: condition.to_string(), tested: all, step: Some(step), changes: None };
        let of_list = text(&outcome, &condition, 100);
        outcome.step = None;
        let to = tardy_search::parameters::changes("preempt=none", "preempt=full");
        outcome.changes = Some(to);
        let lines: Vec<String> = outcome.tested.iter().map(|one| describe(one, &condition)).collect();
        insta::assert_snapshot!([of_list, text(&outcome, &condition, 100), lines.join("\n")].join("\n"));
    }
}
