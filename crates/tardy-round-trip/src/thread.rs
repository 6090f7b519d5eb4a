//! The measuring thread: sends a request at each multiple of the interval, and waits for answers in between.
//!
//! It hands what it sees to the supervisor through a channel of fixed size that it never waits for. Nothing is allocated once it
//! has started.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tardy_record::plan::{Policy, RoundTripPlan};
use tardy_sys::clock::{Clock, monotonic_ns};
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::waiting::sleep_until;

use crate::exchange::{Exchange, lost_after};

/// Requests whose answers may be missing at a time.
const OPEN_MAX: usize = 1024;
/// Records that wait for the supervisor, which takes them once per second.
const RECORDS_MAX: usize = 1 << 15;

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was due, in ns of the monotonic clock.
    pub due_ns: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Answered(Times),
    /// No answer came.
    Lost,
    /// It was not sent: the thread woke up too late for it, or the kernel refused it.
    NotSent,
}

/// The times of an answered request, in ns of CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Before the system call that sent it.
    pub sent_ns: i64,
    /// When it was handed to the driver.
    pub out_ns: Option<i64>,
    /// When the driver delivered the answer.
    pub in_ns: Option<i64>,
    /// After the system call that returned the answer.
    pub read_ns: i64,
    /// How long the peer had it, in ns.
    pub peer_ns: Option<u64>,
    /// EtherCAT's working counter.
    pub devices: Option<u16>,
    /// Whether the next request was due before the answer came.
    pub is_late: bool,
}

/// The running thread. Dropping it ends the thread.
#[derive(Debug)]
pub struct RoundTrips {
    records: Receiver<Record>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Its thread number.
    pub tid: u32,
    /// Why the kernel refused its policy or its CPU; `None` if it did not.
    pub refused: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    /// When to measure, on the monotonic clock; not set before [`RoundTrips::begin`].
    period: OnceLock<Range<u64>>,
    stops: AtomicBool,
    has_ended: AtomicBool,
    /// Records that found no room.
    unrecorded: AtomicUsize,
}

impl RoundTrips {
    /// Starts the thread, which waits for [`Self::begin`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn prepare(exchange: Exchange, plan: &RoundTripPlan) -> Result<Self, String> {
        let (sender, records) = sync_channel(RECORDS_MAX);
        let (ready, is_ready) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let (in_thread, plan) = (Arc::clone(&shared), plan.clone());
        let start = move || {
            let refused = be_scheduled(&plan).err();
            let _ = ready.send((scheduling::thread_id(), refused));
            while in_thread.period.get().is_none() && !in_thread.stops.load(Ordering::Relaxed) {
                std::thread::park_timeout(Duration::from_secs(1));
            }
            if let Some(period) = in_thread.period.get() {
                Loop::new(exchange, plan.interval_ns, &in_thread, sender).run(period);
            }
            in_thread.has_ended.store(true, Ordering::Release);
        };
        let thread = std::thread::Builder::new()
            .name("tardy-rtt".to_owned())
            .spawn(start)
            .map_err(|error| format!("the measuring thread cannot be started: {error}"))?;
        let (tid, refused) =
            is_ready.recv().map_err(|_| "the measuring thread ended; please report it".to_owned())?;
        Ok(Self { records, shared, thread: Some(thread), tid, refused })
    }

    /// Measures from `start_ns` to `end_ns` on the monotonic clock. Only the first call counts.
    pub fn begin(&self, start_ns: u64, end_ns: u64) {
        self.shared.period.get_or_init(|| start_ns..end_ns);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// The next record; `None` if none waits.
    pub fn take(&self) -> Option<Record> {
        self.records.try_recv().ok()
    }

    /// Records that found no room since the last call.
    pub fn take_unrecorded(&self) -> u64 {
        self.shared.unrecorded.swap(0, Ordering::Relaxed) as u64
    }

    /// Whether nothing more will be measured.
    pub fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Acquire)
    }

    /// Asks the thread to end. It does after the present interval.
    pub fn stop(&self) {
        self.shared.stops.store(true, Ordering::Relaxed);
    }
}

impl Drop for RoundTrips {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn be_scheduled(plan: &RoundTripPlan) -> Result<(), String> {
    let cpu = plan.cpu;
    scheduling::set_affinity(&[cpu])
        .map_err(|error| format!("the thread cannot be pinned to CPU {cpu}: {error}"))?;
    let wanted = match plan.policy {
        Policy::Fifo => Scheduling::Fifo(plan.priority),
        Policy::Rr => Scheduling::Rr(plan.priority),
        _ => Scheduling::Other,
    };
    scheduling::set(wanted).map_err(|error| {
        format!(
            "the kernel refuses {} with priority {} ({error}), so the thread has ordinary scheduling; CAP_SYS_NICE permits it",
            plan.policy.name(),
            plan.priority
        )
    })
}

/// A request without an answer.
#[derive(Clone, Copy, Debug)]
struct Open {
    due_ns: u64,
    sent_ns: i64,
    out_ns: Option<i64>,
}

struct Loop<'s> {
    exchange: Exchange,
    interval_ns: u64,
    lost_ns: u64,
    shared: &'s Shared,
    records: SyncSender<Record>,
    /// By number modulo its length.
    open: Vec<Option<Open>>,
    /// The number of the next request, and the least one without an outcome.
    next: u64,
    oldest: u64,
    /// The kernel's number of the next stamp, which counts the requests that were accepted, with those before the measurement.
    stamps: Stamps,
}

