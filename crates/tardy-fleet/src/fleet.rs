//! Many hosts at a time.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::hosts::Host;
use crate::work::{Work, take_through};

/// Takes all hosts through their steps, `parallel` at a time, in their order. Returns when all are done or given up, or the
/// transport reports that the user has interrupted the fleet.
pub fn run(work: &Work<'_>, hosts: &[Host], parallel: usize) {
    let waiting: Mutex<VecDeque<&Host>> = Mutex::new(hosts.iter().collect());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || {
        // A pause of no time reports whether the fleet was interrupted.
        while work.transport.pause(std::time::Duration::ZERO) {
            match next() {
                Some(host) => take_through(work, host),
                None => break,
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..parallel.clamp(1, hosts.len().max(1)) {
            scope.spawn(worker);
        }
    });
}
