//! Progress on standard error: one line that is updated, or one line per minute if it is not a terminal.

use std::io::IsTerminal;

use tardy_measure::engine::{Listener, RunProgress};
use tardy_present::sections::headline::without_advice;

use tardy_command::messages::Messages;
use tardy_command::output;

/// Number of progress reports per line, if standard error is not a terminal.
const REPORTS_A_LINE: u64 = 60;

/// Prints the progress of a run. It never waits for the reader of standard error.
pub(crate) struct Progress {
    quiet: bool,
    terminal: bool,
    line_is_open: bool,
    has_summary: bool,
    reports: u64,
    messages: Messages,
}

impl Progress {
    /// Progress on standard error, or none if `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            terminal: std::io::stderr().is_terminal(),
            line_is_open: false,
            has_summary: false,
            reports: 0,
            messages: Messages::on_standard_error(),
        }
    }

    /// Progress before a summary, which has the advice of remarks.
    pub(crate) fn before_summary(self) -> Self {
        Self { has_summary: true, ..self }
    }

    /// Ends an unfinished line and prints what standard error has not accepted so far, so that other output can follow.
    pub(crate) fn close(mut self) {
        self.close_line();
        self.messages.finish();
    }

    fn close_line(&mut self) {
        if std::mem::take(&mut self.line_is_open) {
            self.messages.write("\n");
        }
    }
}

impl Listener for Progress {
    fn progress(&mut self, now: &RunProgress<'_>) {
        self.reports += 1;
        self.messages.send();
        let is_due = self.terminal || self.reports.is_multiple_of(REPORTS_A_LINE);
        if self.quiet || !is_due || self.messages.is_waiting() {
            return;
        }
        if self.terminal {
            self.messages.write(&format!("\r\x1b[K{now}"));
            self.line_is_open = true;
        } else {
            self.messages.write(&format!("{now}\n"));
        }
    }

    fn remark(&mut self, text: &str) {
        self.message(if self.has_summary { without_advice(text) } else { text });
    }

    fn message(&mut self, text: &str) {
        self.close_line();
        self.messages.write(&(output::message_line(text) + "\n"));
    }
}
