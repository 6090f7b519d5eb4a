//! The threads of a phase: talkers that send until its end, and listeners that receive until no more frames arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tardy_sys::clock::monotonic_ns;

use super::dequeue::DequeueWatch;
use super::listener::{Flows, Listener, ListenerResult};
use super::phase_times::PhaseTimes;
use super::talker::{Talker, Times};

/// A phase ends when no frame has arrived for this time after the talkers' end, in ns.
const SILENCE_NS: u64 = 250_000_000;
/// The most times of [`SILENCE_NS`] that a phase waits for frames under way.
const DRAIN_TURNS: u32 = 80;
/// The interval at which the end of the talkers is checked once it is due, in ns.
const POLL_NS: u64 = 5_000_000;

/// The progress of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Talkers send.
    Sending,
    /// Talkers have ended; `came` frames had arrived at the last check.
    Draining { came: u32, turns: u32, next_ns: u64 },
    /// Listeners end.
    Ended,
}

/// The state that the threads share.
#[derive(Clone, Default)]
pub(super) struct Signals {
    /// Frames received by all listeners.
    pub(super) came: Arc<AtomicU32>,
    /// Whether talkers are to stop.
    pub(super) stop_talking: Arc<AtomicBool>,
    /// Whether listeners are to stop.
    pub(super) stop_listening: Arc<AtomicBool>,
}

/// A thread that ends with a result or a message for the user.
type Thread<T> = JoinHandle<Result<T, String>>;

/// The threads of a phase. Dropping them asks them to end.
pub(super) struct TestThreads {
    signals: Signals,
    times: PhaseTimes,
    stage: Stage,
    talkers: Vec<(Arc<AtomicUsize>, Thread<()>)>,
    listeners: Vec<(usize, Flows, Thread<ListenerResult>)>,
    dequeued: Option<DequeueWatch>,
}

/// The results of the threads.
pub(super) struct Ended {
    /// For each flow, the number of sent frames that count.
    pub(super) sent: Vec<u64>,
    /// For each listener its host, its flows and its other results.
    pub(super) listener_results: Vec<(usize, Flows, ListenerResult)>,
    /// The trace of the last ports.
    pub(super) dequeued: Option<DequeueWatch>,
    /// The errors of threads that ended early.
    pub(super) failures: Vec<String>,
}

impl TestThreads {
    /// Starts listeners and then talkers, each of which sends in its own times.
    pub(super) fn start(
        signals: Signals,
        times: PhaseTimes,
        listeners: Vec<(usize, Listener)>,
        talkers: Vec<(Times, Talker)>,
        dequeued: Option<DequeueWatch>,
    ) -> Self {
        let listen = |(host, listener): (usize, Listener)| {
            let flows = Arc::clone(&listener.flows);
            (host, flows, std::thread::spawn(|| listener.run()))
        };
        let talk = |(times, talker): (Times, Talker)| {
            let sent = Arc::clone(&talker.sent);
            (sent, std::thread::spawn(move || talker.run(times)))
        };
        let listeners = listeners.into_iter().map(listen).collect();
        let talkers = talkers.into_iter().map(talk).collect();
        Self { signals, times, stage: Stage::Sending, talkers, listeners, dequeued }
    }

    /// How long until the next [`Self::step`] has something to do, in ns.
    pub(super) fn wait_ns(&self) -> u64 {
        let now_ns = monotonic_ns();
        match self.stage {
            Stage::Sending => match self.times.to_ns.saturating_sub(now_ns) {
                0 => POLL_NS,
                until_end_ns if self.signals.stop_talking.load(Ordering::Relaxed) => {
                    until_end_ns.min(POLL_NS)
                }
                until_end_ns => until_end_ns,
            },
            Stage::Draining { next_ns, .. } => next_ns.saturating_sub(now_ns),
            Stage::Ended => 0,
        }
    }

    /// Checks the progress: once the talkers have ended and no more frames arrive, stops the listeners.
    pub(super) fn step(&mut self) {
        let (now_ns, came) = (monotonic_ns(), self.signals.came.load(Ordering::Relaxed));
        match self.stage {
            Stage::Sending if self.talkers.iter().all(|(_, thread)| thread.is_finished()) => {
                self.stage = Stage::Draining { came, turns: 0, next_ns: now_ns + SILENCE_NS };
            }
            Stage::Draining { came: before, turns, next_ns } if now_ns >= next_ns => {
                let turns = turns + 1;
                if came == before || turns >= DRAIN_TURNS {
                    self.end();
                } else {
                    self.stage = Stage::Draining { came, turns, next_ns: now_ns + SILENCE_NS };
                }
            }
            Stage::Sending | Stage::Draining { .. } | Stage::Ended => {}
        }
    }

    /// Whether the listeners have been asked to end.
    pub(super) fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Asks the talkers to end. Frames under way are still waited for.
    pub(super) fn stop(&self) {
        self.signals.stop_talking.store(true, Ordering::Relaxed);
    }

    /// Asks all threads to end at once. A talker that sleeps until its next frame is not waited for.
    pub(super) fn end(&mut self) {
        self.stop();
        self.signals.stop_listening.store(true, Ordering::Relaxed);
        self.stage = Stage::Ended;
    }

    /// The records of the flows of each listener, so far.
    pub(super) fn flows(&self) -> impl Iterator<Item = &Flows> {
        self.listeners.iter().map(|(_, flows, _)| flows)
    }

    /// Waits for the end of the listeners, and returns the results of the threads.
    pub(super) fn finish(mut self) -> Ended {
        self.end();
        let mut ended = Ended {
            sent: Vec::new(),
            listener_results: Vec::new(),
            dequeued: self.dequeued.take(),
            failures: Vec::new(),
        };
        for (sent, thread) in self.talkers.drain(..) {
            ended.sent.push(sent.load(Ordering::Relaxed) as u64);
            if thread.is_finished() {
                ended.failures.extend(outcome(thread.join()).err());
            }
        }
        for (host, flows, thread) in self.listeners.drain(..) {
            match outcome(thread.join()) {
                Ok(result) => ended.listener_results.push((host, flows, result)),
                Err(failure) => ended.failures.push(failure),
            }
        }
        ended
    }
}

impl Drop for TestThreads {
    fn drop(&mut self) {
        self.end();
    }
}

fn outcome<T>(joined: std::thread::Result<Result<T, String>>) -> Result<T, String> {
    joined.map_err(|_| "a thread of the test panicked; please report it".to_owned())?
}
