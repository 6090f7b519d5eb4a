//! Suggestions for mistyped options and commands.

use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// The error with a suggestion only where one is similar to what was typed: clap suggests `--report` for `--ports`, `restore` for
/// `measure`, and no command for `rnu`.
pub fn with_similar_suggestion(error: Error) -> Error {
    with_similar_command(without_far_option(error))
}

fn without_far_option(mut error: Error) -> Error {
    let typed = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) => typed.clone(),
        _ => return error,
    };
    let suggested = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(suggested)) => suggested.clone(),
        _ => return error,
    };
    if !is_similar(&typed, &suggested) {
        error.remove(ContextKind::SuggestedArg);
        // The usage line is that of the suggested option.
        error.remove(ContextKind::Usage);
    }
    error
}

fn with_similar_command(mut error: Error) -> Error {
    let typed = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) => typed.clone(),
        _ => return error,
    };
    let similar: Vec<String> =
        command_paths(&super::command("")).into_iter().filter(|name| is_similar(&typed, name)).collect();
    error.remove(ContextKind::SuggestedSubcommand);
    if !similar.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(similar));
    }
    error
}

/// The names of the commands at the top, as `run`, and of those below, as `lab run`.
fn command_paths(command: &Command) -> Vec<String> {
    let visible = |command: &Command| -> Vec<Command> {
        command.get_subcommands().filter(|one| !one.is_hide_set()).cloned().collect()
    };
    let mut paths = Vec::new();
    for one in visible(command) {
        paths.push(one.get_name().to_owned());
        paths.extend(visible(&one).iter().map(|below| format!("{} {}", one.get_name(), below.get_name())));
    }
    paths
}

/// Whether one of two options can be a typing error for the other: at most one in three letters differs, or one begins the other.
fn is_similar(typed: &str, suggested: &str) -> bool {
    let [typed, suggested] = [typed, suggested].map(|one| one.trim_start_matches('-'));
    let [a, b]: [Vec<char>; 2] = [typed, suggested].map(|one| one.chars().collect());
    suggested.starts_with(typed)
        || typed.starts_with(suggested)
        || distance(&a, &b) <= a.len().min(b.len()) / 3
}

/// The number of letters to insert, remove, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command;

    #[test]
    fn only_similar_options_are_suggested() {
        let suggestion = |arguments: &[&str]| {
            let error = command("").try_get_matches_from(["tardy"].iter().chain(arguments)).unwrap_err();
            with_similar_suggestion(error).to_string()
        };
        let unknown = suggestion(&["run", "--ports", "2"]);
        assert!(unknown.contains("'--ports'") && !unknown.contains("--report"), "{unknown}");
        let unknown = suggestion(&["tsn", "simulate", "--report"]);
        assert!(unknown.contains("'--report'") && !unknown.contains("--ports"), "{unknown}");
        assert!(suggestion(&["run", "--reprot"]).contains("'--report'"));
        assert!(suggestion(&["run", "--durations", "1s"]).contains("'--duration'"));
        assert!(suggestion(&["run", "--interal", "1ms"]).contains("'--interval'"));
    }

    #[test]
    fn similar_commands_are_suggested() {
        let suggestion = |arguments: &[&str]| {
            let error = command("").try_get_matches_from(["tardy"].iter().chain(arguments)).unwrap_err();
            with_similar_suggestion(error).to_string()
        };
        assert!(suggestion(&["rnu"]).contains("'run'"));
        assert!(suggestion(&["reprot"]).contains("'report'"));
        let far = suggestion(&["measure"]);
        assert!(!far.contains("similar"), "{far}");
    }
}
