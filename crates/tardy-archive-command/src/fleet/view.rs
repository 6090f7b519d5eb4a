//! The table of a fleet while it works: redrawn on a terminal, otherwise a line for each change.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;

use tardy_fleet::state::Step;
use tardy_fleet::table::{self, Row};

use tardy_command::charset::Charset;
use tardy_command::messages::Messages;
use tardy_command::output;

/// The size of a terminal that does not report one.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// Shows a fleet on standard error.
pub(super) struct View {
    quiet: bool,
    terminal: bool,
    messages: Messages,
    /// The step and the error of each host that were shown last, and when the step began.
    known: BTreeMap<String, (Step, Option<String>, Instant)>,
    /// How many lines of the table are on the terminal.
    drawn: usize,
}

impl View {
    /// A view that shows nothing if `quiet`.
    pub(super) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !Charset::of_terminal().is_dumb();
        Self { quiet, terminal, messages: Messages::on_standard_error(), known: BTreeMap::new(), drawn: 0 }
    }

    /// Shows what has changed.
    pub(super) fn show(&mut self, mut rows: Vec<Row>) {
        let mut changed = Vec::new();
        for row in &mut rows {
            let now = (row.state.step, row.state.error.clone());
            let known = self.known.get(&row.name).filter(|known| known.0 == now.0 && known.1 == now.1);
            let since = known.map(|known| known.2);
            if since.is_none() {
                let is_first = !self.known.contains_key(&row.name) && now.0 == Step::Waiting;
                self.known.insert(row.name.clone(), (now.0, now.1, Instant::now()));
                if !is_first {
                    changed.push(table::line(row));
                }
            }
            row.since = Some(since.map_or_else(Default::default, |since| since.elapsed()));
        }
        if self.quiet {
            return;
        }
        if self.terminal {
            self.draw(&rows);
        } else {
            changed.iter().for_each(|line| self.messages.write(&(output::message_line(line) + "\n")));
        }
    }

    /// Shows the last changes and leaves the table for the result.
    pub(super) fn close(&mut self, rows: Vec<Row>) {
        self.messages.finish();
        self.show(rows);
        if self.terminal && !self.quiet {
            self.messages.finish();
            self.messages.write(&self.over());
        }
        self.messages.finish();
    }

    /// Draws the table over the one before, unless the terminal has not accepted that one yet.
    fn draw(&mut self, rows: &[Row]) {
        self.messages.send();
        if self.messages.is_waiting() {
            return;
        }
        let (width, height) = terminal_size::terminal_size_of(std::io::stderr())
            .map_or(USUAL_SIZE, |(width, height)| (usize::from(width.0), usize::from(height.0)));
        // A line of the whole width would move the cursor to the next.
        let lines = table::table(rows, width.saturating_sub(1), height.saturating_sub(1));
        let charset = Charset::of_terminal();
        let mut text = self.over();
        for line in &lines {
            text += &format!("{}\x1b[K\n", charset.encode(line));
        }
        self.drawn = lines.len();
        self.messages.write(&text);
    }

    /// What moves the cursor to the table's first line and removes the table.
    fn over(&self) -> String {
        match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A\r\x1b[J"),
        }
    }
}
