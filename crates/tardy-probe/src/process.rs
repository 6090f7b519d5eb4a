//! The probe process from its order to its end.

use std::io::{self, BufRead, PipeReader, PipeWriter, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use std::thread;

use tardy_sys::child;
use tardy_sys::dma_latency::DmaLatency;
use tardy_sys::memory;
use tardy_sys::shared_map::SharedMap;
use tardy_sys::signals;
use tardy_sys::waiting::IntervalTimer;

use super::end_in_time;
use super::noise::NoiseProbe;
use super::order::{Go, Granted, Order, Reply, Work};
use super::reaction::{ReactionProbe, StimulusThread};
use super::timer::{Prepared, TimerThread};
use super::wiggle::FastestWiggle;

/// Enough for the measuring loop, whose stack is touched beforehand. Small, since all of it is locked.
const STACK_BYTES: usize = 64 * 1024;

/// Runs the probe: reads an order, writes replies.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // The supervisor, the only reader of this process's output, receives the reason by standard output.
            let _ = send(&Reply::Failed { reason });
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let order: Order = receive()?;
    child::tie_to_parent(order.supervisor_pid, child::signal::KILL)
        .map_err(|error| format!("the supervisor is gone: {error}"))?;
    signals::ignore_end_signals().map_err(|error| format!("signals cannot be blocked: {error}"))?;
    signals::be_interruptible().map_err(|error| format!("SIGUSR1 cannot be handled: {error}"))?;
    IntervalTimer::claim().map_err(|error| format!("SIGALRM cannot be blocked: {error}"))?;
    let map = SharedMap::open(&order.map).map_err(|error| error.to_string())?;
    let mut refused = Vec::new();
    let _idle = hold_out_of_idle(&order, &mut refused);
    if order.work.locks_memory()
        && let Err(error) = memory::lock_all()
    {
        refused.push(format!(
            "memory could not be locked ({error}), so page faults may count as latency; \
             grant it with `ulimit -l unlimited`, or with `setcap cap_ipc_lock+ep` on a tardy that only one group may execute \
             (docs/security.md)"
        ));
    }
    measure(&map, &order, refused)?;
    send(&Reply::Done)
}

fn hold_out_of_idle(order: &Order, refused: &mut Vec<String>) -> Option<DmaLatency> {
    let latency_us = order.work.dma_latency_us()?;
    match DmaLatency::hold(latency_us) {
        Ok(held) => Some(held),
        Err(error) => {
            refused.push(format!(
                "/dev/cpu_dma_latency could not be held ({error}), so leaving idle states counts as latency; \
                 allow writing to it, or use --dma-latency leave to measure with idle states on purpose"
            ));
            None
        }
    }
}

/// The kernel's name of thread `index`, without its number.
fn name(work: &Work, index: usize) -> &'static str {
    match work {
        Work::Reaction(_) if index > 0 => "stimulus",
        Work::Timer(_) => "timer",
        Work::Noise(_) => "noise",
        Work::Reaction(_) => "reaction",
        Work::Toggle(_) => "toggle",
    }
}

