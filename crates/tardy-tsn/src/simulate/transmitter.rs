//! The state of a transmitter: its queues, its device and its cable.

use std::collections::VecDeque;

use super::credit::Credit;
use super::event_queue::NEVER;
use super::fragments::Fragment;
use super::linux_gates::{KernelSchedule, Verdict};
use super::standard_gates::Windows;
use super::wiring::{ClassQueues, ClassRules, Device, Discipline, Hop, Transmitter};
use crate::transmission_time::OnCable;

/// A frame in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) sent_ns: u64,
    pub(super) sequence: u64,
    pub(super) flow: u32,
    /// Its hop, by the index in [`Wiring::hops`](super::wiring::Wiring::hops).
    pub(super) hop: u32,
}

/// The next action of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Send the first frame of this queue of this class.
    Send { class: u8, queue: u16 },
    /// Send the rest of the frame that was interrupted.
    Resume,
    /// Wait until this time, unless another frame arrives.
    Wait(u64),
}

/// Whether the queue had room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enqueued {
    Queued,
    Full,
    TooLong,
}

/// A transmitter.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    discipline: Discipline,
    device: Device,
    delay_ns: u64,
    classes: Vec<ClassQueues>,
    queue_frames: usize,
    queues: Vec<VecDeque<Frame>>,
    /// One bit for each class with a queued frame.
    waiting: u32,
    /// For each class, the queue whose turn is next, counted from the class's first queue.
    turns: Vec<u16>,
    /// The batch that the kernel is taking out of one queue: the queue, and how many more frames it can add to the
    /// batch.
    chain: Option<(u16, u8)>,
    /// When the device has sent its last frame.
    free_ps: u64,
    /// When the device will have sent each frame in its ring.
    ring: VecDeque<u64>,
    /// Frames on the cable, and when each arrives.
    cable: VecDeque<(u64, Frame)>,
    /// Flows that always have a frame, and the next of them.
    pub(super) flat_out: Vec<u32>,
    flat_out_turn: usize,
    rules: ClassRules,
    /// The credit of each class with a credit-based shaper; empty without any.
    credits: Vec<Option<Credit>>,
    /// The frame in transmission, if it may be interrupted, and the one that was.
    current: Option<(Frame, Fragment)>,
    /// With the octets that are left.
    interrupted: Option<(Frame, u64)>,
}

impl Sender {
    pub(super) fn of(transmitter: &Transmitter) -> Self {
        let queues = transmitter.classes.iter().map(|class| class.first + class.count).max().unwrap_or(0);
        Self {
            discipline: transmitter.discipline.clone(),
            device: transmitter.device,
            delay_ns: transmitter.delay_ns,
            classes: transmitter.classes.clone(),
            queue_frames: transmitter.queue_frames as usize,
            queues: vec![VecDeque::new(); usize::from(queues)],
            waiting: 0,
            turns: vec![0; transmitter.classes.len()],
            chain: None,
            free_ps: 0,
            ring: VecDeque::new(),
            cable: VecDeque::new(),
            flat_out: Vec::new(),
            flat_out_turn: 0,
            rules: transmitter.class_rules.clone(),
            credits: credits(&transmitter.class_rules),
            current: None,
            interrupted: None,
        }
    }

    /// Queues a frame.
    #[inline]
    pub(super) fn enqueue(&mut self, frame: Frame, hop: &Hop, now_ns: u64) -> Enqueued {
        let too_long = match &mut self.discipline {
            Discipline::Linux(schedule) => {
                schedule.advance(now_ns);
                hop.kernel_bytes > schedule.longest_bytes(hop.class)
            }
            Discipline::Standard(_) => hop.kernel_bytes > hop.longest_bytes,
            Discipline::Priority => false,
        };
        if too_long {
            return Enqueued::TooLong;
        }
        let queue = &mut self.queues[usize::from(hop.queue)];
        if queue.len() >= self.queue_frames {
            return Enqueued::Full;
        }
        if let Some(Some(credit)) = self.credits.get_mut(usize::from(hop.class)) {
            credit.advance(now_ns.saturating_mul(1000), !queue.is_empty());
        }
        queue.push_back(frame);
        self.waiting |= 1 << hop.class;
        Enqueued::Queued
    }

