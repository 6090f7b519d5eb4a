//! Moves samples from the rings of a phase to the samples file and the listener, once per second and at the end.

use std::rc::Rc;
use std::sync::atomic::{Ordering, fence};

use tardy_probe::cells::{HEADER_SAMPLES_KEPT, Stage, Total};
use tardy_probe::sample_ring::SampleReader;
use tardy_record::event::EventKind;
use tardy_record::plan::{ThreadPlan, TimerPlan};

use crate::engine::{Observer, Owner, PhaseContext, Reading, Supervisor};
use crate::sources::own_probe::{LiveSeries, ProbeState};

/// Time between two readings of a synthetic probe's rings, for which its threads wait.
const SYNTHETIC_RINGS_NS: u64 = 1_000_000;

/// Empties the rings of one phase.
pub(crate) struct SampleDrain<'r> {
    context: PhaseContext<'r>,
    state: Rc<ProbeState<'r>>,
    /// Phase and CPU of each thread.
    owners: Vec<Owner>,
    /// Samples lost to full rings for which the samples file has accounted.
    known_lost: u64,
}

/// Which rings are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// All samples.
    All,
    /// One thread at a time, the next once a thread is done. The threads of a synthetic probe can wait, so the file is the same
    /// in every run, whichever thread runs first.
    OneByOne,
}

impl<'r> SampleDrain<'r> {
    /// Empties the rings of the threads of `timer`.
    pub(crate) fn new(context: PhaseContext<'r>, state: Rc<ProbeState<'r>>, timer: &TimerPlan) -> Self {
        let run_start_ns = context.clock.start_ns();
        let owner = |thread: &ThreadPlan| Owner { phase: context.index, cpu: thread.cpu, run_start_ns };
        let owners = timer.threads.iter().map(owner).collect();
        Self { context, state, owners, known_lost: 0 }
    }

    fn is_synthetic(&self) -> bool {
        self.context.request.fake.is_some()
    }

    /// Once a synthetic probe has failed, all rings are emptied, so that its other threads do not wait for ever.
    fn turn(&self, supervisor: &Supervisor<'_>) -> Turn {
        let is_orderly = self.is_synthetic() && supervisor.is_valid(self.context.index);
        if is_orderly { Turn::OneByOne } else { Turn::All }
    }

    /// Empties the rings. Samples that cannot be kept are counted and reported.
    fn drain(&mut self, supervisor: &mut Supervisor<'_>, turn: Turn) {
        let troubles = [self.take(supervisor, turn), self.count_lost(supervisor)];
        for trouble in troubles.into_iter().filter_map(Result::err) {
            supervisor.message(&trouble);
            supervisor.note(EventKind::Warning, &trouble, 0);
        }
    }

    fn take(&mut self, supervisor: &mut Supervisor<'_>, turn: Turn) -> Result<(), String> {
        let mut outcome = Ok(());
        let kept = self.state.map().header(HEADER_SAMPLES_KEPT);
        for (thread, owner) in self.owners.iter().enumerate() {
            let done = self.is_done(thread);
            let Some(mut ring) = self.state.map().ring(thread).map(SampleReader::new) else { continue };
            // Only the samples that are in the ring now: a ring that fills as fast as it is emptied must not block the
            // supervisor.
            for _ in 0..ring.waiting() {
                let Some(sample) = ring.take() else { break };
                if supervisor.request.reports_samples {
                    supervisor.listener.sample(thread, sample);
                }
                let Some(file) = &mut supervisor.samples else { continue };
                outcome = outcome.and(file.add(*owner, sample));
                // Recovery reads this count of samples in the file.
                kept.set(file.kept());
            }
            if turn == Turn::OneByOne && !done {
                break;
            }
        }
        let Some(file) = &mut supervisor.samples else { return outcome };
        outcome = outcome.and(file.write());
        kept.set(file.kept());
        outcome
    }

    fn is_done(&self, thread: usize) -> bool {
        let stage = self.state.map().block(thread).cells()[Total::Stage as usize].get();
        // The ring is read after the stage: a thread that is done has put its last sample into the ring.
        fence(Ordering::Acquire);
        stage == Stage::Done as u64
    }

    fn count_lost(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        let Some(file) = &mut supervisor.samples else { return Ok(()) };
        let series = self.state.series();
        let lost = series.iter().filter_map(LiveSeries::cells).map(|cells| cells.samples_lost()).sum();
        let news = u64::saturating_sub(lost, self.known_lost);
        self.known_lost = self.known_lost.max(lost);
        if news == 0 { Ok(()) } else { file.add_lost(news) }
    }
}

impl Observer for SampleDrain<'_> {
    fn wait_ns(&self) -> u64 {
        if self.is_synthetic() { SYNTHETIC_RINGS_NS } else { u64::MAX }
    }

    fn on_wake(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        if self.is_synthetic() {
            self.drain(supervisor, self.turn(supervisor));
        }
        Ok(())
    }

    fn read(&mut self, supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.drain(supervisor, self.turn(supervisor));
        Ok(())
    }

    fn finish(&mut self, supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        self.drain(supervisor, Turn::All);
        Ok(())
    }
}