/// Which request has which stamp: the kernel numbers what it has accepted.
#[derive(Debug, Default)]
struct Stamps {
    /// The kernel's number of a request, once one is known, and the number of that request.
    base: Option<(u32, u64)>,
}

impl Stamps {
    /// The request that has the stamp with the kernel's `number`, if it was the last accepted one, `latest`.
    fn request(&mut self, number: u32, latest: u64) -> u64 {
        let (base, request) = *self.base.get_or_insert((number, latest));
        request.wrapping_add(u64::from(number.wrapping_sub(base)))
    }

    /// A request was not accepted, so that the kernel's numbers are one behind.
    fn forget(&mut self) {
        self.base = None;
    }
}

impl<'s> Loop<'s> {
    fn new(exchange: Exchange, interval_ns: u64, shared: &'s Shared, records: SyncSender<Record>) -> Self {
        let lost_ns = lost_after(Duration::from_nanos(interval_ns)).as_nanos() as u64;
        Self {
            exchange,
            interval_ns,
            lost_ns,
            shared,
            records,
            open: vec![None; OPEN_MAX],
            next: 0,
            oldest: 0,
            stamps: Stamps::default(),
        }
    }

    fn run(mut self, period: &Range<u64>) {
        let mut due_ns = period.start;
        while due_ns < period.end && !self.stops() {
            if sleep_until(Clock::Monotonic, due_ns as i64).is_err() {
                continue;
            }
            self.send(due_ns);
            let next_ns = due_ns + self.interval_ns;
            self.receive_until(next_ns);
            due_ns = self.skip_to_now(next_ns);
        }
        // What was sent last may still be answered.
        let end_ns = monotonic_ns() + self.lost_ns;
        while self.oldest < self.next && monotonic_ns() < end_ns && !self.stops() {
            self.receive_until(end_ns.min(monotonic_ns() + self.interval_ns));
        }
        while self.oldest < self.next {
            self.give_up_oldest();
        }
    }

    fn stops(&self) -> bool {
        self.shared.stops.load(Ordering::Relaxed)
    }

    fn send(&mut self, due_ns: u64) {
        while self.next - self.oldest >= OPEN_MAX as u64 {
            self.give_up_oldest();
        }
        while self.take_stamp().is_some() {}
        let sent_ns = Clock::Realtime.now_ns();
        match self.exchange.send(self.next) {
            Ok(()) => {
                *self.place(self.next) = Some(Open { due_ns, sent_ns, out_ns: None });
                self.next += 1;
                // Most drivers have stamped it now. A stamp that waits would end the wait for the answer.
                let _ = self.take_stamp();
            }
            Err(_) => {
                self.stamps.forget();
                self.record(due_ns, Outcome::NotSent);
            }
        }
    }

    /// Notes the stamp of a request, if one waits.
    fn take_stamp(&mut self) -> Option<()> {
        let (number, out_ns) = self.exchange.take_sent()?;
        let latest = self.next.checked_sub(1)?;
        let request = self.stamps.request(number, latest);
        if (self.oldest..self.next).contains(&request)
            && let Some(open) = self.place(request)
        {
            open.out_ns = Some(out_ns);
        }
        Some(())
    }

    /// Takes answers until the last request is answered, or until the time is `end_ns`.
    fn receive_until(&mut self, end_ns: u64) {
        // Before and after the wait there is no system call that an answer would have to wait for.
        let mut now_ns = monotonic_ns();
        while self.oldest < self.next {
            if now_ns < end_ns {
                self.exchange.wait(end_ns - now_ns);
            }
            while let Some(()) = self.receive() {}
            while self.take_stamp().is_some() {}
            self.give_up_lost();
            if now_ns >= end_ns {
                return;
            }
            now_ns = monotonic_ns();
        }
    }

    fn receive(&mut self) -> Option<()> {
        let (answer, arrival) = match self.exchange.receive() {
            Ok(answer) => answer?,
            // An error of the network belongs to a request that was lost, and the next reading goes on.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Some(()),
            Err(_) => return None,
        };
        let read_ns = Clock::Realtime.now_ns();
        let sequence = answer.message.sequence;
        if !(self.oldest..self.next).contains(&sequence) {
            return Some(());
        }
        // A stamp may become readable after the answer.
        while self.take_stamp().is_some() {}
        let Some(open) = self.place(sequence).take() else { return Some(()) };
        let times = Times {
            sent_ns: open.sent_ns,
            out_ns: open.out_ns,
            in_ns: arrival.software_ns,
            read_ns,
            peer_ns: answer.message.peer_ns,
            devices: answer.devices,
            is_late: sequence + 1 < self.next,
        };
        self.record(open.due_ns, Outcome::Answered(times));
        self.forget_answered();
        Some(())
    }

