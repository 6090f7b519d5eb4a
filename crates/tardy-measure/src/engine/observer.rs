//! Observers of the machine during a phase: traces, a second pin, the rings with samples.

use tardy_record::series::Series;

use super::reading::{Counted, Reading};
use super::supervisor::Supervisor;

/// Observes one phase. Dropping the observer ends everything that it has started and restores everything that it has changed.
/// An error of the first three methods ends the phase; a later error invalidates it. Errors are messages for the user.
pub(crate) trait Observer {
    /// Called before the source is set up.
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Called once the source is set up and waits for the common start.
    fn attach(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Called before the source starts, at the time in `counted`.
    fn begin(&mut self, _counted: Counted) -> Result<(), String> {
        Ok(())
    }

    /// The longest time that the supervisor may wait before it calls [`Self::on_wake`], in ns.
    fn wait_ns(&self) -> u64 {
        u64::MAX
    }

    /// Called whenever the supervisor wakes.
    fn on_wake(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Called once per second before the source is read, for data that must be read first.
    fn collect(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Called once per second, after the source has been read.
    fn read(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Called once the source has ended and its last reading has been taken.
    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Adds series to those of the phase, or adds details to these.
    fn add_to(&self, _series: &mut Vec<Series>) {}
}
