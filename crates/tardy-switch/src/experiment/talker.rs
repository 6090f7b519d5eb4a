//! A talker: sends a flow's frames at their times, or as fast as it can.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tardy_sys::clock::Clock;
use tardy_sys::packet::PacketSocket;
use tardy_sys::qdiscs::Etf;
use tardy_sys::waiting;
use tardy_tsn::network::Pace;

use super::frame::{Payload, Template};

/// The most bytes of a flow that wait in its socket: a talker that sends without pause must not fill the queue that it
/// shares with others.
const SEND_BUFFER_BYTES: usize = 16 << 10;
/// How long a talker waits when the queue is full.
const FULL_QUEUE: Duration = Duration::from_micros(200);

/// How long before its time a frame is passed to ETF, in addition to the time that ETF itself requires: a sleeping
/// thread wakes late.
const LAUNCH_LEAD_NS: i64 = 1_000_000;

/// The clock and the lead of transmit times (SO_TXTIME), at which frames leave regardless of when they are passed to
/// the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    clock: Clock,
    lead_ns: i64,
}

impl Launch {
    /// Makes `socket` accept transmit times for an interface with `etf`.
    ///
    /// # Errors
    /// A message for the user, if the kernel refuses.
    pub(super) fn prepare(etf: Etf, socket: &PacketSocket) -> Result<Self, String> {
        let number = etf.clock_id;
        let clock = Clock::of_id(number)
            .ok_or_else(|| format!("ETF uses clock {number}, which tardy does not support"))?;
        socket
            .enable_transmit_time(clock)
            .map_err(|error| format!("the kernel does not accept transmit times (SO_TXTIME): {error}"))?;
        Ok(Self { clock, lead_ns: i64::from(etf.delta_ns) + LAUNCH_LEAD_NS })
    }

    /// Sends a frame at the earliest time for which ETF surely accepts it.
    ///
    /// # Errors
    /// As [`PacketSocket::send_at`].
    pub(super) fn send_soon(self, socket: &PacketSocket, frame: &[u8]) -> std::io::Result<()> {
        socket.send_at(frame, (self.clock.now_ns() + self.lead_ns).max(0).unsigned_abs())
    }
}

/// A talker that is ready.
pub(super) struct Talker {
    /// Index of its flow.
    pub(super) flow: u8,
    /// Index of the phase.
    pub(super) phase: u8,
    /// Its socket.
    pub(super) socket: PacketSocket,
    /// Its frames.
    pub(super) template: Template,
    /// When it sends.
    pub(super) pace: Pace,
    /// The clock of its times.
    pub(super) clock: Clock,
    /// The transmit times, if its interface has ETF.
    pub(super) launch: Option<Launch>,
    /// A start of the cycle, from which periods count.
    pub(super) base_ns: i64,
    /// Whether to stop early.
    pub(super) stop: Arc<AtomicBool>,
    /// The number of sent frames that count. Not 64 bits wide: armv5te has no such atomics.
    pub(super) sent: Arc<AtomicUsize>,
}

/// The send times that count, in ns on the talker's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The start: frames that are sent earlier do not count.
    pub(super) start_ns: i64,
    /// The end, at which the talker stops.
    pub(super) end_ns: i64,
}

impl Talker {
    /// Sends until the end of `times`, or until `stop` is set.
    ///
    /// # Errors
    /// A message for the user, if the kernel refuses a frame permanently.
    pub(super) fn run(mut self, times: Times) -> Result<(), String> {
        self.socket.set_send_buffer(SEND_BUFFER_BYTES).map_err(|error| error.to_string())?;
        let mut sequence = 0u32;
        let mut send = |talker: &mut Self, launch_ns: Option<i64>| -> Result<bool, String> {
            let sent_ns = launch_ns.unwrap_or_else(|| talker.clock.now_ns());
            if sent_ns >= times.end_ns || talker.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let payload = Payload { flow: talker.flow, phase: talker.phase, sequence, sent_ns };
            let frame = talker.template.with(payload);
            let sent = match talker.launch.zip(launch_ns) {
                Some((launch, at_ns)) => {
                    let at_ns = at_ns + launch.clock.ahead_of_ns(talker.clock);
                    talker.socket.send_at(frame, at_ns.max(0).unsigned_abs())
                }
                None => talker.socket.send(frame),
            };
            match sent {
                Ok(()) => {
                    sequence = sequence.wrapping_add(1);
                    talker.sent.fetch_add(usize::from(sent_ns >= times.start_ns), Ordering::Relaxed);
                    Ok(true)
                }
                // The queue is full: the kernel did not accept the frame, so it does not count as lost.
                Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => {
                    std::thread::sleep(FULL_QUEUE);
                    Ok(true)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
                Err(error) => Err(format!("a frame was not sent: {error}")),
            }
        };
        match self.pace {
            Pace::FlatOut => while send(&mut self, None)? {},
            Pace::Periodic { period_ns, offset_ns, frames } => {
                let period = i64::try_from(period_ns).unwrap_or(i64::MAX).max(1);
                let first = self.base_ns.saturating_add(offset_ns.cast_signed());
                let now_ns = self.clock.now_ns();
                // The first frame whose transmit time is far enough ahead.
                let now_ns = now_ns + self.launch.map_or(0, |launch| launch.lead_ns);
                let mut next_ns = now_ns + period - (now_ns - first).rem_euclid(period);
                'periods: while next_ns < times.end_ns {
                    let lead_ns = self.launch.map_or(0, |launch| launch.lead_ns);
                    waiting::sleep_until(self.clock, next_ns - lead_ns).map_err(|error| error.to_string())?;
                    let launch_ns = self.launch.map(|_| next_ns);
                    for _ in 0..frames {
                        if !send(&mut self, launch_ns)? {
                            break 'periods;
                        }
                    }
                    next_ns += period;
                }
            }
        }
        Ok(())
    }
}

/// ENOBUFS.
const NO_BUFFERS: i32 = 105;
