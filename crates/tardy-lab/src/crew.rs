//! Several guests at once, each on a CPU of the host's of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use crate::guest::words::Word;

/// What a job hears of itself while it runs.
pub type Tell<'a> = &'a mut dyn FnMut(&Word);

/// Runs `job` for each of `count` numbers, at most one at a time on each of `cores`, and returns what came of them in
/// their order. `hear` gets what the guests say, on the calling thread, with the number of the job.
pub fn run<T: Send>(
    count: usize,
    cores: &[u32],
    job: impl Fn(usize, u32, Tell<'_>) -> T + Sync,
    mut hear: impl FnMut(usize, &Word),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let (words, heard) = mpsc::channel();
    thread::scope(|scope| {
        for core in cores.iter().take(count) {
            let (words, job, next, results) = (words.clone(), &job, &next, &results);
            // The emulator dies with the thread that started it, so each worker waits for its guests to the end.
            scope.spawn(move || work(*core, count, next, job, &words, results));
        }
        drop(words);
        for (number, word) in heard {
            hear(number, &word);
        }
    });
    let results = results.into_inner().expect("no worker panicked");
    results.into_iter().map(|result| result.expect("every number was taken by a worker")).collect()
}

fn work<T>(
    core: u32,
    count: usize,
    next: &AtomicUsize,
    job: &(impl Fn(usize, u32, Tell<'_>) -> T + Sync),
    words: &Sender<(usize, Word)>,
    results: &Mutex<Vec<Option<T>>>,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        let mut tell = |word: &Word| {
            // Whoever listened has no interest any more.
            let _ = words.send((number, word.clone()));
        };
        let result = job(number, core, &mut tell);
        results.lock().expect("no worker panicked")[number] = Some(result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs_and_every_word_is_heard() {
        let mut heard = Vec::new();
        let results = run(
            5,
            &[0, 1],
            |number, _core, tell| {
                tell(&Word::Say { text: number.to_string() });
                number * 10
            },
            |number, word| heard.push((number, word.clone())),
        );
        assert_eq!(results, [0, 10, 20, 30, 40]);
        heard.sort_by_key(|(number, _)| *number);
        assert_eq!(heard.len(), 5);
        assert!(heard.iter().all(|(number, word)| *word == Word::Say { text: number.to_string() }));
    }
}
