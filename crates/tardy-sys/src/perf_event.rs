//! Samples of a thread's registers and stack when it blocks: a perf event on the tracepoint `sched:sched_switch`
//! (perf_event_open(2)).
//!
//! The kernel copies both into a ring, at the time at which the scheduler takes the thread off its CPU. The ring belongs to one
//! thread: the kernel maps no ring for an event that new threads inherit, unless it is of one CPU.
//!
//! Alternative not taken: the instance `options/userstacktrace` of ftrace, which follows frame pointers. C libraries have none.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The registers of a thread in user space that unwinding of its stack begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Address of its next instruction.
    pub instruction: u64,
    /// Stack pointer.
    pub stack: u64,
    /// Frame pointer.
    pub frame: u64,
    /// Return address of the innermost function, on processors that keep it in a register; else 0.
    pub link: u64,
}

/// A thread at the time at which it blocked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time, in ns on CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Its registers.
    pub registers: Registers,
    /// Its stack from the stack pointer on, as far as it was copied.
    pub stack: Vec<u8>,
}

/// The registers that are sampled, as bits of asm/perf_regs.h, and their order in a sample; `None` on processors that
/// are not known here.
const REGISTERS: Option<(u64, usize)> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
    // BP, SP, IP.
    Some((1 << 6 | 1 << 7 | 1 << 8, 3))
} else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
    // X29, LR, SP, PC.
    Some((1 << 29 | 1 << 30 | 1 << 31 | 1 << 32, 4))
} else {
    None
};

/// The words of perf_event_attr (linux/perf_event.h), version 3, which has the clock. Halves of words and bit fields are those of
/// little-endian processors.
type Attributes = [u64; 12];

const KIND_TRACEPOINT: u64 = 2;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_REGISTERS: u64 = 1 << 12;
const SAMPLE_STACK: u64 = 1 << 13;
const FLAG_DISABLED: u64 = 1;
const FLAG_WATERMARK: u64 = 1 << 14;
const FLAG_CLOCK: u64 = 1 << 25;
const OPEN_CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
/// `_IO('$', 0)`, `_IO('$', 1)` and `_IOW('$', 6, char *)` of these processors.
const ENABLE: u32 = 0x2400;
const DISABLE: u32 = 0x2401;
const SET_FILTER: u32 = 0x4008_2406;
/// The states in which a thread waits. A thread that is preempted has none of them.
const IS_BLOCKED: &[u8] = b"prev_state & 255\0";
/// PERF_RECORD_LOST and PERF_RECORD_SAMPLE.
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
/// PERF_SAMPLE_REGS_ABI_64.
const ABI_64: u64 = 2;
/// Where the mapped page has the numbers of bytes that the kernel wrote and that the reader read (perf_event_mmap_page).
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;

/// The event of one thread, and its ring.
#[derive(Debug)]
pub struct BlockingEvent {
    file: File,
    start: NonNull<u8>,
    page_bytes: usize,
    ring_bytes: usize,
    record: Vec<u8>,
    lost: u64,
}

// SAFETY: the mapping belongs to the value, and is used through it alone.
unsafe impl Send for BlockingEvent {}

impl BlockingEvent {
    /// Whether samples of this processor's threads can be taken.
    pub const IS_SUPPORTED: bool = REGISTERS.is_some();

    /// Samples the thread `tid` from now on, with `stack_bytes` of its stack, a multiple of 8 below 65,528. `tracepoint` is the id of
    /// sched:sched_switch in tracefs. The ring has `ring_bytes`, a power of two of at least a page.
    ///
    /// # Errors
    /// The kernel's: EACCES and EPERM without CAP_PERFMON if `kernel.perf_event_paranoid` is above 1, ENOSYS without CONFIG_PERF_EVENTS,
    /// ESRCH if the thread has ended.
    pub fn open(tid: u32, tracepoint: u64, stack_bytes: u32, ring_bytes: usize) -> io::Result<Self> {
        let Some((registers, _)) = REGISTERS else { return Err(io::ErrorKind::Unsupported.into()) };
        let mut attributes: Attributes = [0; 12];
        attributes[0] = KIND_TRACEPOINT | (size_of::<Attributes>() as u64) << 32;
        // The event, how many of them a sample is taken for, and what samples have.
        attributes[1..=3].copy_from_slice(&[tracepoint, 1, SAMPLE_TIME | SAMPLE_REGISTERS | SAMPLE_STACK]);
        attributes[5] = FLAG_DISABLED | FLAG_WATERMARK | FLAG_CLOCK;
        // The watermark. Nobody waits for the ring: a wake-up would cost the thread an interrupt.
        attributes[6] = u64::from(u32::try_from(ring_bytes).unwrap_or(u32::MAX));
        attributes[10] = registers;
        attributes[11] = u64::from(stack_bytes) | (libc::CLOCK_MONOTONIC as u64) << 32;
        let tid = libc::pid_t::try_from(tid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
        let (any_cpu, no_group): (libc::c_int, libc::c_int) = (-1, -1);
        // SAFETY: the attributes live during the call, and have the size that they state.
        let descriptor = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                tid,
                any_cpu,
                no_group,
                OPEN_CLOSE_ON_EXEC,
            )
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel returned a new descriptor.
        let file = unsafe { File::from_raw_fd(descriptor as libc::c_int) };
        // SAFETY: sysconf takes an integer.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        // SAFETY: a new mapping of the event's ring, at an address that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + ring_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let event = Self { file, start, page_bytes, ring_bytes, record: Vec::new(), lost: 0 };
        event.control(SET_FILTER, IS_BLOCKED.as_ptr() as libc::c_ulong)?;
        event.set_on(true)?;
        Ok(event)
    }

