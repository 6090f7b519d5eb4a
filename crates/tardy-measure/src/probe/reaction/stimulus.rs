//! The thread that makes the stimulus: it drives a line at a period, with dither, and reads the answer back where a wire
//! brings it.
//!
//! The clock is read right before the write. What the thread itself is late changes when an edge comes, and no
//! measurement.

use std::io;
use std::os::fd::AsFd;

use gpiocdev::Request;
use tardy_record::pins::{Line, ReactionPlan, StimulusPlan};
use tardy_sys::clock::{Clock, ClockReader};
use tardy_sys::gpio::{Events, OneLine};
use tardy_sys::memory;
use tardy_sys::scheduling;
use tardy_sys::shared_map::{Block, SharedMap};
use tardy_sys::thread_usage::{self, ThreadUsage};
use tardy_sys::waiting::Sleeper;

use super::driven::{Driven, Rise};
use crate::gpio;
use crate::probe::cells::Stage;
use crate::probe::order::Order;
use crate::probe::seat;
use crate::probe::timer::Prepared;
use crate::probe::timer::grid::{Deadlines, DitheredGrid, Schedule};
use crate::probe::timer::recorder::Recorder;

/// The stimulus's part of the order.
pub struct StimulusThread<'a> {
    map: &'a SharedMap,
    order: &'a Order,
    plan: &'a ReactionPlan,
    stimulus: &'a StimulusPlan,
    driven: &'a Line,
    cpu: u32,
    lines: Option<Lines>,
}

/// The lines, claimed.
struct Lines {
    stimulus: Request,
    echo: Option<Request>,
}

impl<'a> StimulusThread<'a> {
    /// The thread that makes the stimulus of `plan`, if one does.
    pub fn new(map: &'a SharedMap, order: &'a Order, plan: &'a ReactionPlan) -> Option<Self> {
        let (driven, cpu) = plan.driven()?;
        let stimulus = plan.stimulus.as_deref()?;
        Some(Self { map, order, plan, stimulus, driven, cpu, lines: None })
    }

    /// Takes its CPU and policy, claims its lines, and touches its stack.
    ///
    /// # Errors
    /// In words, if its CPU or a line cannot be had.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let (granted, refused) = seat::take(self.cpu, self.plan.policy, self.plan.priority, false)?;
        let stimulus = gpio::output_low(self.driven)?;
        let echo = self.stimulus.echo.as_ref().map(gpio::input_with_events).transpose()?;
        self.lines = Some(Lines { stimulus, echo });
        memory::prefault_stack();
        Ok(Prepared {
            granted,
            refused,
            tid: scheduling::thread_id(),
            migrations: thread_usage::migrations_of_this_thread(),
        })
    }

    /// Drives the line from `start_ns` on until the span is over, or the thread that answers has ended or been asked to.
    ///
    /// # Errors
    /// Whatever the kernel says.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let line = OneLine::of(lines.stimulus.as_fd());
        let (counted_from_ns, end_ns) = self.order.counted_between(start_ns);
        let mut echo = match &lines.echo {
            Some(request) => Some(self.echo(request, counted_from_ns)?),
            None => None,
        };
        let answering = self.map.block(self.order.first_block);
        let driven = Driven::of(self.map);
        let used_before = thread_usage::of_this_thread()?;
        let (mut clock, mut sleeper) = (ClockReader::new(Clock::Monotonic), Sleeper::new(Clock::Monotonic));
        let mut deadlines = self.deadlines(start_ns);
        let high_ns = ((self.stimulus.period_ns - self.stimulus.dither_ns) / 2) as i64;
        let mut count = 0;
        let mut last_ns = start_ns as i64;
        while (deadlines.next_ns() as u64) < end_ns && !answering.is_asked_to_end() {
            sleeper.sleep_until(deadlines.next_ns())?;
            if let Some(echo) = &mut echo {
                echo.listen()?;
            }
            count += 1;
            let now_ns = clock.now_ns();
            driven.set(Rise { count, at_ns: now_ns as u64 });
            line.set(true)?;
            if let Some(echo) = &mut echo {
                echo.expect(now_ns as u64);
            }
            deadlines.pass(now_ns);
            sleeper.sleep_until(now_ns + high_ns)?;
            line.set(false)?;
            last_ns = now_ns;
        }
        sleeper.sleep_until(last_ns + self.stimulus.period_ns as i64)?;
        if let Some(mut echo) = echo {
            echo.listen()?;
            echo.finish(thread_usage::of_this_thread()?.since(&used_before));
        }
        Ok(())
    }

    fn deadlines(&self, start_ns: u64) -> DitheredGrid {
        DitheredGrid::new(Schedule {
            clock: Clock::Monotonic,
            first_ns: start_ns as i64,
            interval_ns: self.stimulus.period_ns,
            dither_ns: self.stimulus.dither_ns,
            seed: self.order.seed,
        })
    }

    fn echo(&self, request: &'a Request, counted_from_ns: u64) -> io::Result<Echo<'a>> {
        let line = OneLine::of(request.as_fd());
        line.never_wait()?;
        let block = self.map.block(self.order.first_block + self.plan.spans().len());
        Ok(Echo { line, book: EchoBook::new(block, &self.order.thresholds_ns, counted_from_ns) })
    }

    /// Adds to the block what only allocating code can find out.
    pub fn account(&self, prepared: &Prepared) {
        if self.stimulus.echo.is_some() {
            prepared.account(self.map.block(self.order.first_block + self.plan.spans().len()));
        }
    }
}

