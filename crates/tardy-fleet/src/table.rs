//! The fleet as lines of text.

use std::time::Duration;

use tardy_plot::numbers::{counted, rounded, short};

use crate::state::{HostState, Step};

/// A host in a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What is known about it.
    pub state: HostState,
    /// How long it has been in its step; `None` if that is not known.
    pub since: Option<Duration>,
}

/// What an exit status of `tardy run` means. Whether the run has a limit is unknown of earlier versions.
pub fn meaning(status: u8, has_limit: Option<bool>) -> &'static str {
    match status {
        0 => match has_limit {
            Some(true) => "limit met",
            Some(false) => "no limit",
            None => "limit met, or no limit",
        },
        3 => "limit exceeded",
        4 => "inconclusive",
        5 => "invalid",
        _ => "failed",
    }
}

/// What is known about the result of a host: the meaning of its exit status, or its error.
pub fn result(state: &HostState) -> String {
    let known = match (state.step, &state.error) {
        (Step::Done, _) => state.exit_status.map_or_else(String::new, |status| {
            // The run file is what counts, if the host reports something else.
            let judged = state.judged.filter(|judged| status == 0 && *judged != 0);
            meaning(judged.unwrap_or(status), state.has_limit).to_owned()
        }),
        (_, Some(error)) => error.clone(),
        _ => String::new(),
    };
    match &state.remark {
        Some(remark) => format!("{known}; {remark}"),
        None => known,
    }
}

/// The line of a change.
pub fn line(row: &Row) -> String {
    let result = result(&row.state);
    let separator = if result.is_empty() { "" } else { ": " };
    format!("{}: {}{separator}{result}", row.name, row.state.step.name())
}

/// How many hosts are in which state.
pub fn summary(rows: &[Row]) -> String {
    let count = |is: fn(Step) -> bool| rows.iter().filter(|row| is(row.state.step)).count();
    let parts = [
        (count(|step| step == Step::Done), "done"),
        (count(|step| step == Step::Failed), "failed"),
        (count(|step| !matches!(step, Step::Done | Step::Failed | Step::Waiting)), "at work"),
        (count(|step| step == Step::Waiting), "waiting"),
    ];
    let shown: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    format!("{}: {}", counted(rows.len() as u64, "host", "hosts"), shown.join(", "))
}

/// The table, at most `height` lines of at most `width` characters: first the hosts at work, then those that failed, then the
/// others. The last line is the summary.
pub fn table(rows: &[Row], width: usize, height: usize) -> Vec<String> {
    let rank = |row: &Row| match row.state.step {
        Step::Failed => 1,
        Step::Done => 2,
        Step::Waiting => 3,
        _ => 0,
    };
    let mut ordered: Vec<&Row> = rows.iter().collect();
    let room = height.saturating_sub(2);
    if ordered.len() > room {
        ordered.sort_by_key(|row| rank(row));
        ordered.truncate(room);
    }
    let names = ordered.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max("host".len());
    let shown = |name: &str, step: &str, since: &str, result: &str| {
        short(format!("{name:names$}  {step:9}  {since:>8}  {result}").trim_end(), width)
    };
    let mut lines = vec![shown("host", "step", "since", "result")];
    lines.extend(ordered.iter().map(|row| {
        let since = row.since.map_or_else(String::new, |since| {
            rounded(since.as_nanos() as u64 / 1_000_000_000 * 1_000_000_000)
        });
        shown(&row.name, row.state.step.name(), &since, &result(&row.state))
    }));
    lines.push(short(&summary(rows), width));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, step: Step) -> Row {
        let state = HostState { step, ..HostState::default() };
        Row { name: name.to_owned(), state, since: Some(Duration::from_millis(72_500)) }
    }

    #[test]
    fn the_table_has_a_line_for_each_host() {
        let mut done = row("a", Step::Done);
        done.state.exit_status = Some(3);
        let mut failed = row("board-2", Step::Failed);
        failed.state.error = Some("no answer".to_owned());
        let rows = [done, failed, row("c", Step::Measuring)];
        let lines = table(&rows, 60, 20);
        assert_eq!(
            lines,
            [
                "host     step          since  result",
                "a        done          1m12s  limit exceeded",
                "board-2  failed        1m12s  no answer",
                "c        measuring     1m12s",
                "3 hosts: 1 done, 1 failed, 1 at work",
            ]
        );
        assert_eq!(line(&rows[1]), "board-2: failed: no answer");
        assert_eq!(line(&rows[2]), "c: measuring");
    }

    #[test]
    fn a_small_terminal_shows_the_hosts_at_work_first() {
        let mut rows: Vec<Row> = (0..50).map(|n| row(&format!("done{n}"), Step::Done)).collect();
        rows.push(row("busy", Step::Copying));
        let lines = table(&rows, 20, 5);
        assert_eq!(lines.len(), 5);
        assert!(lines[1].starts_with("busy"), "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
    }

    #[test]
    fn a_run_file_that_contradicts_its_host_counts() {
        let mut state =
            HostState { step: Step::Done, exit_status: Some(0), judged: Some(5), ..HostState::default() };
        assert_eq!(result(&state), "invalid");
        (state.judged, state.has_limit) = (Some(0), Some(true));
        assert_eq!(result(&state), "limit met");
        state.has_limit = Some(false);
        assert_eq!(result(&state), "no limit", "nothing was met");
        state.exit_status = Some(3);
        assert_eq!(result(&state), "limit exceeded", "a requirement of the command");
    }
}
