//! The echo of a wiggle: a thread of the supervisor reads the kernel's edge events of an input. The kernel stamps their
//! times, so it does not matter when the thread reads them, as long as the queue does not overflow.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use gpiocdev::Request;
use tardy_probe::gpio;
use tardy_probe::reaction::STORM_PER_SECOND;
use tardy_probe::wiggle::synthetic_echo;
use tardy_record::Series;
use tardy_record::pins::Line;
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::signals::wait_readable;

use super::echo_series::EchoSeries;
use crate::engine::{Counted, Observer, PhaseContext, Reading, Supervisor};

/// Time between two readings of the queue. A wake-up for each edge would load a board with one CPU. The kernel's queue
/// has room for twice as many edges as come in this time just below the rate of a storm.
const PAUSE_NS: u64 = 5_000_000;
/// Interval between the synthetic edges of a program that has no interval in the plan.
const SYNTHETIC_INTERVAL_NS: u64 = 40_000;

/// Observes the echoed edges of one phase.
pub(crate) struct Echo<'r> {
    context: PhaseContext<'r>,
    line: &'r Line,
    /// Whether another series measures the same edges.
    beside: bool,
    /// The claimed line, until listening begins. Synthetic edges need none.
    request: Option<Request>,
    heard: Option<Arc<Mutex<Heard>>>,
    listener: Option<Listener>,
}

/// The edges that the thread has read.
struct Heard {
    series: EchoSeries,
    trouble: Option<String>,
}

/// The thread that reads edges. It ends when the pipe is closed.
struct Listener {
    _stop: PipeWriter,
    thread: JoinHandle<()>,
}

impl<'r> Echo<'r> {
    /// Observes the edges of `line`. `beside`: another series measures the same edges.
    pub(crate) fn new(context: PhaseContext<'r>, line: &'r Line, beside: bool) -> Self {
        Self { context, line, beside, request: None, heard: None, listener: None }
    }

    fn listen(&mut self, request: Request, heard: Arc<Mutex<Heard>>) -> Result<(), String> {
        let cannot = |error: io::Error| format!("the echo cannot be read: {error}");
        let (ended, stop) = io::pipe().map_err(cannot)?;
        let listen = move || {
            let mut events = Events::default();
            let line = OneLine::of(request.as_fd());
            let fd = request.as_fd().as_raw_fd();
            let mut is_over = false;
            // Queued edges are read before the thread ends.
            while !is_over {
                is_over = !wait_readable(&[ended.as_raw_fd()], PAUSE_NS).is_ok_and(|ready| !ready[0]);
                while wait_readable(&[fd], 0).is_ok_and(|ready| ready[0]) {
                    if let Err(trouble) = take(line, &mut events, &heard) {
                        lock(&heard).trouble = Some(trouble);
                        return;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("echo".to_owned()).spawn(listen).map_err(cannot)?;
        self.listener = Some(Listener { _stop: stop, thread });
        Ok(())
    }

    /// Stops listening, after the queued edges have been read.
    fn stop(&mut self) {
        if let Some(Listener { _stop: stop, thread }) = self.listener.take() {
            drop(stop);
            let _ = thread.join();
        }
    }

    /// The error that ended listening. It is returned once.
    fn trouble(&self) -> Result<(), String> {
        let trouble = self.heard.as_ref().and_then(|heard| lock(heard).trouble.take());
        trouble.map_or(Ok(()), |trouble| Err(format!("{}: {trouble}", self.line.place())))
    }

    fn add_synthetic_edges(&self, seed: u64, counted: Counted) {
        let Some(heard) = &self.heard else { return };
        let interval_ns = match self.context.plan.probe.longest_interval_ns() {
            0 if !self.beside => SYNTHETIC_INTERVAL_NS,
            interval_ns => interval_ns,
        };
        let mut heard = lock(heard);
        let edges = synthetic_echo(counted.from_ns, counted.to_ns, interval_ns, seed);
        for (number, at_ns) in (1..).zip(edges) {
            heard.series.edge(at_ns, number);
        }
    }
}

impl Observer for Echo<'_> {
    /// Claims the line.
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        if self.context.request.fake.is_none() {
            self.request = Some(gpio::input_with_both_edges(self.line)?);
        }
        Ok(())
    }

    /// Begins to listen.
    fn begin(&mut self, counted: Counted) -> Result<(), String> {
        let heard = Arc::new(Mutex::new(Heard { series: EchoSeries::new(counted), trouble: None }));
        self.heard = Some(Arc::clone(&heard));
        if let Some(seed) = self.context.request.fake {
            self.add_synthetic_edges(seed, counted);
        }
        self.request.take().map_or(Ok(()), |request| self.listen(request, heard))
    }

    fn read(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.trouble()
    }

    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.stop();
        self.trouble()
    }

    /// Adds the echo's series, which is empty if no edge came.
    fn add_to(&self, series: &mut Vec<Series>) {
        if let Some(heard) = &self.heard {
            let heard = lock(heard);
            series.push(heard.series.series(self.context.index, &self.line.place(), self.beside));
        }
    }
}

impl Drop for Echo<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(heard: &Mutex<Heard>) -> std::sync::MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take(line: OneLine<'_>, events: &mut Events, heard: &Mutex<Heard>) -> Result<(), String> {
    let read = match line.read_edges(events) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
        Err(error) => return Err(format!("the echo's edges cannot be read: {error}")),
    };
    let mut heard = lock(heard);
    let storms =
        events[..read].iter().filter(|event| heard.series.edge(event.timestamp_ns, event.line_seqno));
    if storms.count() > 0 {
        return Err(format!(
            "echoed edges come faster than {STORM_PER_SECOND} per second, and each is an interrupt; tardy has stopped reading \
             them to keep the machine usable. Use a longer --interval, or an instrument"
        ));
    }
    Ok(())
}
