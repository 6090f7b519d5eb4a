//! A talker: sends a flow's frames at their times, or as fast as it can.

use std::io::ErrorKind;
use std::time::Duration;

use tardy_sys::clock::Clock;
use tardy_sys::packet::PacketSocket;
use tardy_sys::waiting;
use tardy_tsn::network::Pace;

use super::frame::{Payload, Template};

/// How much of a flow waits in its socket at most, in bytes: a talker that may send without end shall not fill the queue
/// that it shares with others.
const SEND_BUFFER_BYTES: usize = 16 << 10;
/// How long a talker waits when the queue is full.
const FULL_QUEUE: Duration = Duration::from_micros(200);

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
    /// A start of the cycle, from which periods count.
    pub(super) base_ns: i64,
}

/// For how long a talker sends, and which of its frames count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Frames count that are sent from here,
    pub(super) start_ns: i64,
    /// to here, where it stops.
    pub(super) end_ns: i64,
}

impl Talker {
    /// Sends until the end: how many of the frames count.
    ///
    /// # Errors
    /// In words, if the kernel refuses a frame for good.
    pub(super) fn run(mut self, times: Times) -> Result<u64, String> {
        self.socket.set_send_buffer(SEND_BUFFER_BYTES).map_err(|error| error.to_string())?;
        let mut sequence = 0u32;
        let mut counted = 0u64;
        let mut send = |talker: &mut Self| -> Result<bool, String> {
            let sent_ns = talker.clock.now_ns();
            if sent_ns >= times.end_ns {
                return Ok(false);
            }
            let payload = Payload { flow: talker.flow, phase: talker.phase, sequence, sent_ns };
            match talker.socket.send(talker.template.with(payload)) {
                Ok(()) => {
                    sequence = sequence.wrapping_add(1);
                    counted += u64::from(sent_ns >= times.start_ns);
                    Ok(true)
                }
                // A full queue: the frame was not taken, and is no loss of the switch's.
                Err(error) if error.raw_os_error() == Some(NO_BUFFERS) => {
                    std::thread::sleep(FULL_QUEUE);
                    Ok(true)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
                Err(error) => Err(format!("a frame was not sent: {error}")),
            }
        };
        match self.pace {
            Pace::FlatOut => while send(&mut self)? {},
            Pace::Periodic { period_ns, offset_ns, frames } => {
                let period = i64::try_from(period_ns).unwrap_or(i64::MAX).max(1);
                let first = self.base_ns.saturating_add(offset_ns.cast_signed());
                let now_ns = self.clock.now_ns();
                let mut next_ns = now_ns + period - (now_ns - first).rem_euclid(period);
                'periods: while next_ns < times.end_ns {
                    waiting::sleep_until(self.clock, next_ns).map_err(|error| error.to_string())?;
                    for _ in 0..frames {
                        if !send(&mut self)? {
                            break 'periods;
                        }
                    }
                    next_ns += period;
                }
            }
        }
        Ok(counted)
    }
}

/// ENOBUFS.
const NO_BUFFERS: i32 = 105;
