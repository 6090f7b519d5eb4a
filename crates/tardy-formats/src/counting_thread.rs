//! Counts in a second thread, so that a large file is parsed at the same time.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// How many items are passed to the thread at once.
const BATCH: usize = 8 * 1024;
/// The most batches that wait for the thread.
const WAITING_MAX: usize = 4;

/// Counts items.
pub(crate) trait Counter: Send + 'static {
    /// What is counted.
    type Item: Send + 'static;

    /// Adds an item. Items come in the order of the file.
    fn count(&mut self, item: Self::Item);
}

/// Passes items to a counter in a thread. A file with fewer items than a batch needs no thread.
pub(crate) struct CountingThread<C: Counter> {
    batch: Vec<C::Item>,
    place: Place<C>,
}

/// Where the counter is.
enum Place<C: Counter> {
    Here(Box<C>),
    Thread(SyncSender<Vec<C::Item>>, JoinHandle<Box<C>>),
}

impl<C: Counter> CountingThread<C> {
    pub(crate) fn new(counter: C) -> Self {
        Self { batch: Vec::new(), place: Place::Here(Box::new(counter)) }
    }

    /// Adds an item.
    #[inline]
    pub(crate) fn count(&mut self, item: C::Item) {
        self.batch.push(item);
        if self.batch.len() == BATCH {
            self.pass_on();
        }
    }

    #[cold]
    fn pass_on(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        match &mut self.place {
            Place::Here(counter) => {
                batch.into_iter().for_each(|item| counter.count(item));
                self.start();
            }
            // The thread ends early only by a panic, which `finish` passes on.
            Place::Thread(batches, _) => drop(batches.send(batch)),
        }
    }

    /// Moves the counter to a thread. If there can be no thread, it stays here.
    fn start(&mut self) {
        let (batches, waiting) = mpsc::sync_channel(WAITING_MAX);
        let (give, take) = mpsc::channel();
        let thread = thread::Builder::new().name("counting".to_owned()).spawn(move || run(&take, &waiting));
        let Ok(thread) = thread else { return };
        if let Place::Here(counter) = std::mem::replace(&mut self.place, Place::Thread(batches, thread)) {
            // The thread waits for its counter first.
            drop(give.send(counter));
        }
    }

    /// The counter with all items.
    pub(crate) fn finish(self) -> C {
        let mut counter = match self.place {
            Place::Here(counter) => counter,
            Place::Thread(batches, thread) => {
                drop(batches);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        };
        self.batch.into_iter().for_each(|item| counter.count(item));
        *counter
    }
}

fn run<C: Counter>(counter: &Receiver<Box<C>>, batches: &Receiver<Vec<C::Item>>) -> Box<C> {
    let mut counter = counter.recv().expect("the counter is sent to the thread");
    for batch in batches {
        batch.into_iter().for_each(|item| counter.count(item));
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Counter for Vec<usize> {
        type Item = usize;

        fn count(&mut self, item: usize) {
            self.push(item);
        }
    }

    #[test]
    fn all_items_are_counted_in_order() {
        for count in [0, 1, BATCH, BATCH + 1, 20 * BATCH + 7] {
            let mut counting = CountingThread::new(Vec::new());
            (0..count).for_each(|item| counting.count(item));
            assert_eq!(counting.finish(), (0..count).collect::<Vec<_>>());
        }
    }
}
