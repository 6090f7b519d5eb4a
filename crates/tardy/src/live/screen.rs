//! Draws the live view on the controlling terminal, and reads keys from it.

use std::os::fd::RawFd;

use tardy_measure::engine::{Listener, LiveState, RunProgress, UserRequest};
use tardy_present::sections::headline::without_advice;
use tardy_sys::terminal::{Keys, Size, Terminal};

use tardy_command::charset::Charset;
use tardy_command::messages::Messages;
use tardy_command::output;

/// Switches to the alternate screen, hides the cursor, and lets long lines end at the margin.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Undoes [`ENTER`]. CAN ends an escape sequence that was written in part.
const LEAVE: &str = "\x18\x1b[?7h\x1b[?25h\x1b[?1049l";
/// The size of a terminal that does not report one.
const USUAL_SIZE: Size = Size { columns: 80, rows: 24 };
/// For how many frames, one per second, a message is shown.
const MESSAGE_FRAMES: u32 = 10;
/// The keys: Ctrl-C and Ctrl-Z remain signals.
const END: u8 = b'q';
const MARK: u8 = b'm';

/// The live view of a run. Dropping it restores the terminal.
#[derive(Debug)]
pub(crate) struct LiveView {
    /// `None` once the terminal has been closed.
    terminal: Option<Terminal>,
    charset: Charset,
    colour: bool,
    /// The part of the last frame that the terminal has not accepted yet.
    unsent: Vec<u8>,
    is_drawn: bool,
    rows: usize,
    /// Messages before the first frame.
    before: Messages,
    /// Messages since then, which are printed when the view has ended.
    messages: Vec<String>,
    /// For how many more frames the last message is shown.
    message_frames: u32,
}

impl LiveView {
    /// A view on the controlling terminal; `None` if standard error is not connected to it, or if the terminal has no cursor.
    pub(crate) fn open() -> Option<Self> {
        let charset = Charset::of_terminal();
        if charset.is_dumb() {
            return None;
        }
        let terminal = Terminal::open().ok()?;
        super::restore_terminal_on_panic();
        Some(Self {
            terminal: Some(terminal),
            charset,
            colour: std::env::var_os("NO_COLOR").is_none(),
            unsent: Vec::new(),
            is_drawn: false,
            rows: USUAL_SIZE.rows,
            before: Messages::on_standard_error(),
            messages: Vec::new(),
            message_frames: 0,
        })
    }

    /// Ends the view and prints the messages that arrived during it. Waits for a terminal that is stopped, as any output does.
    pub(crate) fn close(mut self) {
        if let Some(terminal) = self.terminal.take().filter(|_| self.is_drawn) {
            // A terminal that is closed accepts nothing; its settings are gone with it.
            let _ = terminal.wait_until_writable();
        }
        self.before.finish();
        self.messages.iter().for_each(|message| output::report(message));
    }

    fn draw(&mut self, state: &LiveState<'_>) {
        let Some(terminal) = self.terminal.as_ref().filter(|terminal| terminal.is_in_foreground()) else {
            return;
        };
        let Ok(is_new) = terminal.adopt(LEAVE) else {
            self.terminal = None;
            return;
        };
        if is_new {
            self.unsent = ENTER.as_bytes().to_vec();
        } else if !self.unsent.is_empty() {
            // The terminal is stopped or slow. Its frame is completed before the next one is drawn.
            self.send();
            if !self.unsent.is_empty() {
                return;
            }
        }
        self.is_drawn = true;
        let size = self.terminal.as_ref().and_then(Terminal::size).unwrap_or(USUAL_SIZE);
        self.rows = size.rows;
        let message = self.messages.last().filter(|_| self.message_frames > 0);
        self.message_frames = self.message_frames.saturating_sub(1);
        let lines = tardy_live::lines(state, size, message.map(String::as_str));
        let paint = |line: &tardy_live::Line| {
            line.iter()
                .map(|(text, style)| style.paint(&self.charset.encode(text), self.colour))
                .collect::<String>()
        };
        let text: Vec<String> = lines.iter().map(|line| paint(line) + "\x1b[K").collect();
        self.unsent.extend_from_slice(b"\x1b[H");
        self.unsent.extend_from_slice(text.join("\r\n").as_bytes());
        self.unsent.extend_from_slice(b"\x1b[J");
        self.send();
    }

    /// Writes what the terminal accepts at once.
    fn send(&mut self) {
        let Some(terminal) = &self.terminal else { return };
        match terminal.write(&self.unsent) {
            Ok(sent) => drop(self.unsent.drain(..sent)),
            Err(_) => self.terminal = None,
        }
    }

    fn request_of(key: u8) -> Option<UserRequest> {
        match key.to_ascii_lowercase() {
            END => Some(UserRequest::End),
            MARK => Some(UserRequest::Mark),
            _ => None,
        }
    }
}

impl Listener for LiveView {
    fn progress(&mut self, _now: &RunProgress<'_>) {}

    fn remark(&mut self, text: &str) {
        self.message(without_advice(text));
    }

    /// Shows the message above the keys at once, or on standard error before the first frame.
    fn message(&mut self, text: &str) {
        if !self.is_drawn {
            self.before.write(&(output::message_line(text) + "\n"));
            return;
        }
        self.messages.push(text.to_owned());
        self.message_frames = MESSAGE_FRAMES;
        let is_shown = self.terminal.as_ref().is_some_and(Terminal::is_in_foreground);
        if is_shown && self.unsent.is_empty() {
            let size = self.terminal.as_ref().and_then(Terminal::size).unwrap_or(USUAL_SIZE);
            let line = tardy_live::message(text, size.columns);
            let row = self.rows.saturating_sub(1).max(1);
            self.unsent = format!("\x1b[{row};1H{}\x1b[K", self.charset.encode(&line)).into_bytes();
            self.send();
        }
    }

    fn descriptors(&self) -> Vec<RawFd> {
        self.terminal.as_ref().map_or_else(Vec::new, Terminal::descriptors)
    }

    fn requests(&mut self) -> Vec<UserRequest> {
        let Some(terminal) = &self.terminal else { return Vec::new() };
        if terminal.is_closed() {
            self.terminal = None;
            return Vec::new();
        }
        if terminal.obey_stops() || !terminal.is_in_foreground() {
            self.unsent.clear();
            return Vec::new();
        }
        match terminal.keys() {
            Keys::Typed(keys) => keys.into_iter().filter_map(Self::request_of).collect(),
            Keys::Closed => {
                self.terminal = None;
                Vec::new()
            }
        }
    }

    fn wants_live(&self) -> bool {
        self.terminal.is_some()
    }

    fn live(&mut self, state: &LiveState<'_>) {
        self.before.send();
        self.draw(state);
    }
}
