//! What the observer in the emulator wrote down.
//!
//! The file is a list of records in little-endian numbers; each begins with a byte that says what it is (`enum` before `put()` in
//! emulator/observer/written.c):
//!
//! - 1, a reading: process id (4 bytes), when the timer was due (8), how late the clock was read (8), the lag (4), from which time the
//!   timer's distance was computed (8; 0 if that is not known), and how late the thread was switched to (8); in ns of the monotonic
//!   clock, but for the lag.
//! - 2, a block of instructions: its address (8), whether it was executed in the measured part (1), instructions of it that were
//!   executed before the first program (8), the number of its instructions (4), their length together (4), the length of each (1), their
//!   bytes. Blocks are numbered in the order in which they come.
//! - 3, a wake-up: its task (address 8, process id 4, name 16), what a reading has after the process id, the number of blocks (4) and
//!   their numbers (4 each), which of them begins the function that wakes it (4; beyond them if it is not among them), the number of
//!   switches (4), and for each before which block it was (4), from which task, and whether that one waited (1).
//! - 4, sums: blocks and instructions executed, blocks that do not follow from the one before, timers that woke a task, readings,
//!   threads that there was no room for, interrupts that came while they were off, executions of `popf`, changes of the preemption count that are
//!   not understood, sections that there was no room for (8 each).
//! - 5, sections that begin and end in the same blocks: kind (4 bits), context (4), the blocks in which they begin and end (28 each), their
//!   number, instructions together, of the longest, the time of the longest (8 each), and its task.
//! - 6, an interrupt: the address of its entry, how many came, and the shortest times in which 2 to 33 of them came (8 each).
//! - 7, lengths: a kind of section (1), and how many sections are in each of 320 buckets (8 each).
//! - 8, the end of a program's cycle: process id (4), when the timer was due (8), and how much later the thread began the call in which it
//!   waits again (8).
//! - 9, a whole cycle: what a wake-up has, but that its blocks go on to that call; how much later than the timer was due that call began (8);
//!   before which block the wake-up ended (4; beyond them if it is not among them), the number of times that the CPU slept (4), and for each
//!   before which block it woke (4) and how long it slept (8).

use tardy_record::census::SectionKind;
use thiserror::Error;

use crate::block::Block;
use crate::counted::{self, BUCKETS, Counted, DISTANCES, SectionsOfBlocks, Vector};
use crate::little_endian::number;
use crate::task::Task;

/// All that was observed in one guest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Every wake-up of an observed thread.
    pub readings: Vec<Reading>,
    /// The blocks that the wake-ups consist of.
    pub blocks: Vec<Block>,
    /// The wake-ups that were kept whole.
    pub wakeups: Vec<Wakeup>,
    /// The ends of all cycles of a program's threads.
    pub responses: Vec<Response>,
    /// The cycles that were kept whole.
    pub cycles: Vec<Cycle>,
    /// The sections with interrupts or preemption off, if they were counted.
    pub counted: Counted,
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
    /// Instructions between the reading of the clock from which the kernel computed the timer's distance, and the write to the
    /// timer: it fires that much later than it is due.
    pub lag: u64,
    /// That reading of the clock, in ns before the timer was due: 0 or less if the timer was set when it was due already. `None` if
    /// it is not known, since the CPU slept in between.
    pub ahead_ns: Option<i64>,
    /// How much later than the timer was due the last switch between tasks was, in ns; below 0 if the thread was running all the time.
    pub switched_ns: i64,
}

/// A wake-up with the blocks that were executed before and during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// The thread that was woken.
    pub task: Task,
    /// When the timer was due and how late the thread read the clock.
    pub reading: Reading,
    /// Numbers of blocks, in the order of execution. The last ends with the reading of the clock.
    pub blocks: Vec<u32>,
    /// Which of them begins `hrtimer_wakeup()` for this timer. Another timer's may follow before the thread runs. `None` if the record
    /// begins later.
    pub woken: Option<usize>,
    /// Where tasks were switched.
    pub switches: Vec<Switch>,
}

