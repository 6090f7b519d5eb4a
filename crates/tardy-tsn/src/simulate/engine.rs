//! The event loop of the simulation: events in order of time, until the talkers have stopped and their frames have
//! arrived.

use super::event_queue::{EventQueue, NEVER};
use super::talker::Talker;
use super::transmitter::{Choice, Enqueued, Frame, Sender};
use super::wiring::{Hop, Release, Stream, Wiring};

/// A frame that reached its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// The flow, by its index in [`Wiring::streams`].
    pub flow: u32,
    /// Its sequence number, from 0 for the talker's first frame.
    pub sequence: u64,
    /// When its talker sent it, in ns on the schedules' clock.
    pub sent_ns: i64,
    /// When its last bit arrived, in ns on the same clock.
    pub arrived_ns: i64,
    /// Bytes on the wire.
    pub bytes: u32,
}

/// Receives each event of a frame. The simulator stores none of them.
pub trait Listener {
    /// A frame arrived; calls are in order of time.
    fn arrived(&mut self, arrival: &Arrival);

    /// A transmitter sends a frame of `flow` and `class`, or the rest of an interrupted one, from its first bit at `start_ns` to its last
    /// at `end_ns`, in ns of the simulation, unless it is interrupted before.
    #[inline]
    fn sent(&mut self, transmitter: u32, flow: u32, class: u8, start_ns: u64, end_ns: u64) {
        let _ = (transmitter, flow, class, start_ns, end_ns);
    }

    /// A frame that was sent does not arrive: reported when it is dropped, or at the end for frames still in the
    /// network.
    #[inline]
    fn lost(&mut self, lost: &Lost) {
        let _ = lost;
    }
}

/// A frame that does not reach its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The flow, by its index in [`Wiring::streams`].
    pub flow: u32,
    /// Its sequence number, from 0 for the talker's first frame.
    pub sequence: u64,
    /// When its talker sent it, in ns on the schedules' clock.
    pub sent_ns: i64,
    /// Bytes that it would have on the last wire.
    pub bytes: u32,
    /// The reason.
    pub fate: Fate,
}

/// Why a frame does not reach its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A queue was full.
    QueueFull,
    /// It is longer than its class permits, or than any window of its class.
    TooLong,
    /// Its route ends at a switch.
    Astray,
    /// At the end it waited at a port with gates, which did not open for long enough or were used by other frames.
    AtGates,
    /// At the end it waited in a queue without gates, behind other frames.
    InQueue,
    /// At the end it was on a cable or in its device.
    OnCable,
}

impl Fate {
    /// All variants.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::TooLong, Self::Astray, Self::AtGates, Self::InQueue, Self::OnCable];

    /// Whether a queue did not accept the frame. Others were still in the network at the end.
    pub fn is_drop(self) -> bool {
        matches!(self, Self::QueueFull | Self::TooLong)
    }

    /// A single word for lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::TooLong => "too-long",
            Self::Astray => "astray",
            Self::AtGates => "at-gates",
            Self::InQueue => "in-queue",
            Self::OnCable => "on-cable",
        }
    }

    /// A message for the user.
    pub fn describe(self) -> &'static str {
        match self {
            Self::QueueFull => "were dropped at a full queue",
            Self::TooLong => {
                "were dropped because they exceed the longest window or the maximum SDU of their class"
            }
            Self::Astray => "were not forwarded by a switch",
            Self::AtGates => {
                "waited at a port with gates at the end: the gates did not open for long enough, or other frames were sent first"
            }
            Self::InQueue => "waited in a queue behind other frames at the end",
            Self::OnCable => "were still on a cable at the end",
        }
    }
}

/// What happened to a flow's frames: `sent` is the sum of `received` and all lost frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sent by the talker.
    pub sent: u64,
    /// Received by the listener.
    pub received: u64,
    /// Lost frames, for each [`Fate`] in the order of [`Fate::ALL`].
    pub lost: [u64; Fate::ALL.len()],
}

impl Tally {
    /// The number of frames with this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        self.lost[fate as usize]
    }
}

/// The result of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For each flow, in the order of [`Wiring::streams`].
    pub flows: Vec<Tally>,
    /// Frames sent, counted once for each transmitter.
    pub frame_hops: u64,
    /// The time of the last event, in ns of the simulation.
    pub ended_ns: u64,
}

/// The duration of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// When talkers stop sending, in ns; they start at 0.
    pub talk_ns: u64,
    /// How long frames can arrive after that, in ns.
    pub drain_ns: u64,
}

