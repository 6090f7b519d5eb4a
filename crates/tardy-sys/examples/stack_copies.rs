//! What a sample of a thread's stack costs the thread, by the size of the copied part: CPU time each time that it runs.
//!
//! `stack_copies TID ID [ROUNDS]`: the thread, and the number in `events/sched/sched_switch/id` of tracefs. For each size, the lower quartile
//! of windows of 100 ms, which take turns.

use std::time::Duration;

use tardy_sys::perf_event::BlockingEvent;
use tardy_sys::processes;

/// Bytes of the stack; with 0 there is no event.
const SIZES: [u32; 7] = [0, 8, 4096, 8192, 12_288, 16_384, 32_768];

fn main() {
    let numbers: Vec<u64> =
        std::env::args().skip(1).map(|word| word.parse().expect("TID ID [ROUNDS], as numbers")).collect();
    let (tid, id) = (numbers[0] as u32, numbers[1]);
    let rounds = numbers.get(2).copied().unwrap_or(40) as usize;
    let mut windows: [Vec<f64>; SIZES.len()] = Default::default();
    for _ in 0..rounds {
        for (bytes, windows) in SIZES.into_iter().zip(&mut windows) {
            let event = (bytes > 0).then(|| {
                BlockingEvent::open(tid, id, bytes, 16 << 20).expect("the kernel samples the thread")
            });
            let before = used(tid);
            std::thread::sleep(Duration::from_millis(100));
            let after = used(tid);
            drop(event);
            windows.push((after.0 - before.0) as f64 / (after.1 - before.1) as f64 / 1000.0);
        }
    }
    for (bytes, windows) in SIZES.into_iter().zip(&mut windows) {
        windows.sort_by(f64::total_cmp);
        println!("{bytes} bytes: {:.1} us", windows[rounds / 4]);
    }
}

/// CPU time of a thread in ns, and how often it was put on a CPU.
fn used(tid: u32) -> (u64, u64) {
    let text = processes::thread_file(tid, tid, "schedstat").expect("the thread runs");
    let numbers: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    (numbers[0], numbers[2])
}
