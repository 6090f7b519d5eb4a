//! Ends threads whose wait may never end: for an edge that does not come, or on a clock that was set back. The probe's
//! first thread sleeps until the time is over or the supervisor writes, and then sends the waiting threads a signal. A
//! timeout in a waiting thread's own call would be work on the measured CPU.

use std::io::{self, PipeReader};
use std::os::fd::AsRawFd;

use tardy_record::plan::{ClockId, Span};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::{interrupt, wait_readable};

use super::order::{Order, Work};

/// How long a thread has to react to a signal before it gets another. The first may arrive just before its wait begins.
const NOTICE_NS: u64 = 1_000_000;

/// The number of threads, of `count`, that must be ended from outside.
pub(super) fn watched(order: &Order, count: usize) -> usize {
    match &order.work {
        // A fake does not wait, and its times are not the clock's.
        _ if order.fake.is_some() => 0,
        // The thread of a stimulus sees in the map that it shall end.
        Work::Reaction(_) if !order.threads.contains(&0) => 0,
        Work::Reaction(_) => count,
        Work::Timer(timer) if timer.clock != ClockId::Monotonic => count,
        _ => 0,
    }
}

/// Ends the threads `tids` when the supervisor writes anything or is gone. Returns once the first of `ended` is closed for a
/// reaction, or all of them otherwise; each thread holds the other end of one.
///
/// A thread that answers edges also ends when its span is over, or when the thread that generates the edges has ended. The
/// latter holds the second pipe, and is asked to end by the former's end.
pub(super) fn enforce_end(map: &SharedMap, order: &Order, tids: &[u32], start_ns: u64, ended: &[PipeReader]) {
    let is_reaction = matches!(order.work, Work::Reaction(_));
    let waiting = if is_reaction { 1 } else { ended.len() };
    let end_ns = match order.span {
        Span::DurationNs(ns) if is_reaction => start_ns.saturating_add(order.warmup_ns).saturating_add(ns),
        _ => u64::MAX,
    };
    let block = map.block(order.threads[0]);
    let mut watched = vec![io::stdin().as_raw_fd()];
    watched.extend(ended.iter().map(AsRawFd::as_raw_fd));
    // Requests that arrived earlier were read together with the order to start, and are already in the map.
    while !block.is_asked_to_end() && watched.len() > 1 {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        match wait_readable(&watched, left_ns).as_deref() {
            Ok(ready) if left_ns > 0 && !ready.contains(&true) => {}
            // A thread has ended as planned, and the others continue.
            Ok(ready) if !is_reaction && !ready[0] => {
                let mut ready = ready.iter();
                watched.retain(|_| ready.next() == Some(&false));
            }
            _ => break,
        }
    }
    if watched.len() == 1 {
        return;
    }
    order.threads[..waiting].iter().for_each(|thread| map.block(*thread).ask_to_end());
    for (pipe, tid) in ended[..waiting].iter().zip(tids) {
        while !wait_readable(&[pipe.as_raw_fd()], NOTICE_NS).is_ok_and(|ready| ready[0]) {
            if interrupt(*tid).is_err() {
                break;
            }
        }
    }
}