    /// Periods that have passed already are not sent.
    fn skip_to_now(&mut self, mut next_ns: u64) -> u64 {
        let now_ns = monotonic_ns();
        while next_ns + self.interval_ns <= now_ns {
            self.record(next_ns, Outcome::NotSent);
            next_ns += self.interval_ns;
        }
        next_ns
    }

    fn give_up_lost(&mut self) {
        let now_ns = monotonic_ns();
        while self.oldest < self.next {
            let is_lost = self.place(self.oldest).is_some_and(|open| now_ns > open.due_ns + self.lost_ns);
            if !is_lost {
                return;
            }
            self.give_up_oldest();
        }
    }

    fn give_up_oldest(&mut self) {
        if let Some(open) = self.place(self.oldest).take() {
            self.record(open.due_ns, Outcome::Lost);
        }
        self.forget_answered();
    }

    fn forget_answered(&mut self) {
        while self.oldest < self.next && self.place(self.oldest).is_none() {
            self.oldest += 1;
        }
    }

    fn place(&mut self, request: u64) -> &mut Option<Open> {
        &mut self.open[request as usize % OPEN_MAX]
    }

    fn record(&self, due_ns: u64, outcome: Outcome) {
        if self.records.try_send(Record { due_ns, outcome }).is_err() {
            self.shared.unrecorded.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use tardy_record::plan::Protocol;

    const INTERVAL_NS: u64 = 2_000_000;

    fn plan(peer: String) -> RoundTripPlan {
        RoundTripPlan {
            protocol: Protocol::Udp,
            peer,
            link: None,
            cpu: scheduling::affinity().unwrap()[0],
            policy: Policy::Other,
            priority: 0,
            interval_ns: INTERVAL_NS,
            dma_latency_us: None,
        }
    }

    /// Measures `count` periods with a peer that answers as `answer` decides: 0 not at all, else so many times.
    fn measured(count: u64, answer: impl Fn(usize) -> usize + Send + 'static) -> Vec<Record> {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let plan = plan(peer.local_addr().unwrap().to_string());
        peer.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let stops = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stops);
        let echo = std::thread::spawn(move || {
            let mut bytes = [0; 100];
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                let Ok((length, from)) = peer.recv_from(&mut bytes) else { continue };
                (0..answer(number)).for_each(|_| drop(peer.send_to(&bytes[..length], from)));
                number += 1;
            }
        });
        let trips = RoundTrips::prepare(Exchange::open(&plan, 5).unwrap(), &plan).unwrap();
        let start_ns = monotonic_ns() + INTERVAL_NS;
        trips.begin(start_ns, start_ns + count * INTERVAL_NS);
        let mut records = Vec::new();
        while !trips.has_ended() {
            records.extend(trips.take());
            std::thread::yield_now();
        }
        records.extend(std::iter::from_fn(|| trips.take()));
        assert_eq!(trips.take_unrecorded(), 0);
        stops.store(true, Ordering::Relaxed);
        echo.join().unwrap();
        records
    }

    #[test]
    fn each_period_has_one_outcome_and_the_times_of_an_answer_are_in_order() {
        // A peer that answers twice is counted once.
        let records = measured(100, |_| 2);
        assert_eq!(records.len(), 100, "{records:?}");
        let mut due: Vec<u64> = records.iter().map(|record| record.due_ns).collect();
        due.sort_unstable();
        due.dedup();
        assert_eq!(due.len(), 100);
        let answered: Vec<Times> = records
            .iter()
            .filter_map(|record| match record.outcome {
                Outcome::Answered(times) => Some(times),
                _ => None,
            })
            .collect();
        assert!(answered.len() > 10, "{records:?}");
        let stamped = answered.iter().filter_map(|times| Some((times, times.out_ns?, times.in_ns?)));
        let mut count = 0;
        for (times, out_ns, in_ns) in stamped {
            assert!(times.sent_ns <= out_ns && out_ns <= in_ns && in_ns <= times.read_ns, "{times:?}");
            count += 1;
        }
        assert!(count * 2 > answered.len(), "{count} of {}", answered.len());
    }

    #[test]
    fn requests_without_an_answer_are_lost() {
        let records = measured(60, |number| usize::from(number % 4 != 0));
        let count = |is: &dyn Fn(&Outcome) -> bool| records.iter().filter(|one| is(&one.outcome)).count();
        let lost = count(&|outcome| *outcome == Outcome::Lost);
        let answered = count(&|outcome| matches!(outcome, Outcome::Answered(_)));
        assert_eq!(records.len(), 60);
        assert!(lost > 0 && lost.abs_diff((lost + answered).div_ceil(4)) <= 1, "{lost} of {answered}");
    }

    #[test]
    fn a_refused_request_leaves_the_stamps_of_the_others_right() {
        let mut stamps = Stamps::default();
        assert_eq!(stamps.request(30, 0), 0);
        assert_eq!(stamps.request(33, 3), 3);
        stamps.forget();
        assert_eq!(stamps.request(34, 4), 4);
        assert_eq!(stamps.request(u32::MAX.wrapping_add(40), 9), 9);
    }
}
