//! When frames entered and left the shapers' queues, from the kernel's own trace.
//!
//! The times of the event qdisc_dequeue at the last port are compared with the listener's arrival times. The wire
//! between the two neither loses nor reorders frames, so the n-th frame that was dequeued is the n-th that arrived.

use std::collections::BTreeMap;

use tardy_record::flow::DequeueCost;
use tardy_sys::clock::Clock;
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::links;
use tardy_tsn::network::{End, Network, PortId};

use super::Test;
use super::build::Scene;
use super::listener::{STAMPS_MAX, Stamp};
use crate::HANDLE;
use tardy_host::trace::format::Field;
use tardy_host::trace::instance::Instance;
use tardy_host::trace::page::{PageLayout, Piece};
use tardy_host::trace::tracefs::Tracefs;

const EVENT: &str = "qdisc/qdisc_dequeue";
const ENQUEUE_EVENT: &str = "qdisc/qdisc_enqueue";
/// Room for events, in KiB per CPU.
const BUFFER_KIB: u32 = 16 << 10;

/// A running trace.
pub(super) struct DequeueWatch {
    instance: Instance,
    page: PageLayout,
    fields: Fields,
    ports: TracedPorts,
}

/// The ports with a shaper.
#[derive(Debug, Default)]
struct TracedPorts {
    /// By the index of the port's interface.
    of_index: BTreeMap<u64, PortId>,
    /// The host at the other end of a port's cable.
    hosts: BTreeMap<PortId, usize>,
}

struct Fields {
    kind: Field,
    id: u16,
    device: Field,
    packets: Field,
    /// The address of the first frame, if frames are followed.
    frame: Option<Field>,
    /// The fields of qdisc_enqueue, which kernels before 5.15 do not have.
    enqueue: Option<EnqueueFields>,
}

struct EnqueueFields {
    id: u16,
    device: Field,
    queue: Field,
    frame: Option<Field>,
}

/// A frame that entered a queue of a port or left one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameEvent {
    /// When, in ns of CLOCK_REALTIME.
    pub(super) at_ns: i64,
    /// Its address in kernel memory, which other frames use after it left.
    pub(super) frame: u64,
    /// The address of the queue that it entered; `None`: it left.
    pub(super) queue: Option<u64>,
}

/// The trace of all ports with a shaper.
#[derive(Debug, Default)]
pub(super) struct PortTimes {
    of_port: BTreeMap<PortId, DequeueTimes>,
    hosts: BTreeMap<PortId, usize>,
    /// In the order of time, if frames are followed.
    events: BTreeMap<PortId, Vec<FrameEvent>>,
}

impl PortTimes {
    /// The times of the port towards a host.
    pub(super) fn towards(&self, host: usize) -> Option<&DequeueTimes> {
        let (port, _) = self.hosts.iter().find(|(_, other)| **other == host)?;
        self.of_port.get(port)
    }

    /// The frames that entered a port's queues and left them.
    pub(super) fn events(&self, port: PortId) -> &[FrameEvent] {
        self.events.get(&port).map_or(&[], Vec::as_slice)
    }
}

/// When frames left a port, in ns of CLOCK_REALTIME.
#[derive(Debug, Default)]
pub(super) struct DequeueTimes {
    times_ns: Vec<i64>,
    /// When frames entered each of the port's queues, by the queue's address in kernel memory. The addresses have the
    /// same order as the queues.
    enqueued_ns: BTreeMap<u64, Vec<i64>>,
}

