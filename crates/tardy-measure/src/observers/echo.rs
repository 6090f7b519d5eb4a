//! The echo of a wiggle: the kernel's edge events of an input, read by a thread of the supervisor. Their times are the
//! kernel's, so that it does not matter when the thread reads them, as long as the queue holds.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use gpiocdev::Request;
use tardy_probe::gpio;
use tardy_probe::reaction::STORM_PER_SECOND;
use tardy_probe::wiggle::made_up_echo;
use tardy_record::Series;
use tardy_record::pins::Line;
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::signals::wait_readable;

use super::echo_series::EchoSeries;
use crate::engine::{Counted, Observer, PhaseContext, Reading, Supervisor};

/// The queue is emptied this often, and not at each edge: waking for each would load a board with one CPU. The kernel keeps twice
/// as many edges as come in this time before they are a storm.
const PAUSE_NS: u64 = 5_000_000;
/// Interval between the synthetic edges of a program that has no interval in the plan.
const SYNTHETIC_INTERVAL_NS: u64 = 40_000;

/// The edges of one phase.
pub(crate) struct Echo<'r> {
    context: PhaseContext<'r>,
    line: &'r Line,
    /// Whether another series is of the same edges.
    beside: bool,
    /// Until it listens. Synthetic edges need no line.
    request: Option<Request>,
    heard: Option<Arc<Mutex<Heard>>>,
    listener: Option<Listener>,
}

/// What the thread has heard.
struct Heard {
    series: EchoSeries,
    trouble: Option<String>,
}

/// The thread, which ends when the pipe is closed.
struct Listener {
    _stop: PipeWriter,
    thread: JoinHandle<()>,
}

impl<'r> Echo<'r> {
    /// The edges of `line`. `beside` if another series is of the same edges.
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
            // What waits is read before the thread ends.
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

    /// Stops listening. What waited has been read then.
    fn stop(&mut self) {
        if let Some(Listener { _stop: stop, thread }) = self.listener.take() {
            drop(stop);
            let _ = thread.join();
        }
    }

    /// The error that ended listening, once.
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
        let edges = made_up_echo(counted.from_ns, counted.to_ns, interval_ns, seed);
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

    /// An echo that was never heard has a series without a reading.
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
