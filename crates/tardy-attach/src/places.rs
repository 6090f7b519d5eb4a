//! Where in a program its periodic threads blocked: samples of their stacks, matched by time with the blocked parts of cycles.
//!
//! Only threads that have cycles are sampled, and only stacks of late cycles are unwound.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;

use tardy_host::trace::tracefs::Tracefs;
use tardy_sys::perf_event::{BlockingEvent, Sample};
use tardy_sys::scheduling::thread_id;

use crate::reader::ProgramReader;

/// The part of a stack that is copied. glibc's fprintf to a stream without a buffer, such as stderr, has one of 8 KiB on the stack.
const STACK_BYTES: u32 = 12 << 10;
/// The ring of a thread has room for its blocked parts of this time if it blocks twice per cycle: three rounds of a session.
const RING_NS: u64 = 300_000_000;
/// The shortest and the longest ring.
const RING_BYTES: [usize; 2] = [4 << 20, 16 << 20];
/// Memory for these rings. Threads beyond it have short ones.
const RINGS_BYTES: usize = 128 << 20;
const SHORT_BYTES: usize = 512 << 10;
/// Samples of a thread that are kept.
const KEPT_BYTES: usize = 16 << 20;
const KEPT_NS: u64 = 4_000_000_000;
/// The event of the trace and the sample are of the same context switch, a few microseconds apart. A virtual machine may be stopped
/// in between.
const APART_MAX_NS: u64 = 100_000;

/// The samples of all threads.
#[derive(Debug)]
pub struct Places {
    tracepoint: u64,
    threads: BTreeMap<u32, Thread>,
    /// Reads the programs' files and unwinds the stacks.
    reader: Rc<RefCell<ProgramReader>>,
    /// Samples that the rings of threads that have ended lost.
    lost_before: u64,
    refused: Option<String>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    event: BlockingEvent,
    kept: Kept,
}

/// The latest samples of a thread, in the order of time.
#[derive(Debug, Default)]
struct Kept {
    samples: VecDeque<Sample>,
    bytes: usize,
}

impl Places {
    /// Finds out whether this kernel takes samples. `reader` unwinds them.
    ///
    /// # Errors
    /// Why it does not, and what to do.
    pub fn set_up(tracefs: &Tracefs, reader: &Rc<RefCell<ProgramReader>>) -> Result<Self, String> {
        let tracepoint = tracefs.event_id("sched/sched_switch")?;
        BlockingEvent::open(thread_id(), tracepoint, STACK_BYTES, SHORT_BYTES)
            .map_err(|error| refusal(&error))?;
        Ok(Self {
            tracepoint,
            threads: BTreeMap::new(),
            reader: Rc::clone(reader),
            lost_before: 0,
            refused: None,
        })
    }

    /// Samples a thread of the process `pid` from now on. Its cycles have this interval.
    pub fn follow(&mut self, pid: u32, tid: u32, interval_ns: u64) {
        let mut ring_bytes = ring_bytes(interval_ns);
        let of_others: usize = self.threads.values().map(|other| other.event.ring_bytes()).sum();
        if of_others + ring_bytes > RINGS_BYTES {
            ring_bytes = SHORT_BYTES;
        }
        match BlockingEvent::open(tid, self.tracepoint, STACK_BYTES, ring_bytes) {
            Ok(event) => {
                self.threads.insert(tid, Thread { pid, event, kept: Kept::default() });
                // While the process lives: a program that is started here ends before its last cycles are explained.
                self.reader.borrow_mut().follow(pid);
            }
            // It ended in between.
            Err(_) if crate::targets::process_of(tid).is_none() => {}
            Err(error) => self.refused = Some(refusal(&error)),
        }
    }

    /// The thread ended.
    pub fn end(&mut self, tid: u32) {
        let Some(thread) = self.threads.remove(&tid) else { return };
        self.lost_before += thread.event.lost();
        if !self.threads.values().any(|other| other.pid == thread.pid) {
            self.reader.borrow_mut().forget(thread.pid);
        }
    }

    /// Starts or stops sampling.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_on(&self, on: bool) -> Result<(), String> {
        let set = |thread: &Thread| thread.event.set_on(on).map_err(|error| error.to_string());
        self.threads.values().try_for_each(set)
    }

    /// Reads the samples that were taken until now.
    pub fn read(&mut self) {
        for thread in self.threads.values_mut() {
            let Thread { event, kept, .. } = thread;
            event.read(|sample| kept.add(sample));
        }
    }

    /// Where in the program a thread was that blocked at this time.
    pub fn place(&self, tid: u32, at_ns: u64) -> Option<String> {
        let thread = self.threads.get(&tid)?;
        let sample = thread.kept.nearest(at_ns)?;
        self.reader.borrow_mut().place(thread.pid, sample)
    }

    /// What limits the places, for the user.
    pub fn remarks(&self) -> Vec<String> {
        let lost = self.lost_before + self.threads.values().map(|thread| thread.event.lost()).sum::<u64>();
        let lost = (lost > 0).then(|| {
            let count = tardy_record::units::counted(lost, "stack", "stacks");
            format!("the kernel's buffers lost {count}, so that causes may lack their place in the program")
        });
        let failures = self.reader.borrow().failures().to_vec();
        self.refused.iter().cloned().chain(lost).chain(failures).collect()
    }
}

