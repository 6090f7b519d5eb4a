//! Ends a thread that waits for edges, which may never come. The probe's first thread sleeps until the time is over or
//! the supervisor writes, and then sends the waiting thread a signal. A timeout in the waiting thread's own call would
//! be work on the measured CPU.

use std::io::{self, PipeReader};
use std::os::fd::AsRawFd;

use tardy_record::plan::Span;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::{interrupt, wait_readable};

use super::order::Order;

/// How long a thread has to react to a signal before it gets another. The first may arrive just before its wait begins.
const NOTICE_NS: u64 = 1_000_000;

/// Ends the thread `tid` when its span is over, when a thread that generates its edges has ended, or when the
/// supervisor writes anything or is gone. Returns once the first of `ended` is closed, whose other end that thread
/// holds. The second pipe belongs to the thread that generates the edges, which is then asked to end.
pub(super) fn enforce_end(map: &SharedMap, order: &Order, tid: u32, start_ns: u64, ended: &[PipeReader]) {
    let block = map.block(order.first_block);
    let end_ns = match order.span {
        Span::DurationNs(ns) => start_ns.saturating_add(order.warmup_ns).saturating_add(ns),
        Span::Loops(_) | Span::Unknown => u64::MAX,
    };
    let mut watched = vec![io::stdin().as_raw_fd()];
    watched.extend(ended.iter().map(AsRawFd::as_raw_fd));
    // Requests that arrived earlier were read together with the order to start, and are already in the map.
    while !block.is_asked_to_end() {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        match wait_readable(&watched, left_ns).as_deref() {
            Ok(ready) if left_ns > 0 && !ready.contains(&true) => {}
            _ => block.ask_to_end(),
        }
    }
    while !wait_readable(&watched[1..2], NOTICE_NS).is_ok_and(|ready| ready[0]) {
        if interrupt(tid).is_err() {
            return;
        }
    }
}