impl DequeueWatch {
    /// Starts tracing the ports with a shaper; `None` if the kernel does not have the event, or the ports have no
    /// shaper. `id` names the trace.
    pub(super) fn start(test: &Test, scene: &Scene, id: &str) -> Option<Self> {
        if scene.schedules().is_empty() {
            return None;
        }
        // An event contains only an interface's index, and each namespace numbers its interfaces separately.
        let ports = traced_ports(&test.network, scene)?;
        let tracefs = Tracefs::find(&KernelFiles::real()).ok()?;
        let format = tracefs.format(EVENT).ok()?;
        let page = tracefs.page().ok()?;
        let fields = Fields {
            kind: format.field("common_type")?,
            id: format.id,
            device: format.field("ifindex")?,
            packets: format.field("packets")?,
            frame: test.follow.then(|| format.field("skbaddr")).flatten(),
            enqueue: test.keep_frames.then(|| enqueue_fields(&tracefs, test.follow)).flatten(),
        };
        let instance = Instance::make(&tracefs, id).ok()?;
        let handle = u32::from(HANDLE) << 16;
        instance.write("trace_clock", "mono").ok()?;
        instance.write("buffer_size_kb", &BUFFER_KIB.to_string()).ok()?;
        let _ = instance.write("trace_options", "norecord-cmd");
        instance.write(&format!("events/{EVENT}/filter"), &format!("handle=={handle}&&packets>0")).ok()?;
        instance.write(&format!("events/{EVENT}/enable"), "1").ok()?;
        if fields.enqueue.is_some() {
            instance.write(&format!("events/{ENQUEUE_EVENT}/filter"), &format!("handle=={handle}")).ok()?;
            instance.write(&format!("events/{ENQUEUE_EVENT}/enable"), "1").ok()?;
        }
        instance.write("tracing_on", "1").ok()?;
        Some(Self { instance, page, fields, ports })
    }

    /// Ends the trace. Returns when frames left each port; nothing if events were lost.
    pub(super) fn end(self) -> PortTimes {
        let _ = self.instance.write("tracing_on", "0");
        let mut times: BTreeMap<PortId, DequeueTimes> = BTreeMap::new();
        let mut events: BTreeMap<PortId, Vec<FrameEvent>> = BTreeMap::new();
        let Ok(mut reader) = self.instance.reader(self.page) else { return PortTimes::default() };
        let ahead_ns = Clock::Realtime.ahead_of_ns(Clock::Monotonic);
        let mut lost = false;
        let read = reader.read(u64::MAX, |_, piece| match piece {
            Piece::Lost { .. } => lost = true,
            Piece::Event { at_ns, bytes } => {
                let Fields { kind, id, device, packets, frame, enqueue } = &self.fields;
                let port_of = |device: &Field| {
                    device.number(bytes).and_then(|index| self.ports.of_index.get(&index)).copied()
                };
                let at_ns = at_ns.cast_signed() + ahead_ns;
                let frame_of = |frame: &Option<Field>| frame.as_ref().and_then(|frame| frame.number(bytes));
                let found = kind.number(bytes);
                if let Some(enqueue) = enqueue.as_ref().filter(|of| found == Some(u64::from(of.id)))
                    && let (Some(port), Some(queue)) = (port_of(&enqueue.device), enqueue.queue.number(bytes))
                {
                    let of_port = times.entry(port).or_default();
                    of_port.enqueued_ns.entry(queue).or_default().push(at_ns);
                    if let Some(frame) = frame_of(&enqueue.frame) {
                        let queue = Some(queue);
                        events.entry(port).or_default().push(FrameEvent { at_ns, frame, queue });
                    }
                }
                if found != Some(u64::from(*id)) {
                    return;
                }
                if let (Some(port), Some(packets)) = (port_of(device), packets.number(bytes)) {
                    let of_port = times.entry(port).or_default();
                    (0..packets).for_each(|_| of_port.times_ns.push(at_ns));
                    if let Some(frame) = frame_of(frame) {
                        events.entry(port).or_default().push(FrameEvent { at_ns, frame, queue: None });
                    }
                }
            }
        });
        if lost || read.is_err() || self.instance.lost_events() > 0 {
            return PortTimes::default();
        }
        // The events of each CPU are in order, but those of several CPUs are not.
        for one in times.values_mut() {
            one.times_ns.sort_unstable();
            one.enqueued_ns.values_mut().for_each(|queue| queue.sort_unstable());
        }
        events.values_mut().for_each(|events| events.sort_by_key(|event| event.at_ns));
        PortTimes { of_port: times, hosts: self.ports.hosts, events }
    }
}

impl DequeueTimes {
    /// Each of these arrivals, and when the frame left the port; `None` if the frames do not match.
    pub(super) fn departures(&self, stamps: &[Stamp]) -> Option<Vec<(Stamp, i64)>> {
        let together = self.times_ns.len() == stamps.len() && self.cost(stamps).is_some();
        together.then(|| stamps.iter().copied().zip(self.times_ns.iter().copied()).collect())
    }

    /// For each of these arrival times, when the frame left the port; `None` if the frames do not match.
    pub(super) fn left_ns(&self, stamps: &[Stamp]) -> Option<BTreeMap<i64, i64>> {
        let departures = self.departures(stamps)?;
        Some(departures.into_iter().map(|(stamp, left_ns)| (stamp.at_ns, left_ns)).collect())
    }