impl Kept {
    fn add(&mut self, sample: Sample) {
        let oldest_ns = sample.at_ns.saturating_sub(KEPT_NS);
        self.bytes += sample.stack.len();
        self.samples.push_back(sample);
        while let Some(first) = self.samples.front()
            && (self.bytes > KEPT_BYTES || first.at_ns < oldest_ns)
        {
            self.bytes -= first.stack.len();
            self.samples.pop_front();
        }
    }

    /// The sample of the context switch at this time.
    fn nearest(&self, at_ns: u64) -> Option<&Sample> {
        let after = self.samples.partition_point(|sample| sample.at_ns < at_ns);
        let around = [after.checked_sub(1), Some(after)].into_iter().flatten();
        let samples = around.filter_map(|index| self.samples.get(index));
        let nearest = samples.min_by_key(|sample| sample.at_ns.abs_diff(at_ns))?;
        (nearest.at_ns.abs_diff(at_ns) <= APART_MAX_NS).then_some(nearest)
    }
}

/// The ring of a thread with this interval.
fn ring_bytes(interval_ns: u64) -> usize {
    let blocked = RING_NS / interval_ns.max(1) * 2 + 8;
    let bytes = blocked.saturating_mul(u64::from(STACK_BYTES) + 64);
    let [least, most] = RING_BYTES;
    usize::try_from(bytes).unwrap_or(most).clamp(least, most).next_power_of_two()
}

/// Why the kernel refuses a perf event, and what to do.
fn refusal(error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "this needs root, CAP_PERFMON, or the setting kernel.perf_event_paranoid at most 1; leave out --places otherwise"
        }
        io::ErrorKind::Unsupported => {
            "the kernel has no CONFIG_PERF_EVENTS, or a security policy blocks perf_event_open(2); leave out --places"
        }
        _ => "leave out --places to watch the program without them",
    };
    format!(
        "the kernel refuses to sample stacks for places in the program (perf_event_open: {error}): {advice}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_ns: u64, bytes: usize) -> Sample {
        Sample { at_ns, registers: Default::default(), stack: vec![0; bytes] }
    }

    #[test]
    fn a_blocked_part_has_the_sample_of_its_context_switch() {
        let mut kept = Kept::default();
        for at_ns in [1_000_000, 1_150_000, 3_000_000] {
            kept.add(sample(at_ns, 8));
        }
        let found = |at_ns| kept.nearest(at_ns).map(|sample| sample.at_ns);
        // The sample may be taken before the trace's event, or after it.
        for (at_ns, expected) in [(999_000, 1_000_000), (1_001_000, 1_000_000), (1_149_000, 1_150_000)] {
            assert_eq!(found(at_ns), Some(expected), "{at_ns}");
        }
        assert_eq!(found(3_000_000 + APART_MAX_NS), Some(3_000_000));
        // The sample of this one was lost.
        for at_ns in [2_000_000, 3_000_001 + APART_MAX_NS] {
            assert_eq!(found(at_ns), None, "{at_ns}");
        }
        assert_eq!(Kept::default().nearest(7), None);
    }

    #[test]
    fn samples_are_kept_for_some_seconds_and_in_bounded_memory() {
        let mut kept = Kept::default();
        for index in 0..10_u64 {
            kept.add(sample(index * 1_000_000_000, 8));
        }
        let times: Vec<u64> = kept.samples.iter().map(|sample| sample.at_ns / 1_000_000_000).collect();
        assert_eq!(times, [5, 6, 7, 8, 9]);
        for index in 0..5 {
            kept.add(sample(9_000_000_001 + index, KEPT_BYTES / 4));
        }
        assert_eq!(kept.samples.len(), 4);
        assert_eq!(kept.bytes, kept.samples.iter().map(|sample| sample.stack.len()).sum::<usize>());
    }

    #[test]
    fn a_ring_is_a_power_of_two_that_depends_on_the_interval() {
        let sizes = [0, 50_000, 1_000_000, 10_000_000, u64::MAX].map(ring_bytes);
        assert!(
            sizes.iter().all(|bytes| bytes.is_power_of_two()) && sizes.is_sorted_by(|a, b| a >= b),
            "{sizes:?}"
        );
        assert_eq!(sizes, [16 << 20, 16 << 20, 8 << 20, 4 << 20, 4 << 20]);
    }

    #[test]
    fn a_refusal_states_what_to_do() {
        let of = |error: i32| refusal(&io::Error::from_raw_os_error(error));
        const EPERM: i32 = 1;
        const EACCES: i32 = 13;
        const ENOSYS: i32 = 38;
        const EMFILE: i32 = 24;
        for error in [EPERM, EACCES] {
            assert!(of(error).contains("kernel.perf_event_paranoid"), "{}", of(error));
        }
        assert!(of(ENOSYS).contains("CONFIG_PERF_EVENTS"), "{}", of(ENOSYS));
        assert!(of(EMFILE).contains("leave out --places"), "{}", of(EMFILE));
    }
}
