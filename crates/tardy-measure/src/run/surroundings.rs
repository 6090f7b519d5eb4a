//! What goes on around the probe: loads and watchers, as the house runs them.

use tardy_record::load::LoadResult;
use tardy_record::load_spec::LoadSpec;
use tardy_record::plan::PhasePlan;

use super::house::House;
use tardy_load::{LoadContext, Loads};

/// Loads that run, and the record of those that have ended.
#[derive(Debug, Default)]
pub(super) struct LoadBook {
    running: Option<(Vec<LoadSpec>, Loads)>,
    ended: Vec<LoadResult>,
}

impl LoadBook {
    fn results(&self) -> Vec<LoadResult> {
        let running = self.running.iter().flat_map(|(_, loads)| loads.snapshot());
        self.ended.iter().cloned().chain(running).collect()
    }

    fn stop(&mut self) {
        if let Some((_, loads)) = self.running.take() {
            self.ended.extend(loads.stop());
        }
    }
}

impl House<'_> {
    /// Starts the loads of a phase, unless the phase before has left just these running. Returns once every part of
    /// them has really begun its work.
    pub(super) fn start_loads(&mut self, plan: &PhasePlan) -> Result<(), String> {
        if self.loads.running.as_ref().is_some_and(|(specs, _)| *specs == plan.loads) {
            return Ok(());
        }
        self.loads.stop();
        if plan.loads.is_empty() {
            return Ok(());
        }
        let context = LoadContext {
            seed: self.request.plan.seed,
            peer: self.request.plan.peer.clone(),
            ..LoadContext::new(self.request.exe.clone())
        };
        let mut tell = |text: &str| self.observer.say(text);
        let loads =
            Loads::start_telling(&plan.loads, &context, &mut tell).map_err(|error| error.to_string())?;
        self.loads.running = Some((plan.loads.clone(), loads));
        Ok(())
    }

    /// The counted part of phase `index` has begun.
    pub(super) fn loads_begin(&mut self, index: usize) {
        let now_ns = self.clock.now_ns();
        if let Some((_, loads)) = &mut self.loads.running {
            loads.begin_phase(index, now_ns);
        }
    }

    /// The counted part of the phase has ended.
    pub(super) fn loads_end(&mut self) {
        let now_ns = self.clock.now_ns();
        if let Some((_, loads)) = &mut self.loads.running {
            loads.end_phase(now_ns);
        }
    }

    /// Ends all loads.
    pub(super) fn stop_loads(&mut self) {
        self.loads.stop();
        self.run.loads = self.loads.results();
    }

    /// Reads what the loads have done.
    pub(super) fn read_loads(&mut self, now_ns: u64) {
        if let Some((_, loads)) = &mut self.loads.running {
            loads.read(now_ns);
        }
    }

    /// Brings the run's environment and loads up to date.
    pub(super) fn refresh_surroundings(&mut self) {
        self.run.loads = self.loads.results();
        self.run.environment = self.watchers.snapshot();
    }
}