/// The end of a cycle of a program's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// The thread's process id.
    pub pid: u32,
    /// When the timer was due, by the monotonic clock in ns.
    pub due_ns: u64,
    /// How much later the thread began the system call in which it waited for its next cycle, in ns.
    pub took_ns: i64,
}

/// A cycle of a program's thread, with the blocks that were executed before and during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Its wake-up, but that its blocks go on to the end of the cycle.
    pub wakeup: Wakeup,
    /// Its end.
    pub took_ns: i64,
    /// The first block after the wake-up, in the list. `None` if the record begins later.
    pub returned: Option<usize>,
    /// Where the CPU slept.
    pub sleeps: Vec<Sleep>,
}

impl Cycle {
    /// Its wake-up alone.
    pub fn until_return(&self) -> Wakeup {
        let end = self.returned.unwrap_or(0);
        let Wakeup { task, reading, blocks, woken, switches } = &self.wakeup;
        Wakeup {
            task: task.clone(),
            reading: *reading,
            blocks: blocks[..end].to_vec(),
            woken: woken.filter(|index| *index < end),
            switches: switches.iter().filter(|switch| switch.index < end).cloned().collect(),
        }
    }
}

/// A time in which the CPU slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// The index of the first block after it.
    pub index: usize,
    /// How long, in ns.
    pub ns: u64,
}