/// Runs `wiring`. The result depends only on the wiring and the seed, not on the listener.
pub fn run(wiring: &Wiring, duration: Duration, seed: u64, listener: &mut impl Listener) -> Outcome {
    let mut engine = Engine::of(wiring, duration, seed);
    engine.begin(listener);
    let end_ns = duration.talk_ns.saturating_add(duration.drain_ns).min(NEVER - 1);
    let mut now_ns = 0;
    loop {
        let (at_ns, source) = engine.queue.next();
        if at_ns > end_ns {
            break;
        }
        now_ns = at_ns;
        engine.happen(source, now_ns, listener);
    }
    engine.end(listener);
    Outcome { flows: engine.tallies, frame_hops: engine.frame_hops, ended_ns: now_ns }
}

struct Engine<'a> {
    wiring: &'a Wiring,
    hops: &'a [Hop],
    talk_ns: u64,
    senders: Vec<Sender>,
    talkers: Vec<Talker>,
    tallies: Vec<Tally>,
    frame_hops: u64,
    /// Event sources: each transmitter twice (sending, then arriving), then the talkers.
    queue: EventQueue,
}

impl<'a> Engine<'a> {
    fn of(wiring: &'a Wiring, duration: Duration, seed: u64) -> Self {
        let mut senders: Vec<Sender> = wiring.transmitters.iter().map(Sender::of).collect();
        for (flow, stream) in wiring.streams.iter().enumerate() {
            if matches!(stream.release, Release::FlatOut) && stream.hops > 0 {
                let first = &wiring.hops[stream.first_hop as usize];
                senders[first.transmitter as usize].flat_out.push(flow as u32);
            }
        }
        let talker = |(flow, stream)| Talker::of(stream, seed, flow as u64);
        Self {
            wiring,
            hops: &wiring.hops,
            talk_ns: duration.talk_ns,
            queue: EventQueue::of(2 * senders.len() + wiring.streams.len()),
            senders,
            talkers: wiring.streams.iter().enumerate().map(talker).collect(),
            tallies: vec![Tally::default(); wiring.streams.len()],
            frame_hops: 0,
        }
    }

    fn begin(&mut self, listener: &mut impl Listener) {
        for flow in 0..self.talkers.len() {
            let at_ns = self.talkers[flow].next_ns();
            self.queue.set(2 * self.senders.len() + flow, self.within(at_ns));
        }
        for sender in 0..self.senders.len() {
            self.transmit(sender, 0, listener);
        }
    }

    #[inline]
    fn happen(&mut self, source: usize, now_ns: u64, listener: &mut impl Listener) {
        let transmitters = 2 * self.senders.len();
        if source >= transmitters {
            self.talk(source - transmitters, now_ns, listener);
        } else if source % 2 == 1 {
            self.arrive(source / 2, now_ns, listener);
        } else {
            self.transmit(source / 2, now_ns, listener);
        }
    }

    /// A talker sends.
    fn talk(&mut self, flow: usize, now_ns: u64, listener: &mut impl Listener) {
        let stream = &self.wiring.streams[flow];
        for _ in 0..self.talkers[flow].frames() {
            let frame = self.new_frame(flow as u32, now_ns);
            if stream.hops == 0 {
                self.lose(&frame, Fate::Astray, listener);
            } else {
                self.enqueue(frame, now_ns, listener);
            }
        }
        self.talkers[flow].advance();
        let next_ns = self.within(self.talkers[flow].next_ns());
        self.queue.set(2 * self.senders.len() + flow, next_ns);
        if stream.hops > 0 {
            self.transmit(self.hops[stream.first_hop as usize].transmitter as usize, now_ns, listener);
        }
    }

    /// A frame arrives at the other end of a cable.
    #[inline]
    fn arrive(&mut self, sender: usize, now_ns: u64, listener: &mut impl Listener) {
        let Some(mut frame) = self.senders[sender].arrived() else { return };
        self.queue.set(2 * sender + 1, self.senders[sender].arrives_ns());
        if self.hops[frame.hop as usize].last {
            self.receive(&frame, now_ns, listener);
            return;
        }
        let stream = &self.wiring.streams[frame.flow as usize];
        frame.hop += 1;
        if frame.hop == stream.first_hop + u32::from(stream.hops) {
            self.lose(&frame, Fate::Astray, listener);
            return;
        }
        self.enqueue(frame, now_ns, listener);
        self.transmit(self.hops[frame.hop as usize].transmitter as usize, now_ns, listener);
    }

