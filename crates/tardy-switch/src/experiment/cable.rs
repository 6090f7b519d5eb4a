//! A cable simulated by this process: it reads frames from one tap device and writes them to the other, each after its
//! transmission time at the sender's speed.
//!
//! A tap device reports its configured speed to the shaper, but sends at the speed of memory. The cable holds each
//! frame until the previous frame has been transmitted, so that frames that leave in succession also arrive in
//! succession. Its threads have real-time priorities if permitted, since their latency delays every frame.
//!
//! The thread that takes frames never waits for the kernel's softirqs, so another thread delivers them. Each queue of a
//! tap device is a separate list, so the order in which frames left is known only if each is taken before the next one
//! leaves.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use tardy_sys::clock::Clock;
use tardy_sys::links::{self, QueueRange, Tap};
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::signals::wait_readable;
use tardy_sys::waiting::sleep_until;
use tardy_tsn::transmission_time::OnCable;

const FRAME_BYTES_MAX: usize = 1 << 14;
/// The interval at which the threads check whether to stop, in ns.
const POLL_NS: u64 = 20_000_000;
/// The threads' priorities: above the timer threads of a PREEMPT_RT kernel (1), below its interrupt threads (50).
/// Softirqs that send frames inherit the priority of a thread that waits for them, so the thread that takes these
/// frames must have a higher priority.
const PRIORITY_GIVING: u32 = 40;
const PRIORITY_TAKING: u32 = 49;

/// One end of a cable.
#[derive(Debug)]
pub(super) struct TapEnd {
    tap: Tap,
    queues: usize,
    speed_bps: Option<u64>,
}

impl TapEnd {
    /// Creates the tap device with this name and interface index in the calling thread's namespace, and sets its speed and the
    /// queues of each priority.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) fn make(
        (name, index): (&str, u32),
        queues: usize,
        speed_bps: Option<u64>,
        of_priority: Option<[QueueRange; 16]>,
    ) -> Result<Self, String> {
        let tap = Tap::make_with_index(name, queues, Some(index)).map_err(|error| {
            format!("tap device {name}: {error}; this requires root and CONFIG_TUN (module tun)")
        })?;
        if let Some(speed_bps) = speed_bps {
            let mbps = u32::try_from(speed_bps / 1_000_000).unwrap_or(u32::MAX).max(1);
            links::set_speed_mbps(name, mbps).map_err(|error| format!("{name} at {mbps} Mbit/s: {error}"))?;
        }
        if let Some(of_priority) = of_priority {
            tap.steer_by_priority(of_priority).map_err(|error| {
                format!("{name}: cannot assign priorities to its queues: {error}; this requires root and CONFIG_BPF_SYSCALL")
            })?;
        }
        Ok(Self { tap, queues, speed_bps })
    }
}

/// A cable. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Cable {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Cable {
    /// Lays a cable between two ends.
    ///
    /// # Errors
    /// A message for the user, if a thread cannot be started.
    pub(super) fn lay(a: TapEnd, b: TapEnd) -> Result<Self, String> {
        // On an error, dropping `cable` stops the threads that were started.
        let mut cable = Self { stop: Arc::default(), threads: Vec::new() };
        let ends = Arc::new([a, b]);
        let mut wires = Vec::new();
        for far in [1, 0] {
            let (sender, frames) = channel();
            let (ends, stop) = (Arc::clone(&ends), Arc::clone(&cable.stop));
            cable.begin("tardy-cable-out", PRIORITY_GIVING, move || give_all(&ends[far], &frames, &stop))?;
            wires.push(Wire { frames: sender, free_from_ns: 0 });
        }
        let stop = Arc::clone(&cable.stop);
        cable.begin("tardy-cable-in", PRIORITY_TAKING, move || take_all(&ends, &mut wires, &stop))?;
        Ok(cable)
    }

    fn begin(
        &mut self,
        name: &str,
        priority: u32,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(), String> {
        let work = move || {
            let _ = scheduling::set(Scheduling::Fifo(priority));
            work();
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        self.threads.push(thread.map_err(|error| format!("cannot start a thread for a cable: {error}"))?);
        Ok(())
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// One direction of a cable: the frames on the wire with the time of each one's last bit, and when the wire is free again: after the
/// gap.
struct Wire {
    frames: Sender<(i64, Vec<u8>)>,
    free_from_ns: i64,
}

/// Takes the frames of either end as soon as they are sent.
fn take_all(ends: &[TapEnd; 2], wires: &mut [Wire], stop: &AtomicBool) {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    let fds: Vec<i32> =
        ends.iter().flat_map(|end| end.tap.descriptors()).map(|descriptor| descriptor.as_raw_fd()).collect();
    let queues: Vec<(usize, usize)> = ends
        .iter()
        .enumerate()
        .flat_map(|(end, taps)| (0..taps.queues).map(move |queue| (end, queue)))
        .collect();
    while !stop.load(Ordering::Relaxed) {
        let Ok(ready) = wait_readable(&fds, POLL_NS) else { return };
        // Take one frame from each queue that has any, so that no queue waits until another is empty.
        for ((end, queue), _) in queues.iter().zip(ready).filter(|(_, ready)| *ready) {
            take_one(&ends[*end], *queue, &mut wires[*end], &mut buffer);
        }
    }
}

/// Delivers each frame on the wire to the far end when its transmission ends.
fn give_all(far: &TapEnd, frames: &Receiver<(i64, Vec<u8>)>, stop: &AtomicBool) {
    for (due_ns, frame) in frames {
        let _ = sleep_until(Clock::Monotonic, due_ns);
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // An interface that is down loses the frame, as on a real cable.
        let _ = far.tap.give(&frame);
    }
}

/// Takes a frame that an end has sent, and puts it on the wire after the previous frame.
fn take_one(end: &TapEnd, queue: usize, wire: &mut Wire, buffer: &mut [u8]) {
    let Ok(Some(length @ 1..)) = end.tap.take(queue, buffer) else { return };
    let on_cable = end.speed_bps.map(|bits_per_second| OnCable::of(length as u32, bits_per_second));
    let start_ns = Clock::Monotonic.now_ns().max(wire.free_from_ns);
    let after = |ns: fn(OnCable) -> u64| start_ns + on_cable.map_or(0, ns).cast_signed();
    wire.free_from_ns = after(OnCable::busy_ns);
    // Sending fails only if the other thread has ended because the cable is being removed.
    let _ = wire.frames.send((after(OnCable::sent_ns), buffer[..length].to_vec()));
}
