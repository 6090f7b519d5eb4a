//! How a load that is another program is started, and how this is shown to the user.
//!
//! Only `cmd:` is a line for the shell. stress-ng, hackbench and iperf3 are started without one: their arguments are words.

use std::fmt;

use tardy_record::load_spec::{LoadSpec, LoadTask, is_iperf3_server};

/// What runs the line of a `cmd:`.
pub(super) const SHELL: &str = "/bin/sh";

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) program: &'static str,
    pub(super) arguments: Vec<String>,
    /// Whether it is started again when it ends without an error: a tool that reports only at its end.
    pub(super) repeats: bool,
}

impl Invocation {
    /// The program of a task; `None` for a task that tardy itself performs.
    pub(super) fn of(task: &LoadTask) -> Option<Self> {
        let with = |program, arguments: &[String], own: &[&str], repeats| {
            let own = own.iter().map(|word| (*word).to_owned());
            Some(Self { program, arguments: arguments.iter().cloned().chain(own).collect(), repeats })
        };
        match task {
            LoadTask::StressNg { arguments } => {
                with("stress-ng", arguments, &["--metrics", "--timeout", "2s"], true)
            }
            LoadTask::Hackbench { arguments } => {
                let default = ["-g", "1", "-l", "1000"];
                with("hackbench", arguments, if arguments.is_empty() { &default } else { &[] }, true)
            }
            LoadTask::Iperf3 { arguments } => {
                let endless = if is_iperf3_server(arguments) { &[][..] } else { &["--time", "0"] };
                with("iperf3", arguments, &[endless, &["--interval", "1", "--forceflush"]].concat(), false)
            }
            LoadTask::Command { line } => with(SHELL, &["-c".to_owned(), line.clone()], &[], false),
            _ => None,
        }
    }
}

impl fmt::Display for Invocation {
    /// As a line that a shell would run in the same way.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program)?;
        self.arguments.iter().try_for_each(|word| write!(f, " {}", quoted(word)))
    }
}

/// The commands that a load runs, one line each: a program and its arguments, quoted for a shell.
pub fn commands(load: &LoadSpec) -> Vec<String> {
    load.tasks().iter().filter_map(Invocation::of).map(|invocation| invocation.to_string()).collect()
}

/// A word, in quotes unless the shell would take it as it is.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(load: &str) -> Vec<String> {
        commands(&load.parse().unwrap())
    }

    #[test]
    fn only_a_command_is_run_by_a_shell() {
        assert_eq!(lines("cmd:ping -f a; ls"), ["/bin/sh -c 'ping -f a; ls'"]);
        assert_eq!(lines("stress-ng:--cpu 2; rm x"), ["stress-ng --cpu '2;' rm x --metrics --timeout 2s"]);
        assert_eq!(lines("hackbench"), ["hackbench -g 1 -l 1000"]);
        assert_eq!(lines("hackbench:-g '$(id)'"), ["hackbench -g '$(id)'"]);
        assert_eq!(lines("doload"), Vec::<String>::new());
    }

    #[test]
    fn an_iperf3_server_gets_no_duration() {
        assert_eq!(lines("iperf3:-s"), ["iperf3 -s --interval 1 --forceflush"]);
        assert_eq!(lines("iperf3:-c host"), ["iperf3 -c host --time 0 --interval 1 --forceflush"]);
    }
}