    /// A transmitter sends as many frames as it can. Its next attempt becomes an event.
    #[inline]
    fn transmit(&mut self, sender: usize, now_ns: u64, listener: &mut impl Listener) {
        let arrived_ns = self.senders[sender].arrives_ns();
        self.senders[sender].begin_attempt();
        let again_ns = loop {
            let waiting = self.senders[sender].has_waiting();
            let flat_out = !waiting && now_ns < self.talk_ns && !self.senders[sender].flat_out.is_empty();
            if !waiting && !flat_out {
                break NEVER;
            }
            let (hops, streams) = (self.hops, &self.wiring.streams);
            let interrupts_ns = self.senders[sender].interrupt(hops, now_ns);
            let next_ps = |sender: &Sender| next_ps(sender, hops, streams);
            if let Some(free_ns) = self.senders[sender].busy_until_ns(now_ns, next_ps) {
                break free_ns.min(interrupts_ns);
            }
            let frame = if flat_out {
                self.senders[sender].next_flat_out().map(|flow| self.new_frame(flow, now_ns))
            } else {
                match self.senders[sender].choose(self.hops, now_ns) {
                    Choice::Wait(at_ns) => break at_ns,
                    Choice::Resume => {
                        if let Some((frame, start_ns, end_ns)) = self.senders[sender].resume(now_ns) {
                            let class = self.hops[frame.hop as usize].class;
                            listener.sent(sender as u32, frame.flow, class, start_ns, end_ns);
                        }
                        continue;
                    }
                    Choice::Send { class, queue } => self.senders[sender].dequeue(class, queue),
                }
            };
            let Some(frame) = frame else { break NEVER };
            let hop = &self.hops[frame.hop as usize];
            let (start_ns, end_ns) = self.senders[sender].send(frame, hop, now_ns);
            self.frame_hops += 1;
            listener.sent(sender as u32, frame.flow, hop.class, start_ns, end_ns);
        };
        self.queue.set(2 * sender, again_ns);
        if self.senders[sender].arrives_ns() != arrived_ns {
            self.queue.set(2 * sender + 1, self.senders[sender].arrives_ns());
        }
    }

    #[inline]
    fn enqueue(&mut self, frame: Frame, now_ns: u64, listener: &mut impl Listener) {
        let hop = &self.hops[frame.hop as usize];
        match self.senders[hop.transmitter as usize].enqueue(frame, hop, now_ns) {
            Enqueued::Queued => {}
            Enqueued::Full => self.lose(&frame, Fate::QueueFull, listener),
            Enqueued::TooLong => self.lose(&frame, Fate::TooLong, listener),
        }
    }

    /// Reports the frames that are still in the network as lost.
    fn end(&mut self, listener: &mut impl Listener) {
        for sender in std::mem::take(&mut self.senders) {
            let waiting = if sender.has_gates() { Fate::AtGates } else { Fate::InQueue };
            sender.queued().for_each(|frame| self.lose(frame, waiting, listener));
            sender.on_cable().for_each(|frame| self.lose(frame, Fate::OnCable, listener));
        }
    }

    fn lose(&mut self, frame: &Frame, fate: Fate, listener: &mut impl Listener) {
        self.tallies[frame.flow as usize].lost[fate as usize] += 1;
        listener.lost(&Lost {
            flow: frame.flow,
            sequence: frame.sequence,
            sent_ns: self.wiring.zero_ns.saturating_add_unsigned(frame.sent_ns),
            bytes: self.wiring.streams[frame.flow as usize].wire_bytes,
            fate,
        });
    }

    fn receive(&mut self, frame: &Frame, now_ns: u64, listener: &mut impl Listener) {
        self.tallies[frame.flow as usize].received += 1;
        let zero_ns = self.wiring.zero_ns;
        listener.arrived(&Arrival {
            flow: frame.flow,
            sequence: frame.sequence,
            sent_ns: zero_ns.saturating_add_unsigned(frame.sent_ns),
            arrived_ns: zero_ns.saturating_add_unsigned(now_ns),
            bytes: self.wiring.streams[frame.flow as usize].wire_bytes,
        });
    }

    fn new_frame(&mut self, flow: u32, now_ns: u64) -> Frame {
        let tally = &mut self.tallies[flow as usize];
        let sequence = tally.sent;
        tally.sent += 1;
        Frame { sent_ns: now_ns, sequence, flow, hop: self.wiring.streams[flow as usize].first_hop }
    }

    /// The time, or [`NEVER`] if talkers have stopped by then.
    fn within(&self, at_ns: u64) -> u64 {
        if at_ns < self.talk_ns { at_ns } else { NEVER }
    }
}

/// How long the next frame of a sender with one class occupies its cable.
fn next_ps(sender: &Sender, hops: &[Hop], streams: &[Stream]) -> u64 {
    let of_flow = |flow: u32| streams[flow as usize].first_hop;
    let hop = sender.first_waiting().or_else(|| sender.coming_flat_out().map(of_flow));
    hop.map_or(0, |hop| hops[hop as usize].on_cable.busy_ps)
}
