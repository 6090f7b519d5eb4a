//! The trials, round by round.

use std::path::{Path, PathBuf};

use tardy_record::Run;
use tardy_record::plan::{Plan, ProbePlan};
use tardy_record::run::{Origin, State};
use tardy_sys::kernel_files::KernelFiles;
use tardy_sys::signals::EndSignals;

use super::changes::{Change, Steps};
use super::held::Held;
use super::order::order_of_round;
use super::workplace::Workplace;
use crate::engine::{Listener, Outcome, Request as RunRequest};
use crate::programs::Programs;
use tardy_host::facts::{self, SystemAnswers};
use tardy_host::journal::{self, Place};
use tardy_host::settings;

/// Name of a trial of the unchanged machine.
const BASELINE: &str = "baseline";

/// The doctor's task.
pub struct Request<'a> {
    /// One trial: a plan of one phase, on the unchanged machine.
    pub plan: Plan,
    /// The changes to try, each with its steps on this machine.
    pub changes: Vec<(Change, Steps)>,
    /// How often each is tried.
    pub rounds: u32,
    /// Where runs are kept; `None` to remove them after they have been read.
    pub keep: Option<PathBuf>,
    /// The origin of a trial that begins now.
    pub origin: &'a dyn Fn() -> Origin,
    /// The facts that system calls report about the machine.
    pub answers: SystemAnswers,
    /// The programs that each trial starts.
    pub programs: Programs,
    /// Where kernel files are read and changed: `/`, or a directory with synthetic ones.
    pub kernel_root: PathBuf,
    /// Seed of synthetic measurements; `None` for real ones.
    pub fake: Option<u64>,
}

/// One trial and its outcome.
#[derive(Debug)]
pub struct Trial {
    /// Number of the round, from 1.
    pub round: u32,
    /// The change; `None` in a baseline.
    pub change: Option<Change>,
    /// The run, or a message why it does not count.
    pub run: Result<Box<Run>, String>,
}

/// How the trials ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All trials were made.
    Complete,
    /// The user interrupted them.
    Interrupted,
}

/// Tries the changes, and passes each trial to `take` as it ends. All changes are undone before this returns.
///
/// # Errors
/// A message for the user, if another doctor is running, a crash has left settings changed, or a measurement cannot
/// start.
pub fn run(
    request: &Request<'_>,
    listener: &mut dyn Listener,
    take: &mut dyn FnMut(Trial),
) -> Result<Ending, String> {
    let files = KernelFiles::under(&request.kernel_root);
    let place = Place::of(&files);
    check_nothing_is_left(&files)?;
    let workplace = Workplace::take(&place, request.keep.as_deref())?;
    let signals = EndSignals::catch().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let mut doctor = Doctor { request, files, place, workplace, listener, trials: 0 };
    for round in 1..=request.rounds {
        for index in order_of_round(request.plan.seed, round, request.changes.len() + 1) {
            let change = index.checked_sub(1).map(|index| &request.changes[index]);
            if signals.take().is_some() {
                return Ok(Ending::Interrupted);
            }
            match doctor.trial(round, change)? {
                Some(trial) => take(trial),
                None => return Ok(Ending::Interrupted),
            }
        }
    }
    Ok(Ending::Complete)
}

/// Checks that no crash has left settings changed, which would make every comparison wrong.
///
/// # Errors
/// A message for the user, with what to do.
pub fn check_nothing_is_left(files: &KernelFiles) -> Result<(), String> {
    match journal::left_behind(&Place::of(files), &settings::KINDS).first() {
        None => Ok(()),
        Some(what) => {
            Err(format!("a killed tardy left a setting changed: {what}; undo it with 'tardy restore' first"))
        }
    }
}

struct Doctor<'a> {
    request: &'a Request<'a>,
    files: KernelFiles,
    place: Place,
    workplace: Workplace,
    listener: &'a mut dyn Listener,
    trials: u64,
}

impl Doctor<'_> {
    /// One trial; `None` if the user ended it.
    fn trial(&mut self, round: u32, change: Option<&(Change, Steps)>) -> Result<Option<Trial>, String> {
        let name = change.map_or(BASELINE, |(change, _)| change.name());
        let trial = |run| Ok(Some(Trial { round, change: change.map(|(change, _)| *change), run }));
        self.trials += 1;
        let held = match change.map(|(_, steps)| Held::hold(&self.place, &self.files, steps)).transpose() {
            Ok(held) => held,
            Err(reason) => {
                self.listener.message(&format!("round {round}, {name}: {reason}"));
                return trial(Err(reason));
            }
        };
        if let Some((count, reason)) = held.as_ref().and_then(Held::refused).filter(|_| round == 1) {
            let more = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
            self.listener.message(&format!("{name}: changed only in part: {reason}{more}"));
        }
        let output = self.workplace.run_file(round, name);
        let measured = self.measure(round, name, change.map(|(_, steps)| steps), &output);
        let remarks = held.map_or_else(Vec::new, Held::put_back);
        self.workplace.done_with(&output);
        remarks.iter().for_each(|remark| self.listener.message(&format!("round {round}, {name}: {remark}")));
        let Outcome { run, trouble, .. } = measured?;
        if run.progress.state == State::Interrupted && trouble.is_none() {
            return Ok(None);
        }
        let spoilt = trouble.or_else(|| remarks.into_iter().next());
        let not_held = || {
            let wanted =
                change.is_some_and(|(_, steps)| steps.keeps_out_of_idle()) && self.request.fake.is_none();
            let refused = |remark: &&String| remark.starts_with("/dev/cpu_dma_latency");
            run.phases.iter().flat_map(|phase| &phase.remarks).find(refused).filter(|_| wanted).cloned()
        };
        match spoilt.or_else(not_held) {
            Some(reason) => trial(Err(reason)),
            None => trial(Ok(Box::new(run))),
        }
    }

    fn measure(
        &mut self,
        round: u32,
        name: &str,
        steps: Option<&Steps>,
        output: &Path,
    ) -> Result<Outcome, String> {
        let mut plan = self.request.plan.clone();
        // The dither differs between rounds, and is the same for all trials of a round.
        plan.seed = plan.seed.wrapping_add(u64::from(round));
        for phase in &mut plan.phases {
            phase.label = format!("{name}, round {round}");
            if let ProbePlan::Timer(timer) = &mut phase.probe
                && steps.is_some_and(Steps::keeps_out_of_idle)
            {
                timer.dma_latency_us = Some(0);
            }
        }
        let facts = facts::collect(&self.files, &self.request.answers);
        let origin = (self.request.origin)();
        let programs = self.request.programs.clone();
        let request = RunRequest {
            kernel_root: self.request.kernel_root.clone(),
            fake: self.request.fake.map(|seed| seed.wrapping_add(self.trials)),
            ..RunRequest::new(plan, facts, origin, output.to_owned(), programs)
        };
        crate::run(&request, self.listener).map_err(|error| error.to_string())
    }
}