    /// Whether any frame waits.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting != 0 || self.interrupted.is_some()
    }

    /// Whether gates decide when its frames are sent.
    pub(super) fn has_gates(&self) -> bool {
        !matches!(self.discipline, Discipline::Priority)
    }

    /// The frames that wait.
    pub(super) fn queued(&self) -> impl Iterator<Item = &Frame> {
        self.queues.iter().flatten().chain(self.interrupted.iter().map(|(frame, _)| frame))
    }

    /// The frames in the device or on the cable.
    pub(super) fn on_cable(&self) -> impl Iterator<Item = &Frame> {
        self.cable.iter().map(|(_, frame)| frame)
    }

    /// When the device accepts a frame again; `None` if it does now. `next_ps` is the transmission time of the next
    /// frame, if there is only one class.
    #[inline]
    pub(super) fn busy_until_ns(&mut self, now_ns: u64, next_ps: impl Fn(&Self) -> u64) -> Option<u64> {
        let free_ns = match self.device {
            Device::Ring(frames) => {
                while self.ring.front().is_some_and(|done_ns| *done_ns <= now_ns) {
                    self.ring.pop_front();
                }
                return self.ring.front().copied().filter(|_| self.ring.len() >= frames.max(1) as usize);
            }
            // The bucket is full at `free_ps`. It need not be full for the next frame, which is possible earlier.
            Device::Bucket(burst_ps) => {
                let next_ps = next_ps(self).min(burst_ps);
                (self.free_ps + next_ps).saturating_sub(burst_ps).div_ceil(1000)
            }
            Device::Mac | Device::Instant(_) => self.free_ps.div_ceil(1000),
        };
        Some(free_ns).filter(|free_ns| *free_ns > now_ns)
    }

    /// The hop of the first frame in the first queue.
    pub(super) fn first_waiting(&self) -> Option<u32> {
        Some(self.queues.first()?.front()?.hop)
    }

    /// The next of the flows that always have a frame.
    pub(super) fn coming_flat_out(&self) -> Option<u32> {
        self.flat_out.get(self.flat_out_turn).copied()
    }

    /// The discipline's choice of a frame for a device that accepts one.
    #[inline]
    pub(super) fn choose(&mut self, hops: &[Hop], now_ns: u64) -> Choice {
        let start_ps = self.start_ps(now_ns);
        if !self.rules.is_empty() {
            return self.choose_by_rules(hops, now_ns, start_ps);
        }
        match &mut self.discipline {
            Discipline::Priority => {
                let class = self.waiting.ilog2() as u8;
                Choice::Send { class, queue: self.classes[usize::from(class)].first }
            }
            Discipline::Standard(windows) => {
                let head = |class: u8| {
                    let queue = self.classes[usize::from(class)].first;
                    (queue, self.queues[usize::from(queue)].front())
                };
                choose_by_standard(windows, self.waiting, head, hops, now_ns, start_ps)
            }
            Discipline::Linux(schedule) => {
                let mut choose = || {
                    choose_by_kernel(
                        schedule,
                        self.waiting,
                        &self.classes,
                        &mut self.turns,
                        &self.queues,
                        hops,
                        now_ns,
                    )
                };
                let mut choice = choose();
                if let (Choice::Wait(_), Some(_)) = (choice, self.chain) {
                    choice = choose();
                }
                self.chain = following(self.chain, choice);
                choice
            }
        }
    }

    /// Express classes precede the frame that one of them has interrupted, and that precedes all other preemptible frames
    /// (IEEE 802.1Q 6.7.2: each kind of frame has its own MAC, and the express one has precedence).
    fn choose_by_rules(&mut self, hops: &[Hop], now_ns: u64, start_ps: u64) -> Choice {
        let preemptible = self.rules.preemptible;
        let express_ns = match self.choose_of(self.waiting & !preemptible, hops, now_ns, start_ps) {
            Choice::Wait(at_ns) => at_ns,
            choice => return choice,
        };
        if self.interrupted.is_some() {
            return Choice::Resume;
        }
        match self.choose_of(self.waiting & preemptible, hops, now_ns, start_ps) {
            Choice::Wait(at_ns) => Choice::Wait(at_ns.min(express_ns)),
            choice => choice,
        }
    }

    /// The choice among these classes by gates and credits.
    fn choose_of(&mut self, classes: u32, hops: &[Hop], now_ns: u64, start_ps: u64) -> Choice {
        let (mut left, mut wait_ns) = (classes, NEVER);
        let by_ps = start_ps.max(now_ns.saturating_mul(1000));
        for (class, credit) in
            self.credits.iter_mut().enumerate().filter(|(class, _)| classes >> class & 1 == 1)
        {
            let Some(credit) = credit else { continue };
            credit.advance(by_ps, true);
            if credit.may_leave_ps() > by_ps {
                left &= !(1 << class);
                wait_ns = wait_ns.min(credit.may_leave_ps().div_ceil(1000));
            }
        }
        let Discipline::Standard(windows) = &mut self.discipline else { return Choice::Wait(wait_ns) };
        let head = |class: u8| {
            let queue = self.classes[usize::from(class)].first;
            (queue, self.queues[usize::from(queue)].front())
        };
        match choose_by_standard(windows, left, head, hops, now_ns, start_ps) {
            Choice::Wait(at_ns) => Choice::Wait(at_ns.min(wait_ns)),
            choice => choice,
        }
    }

    /// Interrupts the frame in transmission if an express frame may be sent and the frame can still be divided. Returns when that can be
    /// so later; [`NEVER`]: not for this frame.
    #[inline]
    pub(super) fn interrupt(&mut self, hops: &[Hop], now_ns: u64) -> u64 {
        let Some((frame, fragment)) = self.current else { return NEVER };
        if self.free_ps.div_ceil(1000) <= now_ns {
            self.current = None;
            return NEVER;
        }
        let (express, now_ps) = (self.waiting & !self.rules.preemptible, now_ns.saturating_mul(1000));
        if let Choice::Wait(at_ns) = self.choose_of(express, hops, now_ns, now_ps) {
            return at_ns;
        }
        if let Some((end_ps, octets)) = fragment.divided(now_ps, self.rules.bits_per_second) {
            self.cable.pop_back();
            (self.free_ps, self.current, self.interrupted) = (end_ps, None, Some((frame, octets)));
        }
        NEVER
    }

    /// Gives the rest of the interrupted frame to the device. Returns the frame, and when its first bit and its last are sent.
    pub(super) fn resume(&mut self, now_ns: u64) -> Option<(Frame, u64, u64)> {
        let (frame, octets) = self.interrupted.take()?;
        let fragment = Fragment { start_ps: self.start_ps(now_ns), octets };
        self.free_ps = fragment.end_ps(self.rules.bits_per_second);
        let sent_ns = fragment.sent_ps(self.rules.bits_per_second).div_ceil(1000);
        self.current = Some((frame, fragment));
        self.cable.push_back((sent_ns.saturating_add(self.delay_ns), frame));
        Some((frame, fragment.start_ps / 1000, sent_ns))
    }

    /// Forgets the current batch: a new attempt to send starts.
    #[inline]
    pub(super) fn begin_attempt(&mut self) {
        self.chain = None;
    }

    /// The next frame of the flows that always have one; `None` if there are none.
    pub(super) fn next_flat_out(&mut self) -> Option<u32> {
        let flow = *self.flat_out.get(self.flat_out_turn)?;
        self.flat_out_turn = (self.flat_out_turn + 1) % self.flat_out.len();
        Some(flow)
    }

    /// Takes the first frame of a queue.
    #[inline]
    pub(super) fn dequeue(&mut self, class: u8, queue: u16) -> Option<Frame> {
        let frame = self.queues[usize::from(queue)].pop_front()?;
        let ClassQueues { first, count } = self.classes[usize::from(class)];
        let all = &self.queues[usize::from(first)..usize::from(first + count)];
        if all.iter().all(VecDeque::is_empty) {
            self.waiting &= !(1 << class);
        }
        Some(frame)
    }

    /// Gives a frame to the device. Returns when its first bit and its last are sent.
    #[inline]
    pub(super) fn send(&mut self, frame: Frame, hop: &Hop, now_ns: u64) -> (u64, u64) {
        let OnCable { sent_ps, busy_ps } = hop.on_cable;
        if let Device::Bucket(_) = self.device {
            self.free_ps = self.free_ps.max(now_ns.saturating_mul(1000)).saturating_add(busy_ps);
            self.cable.push_back((now_ns.saturating_add(self.delay_ns), frame));
            return (now_ns, now_ns);
        }
        let start_ps = self.start_ps(now_ns);
        // The last bit is sent before the gap that keeps the next frame away.
        let (sent_ps, free_ps) = match self.device {
            Device::Instant(cost_ns) => (start_ps + cost_ns * 1000, start_ps + cost_ns * 1000),
            Device::Mac | Device::Ring(_) | Device::Bucket(_) => {
                (start_ps.saturating_add(sent_ps), start_ps.saturating_add(busy_ps))
            }
        };
        self.free_ps = free_ps;
        if !self.rules.is_empty() {
            if let Some(Some(credit)) = self.credits.get_mut(usize::from(hop.class)) {
                credit.send(start_ps, busy_ps);
            }
            let is_preemptible = self.rules.is_preemptible(usize::from(hop.class));
            let whole = || Fragment::whole(start_ps, busy_ps, self.rules.bits_per_second);
            self.current = is_preemptible.then(|| (frame, whole()));
        }
        if matches!(self.device, Device::Ring(_)) {
            self.ring.push_back(free_ps.div_ceil(1000));
        }
        let sent_ns = sent_ps.div_ceil(1000);
        self.cable.push_back((sent_ns.saturating_add(self.delay_ns), frame));
        (start_ps / 1000, sent_ns)
    }

    /// When the first frame on the cable arrives; [`NEVER`] if there is none.
    #[inline]
    pub(super) fn arrives_ns(&self) -> u64 {
        self.cable.front().map_or(NEVER, |first| first.0)
    }

    /// Takes the first frame from the cable.
    #[inline]
    pub(super) fn arrived(&mut self) -> Option<Frame> {
        self.cable.pop_front().map(|(_, frame)| frame)
    }

    /// When the transmission of a frame starts that is given to the device now. A frame that directly follows another
    /// starts when that one ends, so the rate of a busy cable is exact to the ps.
    #[inline]
    fn start_ps(&self, now_ns: u64) -> u64 {
        let now_ps = now_ns.saturating_mul(1000);
        if self.free_ps.div_ceil(1000) >= now_ns { self.free_ps } else { now_ps }
    }
}

