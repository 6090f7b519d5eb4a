//! The log of tardy's GPIO chip for the lab (`kernel/pins/tardy_pins.c`): the edges as an oscilloscope would show them.

use std::fs::File;
use std::io::{self, Read};

/// The log's device.
const PATH: &str = "/dev/tardy_pins";
/// Bytes of a record.
const RECORD_BYTES: usize = 32;
/// The number of records that are read at once.
const RECORDS: usize = 256;

/// The name that the driver gives its chip.
pub const CHIP_LABEL: &str = "tardy-pins";

/// One rise of line 0. Times are on CLOCK_MONOTONIC, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rise {
    /// Its number, from 0 when the log was opened; rises with missing numbers were lost.
    pub number: u64,
    /// When the timer was programmed to raise the line.
    pub due_ns: u64,
    /// When the timer's function raised the line.
    pub raised_ns: u64,
    /// When line 1 was raised next; `None` if line 0 was raised again before.
    pub answered_ns: Option<u64>,
}

/// The open log. Opening it drops earlier records.
#[derive(Debug)]
pub struct PinsLog(File);

impl PinsLog {
    /// Opens the log.
    ///
    /// # Errors
    /// If the module is not loaded, or without permission.
    pub fn open() -> io::Result<Self> {
        File::open(PATH)
            .map(Self)
            .map_err(|error| io::Error::new(error.kind(), format!("{PATH} cannot be opened: {error}")))
    }

    /// Reads the new records, oldest first, without waiting.
    ///
    /// # Errors
    /// The kernel's.
    pub fn take(&mut self, mut each: impl FnMut(Rise)) -> io::Result<()> {
        let mut buffer = [0; RECORD_BYTES * RECORDS];
        loop {
            let bytes = self.0.read(&mut buffer)?;
            buffer[..bytes].chunks_exact(RECORD_BYTES).for_each(|record| each(rise(record)));
            if bytes < buffer.len() {
                return Ok(());
            }
        }
    }
}

fn rise(record: &[u8]) -> Rise {
    let word = |index: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&record[index * 8..][..8]);
        u64::from_ne_bytes(bytes)
    };
    Rise {
        number: word(0),
        due_ns: word(1),
        raised_ns: word(2),
        answered_ns: Some(word(3)).filter(|ns| *ns > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_words_are_a_rise() {
        let record = |answered: u64| [7u64, 100, 130, answered].map(u64::to_ne_bytes).concat();
        let told = Rise { number: 7, due_ns: 100, raised_ns: 130, answered_ns: Some(190) };
        assert_eq!(rise(&record(190)), told);
        assert_eq!(rise(&record(0)), Rise { answered_ns: None, ..told });
    }
}
