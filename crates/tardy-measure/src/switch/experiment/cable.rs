//! A cable that this process is: it takes frames out of one tap device and puts them into the other, each after the time
//! that it takes on a wire of the sender's speed.
//!
//! A tap device tells the shaper the speed that it was told, but sends at the speed of memory. So that frames that leave
//! one after the other also arrive one after the other, the cable holds each until the one before is through. Its thread
//! is a real-time one where that is granted: what it is late, every frame is late.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tardy_sys::clock::Clock;
use tardy_sys::links::{self, Tap};
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::signals::wait_readable;

use super::flow_paths::WIRE_OVERHEAD_BYTES;

const FRAME_BYTES_MAX: usize = 1 << 14;
/// How often the thread looks whether it shall stop.
const LOOK_NS: u64 = 20_000_000;
/// The thread's priority: above the kernel's own timer threads of a PREEMPT_RT kernel (1), below its interrupts (50).
const PRIORITY: u32 = 40;
/// The shortest frame, without its checksum.
const FRAME_BYTES_MIN: usize = 60;

/// One end.
#[derive(Debug)]
pub(super) struct TapEnd {
    tap: Tap,
    queues: usize,
    speed_bps: Option<u64>,
}

impl TapEnd {
    /// Makes the tap device `name` in the calling thread's namespace, and tells it its speed and which queue takes frames
    /// of which priority.
    ///
    /// # Errors
    /// In words.
    pub(super) fn make(
        name: &str,
        queues: usize,
        speed_bps: Option<u64>,
        of_priority: Option<[u16; 16]>,
    ) -> Result<Self, String> {
        let tap = Tap::make(name, queues).map_err(|error| {
            format!("tap device {name}: {error}; that takes root and CONFIG_TUN (module tun)")
        })?;
        if let Some(speed_bps) = speed_bps {
            let mbps = u32::try_from(speed_bps / 1_000_000).unwrap_or(u32::MAX).max(1);
            links::set_speed_mbps(name, mbps).map_err(|error| format!("{name} at {mbps} Mbit/s: {error}"))?;
        }
        if let Some(of_priority) = of_priority {
            tap.steer_by_priority(of_priority).map_err(|error| {
                format!("{name}: its queues cannot be told from each other: {error}; that takes root and CONFIG_BPF_SYSCALL")
            })?;
        }
        Ok(Self { tap, queues, speed_bps })
    }
}

/// A cable, as long as it lives.
#[derive(Debug)]
pub(super) struct Cable {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Cable {
    /// Lays a cable between two ends.
    ///
    /// # Errors
    /// In words, if no thread can be started.
    pub(super) fn lay(a: TapEnd, b: TapEnd) -> Result<Self, String> {
        let stop = Arc::new(AtomicBool::new(false));
        let ends = [a, b];
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("tardy-cable".to_owned())
            .spawn(move || carry(&ends, &stopped))
            .map_err(|error| format!("no thread for a cable: {error}"))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One direction: what is on the wire, and until when the wire is taken.
#[derive(Default)]
struct Wire {
    frames: VecDeque<(i64, Vec<u8>)>,
    free_from_ns: i64,
}

fn carry(ends: &[TapEnd; 2], stop: &AtomicBool) {
    let _ = scheduling::set(Scheduling::Fifo(PRIORITY));
    let mut wires = [Wire::default(), Wire::default()];
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let fds: Vec<i32> =
        ends.iter().flat_map(|end| end.tap.descriptors()).map(|descriptor| descriptor.as_raw_fd()).collect();
    let queues: Vec<(usize, usize)> = ends
        .iter()
        .enumerate()
        .flat_map(|(end, taps)| (0..taps.queues).map(move |queue| (end, queue)))
        .collect();
    while !stop.load(Ordering::Relaxed) {
        let next_ns = wires.iter().filter_map(|wire| wire.frames.front().map(|(due_ns, _)| *due_ns)).min();
        let wait_ns = next_ns.map_or(LOOK_NS, |due_ns| {
            (due_ns - Clock::Monotonic.now_ns()).clamp(0, LOOK_NS.cast_signed()).unsigned_abs()
        });
        let Ok(ready) = wait_readable(&fds, wait_ns) else { return };
        // One of each that has any, so that no queue waits for another to be empty.
        for ((end, queue), _) in queues.iter().zip(ready).filter(|(_, ready)| *ready) {
            take_one(&ends[*end], *queue, &mut wires[*end], &mut buffer);
        }
        let now_ns = Clock::Monotonic.now_ns();
        for (index, wire) in wires.iter_mut().enumerate() {
            while wire.frames.front().is_some_and(|(due_ns, _)| *due_ns <= now_ns) {
                let Some((_, frame)) = wire.frames.pop_front() else { break };
                // A host that is down takes nothing, as at a real cable's end.
                let _ = ends[1 - index].tap.give(&frame);
            }
        }
    }
}

/// Takes a frame that an end has sent and puts it on the wire, behind the one before.
fn take_one(end: &TapEnd, queue: usize, wire: &mut Wire, buffer: &mut [u8]) {
    let Ok(Some(length @ 1..)) = end.tap.take(queue, buffer) else { return };
    let bytes = length.max(FRAME_BYTES_MIN) as u64 + u64::from(WIRE_OVERHEAD_BYTES);
    let takes_ns = end.speed_bps.map_or(0, |bps| bytes * 8 * 1_000_000_000 / bps.max(1));
    let start_ns = Clock::Monotonic.now_ns().max(wire.free_from_ns);
    wire.free_from_ns = start_ns + takes_ns.cast_signed();
    wire.frames.push_back((wire.free_from_ns, buffer[..length].to_vec()));
}