fn credits(rules: &ClassRules) -> Vec<Option<Credit>> {
    let credit = |slope: &Option<u64>| slope.map(|slope| Credit::of(slope, rules.bits_per_second));
    rules.idle_slopes.iter().map(credit).collect()
}

/// The highest class whose gate is open for long enough (IEEE 802.1Q 8.6.8 and 8.6.8.4): for the frame and the gap after it, so that
/// the cable is free when the gate closes.
#[inline]
fn choose_by_standard<'a>(
    windows: &mut Windows,
    waiting: u32,
    head: impl Fn(u8) -> (u16, Option<&'a Frame>),
    hops: &[Hop],
    now_ns: u64,
    start_ps: u64,
) -> Choice {
    let mut left = waiting;
    let mut wait_ns = NEVER;
    while left != 0 {
        let class = left.ilog2() as u8;
        left &= !(1 << class);
        let (queue, Some(frame)) = head(class) else { continue };
        let busy_ps = hops[frame.hop as usize].on_cable.busy_ps;
        let opening = windows.at(class, now_ns);
        if opening.open_ns > now_ns {
            // A frame that fits into no window waits for ever.
            if busy_ps.div_ceil(1000) <= windows.longest_ns(class) {
                wait_ns = wait_ns.min(opening.open_ns);
            }
            continue;
        }
        if start_ps.saturating_add(busy_ps) <= opening.close_ns.saturating_mul(1000) {
            return Choice::Send { class, queue };
        }
        if busy_ps.div_ceil(1000) <= windows.longest_ns(class) {
            wait_ns = wait_ns.min(windows.opens_again_ns(class));
        }
    }
    Choice::Wait(wait_ns)
}

