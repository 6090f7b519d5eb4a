//! `tardy gpio stimulate`: this board generates the edges that another board answers, and times the answers if a wire
//! returns them.

use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use tardy_record::Series;
use tardy_record::pins::{AnswerBy, ECHOED, Line, ReactionSeries};
use tardy_record::plan::Policy;
use tardy_record::series::{Level, Quantity, SeriesKind};
use tardy_record::series_builder::{Reading, SeriesBuilder};
use tardy_sys::clock::monotonic_ns;
use tardy_sys::gpio::OneLine;
use tardy_sys::scheduling::{self, Scheduling};
use tardy_sys::signals::EndSignals;

use tardy_probe::gpio;
use tardy_probe::gpio::square_wave::{Pairing, SquareWave, WaveObserver, take_edges};

use super::{HeldPin, PinGuard};

/// Above the kernel's interrupt threads, so that they do not run between reading the clock and writing the line.
const PRIORITY: u32 = 80;
/// Time from the set-up to the first deadline.
const START_NS: u64 = 10_000_000;
/// The duration for which the slices of a run without an end are sized.
const UNPLANNED_NS: u64 = 3_600_000_000_000;

/// A request to drive a line.
#[derive(Clone, Debug)]
pub struct Stimulation {
    /// tardy's own program, which serves as the guard.
    pub exe: PathBuf,
    /// The line.
    pub line: Line,
    /// The line on which the answer returns.
    pub echo: Option<Line>,
    /// From one rise to the next, in ns.
    pub period_ns: u64,
    /// Upper bound of the random delay of each rise, in ns; at most half of the period.
    pub dither_ns: u64,
    /// Seeds the dither.
    pub seed: u64,
    /// Duration, in ns; `None` to drive the line until a signal comes.
    pub duration_ns: Option<u64>,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Stimulated {
    /// How often the line rose.
    pub rises: u64,
    /// Latencies of the answers, if they were read.
    pub answers: Option<Series>,
    /// A message about a real-time priority that was refused.
    pub refused: Option<String>,
}

/// Drives the line for the requested duration or until SIGINT, SIGTERM or SIGHUP comes, and makes it an input again.
///
/// # Errors
/// A message for the user, if a line is not available or cannot be driven.
pub fn stimulate(order: &Stimulation) -> Result<Stimulated, String> {
    let signals = EndSignals::catch().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let guard = PinGuard::watch(&order.exe, &[HeldPin::Pin { line: order.line.clone() }])?;
    let driven = drive(order, &signals);
    let restored = guard.release();
    let driven = driven?;
    restored.map_err(|reason| format!("{reason}; run `tardy restore`"))?;
    Ok(driven)
}

fn drive(order: &Stimulation, signals: &EndSignals) -> Result<Stimulated, String> {
    let line = gpio::output_low(&order.line)?;
    let echo = order.echo.as_ref().map(gpio::input_with_events).transpose()?;
    let refused = scheduling::set(Scheduling::Fifo(PRIORITY)).err().map(|error| {
        format!(
            "SCHED_FIFO was refused ({error}): delays between reading the clock and writing count as latency"
        )
    });
    let failed = |error: io::Error| format!("{}: {error}", order.line.place());
    let start_ns = monotonic_ns() + START_NS;
    let echo_line = echo.as_ref().map(|request| OneLine::of(request.as_fd()));
    echo_line.map_or(Ok(()), OneLine::never_wait).map_err(failed)?;
    let mut answers = Answers {
        line: echo_line,
        pairing: Pairing::default(),
        rises: 0,
        start_ns,
        builder: SeriesBuilder::new(0, None, order.duration_ns.unwrap_or(UNPLANNED_NS), &[]),
    };
    let end_ns = order.duration_ns.map_or(u64::MAX, |ns| start_ns.saturating_add(ns));
    let wave = SquareWave {
        first_ns: start_ns,
        period_ns: order.period_ns,
        dither_ns: order.dither_ns,
        seed: order.seed,
    };
    let goes_on = |deadline_ns: u64| deadline_ns < end_ns && signals.take().is_none();
    let outcome = wave.drive(OneLine::of(line.as_fd()), goes_on, &mut answers).map_err(failed);
    // Real-time priority is no longer needed.
    let _ = scheduling::set(Scheduling::Other);
    outcome?;
    Ok(Stimulated { rises: answers.rises, answers: answers.series(), refused })
}

/// The answers as they come back.
struct Answers<'a> {
    line: Option<OneLine<'a>>,
    pairing: Pairing,
    rises: u64,
    start_ns: u64,
    builder: SeriesBuilder,
}

impl WaveObserver for Answers<'_> {
    fn take_answers(&mut self) -> io::Result<()> {
        let Self { line, pairing, rises, start_ns, builder } = self;
        let Some(line) = line else { return Ok(()) };
        take_edges(*line, |at_ns| {
            if let Some(took_ns) = pairing.answered(at_ns) {
                builder.record(Reading {
                    value_ns: took_ns as i64,
                    at_ns: at_ns.saturating_sub(*start_ns),
                    cycle: rises.saturating_sub(1),
                    missed: 0,
                });
            }
        })
    }

    fn rises(&mut self, at_ns: u64) {
        self.rises += 1;
        if self.line.is_some() && self.pairing.rose(at_ns) {
            self.builder.miss_readings(1);
        }
    }
}

impl Answers<'_> {
    fn series(mut self) -> Option<Series> {
        self.line?;
        self.builder.miss_readings(u64::from(self.pairing.end()));
        let (from, to) = ECHOED;
        // The thread of the other board that answers, and its method, are unknown here.
        let kind = ReactionSeries {
            from,
            to,
            answer_by: AnswerBy::default(),
            cpu: 0,
            policy: Policy::Other,
            priority: 0,
            beside: false,
            agreement: None,
        };
        let label = format!("{} to {}", from.name(), to.name());
        Some(self.builder.series(label, 0, Quantity::Latency, Level::Wire, SeriesKind::Reaction(kind)))
    }
}
