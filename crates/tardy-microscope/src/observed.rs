//! What the observer in the emulator wrote down.
//!
//! The file is a list of records in little-endian numbers; each begins with a byte that says what it is (`enum` before `put()` in
//! emulator/observer/tardy_observer.c):
//!
//! - 1, a reading: process id (4 bytes), when the timer was due (8), how late the clock was read (8); in ns of the monotonic clock.
//! - 2, a block of instructions: its address (8), the number of its instructions (4), their length together (4), the length of each
//!   (1), their bytes. Blocks are numbered in the order in which they come.
//! - 3, a wake-up: its task (address 8, process id 4, name 16), due and lateness as in a reading, the lag (4), the number of blocks (4) and their
//!   numbers (4 each), the number of switches (4), and for each before which block it was (4) and from which task.
//! - 4, sums: blocks and instructions executed, blocks that do not follow from the one before, timers that woke a task, readings,
//!   threads that there was no room for (8 each).

use thiserror::Error;

use crate::block::Block;
use crate::little_endian::number;

/// All that was observed in one guest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Every wake-up of an observed thread.
    pub readings: Vec<Reading>,
    /// The blocks that the wake-ups consist of.
    pub blocks: Vec<Block>,
    /// The wake-ups that were kept whole.
    pub wakeups: Vec<Wakeup>,
    /// The sums.
    pub sums: Sums,
}

/// One wake-up of a thread by a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The thread's process id.
    pub pid: u32,
    /// When the timer was due, by the monotonic clock in ns.
    pub due_ns: u64,
    /// How much later the thread read the clock, in ns; below 0 if the timer fired early.
    pub late_ns: i64,
}

/// A wake-up with the blocks that were executed before and during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The thread that was woken.
    pub task: Task,
    /// When the timer was due and how late the thread read the clock.
    pub reading: Reading,
    /// Instructions between the reading of the clock from which the kernel computed the timer's distance, and the write to the
    /// timer: it fires that much later than it is due.
    pub lag: u64,
    /// Numbers of blocks, in the order of execution. The last ends with the reading of the clock.
    pub blocks: Vec<u32>,
    /// Where tasks were switched.
    pub switches: Vec<Switch>,
}

/// A task of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Its address in the guest's kernel, which tells tasks apart.
    pub address: u64,
    /// Its process id.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

/// A switch from one task to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The index of the block that begins it, in the wake-up's list.
    pub index: usize,
    /// The task that was left.
    pub from: Task,
}

/// Sums over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Blocks executed.
    pub blocks: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Blocks that do not follow from the one before: the observer lost track there.
    pub strange: u64,
    /// Timers that woke a task.
    pub timers: u64,
    /// Wake-ups of observed threads.
    pub readings: u64,
    /// Wake-ups of threads for which there was no room.
    pub lost: u64,
}

/// Why an observer's file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadFile {
    /// It ends within a record.
    #[error("the observer's file ends early, at byte {0}")]
    Short(usize),
    /// A record that this version does not know, or numbers that contradict each other.
    #[error("the observer's file is damaged at byte {0}")]
    Damaged(usize),
}