    /// Starts or stops sampling.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_on(&self, on: bool) -> io::Result<()> {
        self.control(if on { ENABLE } else { DISABLE }, 0)
    }

    /// The length of the ring.
    pub fn ring_bytes(&self) -> usize {
        self.ring_bytes
    }

    /// Samples that the ring had no room for.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Passes the samples since the last call to `take`, the oldest first.
    pub fn read(&mut self, mut take: impl FnMut(Sample)) {
        let head = self.counter(HEAD_OFFSET).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL_OFFSET).load(Ordering::Relaxed);
        let mut record = std::mem::take(&mut self.record);
        while head.wrapping_sub(tail) >= 8 {
            record.resize(8, 0);
            self.copy(tail, &mut record);
            let bytes = usize::from(u16::from_ne_bytes([record[6], record[7]]));
            if bytes < 8 || head.wrapping_sub(tail) < bytes {
                // Only the kernel writes into the ring, and it writes whole records.
                tail = head;
                break;
            }
            record.resize(bytes, 0);
            self.copy(tail, &mut record);
            match u32::from_ne_bytes([record[0], record[1], record[2], record[3]]) {
                RECORD_SAMPLE => {
                    if let Some(sample) = parsed(&record[8..]) {
                        take(sample);
                    }
                }
                RECORD_LOST => self.lost += word(&record[8..], 1).unwrap_or(0),
                _ => {}
            }
            tail = tail.wrapping_add(bytes);
        }
        self.counter(TAIL_OFFSET).store(tail, Ordering::Release);
        self.record = record;
    }

    fn control(&self, request: u32, argument: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the requests take an integer, or the address of a text that ends with a NUL and is a constant.
        match unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, argument) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn counter(&self, offset: usize) -> &AtomicUsize {
        // SAFETY: the first page of the mapping has aligned numbers at both offsets, of 64 bits as on these processors, and lives as long as `self`.
        unsafe { &*self.start.as_ptr().add(offset).cast::<AtomicUsize>() }
    }

    /// Copies bytes of the ring from the position `from` on.
    fn copy(&self, from: usize, to: &mut [u8]) {
        let at = from % self.ring_bytes;
        let first = to.len().min(self.ring_bytes - at);
        let rest = to.len() - first;
        assert!(rest <= self.ring_bytes);
        // SAFETY: both pieces are within the ring, which follows the first page. The kernel does not change what was not read yet.
        unsafe {
            let ring = self.start.as_ptr().add(self.page_bytes);
            std::ptr::copy_nonoverlapping(ring.add(at), to.as_mut_ptr(), first);
            std::ptr::copy_nonoverlapping(ring, to.as_mut_ptr().add(first), rest);
        }
    }
}

impl Drop for BlockingEvent {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and nothing refers to it any longer.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.page_bytes + self.ring_bytes) };
    }
}

