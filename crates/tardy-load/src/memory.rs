//! Memory traffic on every CPU: copies for bandwidth, and random accesses that miss every cache.

use std::hint::black_box;

use tardy_sys::counters::Counter;

use super::forked_tasks;
use super::random::Random;
use super::worker::{Ended, Worker};

/// The 64-bit words that one step copies.
const CHUNK_WORDS: usize = 8192;
/// The size of a cache line on nearly all processors, in 64-bit words.
const LINE_WORDS: usize = 8;
/// The cache lines that one step modifies.
const LINES: usize = 256;

pub(super) fn run(worker: &Worker, mib: usize) -> Ended {
    let seed = worker.seed;
    forked_tasks::run(worker, forked_tasks::one_per_cpu(worker), |index| {
        thrash(seed.wrapping_add(index as u64), mib)
    })
}

/// A step copies a chunk from the first half to the second, then modifies random lines.
fn thrash(seed: u64, mib: usize) -> Result<impl FnMut(&Counter) -> Result<(), String>, String> {
    let count = mib << 17;
    let mut words: Vec<u64> = Vec::new();
    words.try_reserve_exact(count).map_err(|_| format!("{mib} MiB per CPU are not available"))?;
    words.resize(count, seed);
    let (mut random, mut chunk) = (Random::new(seed), 0);
    let (chunks, lines) = (count / 2 / CHUNK_WORDS, count / LINE_WORDS);
    Ok(move |moved: &Counter| {
        let from = chunk * CHUNK_WORDS;
        words.copy_within(from..from + CHUNK_WORDS, count / 2 + from);
        chunk = (chunk + 1) % chunks;
        for _ in 0..LINES {
            let word = &mut words[random.below(lines) * LINE_WORDS];
            *word = word.wrapping_add(1);
        }
        black_box(&words);
        moved.add(((CHUNK_WORDS + LINES * LINE_WORDS) * size_of::<u64>()) as u64);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_copied_and_lines_touched_are_counted() {
        let (counter, mut step) = (Counter::default(), thrash(1, 1).unwrap());
        for _ in 0..20 {
            step(&counter).unwrap();
        }
        assert_eq!(counter.get(), 20 * (65_536 + 256 * 64));
    }
}