impl Observed {
    /// Reads the file. Does not panic on any bytes.
    ///
    /// # Errors
    /// If it is cut or damaged.
    pub fn of(bytes: &[u8]) -> Result<Self, BadFile> {
        let mut reader = Reader { bytes, at: 0 };
        let mut observed = Self::default();
        let mut has_ended = false;
        while reader.at < bytes.len() {
            let start = reader.at;
            if has_ended {
                return Err(BadFile::Damaged(start));
            }
            match reader.number(1)? {
                1 => observed.readings.push(reader.reading()?),
                2 => observed.blocks.push(reader.block()?),
                3 => observed.wakeups.push(reader.wakeup()?),
                4 => {
                    observed.sums = reader.sums()?;
                    has_ended = true;
                }
                _ => return Err(BadFile::Damaged(start)),
            }
        }
        let known =
            |wakeup: &Wakeup| wakeup.blocks.iter().all(|block| (*block as usize) < observed.blocks.len());
        match (has_ended, observed.wakeups.iter().all(known)) {
            (true, true) => Ok(observed),
            (true, false) => Err(BadFile::Damaged(bytes.len())),
            (false, _) => Err(BadFile::Short(bytes.len())),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], BadFile> {
        let end = self.at.checked_add(length).ok_or(BadFile::Damaged(self.at))?;
        let taken = self.bytes.get(self.at..end).ok_or(BadFile::Short(self.bytes.len()))?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, length: usize) -> Result<u64, BadFile> {
        Ok(number(self.take(length)?))
    }

    fn reading_of(&mut self, pid: u32) -> Result<Reading, BadFile> {
        Ok(Reading { pid, due_ns: self.number(8)?, late_ns: self.number(8)? as i64 })
    }

    fn reading(&mut self) -> Result<Reading, BadFile> {
        let pid = self.number(4)? as u32;
        self.reading_of(pid)
    }

    fn block(&mut self) -> Result<Block, BadFile> {
        let begin = self.at;
        let start = self.number(8)?;
        let (count, length) = (self.number(4)? as usize, self.number(4)? as usize);
        let (sizes, bytes) = (self.take(count)?, self.take(length)?);
        let together: usize = sizes.iter().map(|size| usize::from(*size)).sum();
        if count == 0 || together != length {
            return Err(BadFile::Damaged(begin));
        }
        Ok(Block::of(start, sizes, bytes))
    }

    fn task(&mut self) -> Result<Task, BadFile> {
        let (address, pid, name) = (self.number(8)?, self.number(4)? as u32, self.take(16)?);
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(Task { address, pid, name: String::from_utf8_lossy(&name[..length]).into_owned() })
    }

    fn wakeup(&mut self) -> Result<Wakeup, BadFile> {
        let task = self.task()?;
        let reading = self.reading_of(task.pid)?;
        let (lag, count) = (self.number(4)?, self.number(4)? as usize);
        let blocks: Vec<u32> =
            self.take(count.saturating_mul(4))?.chunks_exact(4).map(|four| number(four) as u32).collect();
        let mut switches = Vec::new();
        for _ in 0..self.number(4)? {
            let begin = self.at;
            let index = self.number(4)? as usize;
            if index >= blocks.len() {
                return Err(BadFile::Damaged(begin));
            }
            switches.push(Switch { index, from: self.task()? });
        }
        Ok(Wakeup { task, reading, lag, blocks, switches })
    }

    fn sums(&mut self) -> Result<Sums, BadFile> {
        Ok(Sums {
            blocks: self.number(8)?,
            instructions: self.number(8)?,
            strange: self.number(8)?,
            timers: self.number(8)?,
            readings: self.number(8)?,
            lost: self.number(8)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> Vec<u8> {
        let mut file = vec![1];
        file.extend(7_u32.to_le_bytes());
        file.extend(1_000_u64.to_le_bytes());
        file.extend((-5_i64).to_le_bytes());
        // nop, ret
        file.push(2);
        file.extend(0xffff_ffff_8100_0000_u64.to_le_bytes());
        file.extend([2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0x90, 0xc3]);
        file.push(3);
        let task = |file: &mut Vec<u8>, pid: u32, name: &[u8; 16]| {
            file.extend(0x8888_u64.to_le_bytes());
            file.extend(pid.to_le_bytes());
            file.extend(name);
        };
        task(&mut file, 7, b"timer0\0\0\0\0\0\0\0\0\0\0");
        file.extend(2_000_u64.to_le_bytes());
        file.extend(300_u64.to_le_bytes());
        file.extend([40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        task(&mut file, 0, b"swapper/0\0\0\0\0\0\0\0");
        file.push(4);
        (1..=6_u64).for_each(|sum| file.extend(sum.to_le_bytes()));
        file
    }

    #[test]
    fn each_record_is_read() {
        let observed = Observed::of(&file()).unwrap();
        assert_eq!(observed.readings, [Reading { pid: 7, due_ns: 1_000, late_ns: -5 }]);
        assert_eq!(observed.blocks[0].instructions, [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0001]);
        let wakeup = &observed.wakeups[0];
        assert_eq!((wakeup.task.name.as_str(), wakeup.reading.late_ns, wakeup.lag), ("timer0", 300, 40));
        assert_eq!((&wakeup.blocks[..], wakeup.switches[0].from.name.as_str()), (&[0][..], "swapper/0"));
        assert_eq!(observed.sums.lost, 6);
    }

    #[test]
    fn a_cut_file_is_refused() {
        let file = file();
        for length in 0..file.len() {
            assert!(Observed::of(&file[..length]).is_err(), "{length}");
        }
        assert!(matches!(Observed::of(&[&file[..], &[1]].concat()), Err(BadFile::Damaged(_))));
    }

    proptest! {
        #[test]
        fn damaged_files_do_not_panic(at in any::<prop::sample::Index>(), value: u8) {
            let mut file = file();
            let at = at.index(file.len());
            file[at] = value;
            drop(Observed::of(&file));
        }
    }
}