/// A measuring thread of any kind.
enum Measuring<'a> {
    Timer(TimerThread<'a>),
    Noise(NoiseProbe<'a>),
    Reaction(ReactionProbe<'a>),
    Stimulus(StimulusThread<'a>),
    Toggle(FastestWiggle<'a>),
}

impl<'a> Measuring<'a> {
    fn new(map: &'a SharedMap, order: &'a Order, index: usize) -> Self {
        match &order.work {
            Work::Timer(timer) => Self::Timer(TimerThread::new(map, order, timer, index)),
            Work::Noise(noise) => Self::Noise(NoiseProbe::new(map, order, noise, index)),
            Work::Reaction(reaction) => match StimulusThread::new(map, order, reaction) {
                Some(stimulus) if index > 0 => Self::Stimulus(stimulus),
                _ => Self::Reaction(ReactionProbe::new(map, order, reaction)),
            },
            Work::Toggle(fastest) => Self::Toggle(FastestWiggle::new(map, order, fastest)),
        }
    }

    fn prepare(&mut self) -> Result<Prepared, String> {
        match self {
            Self::Timer(timer) => timer.prepare(),
            Self::Noise(noise) => noise.prepare(),
            Self::Reaction(reaction) => reaction.prepare(),
            Self::Stimulus(stimulus) => stimulus.prepare(),
            Self::Toggle(fastest) => fastest.prepare(),
        }
    }

    fn measure(&mut self, start_ns: u64) -> io::Result<()> {
        match self {
            Self::Timer(timer) => timer.measure(start_ns),
            Self::Noise(noise) => noise.measure(start_ns),
            Self::Reaction(reaction) => reaction.measure(start_ns),
            Self::Stimulus(stimulus) => stimulus.measure(start_ns),
            Self::Toggle(fastest) => fastest.measure(start_ns),
        }
    }

    fn account(&self, prepared: &Prepared) {
        match self {
            Self::Timer(timer) => timer.account(prepared),
            Self::Noise(noise) => noise.account(prepared),
            Self::Reaction(reaction) => reaction.account(prepared),
            Self::Stimulus(stimulus) => stimulus.account(prepared),
            Self::Toggle(fastest) => fastest.account(prepared),
        }
    }
}

/// Starts the threads. Once all are ready and the supervisor starts them, lets them measure until they end.
fn measure(map: &SharedMap, order: &Order, mut refused: Vec<String>) -> Result<(), String> {
    let go = (Mutex::new(None), Condvar::new());
    let count = order.threads.len();
    let pipes: io::Result<Vec<_>> = (0..end_in_time::watched(order, count)).map(|_| io::pipe()).collect();
    let (ended, lives): (Vec<PipeReader>, Vec<PipeWriter>) =
        pipes.map_err(|error| format!("cannot create a pipe: {error}"))?.into_iter().unzip();
    let mut lives = lives.into_iter();
    thread::scope(|scope| {
        let (ready, prepared) = mpsc::channel();
        let mut measuring = Vec::new();
        for (position, index) in order.threads.iter().copied().enumerate() {
            let (ready, go) = (ready.clone(), &go);
            let builder = thread::Builder::new()
                .name(format!("{}{index}", name(&order.work, index)))
                .stack_size(STACK_BYTES);
            // The thread's end closes this end of the pipe, which `enforce_end` notices. No thread writes to the pipe.
            let lives = lives.next();
            let body = move || -> io::Result<()> {
                let _lives = lives;
                let mut thread = Measuring::new(map, order, index);
                let prepared = match thread.prepare() {
                    Ok(prepared) => prepared,
                    Err(reason) => {
                        let _ = ready.send((position, Err(reason)));
                        return Ok(());
                    }
                };
                let _ =
                    ready.send((position, Ok((prepared.granted, prepared.tid, prepared.refused.clone()))));
                drop(ready);
                if let Some(start_ns) = wait_for_go(go) {
                    thread.measure(start_ns)?;
                    thread.account(&prepared);
                }
                Ok(())
            };
            measuring.push(
                builder
                    .spawn_scoped(scope, body)
                    .map_err(|error| format!("cannot start a thread: {error}"))?,
            );
        }
        drop(ready);
        let threads = all_ready(&prepared, count, &mut refused);
        let mut watched_tids = Vec::new();
        let started = threads.and_then(|threads| {
            let (threads, tids): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
            watched_tids.clone_from(&tids);
            send(&Reply::Ready { threads, tids, refused })?;
            receive::<Go>()
        });
        *go.0.lock().expect("no thread panics while it holds the lock") =
            Some(started.as_ref().ok().map(|go| go.start_ns));
        go.1.notify_all();
        if let (Ok(go), false) = (&started, ended.is_empty()) {
            end_in_time::enforce_end(map, order, &watched_tids, go.start_ns, &ended);
        }
        for (index, thread) in order.threads.iter().copied().zip(measuring) {
            let outcome =
                thread.join().map_err(|_| "a measuring thread panicked; please report it".to_owned())?;
            outcome.map_err(|error| match &order.work {
                Work::Reaction(_) => format!("the {} failed: {error}", name(&order.work, index)),
                _ if order.pin.is_some() => format!("the wiggle failed: {error}"),
                _ => format!("the wait failed: {error}; try another --wake or --clock"),
            })?;
        }
        started.map(|_| ())
    })
}

/// A thread's position in the order, and either its scheduling, its id and the refused requests, or the reason why it cannot run.
type Ready = (usize, Result<(Granted, u32, Vec<String>), String>);

fn all_ready(
    prepared: &mpsc::Receiver<Ready>,
    count: usize,
    refused: &mut Vec<String>,
) -> Result<Vec<(Granted, u32)>, String> {
    let mut threads = vec![None; count];
    for (position, thread) in prepared.iter().take(count) {
        let (granted, tid, reasons) = thread?;
        threads[position] = Some((granted, tid));
        for reason in reasons {
            if !refused.contains(&reason) {
                refused.push(reason);
            }
        }
    }
    threads
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| "a measuring thread did not become ready".to_owned())
}

type Start = (Mutex<Option<Option<u64>>>, Condvar);

fn wait_for_go((start, changed): &Start) -> Option<u64> {
    let mut start = start.lock().expect("no thread panics while it holds the lock");
    loop {
        match *start {
            Some(start_ns) => return start_ns,
            None => start = changed.wait(start).expect("no thread panics while it holds the lock"),
        }
    }
}

fn receive<T: serde::de::DeserializeOwned>() -> Result<T, String> {
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| format!("cannot read from the supervisor: {error}"))?;
    serde_json::from_str(&line).map_err(|error| format!("cannot parse the supervisor's message: {error}"))
}

fn send(reply: &Reply) -> Result<(), String> {
    let mut line = serde_json::to_string(reply).map_err(|error| error.to_string())?;
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("the supervisor is gone: {error}"))
}