/// A switch from one task to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The index of the block that begins it, in the wake-up's list.
    pub index: usize,
    /// The task that was left.
    pub from: Task,
    /// Whether it waits for something, and was not only preempted.
    pub is_blocked: bool,
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
    /// Interrupts that came although the observer took them to be off: it lost track.
    pub contradictions: u64,
    /// Executions of `popf` in the kernel, which can turn interrupts on without being seen.
    pub restored: u64,
    /// Changes of the preemption count by instructions that are not known.
    pub unplaced: u64,
    /// Sections for which there was no room.
    pub lost_sections: u64,
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
                5 => observed.counted.sections.push(reader.sections()?),
                6 => observed.counted.vectors.push(reader.vector()?),
                7 => observed.counted.lengths.push(reader.lengths()?),
                8 => observed.responses.push(reader.response()?),
                9 => observed.cycles.push(reader.cycle()?),
                4 => {
                    observed.sums = reader.sums()?;
                    has_ended = true;
                }
                _ => return Err(BadFile::Damaged(start)),
            }
        }
        let known = |block: &u32| (*block as usize) < observed.blocks.len();
        let of_cycles = observed.cycles.iter().map(|cycle| &cycle.wakeup);
        let has_blocks = observed.wakeups.iter().chain(of_cycles).all(|one| one.blocks.iter().all(known))
            && observed.counted.sections.iter().all(|one| known(&one.from) && known(&one.to));
        match (has_ended, has_blocks) {
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
        let due_ns = self.number(8)?;
        let (late_ns, lag) = (self.number(8)? as i64, self.number(4)?);
        let from_ns = self.number(8)?;
        Ok(Reading {
            pid,
            due_ns,
            late_ns,
            lag,
            ahead_ns: (from_ns > 0).then(|| due_ns.wrapping_sub(from_ns) as i64),
            switched_ns: self.number(8)? as i64,
        })
    }

    fn reading(&mut self) -> Result<Reading, BadFile> {
        let pid = self.number(4)? as u32;
        self.reading_of(pid)
    }

    fn block(&mut self) -> Result<Block, BadFile> {
        let begin = self.at;
        let (start, was_measured) = (self.number(8)?, self.number(1)? != 0);
        let in_boot = self.number(8)?;
        let (count, length) = (self.number(4)? as usize, self.number(4)? as usize);
        let (sizes, bytes) = (self.take(count)?, self.take(length)?);
        let together: usize = sizes.iter().map(|size| usize::from(*size)).sum();
        if count == 0 || together != length {
            return Err(BadFile::Damaged(begin));
        }
        Ok(Block { was_measured, in_boot, ..Block::of(start, sizes, bytes) })
    }

    fn task(&mut self) -> Result<Task, BadFile> {
        let (address, pid, name) = (self.number(8)?, self.number(4)? as u32, self.take(16)?);
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(Task { address, pid, name: String::from_utf8_lossy(&name[..length]).into_owned() })
    }

    fn wakeup(&mut self) -> Result<Wakeup, BadFile> {
        let task = self.task()?;
        let reading = self.reading_of(task.pid)?;
        let count = self.number(4)? as usize;
        let blocks: Vec<u32> =
            self.take(count.saturating_mul(4))?.chunks_exact(4).map(|four| number(four) as u32).collect();
        let woken = Some(self.number(4)? as usize).filter(|index| *index < blocks.len());
        let mut switches = Vec::new();
        for _ in 0..self.number(4)? {
            let begin = self.at;
            let index = self.number(4)? as usize;
            if index >= blocks.len() {
                return Err(BadFile::Damaged(begin));
            }
            switches.push(Switch { index, from: self.task()?, is_blocked: self.number(1)? != 0 });
        }
        Ok(Wakeup { task, reading, blocks, woken, switches })
    }

    fn response(&mut self) -> Result<Response, BadFile> {
        Ok(Response { pid: self.number(4)? as u32, due_ns: self.number(8)?, took_ns: self.number(8)? as i64 })
    }

    fn cycle(&mut self) -> Result<Cycle, BadFile> {
        let wakeup = self.wakeup()?;
        let took_ns = self.number(8)? as i64;
        let returned = Some(self.number(4)? as usize).filter(|index| *index <= wakeup.blocks.len());
        let mut sleeps = Vec::new();
        for _ in 0..self.number(4)? {
            let begin = self.at;
            let index = self.number(4)? as usize;
            if index >= wakeup.blocks.len() {
                return Err(BadFile::Damaged(begin));
            }
            sleeps.push(Sleep { index, ns: self.number(8)? });
        }
        Ok(Cycle { wakeup, took_ns, returned, sleeps })
    }

    fn sections(&mut self) -> Result<SectionsOfBlocks, BadFile> {
        let begin = self.at;
        let key = self.number(8)?;
        let block = |shift: u32| (key >> shift & 0xfff_ffff) as u32;
        Ok(SectionsOfBlocks {
            kind: counted::kind(key >> 60).ok_or(BadFile::Damaged(begin))?,
            context: counted::context(key >> 56 & 15).ok_or(BadFile::Damaged(begin))?,
            from: block(28),
            to: block(0),
            count: self.number(8)?,
            total: self.number(8)?,
            longest: self.number(8)?,
            longest_at_ns: self.number(8)?,
            task: self.task()?,
        })
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<u64>, BadFile> {
        Ok(self.take(8 * count)?.chunks_exact(8).map(number).collect())
    }

    fn vector(&mut self) -> Result<Vector, BadFile> {
        let (entry, count) = (self.number(8)?, self.number(8)?);
        let mut distances_ns = self.numbers(DISTANCES)?;
        // The highest number stands for more interrupts than came.
        distances_ns.retain(|distance| *distance != u64::MAX);
        Ok(Vector { entry, count, distances_ns })
    }

    fn lengths(&mut self) -> Result<(SectionKind, Vec<u64>), BadFile> {
        let begin = self.at;
        let kind = counted::kind(self.number(1)?).ok_or(BadFile::Damaged(begin))?;
        Ok((kind, self.numbers(BUCKETS)?))
    }

    fn sums(&mut self) -> Result<Sums, BadFile> {
        Ok(Sums {
            blocks: self.number(8)?,
            instructions: self.number(8)?,
            strange: self.number(8)?,
            timers: self.number(8)?,
            readings: self.number(8)?,
            lost: self.number(8)?,
            contradictions: self.number(8)?,
            restored: self.number(8)?,
            unplaced: self.number(8)?,
            lost_sections: self.number(8)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tardy_record::census::Context;

    use super::*;

    fn file() -> Vec<u8> {
        let mut file = vec![1];
        file.extend(7_u32.to_le_bytes());
        file.extend(1_000_u64.to_le_bytes());
        file.extend((-5_i64).to_le_bytes());
        file.extend(9_u32.to_le_bytes());
        file.extend(600_u64.to_le_bytes());
        file.extend((-7_i64).to_le_bytes());
        // nop, ret
        file.push(2);
        file.extend(0xffff_ffff_8100_0000_u64.to_le_bytes());
        file.push(1);
        file.extend(77_u64.to_le_bytes());
        file.extend([2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0x90, 0xc3]);
        let task = |file: &mut Vec<u8>, pid: u32, name: &[u8; 16]| {
            file.extend(0x8888_u64.to_le_bytes());
            file.extend(pid.to_le_bytes());
            file.extend(name);
        };
        let wakeup = |file: &mut Vec<u8>| {
            task(file, 7, b"timer0\0\0\0\0\0\0\0\0\0\0");
            file.extend(2_000_u64.to_le_bytes());
            file.extend(300_u64.to_le_bytes());
            file.extend(40_u32.to_le_bytes());
            file.extend(0_u64.to_le_bytes());
            file.extend(200_u64.to_le_bytes());
            file.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
            task(file, 0, b"swapper/0\0\0\0\0\0\0\0");
            file.push(1);
        };
        file.push(3);
        wakeup(&mut file);
        file.push(8);
        file.extend(7_u32.to_le_bytes());
        [2_000_u64, 900].iter().for_each(|number| file.extend(number.to_le_bytes()));
        file.push(9);
        wakeup(&mut file);
        file.extend(900_u64.to_le_bytes());
        file.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(80_u64.to_le_bytes());
        file.push(5);
        let key = 1_u64 << 60 | 2 << 56;
        [key, 3, 300, 200, 5_000].iter().for_each(|number| file.extend(number.to_le_bytes()));
        task(&mut file, 7, b"timer0\0\0\0\0\0\0\0\0\0\0");
        file.push(6);
        (0..2 + DISTANCES as u64).for_each(|number| file.extend(number.to_le_bytes()));
        file.extend([7, 2]);
        (0..BUCKETS as u64).for_each(|number| file.extend(number.to_le_bytes()));
        file.push(4);
        (1..=10_u64).for_each(|sum| file.extend(sum.to_le_bytes()));
        file
    }

    #[test]
    fn each_record_is_read() {
        let observed = Observed::of(&file()).unwrap();
        assert_eq!(
            observed.readings,
            [Reading { pid: 7, due_ns: 1_000, late_ns: -5, lag: 9, ahead_ns: Some(400), switched_ns: -7 }]
        );
        assert!(observed.blocks[0].was_measured);
        assert_eq!(observed.blocks[0].in_boot, 77);
        assert_eq!(observed.blocks[0].instructions, [0xffff_ffff_8100_0000, 0xffff_ffff_8100_0001]);
        let wakeup = &observed.wakeups[0];
        assert_eq!((wakeup.task.name.as_str(), wakeup.reading.late_ns), ("timer0", 300));
        assert_eq!((wakeup.reading.lag, wakeup.reading.ahead_ns, wakeup.woken), (40, None, Some(0)));
        assert_eq!((&wakeup.blocks[..], wakeup.switches[0].from.name.as_str()), (&[0][..], "swapper/0"));
        assert!(wakeup.switches[0].is_blocked);
        assert_eq!(observed.responses, [Response { pid: 7, due_ns: 2_000, took_ns: 900 }]);
        let cycle = &observed.cycles[0];
        assert_eq!((&cycle.wakeup, cycle.took_ns, cycle.returned), (wakeup, 900, Some(1)));
        assert_eq!((&cycle.sleeps[..], &cycle.until_return()), (&[Sleep { index: 0, ns: 80 }][..], wakeup));
        let sections = &observed.counted.sections[0];
        assert_eq!(sections.kind, SectionKind::PreemptionOff);
        assert_eq!((sections.context, sections.longest), (Context::Interrupt, 200));
        let vector = &observed.counted.vectors[0];
        assert_eq!((vector.entry, vector.count, vector.distances_ns.len()), (0, 1, DISTANCES));
        let (kind, counts) = &observed.counted.lengths[0];
        assert_eq!((*kind, counts[319]), (SectionKind::Interrupt, 319));
        assert_eq!((observed.sums.lost, observed.sums.lost_sections), (6, 10));
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
