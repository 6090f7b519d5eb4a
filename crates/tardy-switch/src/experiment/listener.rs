//! A listener: receives frames with the kernel's time of arrival, and records each for its flow.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tardy_record::flow_recorder::{Arrival, FlowRecorder};
use tardy_sys::packet::{PacketSocket, Received};
use tardy_sys::signals::wait_readable;
use tardy_tsn::simulate::engine::Arrival as FrameArrival;

use super::frame;
use super::stamps::DeviceStamps;
use super::talker::Times;

/// The interval at which a listener checks whether to stop.
const POLL_NS: u64 = 20_000_000;
/// The longest frame, with its tag.
const FRAME_BYTES_MAX: usize = 1 << 14;
/// The most arrival times that a listener keeps, for comparison with the kernel's dequeue times.
pub(super) const STAMPS_MAX: usize = 1 << 17;
/// The most frames that a listener keeps individually, if requested: 10 MiB.
pub(super) const FRAMES_MAX: usize = 1 << 18;

/// One flow at its listener.
pub(super) struct FlowRecord {
    /// The record of its frames.
    pub(super) recorder: FlowRecorder,
    /// Only frames that were sent within these times count.
    pub(super) times: Times,
    /// How far the schedule's clock is ahead of CLOCK_REALTIME, in ns.
    pub(super) ahead_of_realtime_ns: i64,
    /// Bytes that each frame takes on the wire.
    pub(super) wire_bytes: u64,
    /// Counted frames without an arrival time.
    pub(super) unstamped: u64,
    /// Counted frames with a hardware time stamp.
    pub(super) stamped_by_device: u64,
}

/// The flows of a listener by their index in the file. They can be read while it receives.
pub(super) type Flows = Arc<Mutex<Vec<(u8, FlowRecord)>>>;

/// A listener that is ready.
pub(super) struct Listener {
    /// Its socket.
    pub(super) socket: PacketSocket,
    /// The device's own times of arrival, if it has them.
    pub(super) device: Option<DeviceStamps>,
    /// Why the device's times are not used, although it supports time stamps.
    pub(super) remark: Option<String>,
    /// Index of the phase.
    pub(super) phase: u8,
    /// Its flows.
    pub(super) flows: Flows,
    /// When the run began, in ns of CLOCK_REALTIME.
    pub(super) run_start_realtime_ns: i64,
    /// Frames received by all listeners.
    pub(super) came: Arc<AtomicU32>,
    /// Whether to stop.
    pub(super) stop: Arc<AtomicBool>,
    /// Every frame, if frames are kept.
    pub(super) frames: Option<KeptFrames>,
}

/// The first frames that arrived, including those of the warm-up.
#[derive(Debug, Default)]
pub(super) struct KeptFrames {
    /// At most [`FRAMES_MAX`], in the order in which they were read.
    pub(super) frames: Vec<FrameArrival>,
    /// The number of frames that arrived after those.
    pub(super) left_out: u64,
}

impl KeptFrames {
    fn keep(&mut self, frame: FrameArrival) {
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(frame);
        } else {
            self.left_out += 1;
        }
    }
}

/// A frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// When, in ns of CLOCK_REALTIME.
    pub(super) at_ns: i64,
    /// Its flow, if it is one of this phase's.
    pub(super) flow: Option<u8>,
    /// Whether it was sent in the time that counts.
    pub(super) counts: bool,
}

/// The result of a listener.
pub(super) struct ListenerResult {
    /// Every frame of any kind, in the order of arrival; at most [`STAMPS_MAX`].
    pub(super) stamps: Vec<Stamp>,
    /// Every frame of the flows, if frames are kept.
    pub(super) frames: Option<KeptFrames>,
    /// How far CLOCK_REALTIME was ahead of the device's clock at the end, in ns, if the device reported the times.
    pub(super) behind_ns: Option<i64>,
    /// Remarks for the user.
    pub(super) remark: Option<String>,
}

impl Listener {
    /// Receives until `stop` is set.
    ///
    /// # Errors
    /// A message for the user, if the socket fails.
    pub(super) fn run(mut self) -> Result<ListenerResult, String> {
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        let mut stamps = Vec::with_capacity(STAMPS_MAX);
        let fd = self.socket.as_fd().as_raw_fd();
        while !self.stop.load(Ordering::Relaxed) {
            wait_readable(&[fd], POLL_NS).map_err(|error| error.to_string())?;
            if let Some(device) = &mut self.device {
                device.compare();
            }
            let flows = Arc::clone(&self.flows);
            let mut flows = lock(&flows);
            while let Some(received) = self.socket.receive(&mut buffer).map_err(|error| error.to_string())? {
                self.came.fetch_add(1, Ordering::Relaxed);
                let taken = self.take(&mut flows, &buffer[..received.length], &received);
                if let Some(at_ns) = received.software_ns.filter(|_| stamps.len() < STAMPS_MAX) {
                    let (flow, counts) = taken.map_or((None, false), |(flow, counts)| (Some(flow), counts));
                    stamps.push(Stamp { at_ns, flow, counts });
                }
            }
        }
        let behind_ns = self.device.as_ref().map(DeviceStamps::behind_ns);
        Ok(ListenerResult { stamps, behind_ns, remark: self.remark, frames: self.frames })
    }

    /// Records a frame. Returns its flow and whether it counts, unless it is of no flow of this phase.
    fn take(
        &mut self,
        flows: &mut [(u8, FlowRecord)],
        bytes: &[u8],
        received: &Received,
    ) -> Option<(u8, bool)> {
        let payload = frame::read(bytes).filter(|payload| payload.phase == self.phase)?;
        let (_, record) = flows.iter_mut().find(|(flow, _)| *flow == payload.flow)?;
        let noted_ns = match &self.device {
            Some(device) => received.hardware_ns.map(|at_ns| device.to_realtime_ns(at_ns)),
            None => received.software_ns,
        };
        if let (Some(kept), Some(realtime_ns)) = (&mut self.frames, noted_ns) {
            kept.keep(FrameArrival {
                flow: u32::from(payload.flow),
                sequence: u64::from(payload.sequence),
                sent_ns: payload.sent_ns,
                arrived_ns: realtime_ns + record.ahead_of_realtime_ns,
                bytes: record.wire_bytes as u32,
            });
        }
        let counts = (record.times.start_ns..record.times.end_ns).contains(&payload.sent_ns);
        if !counts {
            return Some((payload.flow, false));
        }
        record.stamped_by_device += u64::from(received.hardware_ns.is_some());
        let Some(realtime_ns) = noted_ns else {
            record.unstamped += 1;
            return Some((payload.flow, true));
        };
        record.recorder.arrived(Arrival {
            sequence: u64::from(payload.sequence),
            sent_ns: payload.sent_ns,
            received_ns: realtime_ns + record.ahead_of_realtime_ns,
            at_ns: (realtime_ns - self.run_start_realtime_ns).max(0).unsigned_abs(),
            wire_bytes: record.wire_bytes,
        });
        Some((payload.flow, true))
    }
}

/// The flows, locked against changes.
pub(super) fn lock(flows: &Flows) -> MutexGuard<'_, Vec<(u8, FlowRecord)>> {
    flows.lock().unwrap_or_else(PoisonError::into_inner)
}