/// The line on which the answer comes back.
struct Echo<'a> {
    line: OneLine<'a>,
    book: EchoBook<'a>,
}

impl Echo<'_> {
    /// Takes the edges that have come.
    fn listen(&mut self) -> io::Result<()> {
        let mut events = Events::default();
        loop {
            match self.line.read_edges(&mut events) {
                Ok(read) => events[..read].iter().for_each(|edge| self.book.echoed(edge.timestamp_ns)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn expect(&mut self, driven_ns: u64) {
        self.book.driven(driven_ns);
    }

    fn finish(self, used: ThreadUsage) {
        self.book.finish(used);
    }
}

/// What is written down of a stimulus and the answer that came back: of one that came twice the first, and an answer that
/// two rises preceded is the later one's, as an instrument would have it.
pub(super) struct EchoBook<'a> {
    recorder: Recorder<'a>,
    counted_from_ns: u64,
    /// Rises of the counted part.
    rises: u64,
    waiting_since_ns: Option<u64>,
}

impl<'a> EchoBook<'a> {
    pub(super) fn new(block: Block<'a>, thresholds_ns: &[u64], counted_from_ns: u64) -> Self {
        let recorder = Recorder::new(block, 0, thresholds_ns, counted_from_ns);
        recorder.set_stage(Stage::Counting);
        Self { recorder, counted_from_ns, rises: 0, waiting_since_ns: None }
    }

    /// The stimulus rose; what came before was to be told before.
    pub(super) fn driven(&mut self, at_ns: u64) {
        if self.waiting_since_ns.take().is_some() {
            self.recorder.pass_over(1, 0, self.rises);
        }
        if at_ns >= self.counted_from_ns {
            self.rises += 1;
            self.waiting_since_ns = Some(at_ns);
        }
    }

    /// An answer came back.
    pub(super) fn echoed(&mut self, at_ns: u64) {
        if let Some(driven_ns) = self.waiting_since_ns.take_if(|driven_ns| *driven_ns <= at_ns) {
            self.recorder.record_single((at_ns - driven_ns) as i64, at_ns, self.rises - 1);
        }
    }

    /// The last rise has been listened for long enough.
    pub(super) fn finish(mut self, used: ThreadUsage) {
        if self.waiting_since_ns.take().is_some() {
            self.recorder.pass_over(1, 0, self.rises);
        }
        self.recorder.finish(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::cells::{CELLS, Total};
    use crate::probe::timer::reading::Cells;

    const FROM_NS: u64 = 1_000_000;

    /// Rises at these times, each with the answers that come back before the next.
    fn booked(rises: &[(u64, &[u64])]) -> Vec<u64> {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        let mut book = EchoBook::new(map.block(0), &[], FROM_NS);
        for (at_ns, echoes) in rises {
            book.driven(*at_ns);
            echoes.iter().for_each(|echo_ns| book.echoed(*echo_ns));
        }
        book.finish(ThreadUsage::default());
        let mut copy = Vec::new();
        assert!(map.block(0).read(&mut copy));
        copy
    }

    #[test]
    fn each_rise_has_one_answer_or_none() {
        let warming = (FROM_NS - 500, &[FROM_NS - 300][..]);
        let answered = (FROM_NS + 1000, &[FROM_NS + 1200, FROM_NS + 1300][..]);
        let unanswered = (FROM_NS + 2000, &[][..]);
        // The first is older than the rise: of another one, and nobody's.
        let late = (FROM_NS + 3000, &[FROM_NS + 2999, FROM_NS + 3700][..]);
        let last = (FROM_NS + 4000, &[][..]);
        let copy = booked(&[warming, answered, unanswered, late, last]);
        let cells = Cells(&copy);
        assert_eq!((cells.attempted(), cells.recorded(), cells.missed()), (4, 2, 2));
        assert_eq!((cells.max_ns(), copy[Total::Min as usize]), (Some(700), 200));
    }
}
