//! The thread that generates the stimulus: it drives a line at a period, with dither, and reads the answer back if a
//! wire returns it.
//!
//! The clock is read right before the write, so a delay of this thread shifts the edge, but does not affect the
//! measured latency.

use std::io;
use std::os::fd::AsFd;

use gpiocdev::Request;
use tardy_record::pins::{Line, ReactionPlan, StimulusPlan};
use tardy_sys::gpio::OneLine;
use tardy_sys::memory;
use tardy_sys::shared_map::{Block, SharedMap};
use tardy_sys::thread_usage::{self, ThreadUsage};

use super::driven::{Driven, Rise};
use crate::cells::Stage;
use crate::gpio;
use crate::gpio::square_wave::{Pairing, SquareWave, WaveObserver, take_edges};
use crate::order::Order;
use crate::thread_setup;
use crate::timer::Prepared;
use crate::timer::recorder::Recorder;

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

/// The claimed lines.
struct Lines {
    stimulus: Request,
    echo: Option<Request>,
}

impl<'a> StimulusThread<'a> {
    /// The thread that generates the stimulus of `plan`; `None` if no thread does.
    pub fn new(map: &'a SharedMap, order: &'a Order, plan: &'a ReactionPlan) -> Option<Self> {
        let (driven, cpu) = plan.driven()?;
        let stimulus = plan.stimulus.as_deref()?;
        Some(Self { map, order, plan, stimulus, driven, cpu, lines: None })
    }

    /// Sets CPU and policy, claims the lines, and touches the stack.
    ///
    /// # Errors
    /// A message for the user, if the CPU or a line is not available.
    pub fn prepare(&mut self) -> Result<Prepared, String> {
        let (granted, refused) = thread_setup::set_up(self.cpu, self.plan.policy, self.plan.priority, false)?;
        let stimulus = gpio::output_low(self.driven)?;
        let echo = self.stimulus.echo.as_ref().map(gpio::input_with_events).transpose()?;
        self.lines = Some(Lines { stimulus, echo });
        memory::prefault_stack();
        Ok(Prepared::now(granted, refused))
    }

    /// Drives the line from `start_ns` on until the span is over, or the answering thread has ended or is asked to end.
    ///
    /// # Errors
    /// Any error of the kernel.
    pub fn measure(&self, start_ns: u64) -> io::Result<()> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let line = OneLine::of(lines.stimulus.as_fd());
        let (counted_from_ns, end_ns) = self.order.counted_between(start_ns);
        let mut echo = match &lines.echo {
            Some(request) => Some(self.echo(request, counted_from_ns)?),
            None => None,
        };
        let answering = self.map.block(0);
        let used_before = thread_usage::of_this_thread()?;
        let wave = SquareWave {
            first_ns: start_ns,
            period_ns: self.stimulus.period_ns,
            dither_ns: self.stimulus.dither_ns,
            seed: self.order.seed,
        };
        let mut beside = Answered { driven: Driven::of(self.map), count: 0, echo: echo.as_mut() };
        let goes_on = |deadline_ns: u64| deadline_ns < end_ns && !answering.is_asked_to_end();
        wave.drive(line, goes_on, &mut beside)?;
        if let Some(echo) = echo {
            echo.accounting.finish(thread_usage::of_this_thread()?.since(&used_before));
        }
        Ok(())
    }

    fn echo(&self, request: &'a Request, counted_from_ns: u64) -> io::Result<Echo<'a>> {
        let line = OneLine::of(request.as_fd());
        line.never_wait()?;
        let block = self.map.block(self.plan.spans().len());
        Ok(Echo { line, accounting: EchoAccounting::new(block, &self.order.thresholds_ns, counted_from_ns) })
    }

    /// Adds the thread's migrations to the block. Not part of the measurement, since reading their number allocates.
    pub fn account(&self, prepared: &Prepared) {
        if self.stimulus.echo.is_some() {
            prepared.account(self.map.block(self.plan.spans().len()));
        }
    }
}

/// The line on which the answer returns.
struct Echo<'a> {
    line: OneLine<'a>,
    accounting: EchoAccounting<'a>,
}

