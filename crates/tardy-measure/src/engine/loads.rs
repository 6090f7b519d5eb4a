//! The loads of a run: the running ones, and the results of those that have ended.

use std::path::PathBuf;

use tardy_load::{LoadContext, LoadRate, Loads};
use tardy_record::load::LoadResult;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::PhasePlan;

use super::request::Request;

/// Running loads. Dropping them ends them.
pub(crate) trait RunningLoads {
    /// The counted part of phase `phase` has begun.
    fn begin_phase(&mut self, phase: usize, now_ns: u64);
    /// The counted part of the phase has ended.
    fn end_phase(&mut self, now_ns: u64);
    /// Reads the loads' counters.
    fn read(&mut self, now_ns: u64);
    /// The present rate of each part.
    fn rates(&self) -> Vec<LoadRate> {
        Vec::new()
    }
    /// The results so far.
    fn snapshot(&self) -> Vec<LoadResult>;
    /// Ends the loads, and returns their results.
    fn stop(self: Box<Self>) -> Vec<LoadResult>;
}

/// Starts loads.
pub(crate) trait LoadStarter {
    /// Starts the loads of `plan`, and returns once all of them run. `message` receives messages for the user.
    ///
    /// # Errors
    /// A message for the user.
    fn start(
        &mut self,
        plan: &PhasePlan,
        message: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn RunningLoads>, String>;
}

/// Starts loads as processes of tardy.
#[derive(Debug)]
pub(crate) struct LoadProcesses {
    exe: PathBuf,
    seed: u64,
    peer: Option<String>,
    cpus: Vec<u32>,
}

impl LoadProcesses {
    /// The loads of `request`.
    pub(crate) fn of(request: &Request) -> Self {
        let plan = &request.plan;
        Self {
            exe: request.programs.own.clone(),
            seed: plan.seed,
            peer: plan.peer.clone(),
            cpus: plan.placement.housekeeping_cpus.clone(),
        }
    }
}

impl LoadStarter for LoadProcesses {
    fn start(
        &mut self,
        plan: &PhasePlan,
        mut message: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn RunningLoads>, String> {
        let context = LoadContext {
            seed: self.seed,
            peer: self.peer.clone(),
            cpus: self.cpus.clone(),
            ..LoadContext::new(self.exe.clone())
        };
        let loads = Loads::start_telling(&plan.loads, &context, &mut message);
        Ok(Box::new(loads.map_err(|error| error.to_string())?))
    }
}

impl RunningLoads for Loads {
    fn begin_phase(&mut self, phase: usize, now_ns: u64) {
        Self::begin_phase(self, phase, now_ns);
    }

    fn end_phase(&mut self, now_ns: u64) {
        Self::end_phase(self, now_ns);
    }

    fn read(&mut self, now_ns: u64) {
        Self::read(self, now_ns);
    }

    fn rates(&self) -> Vec<LoadRate> {
        Self::rates(self)
    }

    fn snapshot(&self) -> Vec<LoadResult> {
        Self::snapshot(self)
    }

    fn stop(self: Box<Self>) -> Vec<LoadResult> {
        Self::stop(*self)
    }
}

/// The loads of a run.
pub(super) struct LoadSet {
    starter: Box<dyn LoadStarter>,
    /// The running loads, with the specifications from which they were started.
    running: Option<(Vec<LoadSpec>, Box<dyn RunningLoads>)>,
    ended: Vec<LoadResult>,
}

impl LoadSet {
    /// No loads yet.
    pub(super) fn new(starter: Box<dyn LoadStarter>) -> Self {
        Self { starter, running: None, ended: Vec::new() }
    }

    /// Starts the loads of a phase, unless the same loads still run from the previous phase. Returns once all of them
    /// run.
    pub(super) fn start(&mut self, plan: &PhasePlan, message: &mut dyn FnMut(&str)) -> Result<(), String> {
        if self.running.as_ref().is_some_and(|(specs, _)| *specs == plan.loads) {
            return Ok(());
        }
        self.stop();
        if !plan.loads.is_empty() {
            self.running = Some((plan.loads.clone(), self.starter.start(plan, message)?));
        }
        Ok(())
    }

    /// The counted part of phase `phase` has begun.
    pub(super) fn begin_phase(&mut self, phase: usize, now_ns: u64) {
        if let Some((_, loads)) = &mut self.running {
            loads.begin_phase(phase, now_ns);
        }
    }

    /// The counted part of the phase has ended.
    pub(super) fn end_phase(&mut self, now_ns: u64) {
        if let Some((_, loads)) = &mut self.running {
            loads.end_phase(now_ns);
        }
    }

    /// Reads the loads' counters.
    pub(super) fn read(&mut self, now_ns: u64) {
        if let Some((_, loads)) = &mut self.running {
            loads.read(now_ns);
        }
    }

    /// The present rate of each part of the running loads.
    pub(super) fn rates(&self) -> Vec<LoadRate> {
        self.running.as_ref().map_or_else(Vec::new, |(_, loads)| loads.rates())
    }

    /// Ends all loads.
    pub(super) fn stop(&mut self) {
        if let Some((_, loads)) = self.running.take() {
            self.ended.extend(loads.stop());
        }
    }

    /// The results of all loads so far.
    pub(super) fn results(&self) -> Vec<LoadResult> {
        let running = self.running.iter().flat_map(|(_, loads)| loads.snapshot());
        self.ended.iter().cloned().chain(running).collect()
    }
}
