//! Standard error during a run: text that is not accepted at once is kept, because the supervisor must not wait for a reader.

use tardy_sys::terminal::StandardError;

/// Writes to standard error without waiting.
#[derive(Debug)]
pub struct Messages {
    error: StandardError,
    unsent: Vec<u8>,
}

impl Messages {
    /// Without any text yet.
    pub fn on_standard_error() -> Self {
        Self { error: StandardError::new(), unsent: Vec::new() }
    }

    /// Writes `text` now, or later if the reader does not accept it.
    pub fn write(&mut self, text: &str) {
        self.unsent.extend_from_slice(text.as_bytes());
        self.send();
    }

    /// Whether text waits for the reader.
    pub fn is_waiting(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Writes the text that waits, as far as it is accepted. A closed standard error is not a failure.
    pub fn send(&mut self) {
        while !self.unsent.is_empty() {
            match self.error.write(&self.unsent) {
                Ok(0) => return,
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(_) => self.unsent.clear(),
            }
        }
    }

    /// Writes the text that waits, and waits for its reader: after the run.
    pub fn finish(&mut self) {
        while self.is_waiting() {
            if self.error.wait_until_writable().is_err() {
                return;
            }
            self.send();
        }
    }
}
