//! The simulation itself: events in the order of time, until the talkers stop and what they sent has arrived.

use super::talker::Talker;
use super::tournament::{NEVER, Tournament};
use super::transmitter::{Choice, Enqueued, Frame, Sender};
use super::wiring::{Hop, Release, Stream, Wiring};

/// A frame that reached its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// The flow, by its place in [`Wiring::streams`].
    pub flow: u32,
    /// Its number, from 0 for the talker's first.
    pub sequence: u64,
    /// When its talker sent it, in ns on the schedules' clock.
    pub sent_ns: i64,
    /// When its last bit was there, in ns on the same clock.
    pub arrived_ns: i64,
    /// Bytes that it took on the wire.
    pub bytes: u32,
}

/// Who hears of frames, one by one. Nothing of what was heard is kept by the simulator.
pub trait Listener {
    /// A frame arrived; in the order of time.
    fn arrived(&mut self, arrival: &Arrival);

    /// A frame of `flow` and `class` is sent by a transmitter from `start_ns` to `end_ns`, in ns of the simulation.
    #[inline]
    fn sent(&mut self, transmitter: u32, flow: u32, class: u8, start_ns: u64, end_ns: u64) {
        let _ = (transmitter, flow, class, start_ns, end_ns);
    }

    /// A frame that was sent does not arrive: told when it is dropped, or at the end of what still is on its way.
    #[inline]
    fn lost(&mut self, lost: &Lost) {
        let _ = lost;
    }
}

/// A frame that does not reach its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The flow, by its place in [`Wiring::streams`].
    pub flow: u32,
    /// Its number, from 0 for the talker's first.
    pub sequence: u64,
    /// When its talker sent it, in ns on the schedules' clock.
    pub sent_ns: i64,
    /// Bytes that it would have taken on the last wire.
    pub bytes: u32,
    /// Why.
    pub fate: Fate,
}

/// Why a frame does not reach its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A queue was full.
    QueueFull,
    /// It is longer than its class allows, or than its class ever has time for.
    TooLong,
    /// Its way ends at a switch.
    Astray,
    /// At the end it still waited at a port with gates: they did not open for long enough, or others went before it.
    AtGates,
    /// At the end it still waited in a queue without gates, behind others.
    InQueue,
    /// At the end it was on a cable, or in the device before it.
    OnCable,
}

impl Fate {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::TooLong, Self::Astray, Self::AtGates, Self::InQueue, Self::OnCable];

    /// One word for a list.
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

    /// What became of such frames, for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::QueueFull => "were dropped at a full queue",
            Self::TooLong => "were dropped for being longer than their class ever has time for, or may be",
            Self::Astray => "ended at a switch that does not forward them",
            Self::AtGates => {
                "still waited at a port with gates at the end: these did not open for long enough, or other frames went first"
            }
            Self::InQueue => "still waited at the end for frames before them to be sent",
            Self::OnCable => "were still on a cable at the end",
        }
    }
}

/// What became of a flow's frames: `sent` is `received` and all that is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sent by the talker.
    pub sent: u64,
    /// Received by the listener.
    pub received: u64,
    /// Not received, for each [`Fate`] in the order of [`Fate::ALL`].
    pub lost: [u64; Fate::ALL.len()],
}

impl Tally {
    /// How many frames had this fate.
    pub fn of(&self, fate: Fate) -> u64 {
        self.lost[fate as usize]
    }
}

/// What a simulation came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For each flow, in the order of [`Wiring::streams`].
    pub flows: Vec<Tally>,
    /// Frames sent, counted once for each transmitter that sent them.
    pub frame_hops: u64,
    /// When the last event was, in ns of the simulation.
    pub ended_ns: u64,
}

/// How long to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// Talkers send from 0 to here, in ns.
    pub talk_ns: u64,
    /// How long after that frames may still arrive, in ns.
    pub drain_ns: u64,
}

