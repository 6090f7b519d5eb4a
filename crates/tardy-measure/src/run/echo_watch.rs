//! Listening to a wiggle's echo: the kernel's edge events of an input, read by a thread of the house. Their times are the
//! kernel's, so that it does not matter when the thread comes to read them, as long as the queue holds.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use gpiocdev::Request;
use tardy_record::Series;
use tardy_record::pins::Line;
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::signals::wait_readable;

use super::echo_series::{Counted, EchoSeries};
use tardy_probe::gpio;
use tardy_probe::reaction::STORM_PER_SECOND;

/// The queue is emptied this often, and not at each edge: waking for each would be a load of its own on a board with one
/// CPU. The kernel keeps twice as many edges as come meanwhile before they are a storm.
const PAUSE_NS: u64 = 5_000_000;

/// The edges of one phase.
pub(super) struct EchoWatch {
    phase: usize,
    line: Line,
    /// Whether another series is of the same edges.
    beside: bool,
    /// Until it listens; none of a fake.
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

impl EchoWatch {
    /// Claims `line` for phase `phase`, or only pretends to (`fake`).
    ///
    /// # Errors
    /// In words, if it cannot be had.
    pub(super) fn open(phase: usize, line: &Line, beside: bool, fake: bool) -> Result<Self, String> {
        let request = if fake { None } else { Some(gpio::input_with_both_edges(line)?) };
        Ok(Self { phase, line: line.clone(), beside, request, heard: None, listener: None })
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// In words, if there can be no thread.
    pub(super) fn begin(&mut self, counted: Counted) -> Result<(), String> {
        let heard = Arc::new(Mutex::new(Heard { series: EchoSeries::new(counted), trouble: None }));
        self.heard = Some(Arc::clone(&heard));
        let Some(request) = self.request.take() else { return Ok(()) };
        let cannot = |error: io::Error| format!("the echo cannot be listened to: {error}");
        let (ended, stop) = io::pipe().map_err(cannot)?;
        let listen = move || {
            let mut events = Events::default();
            let line = OneLine::of(request.as_fd());
            let fd = request.as_fd().as_raw_fd();
            let mut is_over = false;
            // What waits is read before the end is heeded.
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

    /// What went wrong since it was asked last.
    pub(super) fn take_trouble(&mut self) -> Option<String> {
        let trouble = lock(self.heard.as_ref()?).trouble.take()?;
        Some(format!("{}: {trouble}", self.line.place()))
    }

    /// Listens no longer; what waited is heard.
    pub(super) fn end(&mut self) {
        if let Some(Listener { _stop: stop, thread }) = self.listener.take() {
            drop(stop);
            let _ = thread.join();
        }
    }

    /// The series as it stands, once it listens. Of an echo that was never heard there is one without a reading.
    pub(super) fn series(&self) -> Option<Series> {
        let heard = lock(self.heard.as_ref()?);
        Some(heard.series.series(self.phase, &self.line.place(), self.beside))
    }

    /// Hears edges that are made up.
    pub(super) fn make_up(&self, edges: impl Iterator<Item = u64>) {
        let Some(heard) = &self.heard else { return };
        let mut heard = lock(heard);
        for (number, at_ns) in (1..).zip(edges) {
            heard.series.edge(at_ns, number);
        }
    }
}

impl Drop for EchoWatch {
    fn drop(&mut self) {
        self.end();
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
            "echoed edges come faster than {STORM_PER_SECOND} a second, and each is an interrupt; it is listened to no \
             longer, so that the machine can be used: give a longer --interval, or watch this with an instrument"
        ));
    }
    Ok(())
}