    /// When the frames of each class were queued. `received` has the number of received frames of each class. `None` if
    /// the frames do not match, for example because a class has several queues.
    pub(super) fn queued_ns(&self, received: &BTreeMap<u8, usize>) -> Option<BTreeMap<u8, &[i64]>> {
        let together = self.enqueued_ns.len() == received.len()
            && self
                .enqueued_ns
                .values()
                .zip(received.values())
                .all(|(queued, frames)| queued.len() == *frames);
        together.then(|| received.keys().copied().zip(self.enqueued_ns.values().map(Vec::as_slice)).collect())
    }

    /// The times from dequeueing to reception, given the arrivals; `None` if the frames do not match.
    pub(super) fn cost(&self, stamps: &[Stamp]) -> Option<DequeueCost> {
        let count = self.times_ns.len();
        let comparable = count == stamps.len() || (count > STAMPS_MAX && stamps.len() == STAMPS_MAX);
        if !comparable {
            return None;
        }
        let cost = |(left, came): (&i64, &Stamp)| u64::try_from(came.at_ns - left).ok();
        let costs: Option<Vec<u64>> = self.times_ns.iter().zip(stamps).map(cost).collect();
        DequeueCost::of(&costs?)
    }
}

fn enqueue_fields(tracefs: &Tracefs, follows: bool) -> Option<EnqueueFields> {
    let format = tracefs.format(ENQUEUE_EVENT).ok()?;
    Some(EnqueueFields {
        id: format.id,
        device: format.field("ifindex")?,
        queue: format.field("txq")?,
        frame: format.field("skbaddr").filter(|_| follows),
    })
}

/// The ports with a shaper; `None` if two of them have the same index, since their events cannot be distinguished.
fn traced_ports(network: &Network, scene: &Scene) -> Option<TracedPorts> {
    let mut ports = TracedPorts::default();
    for link in &network.links {
        for (end, far) in [(link.a, link.b), (link.b, link.a)] {
            let End::Port(port) = end else { continue };
            let name = &network.switches[port.switch].ports[port.port].interface.value;
            if !scene.schedules().iter().any(|schedule| schedule.port == *name) {
                continue;
            }
            let index = scene.in_switch(port.switch, || links::index_of(name)).ok()?.ok()?;
            if ports.of_index.insert(u64::from(index), port).is_some() {
                return None;
            }
            if let End::Host(host) = far {
                ports.hosts.insert(port, host);
            }
        }
    }
    Some(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(times_ns: &[i64]) -> Vec<Stamp> {
        times_ns.iter().map(|at_ns| Stamp { at_ns: *at_ns, flow: None, counts: false }).collect()
    }

    #[test]
    fn the_nth_frame_that_left_is_the_nth_that_arrived() {
        let times = DequeueTimes { times_ns: vec![100, 200, 300], ..DequeueTimes::default() };
        let cost = times.cost(&stamps(&[110, 230, 320])).unwrap();
        assert_eq!((cost.frames, cost.min_ns, cost.median_ns, cost.max_ns), (3, 10, 20, 30));
        assert_eq!(times.cost(&stamps(&[110, 230])), None, "it is unknown which frame was lost");
        assert_eq!(times.cost(&stamps(&[90, 230, 320])), None, "a frame cannot arrive before it leaves");
        let left = times.left_ns(&stamps(&[110, 230, 320]));
        assert_eq!(left, Some([(110, 100), (230, 200), (320, 300)].into()));
        assert_eq!(times.left_ns(&stamps(&[110, 230])), None);
    }

    #[test]
    fn the_nth_class_has_the_nth_queue() {
        let enqueued_ns = [(0x1000, vec![7, 8]), (0x3000, vec![9])].into();
        let times = DequeueTimes { enqueued_ns, ..DequeueTimes::default() };
        let queued = times.queued_ns(&[(1, 2), (4, 1)].into()).unwrap();
        assert_eq!((queued[&1], queued[&4]), (&[7, 8][..], &[9][..]));
        assert_eq!(times.queued_ns(&[(1, 2)].into()), None, "a queue belongs to no class");
        assert_eq!(times.queued_ns(&[(1, 1), (4, 1)].into()), None, "it is unknown which frame was lost");
    }
}
