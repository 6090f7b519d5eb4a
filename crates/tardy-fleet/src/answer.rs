//! The answers of a host: lines `tardy-fleet:KEY=VALUE` among anything that its shell prints.

use tardy_plot::numbers::{harmless, short, short_inside};

use crate::script::{MARK, NO_STATUS};

/// The most bytes of an answer.
pub const ANSWER_MAX: u64 = 64 * 1024;
/// The most characters of a value of a host that are shown.
const SHOWN_MAX: usize = 200;
/// The most characters of the end of a log that are shown: tardy's last message states where the run is.
const LOG_SHOWN_MAX: usize = 500;

/// The marked lines of an answer.
#[derive(Debug)]
pub struct Answer(Vec<(String, String)>);

impl Answer {
    /// Reads an answer. Bytes that are not UTF-8 are replaced.
    pub fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let marked = text.lines().filter_map(|line| line.strip_prefix(MARK)?.split_once('='));
        Self(marked.map(|(key, value)| (key.to_owned(), value.trim().to_owned())).collect())
    }

    /// The first value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    /// The value of `key` as a number. `None` if it is not one.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    /// The value of `key` as it may be shown.
    pub fn shown(&self, key: &str) -> String {
        shown(self.get(key).unwrap_or_default())
    }

    /// All values of `key`.
    pub fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// Whether the program with this SHA-256 is on the host, under its name: lines of sha256sum(1).
    pub fn has_program(&self, sha256: &str) -> bool {
        self.all("program").any(|line| {
            line.split_once(' ').is_some_and(|(digest, path)| {
                digest == sha256 && path.trim_start().ends_with(&format!("/tardy-{sha256}"))
            })
        })
    }
}

/// Text of a host as it may be shown: one line without control characters, and not long.
pub fn shown(text: &str) -> String {
    short(&one_line(text), SHOWN_MAX)
}

fn one_line(text: &str) -> String {
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The end of a log as it may be shown: its last two lines, without control characters.
pub fn shown_log(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(2);
    short_inside(&one_line(&lines[last..].join(" ")), LOG_SHOWN_MAX)
}

/// What a host reports about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It is not there, or was not started.
    NotStarted,
    /// It runs.
    Running,
    /// It has ended with this exit status.
    Ended(u8),
    /// The host has started again since the run began.
    Rebooted,
    /// Its process is gone, and left no status. With the free space in KiB, if the host reports it.
    Vanished(Option<u64>),
}

impl RunState {
    /// Reads the answer of [`crate::script::poll`]. `None` if it is not one.
    pub fn of(answer: &Answer) -> Option<Self> {
        match answer.get("run")? {
            "absent" | "prepared" => return Some(Self::NotStarted),
            "started" => {}
            _ => return None,
        }
        let status = answer.get("status")?;
        if let Some(status) = status.parse().ok().filter(|_| status.len() == NO_STATUS.len()) {
            return Some(Self::Ended(status));
        }
        if answer.get("boot")? != answer.get("began")? {
            return Some(Self::Rebooted);
        }
        Some(match answer.get("alive")? {
            "yes" => Self::Running,
            _ => Self::Vanished(answer.number("free")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> Option<RunState> {
        RunState::of(&Answer::of(text.as_bytes()))
    }

    #[test]
    fn only_marked_lines_are_an_answer() {
        let answer =
            Answer::of(b"Welcome!\nmachine=vax\ntardy-fleet:machine= aarch64 \n\xff\ntardy-fleet:free=x\n");
        assert_eq!((answer.get("machine"), answer.number("free")), (Some("aarch64"), None));
        assert_eq!(answer.get("boot"), None);
    }

    #[test]
    fn a_program_counts_under_its_name_only() {
        let sha256 = "ab".repeat(32);
        let line = |path: &str| Answer::of(format!("tardy-fleet:program={sha256}  {path}\n").as_bytes());
        assert!(line(&format!("/var/tmp/tardy-fleet-0/tardy-{sha256}")).has_program(&sha256));
        assert!(!line("/var/tmp/tardy-fleet-0/tardy-other").has_program(&sha256));
        assert!(!line(&format!("/x/tardy-{sha256}")).has_program(&"cd".repeat(32)));
    }

    #[test]
    fn text_of_a_host_controls_no_terminal_and_is_bounded() {
        assert_eq!(shown("a\x1b[2Jb\r\nc"), "a\u{fffd}[2Jb c");
        assert_eq!(shown(&"x".repeat(100_000)).chars().count(), SHOWN_MAX);
        assert_eq!(shown_log("one\ntwo\n\nthree\nfour\n"), "three four");
    }

    #[test]
    fn the_state_of_a_run_follows_from_status_boot_and_process() {
        let answer = |status: &str, boot: &str, alive: &str| {
            format!(
                "tardy-fleet:boot={boot}\ntardy-fleet:alive={alive}\ntardy-fleet:status={status}\n\
                 tardy-fleet:began=A\ntardy-fleet:free=0\ntardy-fleet:run=started\n"
            )
        };
        assert_eq!(state(&answer("---", "A", "yes")), Some(RunState::Running));
        assert_eq!(state(&answer("003", "A", "no")), Some(RunState::Ended(3)));
        assert_eq!(state(&answer("003", "B", "no")), Some(RunState::Ended(3)), "it ended before the boot");
        assert_eq!(
            state(&answer("---", "B", "yes")),
            Some(RunState::Rebooted),
            "another process has its number"
        );
        assert_eq!(state(&answer("---", "A", "no")), Some(RunState::Vanished(Some(0))));
        assert_eq!(state(&answer("", "A", "no")), Some(RunState::Vanished(Some(0))));
        assert_eq!(state("tardy-fleet:run=absent"), Some(RunState::NotStarted));
        assert_eq!(state("tardy-fleet:run=prepared"), Some(RunState::NotStarted));
        assert_eq!(state("tardy-fleet:run=maybe"), None);
        assert_eq!(state("tardy-fleet:run=started\n"), None);
    }
}