/// Runs `wiring`. The same wiring and seed come to the same, whatever the listener does.
pub fn run(wiring: &Wiring, duration: Duration, seed: u64, listener: &mut impl Listener) -> Outcome {
    let mut engine = Engine::of(wiring, duration, seed);
    engine.begin(listener);
    let end_ns = duration.talk_ns.saturating_add(duration.drain_ns).min(NEVER - 1);
    let mut now_ns = 0;
    loop {
        let (at_ns, source) = engine.tournament.next();
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
    /// Sources: twice the transmitters (first sending, then arriving), then the talkers.
    tournament: Tournament,
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
            tournament: Tournament::of(2 * senders.len() + wiring.streams.len()),
            senders,
            talkers: wiring.streams.iter().enumerate().map(talker).collect(),
            tallies: vec![Tally::default(); wiring.streams.len()],
            frame_hops: 0,
        }
    }

    fn begin(&mut self, listener: &mut impl Listener) {
        for flow in 0..self.talkers.len() {
            let at_ns = self.talkers[flow].next_ns();
            self.tournament.set(2 * self.senders.len() + flow, self.within(at_ns));
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

    /// A talker's time has come.
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
        self.talkers[flow].went_at();
        let next_ns = self.within(self.talkers[flow].next_ns());
        self.tournament.set(2 * self.senders.len() + flow, next_ns);
        if stream.hops > 0 {
            self.transmit(self.hops[stream.first_hop as usize].transmitter as usize, now_ns, listener);
        }
    }

    /// A frame is at the other end of a cable.
    #[inline]
    fn arrive(&mut self, sender: usize, now_ns: u64, listener: &mut impl Listener) {
        let Some(mut frame) = self.senders[sender].arrived() else { return };
        self.tournament.set(2 * sender + 1, self.senders[sender].arrives_ns());
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

    /// A transmitter sends what it may, and notes when to try again.
    #[inline]
    fn transmit(&mut self, sender: usize, now_ns: u64, listener: &mut impl Listener) {
        let idle = self.senders[sender].arrives_ns() == NEVER;
        self.senders[sender].begin_attempt();
        let again_ns = loop {
            let waiting = self.senders[sender].has_waiting();
            let flat_out = !waiting && now_ns < self.talk_ns && !self.senders[sender].flat_out.is_empty();
            if !waiting && !flat_out {
                break NEVER;
            }
            let (hops, streams) = (self.hops, &self.wiring.streams);
            let next_ps = |sender: &Sender| next_ps(sender, hops, streams);
            if let Some(free_ns) = self.senders[sender].busy_until_ns(now_ns, next_ps) {
                break free_ns;
            }
            let frame = if flat_out {
                self.senders[sender].next_flat_out().map(|flow| self.new_frame(flow, now_ns))
            } else {
                match self.senders[sender].choose(self.hops, now_ns) {
                    Choice::Wait(at_ns) => break at_ns,
                    Choice::Send { class, queue } => self.senders[sender].dequeue(class, queue),
                }
            };
            let Some(frame) = frame else { break NEVER };
            let hop = &self.hops[frame.hop as usize];
            let (start_ns, end_ns) = self.senders[sender].send(frame, hop.wire_ps, now_ns);
            self.frame_hops += 1;
            listener.sent(sender as u32, frame.flow, hop.class, start_ns, end_ns);
        };
        self.tournament.set(2 * sender, again_ns);
        if idle {
            self.tournament.set(2 * sender + 1, self.senders[sender].arrives_ns());
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

    /// What is still on its way is lost.
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

    /// The time, or never if talkers have stopped by then.
    fn within(&self, at_ns: u64) -> u64 {
        if at_ns < self.talk_ns { at_ns } else { NEVER }
    }
}

/// The wire's time of the next frame of a sender with one class.
fn next_ps(sender: &Sender, hops: &[Hop], streams: &[Stream]) -> u64 {
    let of_flow = |flow: u32| streams[flow as usize].first_hop;
    let hop = sender.first_waiting().or_else(|| sender.coming_flat_out().map(of_flow));
    hop.map_or(0, |hop| hops[hop as usize].wire_ps)
}
