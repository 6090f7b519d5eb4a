//! Runs several guests in parallel, each on a separate host CPU. Fewer guests than CPUs are placed by the kernel: another tardy may have
//! guests too, and both would choose the same CPU.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use tardy_init::messages::Message;

/// Called with each message of a guest while it runs.
pub type OnMessage<'a> = &'a mut dyn FnMut(&Message);

/// Runs `job` for each number below `count`, at most one at a time on each CPU in `cores`, and returns the results in
/// the order of the numbers. A job gets the CPU for its guest; `None` if the kernel shall choose it. `receive` is called on the
/// calling thread with each guest's messages and the job's number.
pub fn run<T: Send>(
    count: usize,
    cores: &[u32],
    job: impl Fn(usize, Option<u32>, OnMessage<'_>) -> T + Sync,
    mut receive: impl FnMut(usize, &Message),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let (sender, messages) = mpsc::channel();
    thread::scope(|scope| {
        let is_full = count >= cores.len();
        for core in cores.iter().take(count) {
            let core = is_full.then_some(*core);
            let (sender, job, next, results) = (sender.clone(), &job, &next, &results);
            // The emulator dies with the thread that started it, so each worker waits for its guests to end.
            scope.spawn(move || work(core, count, next, job, &sender, results));
        }
        drop(sender);
        for (number, message) in messages {
            receive(number, &message);
        }
    });
    let results = results.into_inner().expect("no worker panicked");
    results.into_iter().map(|result| result.expect("a worker took every number")).collect()
}

fn work<T>(
    core: Option<u32>,
    count: usize,
    next: &AtomicUsize,
    job: &(impl Fn(usize, Option<u32>, OnMessage<'_>) -> T + Sync),
    sender: &Sender<(usize, Message)>,
    results: &Mutex<Vec<Option<T>>>,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        let mut on_message = |message: &Message| {
            // Sending fails only if the receiver is gone, and then nothing needs the message.
            let _ = sender.send((number, message.clone()));
        };
        let result = job(number, core, &mut on_message);
        results.lock().expect("no worker panicked")[number] = Some(result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_have_a_cpu_each_if_there_is_none_to_spare() {
        let cores_of = |count| run(count, &[4, 5], |_, core, _| core, |_, _| ());
        assert_eq!(cores_of(1), [None]);
        let mut both = cores_of(2);
        both.sort_unstable();
        assert!(both.iter().all(|core| [Some(4), Some(5)].contains(core)), "{both:?}");
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs_and_every_message_is_received() {
        let mut received = Vec::new();
        let results = run(
            5,
            &[0, 1],
            |number, _core, on_message| {
                on_message(&Message::Output { text: number.to_string() });
                number * 10
            },
            |number, message| received.push((number, message.clone())),
        );
        assert_eq!(results, [0, 10, 20, 30, 40]);
        received.sort_by_key(|(number, _)| *number);
        assert_eq!(received.len(), 5);
        let is_own =
            |(number, message): &(usize, Message)| *message == Message::Output { text: number.to_string() };
        assert!(received.iter().all(is_own));
    }
}
