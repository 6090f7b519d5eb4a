//! What watches the machine next to a source: traces, a second pin, the rings with samples.

use tardy_record::series::Series;

use super::reading::{Counted, Reading};
use super::supervisor::Supervisor;

/// Watches one phase. Dropping it ends whatever it has started and restores what it has changed. An error in setting up (the first three
/// methods) ends the phase; a later one invalidates it. Errors are messages for the user.
pub(crate) trait Observer {
    /// Before the source is set up.
    fn prepare(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The source is set up and waits for the common start.
    fn attach(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The source will start at the time in `counted`.
    fn begin(&mut self, _counted: Counted) -> Result<(), String> {
        Ok(())
    }

    /// For how long the supervisor may wait, in ns.
    fn wait_ns(&self) -> u64 {
        u64::MAX
    }

    /// The supervisor woke.
    fn on_wake(&mut self, _supervisor: &mut Supervisor<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Takes what must be taken before the source is read.
    fn collect(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The source has been read: once per second.
    fn read(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The source has ended and its last reading was taken.
    fn finish(&mut self, _supervisor: &mut Supervisor<'_>, _reading: &Reading<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Adds its own series to the phase's, or what it knows of them.
    fn add_to(&self, _series: &mut Vec<Series>) {}
}
