//! A periodic loop in Rust's standard library, as tests of `tardy exec` watch it in the lab. Build: rustc -O control.rs
//!
//! `control FAULT PERIOD_US CYCLES SEED`: FAULT is none, page-fault (touches new pages), pipe (writes to a full one), or busy (four
//! other threads work, which have the loop's priority). It is in every 50th cycle, and takes about two periods. Its place and length
//! vary with SEED.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

const EVERY: u64 = 50;
const WARM_CYCLES: u64 = 100;
const FAULT_PAGES: usize = 3000;
const PAGE_BYTES: usize = 4096;
/// What a pipe takes, unless it is changed.
const PIPE_BYTES: usize = 16 * PAGE_BYTES;
const BUSY_THREADS: usize = 4;

/// What makes the fault of one cycle.
struct Faults {
    pages: bool,
    full: Option<(PipeWriter, Sender<Duration>)>,
    busy: Vec<Sender<Duration>>,
}

/// A thread that does `task` for each duration that it receives.
fn thread(name: &str, mut task: impl FnMut(Duration) + Send + 'static) -> Sender<Duration> {
    let (sender, receiver) = channel();
    Builder::new().name(name.to_owned()).spawn(move || receiver.into_iter().for_each(&mut task)).unwrap();
    sender
}

fn work(length: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < length {
        std::hint::spin_loop();
    }
}

/// A thread that empties a full pipe after the time that it receives.
fn late_reader(mut reader: PipeReader) -> Sender<Duration> {
    let mut buffer = vec![0; PIPE_BYTES];
    thread("reader", move |length| {
        sleep(length);
        reader.read_exact(&mut buffer).unwrap();
    })
}

impl Faults {
    fn new(fault: &str) -> Self {
        let full = (fault == "pipe").then(|| {
            let (reader, mut writer) = pipe().unwrap();
            writer.write_all(&[0; PIPE_BYTES]).unwrap();
            (writer, late_reader(reader))
        });
        let threads = if fault == "busy" { BUSY_THREADS } else { 0 };
        let busy = (0..threads).map(|_| thread("busy", work)).collect();
        Self { pages: fault == "page-fault", full, busy }
    }

    fn make(&mut self, length: Duration) {
        if self.pages {
            let begin = Instant::now();
            let memory = Vec::leak(vec![0u8; FAULT_PAGES * PAGE_BYTES]);
            let pages = memory.chunks_mut(PAGE_BYTES).take_while(|_| begin.elapsed() < length);
            pages.for_each(|page| page[0] = 1);
        }
        if let Some((writer, reader)) = &mut self.full {
            reader.send(length).unwrap();
            // The pipe is full again then.
            writer.write_all(&[0; PIPE_BYTES]).unwrap();
        }
        self.busy.iter().for_each(|thread| thread.send(length).unwrap());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [fault, numbers @ ..] = &words[..] else { panic!("control FAULT PERIOD_US CYCLES SEED") };
    let numbers: Vec<u64> = numbers.iter().map(|word| word.parse().unwrap()).collect();
    let [period_us, cycles, mut seed] = numbers[..] else { panic!("control FAULT PERIOD_US CYCLES SEED") };
    let period = Duration::from_micros(period_us);
    // Knuth's constants, from MMIX.
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut faults = Faults::new(fault);
    let place = random() % EVERY;
    let mut due = Instant::now() + period;
    for cycle in 0..cycles {
        sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now().max(due) + period;
        work(period / 20);
        if cycle >= WARM_CYCLES && cycle % EVERY == place {
            faults.make(period * (1500 + (random() % 1500) as u32) / 1000);
        }
    }
}