/// The word of 64 bits with this index.
fn word(bytes: &[u8], index: usize) -> Option<u64> {
    let bytes = bytes.get(index * 8..index * 8 + 8)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// A sample, from its record without the header; `None` of a 32-bit thread, and of one of the kernel's, which have no such
/// registers.
fn parsed(record: &[u8]) -> Option<Sample> {
    let (_, count) = REGISTERS?;
    let (at_ns, abi) = (word(record, 0)?, word(record, 1)?);
    if abi != ABI_64 {
        return None;
    }
    let register = |index: usize| word(record, 2 + index);
    let registers = match count {
        3 => Registers { frame: register(0)?, stack: register(1)?, instruction: register(2)?, link: 0 },
        _ => Registers {
            frame: register(0)?,
            link: register(1)?,
            stack: register(2)?,
            instruction: register(3)?,
        },
    };
    let bytes = usize::try_from(word(record, 2 + count)?).ok()?;
    let stack = record.get((3 + count) * 8..)?.get(..bytes)?;
    // The size that was copied follows, if there is a stack.
    let copied = if bytes == 0 { 0 } else { word(&record[(3 + count) * 8 + bytes..], 0)? };
    let stack = stack.get(..usize::try_from(copied).ok()?)?.to_vec();
    Some(Sample { at_ns, registers, stack })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use crate::scheduling::thread_id;

    fn tracepoint() -> Option<u64> {
        let tracefs = std::path::Path::new("/sys/kernel/tracing");
        let path = tracefs.join("events/sched/sched_switch/id");
        if !path.exists() {
            crate::mounts::mount_privately("tracefs", tracefs).ok()?;
        }
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    }

    fn record(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_thread_that_blocks_is_sampled_with_its_stack() {
        let (Some(tracepoint), true) = (tracepoint(), BlockingEvent::IS_SUPPORTED) else {
            eprintln!("skipped: no tracepoint, or no registers of this processor");
            return;
        };
        const STACK_BYTES: u32 = 4096;
        let mut event = match BlockingEvent::open(thread_id(), tracepoint, STACK_BYTES, 1 << 16) {
            Ok(event) => event,
            Err(error) => {
                eprintln!("skipped: perf_event_open: {error}");
                return;
            }
        };
        let mark = std::hint::black_box([0x7461_7264_795f_3031_u64; 4]);
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        let begin_ns = monotonic_ns();
        (0..3).for_each(|_| pause());
        let end_ns = monotonic_ns();
        event.set_on(false).unwrap();
        pause();
        let mut samples = Vec::new();
        event.read(|sample| samples.push(sample));
        std::hint::black_box(&mark);
        assert_eq!(samples.len(), 3, "{samples:?}");
        let needle = record(&mark);
        for sample in &samples {
            assert!((begin_ns..=end_ns).contains(&sample.at_ns));
            assert!(!sample.stack.is_empty() && sample.stack.len() <= STACK_BYTES as usize);
            assert!(
                sample.stack.windows(needle.len()).any(|bytes| bytes == needle),
                "the stack is this thread's"
            );
            // The stack pointer is below the mark, and by less than was copied.
            let distance = (mark.as_ptr() as u64).wrapping_sub(sample.registers.stack);
            assert!(distance < u64::from(STACK_BYTES), "{distance}");
        }
        // More than the ring has room for: what is left is whole, and the others are counted.
        event.set_on(true).unwrap();
        (0..40).for_each(|_| pause());
        event.set_on(false).unwrap();
        let mut kept = 0;
        event.read(|_| kept += 1);
        // Losses are recorded with the next sample that has room.
        event.set_on(true).unwrap();
        pause();
        event.read(|_| kept += 1);
        assert!(event.lost() > 0 && kept + event.lost() == 41, "{kept} kept, {} lost", event.lost());
    }

    #[test]
    fn a_tracepoint_that_does_not_exist_is_refused() {
        assert!(BlockingEvent::open(thread_id(), u64::MAX, 4096, 1 << 16).is_err());
    }

    #[test]
    fn a_record_that_is_cut_or_of_a_32_bit_thread_is_no_sample() {
        let Some((_, count)) = REGISTERS else { return };
        let registers: Vec<u64> = (1..=count as u64).collect();
        let whole = record(&[&[7, ABI_64], &registers[..], &[16, 3, 4, 8]].concat());
        let sample = parsed(&whole).unwrap();
        assert_eq!(
            (sample.at_ns, sample.registers.frame, sample.stack),
            (7, 1, 3_u64.to_ne_bytes().to_vec())
        );
        for bytes in 0..whole.len() {
            assert_eq!(parsed(&whole[..bytes]), None, "{bytes}");
        }
        assert_eq!(parsed(&record(&[&[7, 1], &registers[..], &[16, 3, 4, 8]].concat())), None);
        let longer_than_copied = record(&[&[7, ABI_64], &registers[..], &[8, 3, 16]].concat());
        assert_eq!(parsed(&longer_than_copied), None);
    }
}