/// The thread's work in addition to driving the line: it reports rises to the answering thread, and reads the answers.
struct Answered<'e, 'a> {
    driven: Driven<'a>,
    count: u64,
    echo: Option<&'e mut Echo<'a>>,
}

impl WaveObserver for Answered<'_, '_> {
    fn take_answers(&mut self) -> io::Result<()> {
        let Some(Echo { line, accounting }) = self.echo.as_deref_mut() else { return Ok(()) };
        take_edges(*line, |at_ns| accounting.echoed(at_ns))
    }

    fn rises(&mut self, at_ns: u64) {
        self.count += 1;
        self.driven.set(Rise { count: self.count, at_ns });
        if let Some(echo) = self.echo.as_deref_mut() {
            echo.accounting.driven(at_ns);
        }
    }
}

/// The record of the returned answers.
pub(super) struct EchoAccounting<'a> {
    recorder: Recorder<'a>,
    counted_from_ns: u64,
    /// Rises of the counted part.
    rises: u64,
    pairing: Pairing,
}

impl<'a> EchoAccounting<'a> {
    pub(super) fn new(block: Block<'a>, thresholds_ns: &[u64], counted_from_ns: u64) -> Self {
        let recorder = Recorder::new(block, 0, thresholds_ns, counted_from_ns);
        recorder.set_stage(Stage::Counting);
        Self { recorder, counted_from_ns, rises: 0, pairing: Pairing::default() }
    }

    /// Records a rise, after all earlier answers. Rises before the counted part are ignored.
    pub(super) fn driven(&mut self, at_ns: u64) {
        if at_ns < self.counted_from_ns {
            return;
        }
        if self.pairing.rose(at_ns) {
            self.recorder.pass_over(1, 0, self.rises);
        }
        self.rises += 1;
    }

    /// Records an answer.
    pub(super) fn echoed(&mut self, at_ns: u64) {
        if let Some(took_ns) = self.pairing.answered(at_ns) {
            self.recorder.record_single(took_ns as i64, at_ns, self.rises - 1);
        }
    }

    /// Ends the record: the wait for the last answer is over.
    pub(super) fn finish(mut self, used: ThreadUsage) {
        if self.pairing.end() {
            self.recorder.pass_over(1, 0, self.rises);
        }
        self.recorder.finish(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{CELLS, Total};
    use crate::timer::reading::Cells;

    const FROM_NS: u64 = 1_000_000;

    /// Accounts for rises at these times, each with the answers that return before the next.
    fn accounted(rises: &[(u64, &[u64])]) -> Vec<u64> {
        let directory = tempfile::tempdir().unwrap();
        let map = SharedMap::create(&directory.path().join("map"), 1, CELLS).unwrap();
        let mut accounting = EchoAccounting::new(map.block(0), &[], FROM_NS);
        for (at_ns, echoes) in rises {
            accounting.driven(*at_ns);
            echoes.iter().for_each(|echo_ns| accounting.echoed(*echo_ns));
        }
        accounting.finish(ThreadUsage::default());
        let mut copy = Vec::new();
        assert!(map.block(0).read(&mut copy));
        copy
    }

    #[test]
    fn each_rise_has_one_answer_or_none() {
        let warming = (FROM_NS - 500, &[FROM_NS - 300][..]);
        let answered = (FROM_NS + 1000, &[FROM_NS + 1200, FROM_NS + 1300][..]);
        let unanswered = (FROM_NS + 2000, &[][..]);
        // The first answer is older than the rise, so it belongs to an earlier one.
        let late = (FROM_NS + 3000, &[FROM_NS + 2999, FROM_NS + 3700][..]);
        let last = (FROM_NS + 4000, &[][..]);
        let copy = accounted(&[warming, answered, unanswered, late, last]);
        let cells = Cells(&copy);
        assert_eq!((cells.attempted(), cells.recorded(), cells.missed()), (4, 2, 2));
        assert_eq!((cells.max_ns(), copy[Total::Min as usize]), (Some(700), 200));
    }
}