/// The kernel takes up to nine frames out of one queue before it passes them on (try_bulk_dequeue_skb_slow() in
/// net/sched/sch_generic.c). If the gates refuse the next frame, the kernel requests it again once the batch is passed on, so a
/// refused frame is charged twice.
const CHAIN_FRAMES_MORE: u8 = 8;

/// The batch after `choice`.
#[inline]
fn following(chain: Option<(u16, u8)>, choice: Choice) -> Option<(u16, u8)> {
    let Choice::Send { queue, .. } = choice else { return None };
    match chain {
        Some((of, more)) if of == queue => Some((queue, more - 1)).filter(|(_, more)| *more > 0),
        _ => Some((queue, CHAIN_FRAMES_MORE)),
    }
}

/// The first frame that the kernel passes: higher classes first, within a class the queues in turn
/// (`taprio_dequeue_tc_priority`).
#[inline]
fn choose_by_kernel(
    schedule: &mut KernelSchedule,
    waiting: u32,
    classes: &[ClassQueues],
    turns: &mut [u16],
    queues: &[VecDeque<Frame>],
    hops: &[Hop],
    now_ns: u64,
) -> Choice {
    schedule.advance(now_ns);
    let mut left = waiting & schedule.mask();
    while left != 0 {
        let class = left.ilog2() as u8;
        left &= !(1 << class);
        let ClassQueues { first, count } = classes[usize::from(class)];
        // The turn advances once per queue, so it is unchanged if no queue has a frame that can be sent.
        for _ in 0..count {
            let turn = &mut turns[usize::from(class)];
            let queue = first + *turn;
            *turn = if *turn + 1 == count { 0 } else { *turn + 1 };
            let Some(frame) = queues[usize::from(queue)].front() else { continue };
            let charged_bytes = hops[frame.hop as usize].charged_bytes;
            if schedule.ask(class, charged_bytes, now_ns) == Verdict::Pass {
                return Choice::Send { class, queue };
            }
        }
    }
    Choice::Wait(schedule.next_change_ns())
}
