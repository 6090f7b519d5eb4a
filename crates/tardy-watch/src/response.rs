//! What tardy does when something is late: it starts the user's command, or ends the run.

use std::os::fd::AsRawFd;
use std::path::Path;

use tardy_sys::clock::monotonic_ns;
use tardy_sys::signals::{EndSignals, wait_readable};

use crate::late_command::{LateCommand, Occasion};

/// How often a command is checked after the run has ended.
const POLL_NS: u64 = 50_000_000;

/// What the user chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The command line; `None`: no command.
    pub command: Option<String>,
    /// The least time between two starts of the command, in ns.
    pub distance_ns: u64,
    /// The longest time that the command may run, in ns.
    pub limit_ns: u64,
    /// Whether the run ends.
    pub stops: bool,
}

/// The response to late cycles.
#[derive(Debug)]
pub struct Response {
    command: Option<LateCommand>,
    distance_ns: u64,
    stops: bool,
    started_ns: Option<u64>,
    /// The latest since the last response, and how many there were.
    pending: Option<Occasion>,
    has_stopped: bool,
}

impl Response {
    /// The response that the user chose.
    pub fn new(choice: &Choice) -> Self {
        Self {
            command: choice.command.as_ref().map(|line| LateCommand::new(line, choice.limit_ns)),
            distance_ns: choice.distance_ns,
            stops: choice.stops,
            started_ns: None,
            pending: None,
            has_stopped: false,
        }
    }

    /// Notes what was late. The occasion's count is how many cycles it stands for.
    pub fn note(&mut self, occasion: Occasion) {
        self.pending = Some(match self.pending.take() {
            None => occasion,
            Some(known) => {
                let count = known.count + occasion.count;
                let later = if occasion.latency_ns > known.latency_ns { occasion } else { known };
                Occasion { count, ..later }
            }
        });
    }

    /// Whether [`Self::respond`] would do something at `now_ns`, so that the run file should be written before.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let has_passed = self.started_ns.is_none_or(|ns| now_ns.saturating_sub(ns) >= self.distance_ns);
        self.pending.is_some() && !self.has_stopped && has_passed && !self.is_running()
    }

    /// Responds to what was noted, if that is due. Returns messages for the user.
    pub fn respond(&mut self, run: &Path, now_ns: u64) -> Vec<String> {
        let Some(occasion) = self.pending.take() else { return Vec::new() };
        let occasion = Occasion { run: run.to_owned(), ..occasion };
        self.started_ns = Some(now_ns);
        self.has_stopped |= self.stops;
        let mut messages = vec![sentence(&occasion)];
        if let Some(command) = &mut self.command {
            messages.extend(command.start(&occasion, now_ns).err());
        }
        messages
    }

    /// Whether the run is to end.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Checks the command. Returns a message for the user if it failed.
    pub fn poll(&mut self, now_ns: u64) -> Option<String> {
        self.command.as_mut()?.poll(now_ns)
    }

    /// Waits for the command to end, at most until its time limit or a signal, and ends it then. Returns messages for the user.
    pub fn finish(mut self, signals: &EndSignals) -> Vec<String> {
        let mut messages = Vec::new();
        while self.is_running() && signals.take().is_none() {
            messages.extend(self.poll(monotonic_ns()));
            // A descriptor of the process would need Linux 5.3.
            let _ = wait_readable(&[signals.as_raw_fd()], POLL_NS);
        }
        messages
    }

    /// Whether the command runs.
    pub fn is_running(&self) -> bool {
        self.command.as_ref().is_some_and(LateCommand::is_running)
    }
}

fn sentence(occasion: &Occasion) -> String {
    let us = occasion.latency_ns as f64 / 1000.0;
    let cause = if occasion.cause.is_empty() { String::new() } else { format!(": {}", occasion.cause) };
    let more = match occasion.count {
        0 | 1 => String::new(),
        count => format!(" (the latest of {count} late wake-ups)"),
    };
    format!("{} woke up {us:.1} us late{more}{cause}", occasion.thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn response(command: Option<&str>, stops: bool) -> Response {
        Response::new(&Choice {
            command: command.map(str::to_owned),
            distance_ns: 60 * SECOND,
            limit_ns: 30 * SECOND,
            stops,
        })
    }

    fn late(latency_ns: i64) -> Occasion {
        Occasion { thread: "control".to_owned(), latency_ns, count: 1, ..Occasion::default() }
    }

    #[test]
    fn two_responses_are_at_least_the_distance_apart_and_the_latest_is_named() {
        let mut response = response(None, false);
        let run = Path::new("a");
        assert!(!response.is_due(0));
        response.note(late(5000));
        assert!(response.is_due(0));
        assert_eq!(response.respond(run, 0), ["control woke up 5.0 us late"]);
        response.note(late(7000));
        response.note(late(6000));
        assert!(!response.is_due(59 * SECOND));
        assert!(response.is_due(60 * SECOND));
        let text = response.respond(run, 60 * SECOND);
        assert_eq!(text, ["control woke up 7.0 us late (the latest of 2 late wake-ups)"]);
        assert!(!response.is_due(200 * SECOND), "nothing is pending");
    }

    #[test]
    fn a_running_command_delays_the_next_response() {
        let mut response = response(Some("sleep 1000"), false);
        response.note(late(5000));
        response.respond(Path::new("a"), 0);
        response.note(late(5000));
        assert!(response.is_running() && !response.is_due(100 * SECOND));
        let mut message = None;
        while response.is_running() {
            message = response.poll(100 * SECOND);
        }
        assert!(message.unwrap().contains("was ended after 30s") && response.is_due(100 * SECOND));
    }

    #[test]
    fn stopping_is_the_last_response() {
        let mut response = response(None, true);
        assert!(!response.has_stopped());
        response.note(late(5000));
        response.respond(Path::new("a"), 0);
        response.note(late(9000));
        assert!(response.has_stopped() && !response.is_due(1000 * SECOND));
    }
}
