//! From the rings of a phase into the samples file, once a second and at the end.

use std::sync::atomic::{Ordering, fence};

use tardy_record::event::EventKind;
use tardy_record::plan::{ThreadPlan, TimerPlan};
use tardy_record::samples::SamplesFile;
use tardy_sys::shared_map::{Block, SharedMap};

use super::house::House;
use super::live_series::LiveSeries;
use super::sample_file::{Owner, SampleFile};
use tardy_probe::cells::{HEADER_SAMPLES_KEPT, Stage, Total};
use tardy_probe::sample_ring::SampleReader;

/// The rings of one phase.
pub(super) struct SampleDrain<'m> {
    map: &'m SharedMap,
    sources: Vec<Source<'m>>,
    /// What the probes have counted as lost to full rings, as far as the file has been told.
    known_lost: u64,
}

/// One thread's ring.
struct Source<'m> {
    owner: Owner,
    block: Block<'m>,
    ring: SampleReader<'m>,
}

/// Which rings are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All of them.
    All,
    /// One after the other, the next once a thread is done: the threads of a fake can wait, and the file is then the
    /// same every time, whichever of them the kernel lets run first.
    OneByOne,
}

impl<'m> SampleDrain<'m> {
    /// The rings of phase `phase` of a run that started at `run_start_ns`, if its map has any.
    pub(super) fn new(
        map: &'m SharedMap,
        phase: usize,
        timer: &TimerPlan,
        run_start_ns: u64,
    ) -> Option<Self> {
        let source = |(index, thread): (usize, &ThreadPlan)| {
            let owner = Owner { phase, cpu: thread.cpu, run_start_ns };
            let ring = SampleReader::new(map.ring(index)?);
            Some(Source { owner, block: map.block(index), ring })
        };
        let sources: Option<Vec<_>> = timer.threads.iter().enumerate().map(source).collect();
        Some(Self { map, sources: sources?, known_lost: 0 })
    }

    /// Takes what waits in the rings into the house's samples file; what cannot be kept is counted, and said.
    pub(super) fn drain(&mut self, house: &mut House<'_>, live: &[LiveSeries<'_>], turn: Turn) {
        let troubles = [self.take(house, turn), self.count_lost(house, live)];
        for trouble in troubles.into_iter().filter_map(Result::err) {
            house.observer.say(&trouble);
            house.note(EventKind::Warning, &trouble, 0);
        }
    }

    fn take(&mut self, house: &mut House<'_>, turn: Turn) -> Result<(), String> {
        let mut outcome = Ok(());
        let kept = self.map.header(HEADER_SAMPLES_KEPT);
        for (thread, source) in self.sources.iter_mut().enumerate() {
            let done = source.is_done();
            // Only what waits now: a ring that is filled as fast as it is emptied must not hold the house for ever.
            for _ in 0..source.ring.waiting() {
                let Some(sample) = source.ring.take() else { break };
                if house.request.tells_samples {
                    house.observer.sample(thread, sample);
                }
                let Some(file) = &mut house.samples else { continue };
                outcome = outcome.and(file.add(source.owner, sample));
                // Whoever recovers the run reads here how far the file has come.
                kept.set(file.kept());
            }
            if turn == Turn::OneByOne && !done {
                break;
            }
        }
        let Some(file) = &mut house.samples else { return outcome };
        outcome = outcome.and(file.write());
        kept.set(file.kept());
        outcome
    }

    fn count_lost(&mut self, house: &mut House<'_>, live: &[LiveSeries<'_>]) -> Result<(), String> {
        let Some(file) = &mut house.samples else { return Ok(()) };
        let cells = live.iter().filter_map(LiveSeries::cells);
        let lost: u64 = cells.map(|cells| cells.samples_lost()).sum();
        let news = lost.saturating_sub(self.known_lost);
        self.known_lost = self.known_lost.max(lost);
        if news == 0 { Ok(()) } else { file.add_lost(news) }
    }
}

impl Source<'_> {
    fn is_done(&self) -> bool {
        let done = self.block.cells()[Total::Stage as usize].get() == Stage::Done as u64;
        // The ring is looked at after this: whoever is done has put its last sample in.
        fence(Ordering::Acquire);
        done
    }
}

impl House<'_> {
    /// Brings the run's account of the samples file up to date. Once the rings are empty, `settled`, everything that
    /// was recorded is either kept or lost: also the sample that a killed probe had counted and not handed over.
    pub(super) fn account_for_samples(&mut self, settled: bool) {
        let (Some(file), Some(path)) = (&self.samples, &self.request.samples) else { return };
        let path = path.to_string_lossy().into_owned();
        let mut account = SamplesFile { path, kept: file.kept(), lost: file.lost() };
        if settled {
            account.settle(self.run.recorded_samples());
        }
        self.run.samples = Some(account);
    }

    /// The last of the samples file: it is made safe on its disk.
    pub(super) fn close_samples(&mut self) {
        if let Some(Err(trouble)) = self.samples.as_ref().map(SampleFile::sync) {
            self.observer.say(&trouble);
            self.note(EventKind::Warning, &trouble, 0);
        }
        self.account_for_samples(true);
    }
}
