//! Progress on standard error: one line that is updated, or one line per minute if it is not a terminal.

use std::io::{IsTerminal, Write};

use tardy_measure::engine::{Listener, RunProgress};
use tardy_record::units::format_duration_ns;

use super::output;

/// Number of progress reports per line, if standard error is not a terminal.
const REPORTS_A_LINE: u64 = 60;

/// Prints the progress of a run.
pub(crate) struct Progress {
    quiet: bool,
    terminal: bool,
    line_is_open: bool,
    reports: u64,
}

impl Progress {
    /// Progress on standard error, or none if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, terminal: std::io::stderr().is_terminal(), line_is_open: false, reports: 0 }
    }

    /// Ends an unfinished line, so that other output starts on a new line.
    pub(crate) fn close_line(&mut self) {
        if std::mem::take(&mut self.line_is_open) {
            output::print_line("");
        }
    }
}

impl Listener for Progress {
    fn progress(&mut self, now: &RunProgress<'_>) {
        self.reports += 1;
        if self.quiet || (!self.terminal && !self.reports.is_multiple_of(REPORTS_A_LINE)) {
            return;
        }
        let line = line(now);
        if self.terminal {
            let mut error = std::io::stderr().lock();
            let _ = write!(error, "\r\x1b[K{line}").and_then(|()| error.flush());
            self.line_is_open = true;
        } else {
            output::print_line(&line);
        }
    }

    fn message(&mut self, text: &str) {
        self.close_line();
        output::report(text);
    }
}

fn line(now: &RunProgress<'_>) -> String {
    let phase =
        if now.of > 1 { format!("{} ({} of {})  ", now.phase, now.number, now.of) } else { String::new() };
    let seconds = |ns: u64| format_duration_ns(ns / 1_000_000_000 * 1_000_000_000);
    let worst = now.worst.map_or_else(
        || "warming up".to_owned(),
        |(ns, cpu)| format!("worst so far {:.1} us on CPU {cpu}", ns as f64 / 1000.0),
    );
    let missed = if now.missed > 0 { format!(", {} missed", now.missed) } else { String::new() };
    format!("{phase}{} of {}  {worst}{missed}", seconds(now.counted_ns), seconds(now.planned_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_elapsed_time_and_the_worst_latency() {
        let now = RunProgress {
            phase: "nanosleep, round 2",
            number: 2,
            of: 3,
            counted_ns: 61_400_000_000,
            planned_ns: 120_000_000_000,
            worst: Some((41_260, 3)),
            missed: 7,
        };
        assert_eq!(
            line(&now),
            "nanosleep, round 2 (2 of 3)  1m1s of 2m  worst so far 41.3 us on CPU 3, 7 missed"
        );
    }
}
