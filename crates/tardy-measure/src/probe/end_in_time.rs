//! Ending a thread that waits for edges, which may never come: by a signal, sent from the probe's first thread, which sleeps
//! until the time is over or the house speaks. A timeout in the thread's own wait would be work on the CPU that is measured.

use std::io::{self, PipeReader};
use std::os::fd::AsRawFd;

use tardy_record::plan::Span;
use tardy_sys::clock::monotonic_ns;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals::{interrupt, wait_readable};

use super::order::Order;

/// How long a thread has to notice a signal before it gets another: the first may come just before its wait begins.
const NOTICE_NS: u64 = 1_000_000;

/// Sees to it that the thread `tid` ends: when its span is over, or when the house says anything or is gone. Comes back once
/// `ended`, whose other end the thread holds, is closed.
pub(super) fn see_to_the_end(map: &SharedMap, order: &Order, tid: u32, start_ns: u64, ended: &PipeReader) {
    let block = map.block(order.first_block);
    let end_ns = match order.span {
        Span::DurationNs(ns) => start_ns.saturating_add(order.warmup_ns).saturating_add(ns),
        Span::Loops(_) | Span::Unknown => u64::MAX,
    };
    let house = io::stdin().as_raw_fd();
    // Whatever is told here before has been read with the order to go, and is in the map already.
    while !block.is_asked_to_end() {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        match wait_readable(&[house, ended.as_raw_fd()], left_ns).as_deref() {
            Ok([_, true]) => return,
            Ok([false, false]) if left_ns > 0 => {}
            _ => block.ask_to_end(),
        }
    }
    while !wait_readable(&[ended.as_raw_fd()], NOTICE_NS).is_ok_and(|ready| ready[0]) {
        if interrupt(tid).is_err() {
            return;
        }
    }
}
