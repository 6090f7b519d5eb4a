//! What goes on around the probe: loads and watchers, as the house runs them.

use tardy_record::plan::PhasePlan;
use tardy_record::series::Change;

use super::conduct::House;

impl House<'_> {
    /// Starts the loads of phase `index`, unless they run already.
    pub(super) fn start_loads(&mut self, _index: usize, plan: &PhasePlan) -> Result<(), String> {
        if plan.loads.is_empty() { Ok(()) } else { Err("loads are not there yet".to_owned()) }
    }

    /// Ends the loads after phase `index`, unless the next phase goes on with them.
    pub(super) fn end_loads(&mut self, _index: usize) {}

    /// Reads watchers and loads.
    pub(super) fn read_surroundings(&mut self, _now_ns: u64) {}

    /// What the watchers saw change between their last two readings.
    pub(super) fn recent_changes(&self) -> Vec<Change> {
        Vec::new()
    }

    /// Brings the run's environment and loads up to date.
    pub(super) fn refresh_surroundings(&mut self) {}
}
