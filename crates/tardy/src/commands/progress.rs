//! Progress on standard error: one line that is updated, or one line per minute if it is not a terminal.

use std::io::{IsTerminal, Write};

use tardy_measure::engine::{Listener, RunProgress};

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
        let line = now.to_string();
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
