//! The run file of a run in progress: the disk holds a complete, valid run at every moment.

use tardy_record::{Run, file};

use super::result_file::{ResultFile, ResultFileError};

const FIRST_INTERVAL_NS: u64 = 5_000_000_000;
const LONGEST_INTERVAL_NS: u64 = 60_000_000_000;

/// A run file that is rewritten at each checkpoint.
#[derive(Debug)]
pub(crate) struct RunFile {
    file: ResultFile,
    interval_ns: u64,
    due_ns: u64,
}

impl RunFile {
    /// The run file at a claimed path.
    pub(crate) fn at(file: ResultFile) -> Self {
        Self { file, interval_ns: FIRST_INTERVAL_NS, due_ns: FIRST_INTERVAL_NS }
    }

    /// Whether the next checkpoint is due, `now_ns` after the start of the run. The interval doubles from 5 s up to 60
    /// s, since writing loads the machine.
    pub(crate) fn is_due(&mut self, now_ns: u64) -> bool {
        if now_ns < self.due_ns {
            return false;
        }
        self.interval_ns = (self.interval_ns * 2).min(LONGEST_INTERVAL_NS);
        self.due_ns = now_ns + self.interval_ns;
        true
    }

    /// Replaces the run file by `run`. The previous content stays if this fails.
    pub(crate) fn write(&self, run: &Run) -> Result<(), ResultFileError> {
        self.file.write(file::to_text(run).as_bytes())
    }

    /// Removes the run file.
    pub(crate) fn remove(&self) {
        self.file.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_back_off_to_once_a_minute() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = RunFile::at(ResultFile::claim(&directory.path().join("a"), false).unwrap());
        let due: Vec<u64> = (0..300).filter(|second| file.is_due(second * 1_000_000_000)).collect();
        assert_eq!(due, [5, 15, 35, 75, 135, 195, 255]);
    }
}
